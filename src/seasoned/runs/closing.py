"""The steps of a summary around the model: a run is closed and gathered, then lessons, profile and run are written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from seasoned.ports import Put
from seasoned.query import Compare, Op, Query, both
from seasoned.records import JSON, Key, Record
from seasoned.runs.head import Head, Status
from seasoned.runs.lessons import Learned, Lesson, learn, lesson_id, lesson_of, lesson_row, ordered
from seasoned.runs.live import Place
from seasoned.runs.models import L2Episode, RetroPromptContext, TurnRecord
from seasoned.runs.profiles import Line, lines_in, read_profile, rendered, write_profile
from seasoned.runs.protocols import RetroClassifier
from seasoned.runs.reading import by_keys, episodes_of, heads, pages, turns_of
from seasoned.runs.retrospective import Review, Reviewed, story
from seasoned.runs.rows import LESSON, PROFILE, StoredEpisode, texts

VERB: Final = "summarise_run"

MAX_WAITING: Final = 3
"""Most earlier runs without a retrospective that one prompt tells of."""

SHOWN_LESSONS: Final = 20
"""Most lessons that a prompt shows."""

MAX_SOURCES: Final = 200

_LOG: Final = logging.getLogger("seasoned.runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What the end of a run left.

    `text` is the retrospective, `lessons` those that are new or changed, the most confirmed first, `path` the profile
    file if one was written, `calls` how often a model was asked, `reason` what went wrong beside it.
    """

    run_id: str
    profile_id: str
    text: str
    lessons: tuple[Lesson, ...] = ()
    path: Path | None = None
    calls: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A closed run, what its retrospective is written from, and the earlier ones that wait with it."""

    head: Head
    profile: str
    review: Review
    sources: tuple[Key, ...]
    waiting: tuple[Head, ...] = ()


def gathered(place: Place, head: Head, profile: str, classifier: RetroClassifier) -> Ended | str:
    """Return what the retrospective of a closed run is written from; a text says why there is nothing."""
    stored = episodes_of(place.store, head.ids)
    turns, episodes = [each.turn for each in turns_of(place.store, head.ids)], [each.episode for each in stored]
    context = _context(classifier, turns, episodes)
    if isinstance(context, str):
        return context
    waiting = _waiting(place, head, profile)
    review = Review(
        context=context,
        turns=turns,
        episodes=episodes,
        lessons=ordered(each for each in lessons_of(place, profile) if each.contradicted_by is None)[:SHOWN_LESSONS],
        waiting=[_told(each, episodes_of(place.store, each.ids)) for each in waiting],
    )
    sources = [
        *_keys(head, stored),
        *(key for each in waiting for key in _keys(each, episodes_of(place.store, each.ids))),
    ]
    return Ended(head=head, profile=profile, review=review, sources=tuple(sources[:MAX_SOURCES]), waiting=waiting)


def _context(
    classifier: RetroClassifier, turns: list[TurnRecord], episodes: list[L2Episode]
) -> RetroPromptContext | str:
    try:
        made: object = classifier.build_context(list(turns), list(episodes))
    except Exception as error:  # noqa: BLE001  # the caller's own code: whatever it raises, the run goes on
        return f"the classifier failed: {type(error).__name__}: {error!s:.300}"
    if isinstance(made, RetroPromptContext):
        return made
    return f"the classifier returned {made!r:.80}, not a RetroPromptContext"


def _keys(head: Head, stored: Sequence[StoredEpisode]) -> list[Key]:
    return [head.ids.episode(each.number) for each in stored]


def _waiting(place: Place, head: Head, profile: str) -> tuple[Head, ...]:
    """Return the newest runs before this one that have no retrospective yet, the oldest of them first."""
    others = (each for each in _unreviewed(place, profile) if each.ids != head.ids)
    return tuple(reversed([*islice(others, MAX_WAITING)]))


def _unreviewed(place: Place, profile: str) -> Iterator[Head]:
    waiting = Compare("data.status", Op.EQ, Status.WAITING.value)
    return heads(place.store, place.scope, both(waiting, Compare("data.profile", Op.EQ, profile)))


def waiting_run(place: Place, profile: str) -> Head | None:
    """Return the newest run that has no retrospective yet."""
    return next(_unreviewed(place, profile), None)


def _told(head: Head, stored: Sequence[StoredEpisode]) -> str:
    phases = [
        f"[{one.episode.name} | T{one.episode.turn_start}-T{one.episode.turn_end}] {one.episode.narrative}"
        for one in stored
    ]
    return "\n".join([f"Run {head.ids.run}. {head.outcome}", *phases])


def lesson_rule(classifier: RetroClassifier) -> Callable[[list[TurnRecord], list[L2Episode]], list[str]] | None:
    """Return the domain's rule for lessons, None where it has none."""
    rule = getattr(classifier, "lessons", None)
    return rule if callable(rule) else None


def fail(place: Place, head: Head, reason: str, calls: int, outcome: str = "") -> Head:
    """Write that a retrospective failed; the run stays closed and waits for the next one. Return its head."""
    _LOG.warning("run %s: no retrospective was written", head.ids.run)
    failed = replace(_counted(head, calls), outcome=outcome or head.outcome).failing(VERB, reason)
    return replace(failed, version=place.store.apply([Put(failed.row(), None, head.version)]).versions[-1])


def _counted(head: Head, calls: int) -> Head:
    return replace(head, calls=head.calls + calls, retries=head.retries + max(calls - 1, 0))


def store(
    place: Place, ended: Ended, reviewed: Reviewed, folder: Path | None, versions: int
) -> tuple[Head, RunSummary]:
    """Write the profile file, then lessons, profile record and, last, the run's head; return it and the summary."""
    known = lessons_of(place, ended.profile)
    foreign = _foreign(place, ended.profile, folder, known) if folder is not None else []
    learned = Learned(
        profile=ended.profile,
        run=ended.head.ids.run,
        found=reviewed.lessons,
        withdrawn=reviewed.withdrawn,
        sources=ended.sources,
        at=place.clock.now(),
    )
    before = {each.id: each for each in (*known, *foreign)}
    changed = {each.id: each for each in learn(before.values(), learned)}
    text = profile_text({**before, **changed}.values(), reviewed.text, ended.head.ids.run)
    path = None if folder is None else write_profile(folder, ended.profile, text, versions)
    written = {**{each.id: each for each in foreign}, **changed}
    head = _closed(ended, reviewed)
    version = place.store.apply(
        [*_puts(place, ended, written.values(), text, folder), _head_put(place, head)]
    ).versions[-1]
    summary = RunSummary(
        run_id=head.ids.run,
        profile_id=ended.profile,
        text=reviewed.text,
        lessons=tuple(ordered(changed.values())),
        path=path,
        calls=reviewed.calls,
        reason=reviewed.reason,
    )
    return replace(head, version=version), summary


def _closed(ended: Ended, reviewed: Reviewed) -> Head:
    head = replace(
        _counted(ended.head, reviewed.calls),
        status=Status.CLOSED,
        outcome=ended.review.context.outcome_summary,
        retrospective=reviewed.text,
        sources=ended.sources,
    )
    return head.failing(VERB, reviewed.reason) if reviewed.reason else head.clear(VERB)


def _head_put(place: Place, head: Head) -> Put:
    vectors, _ = place.searcher.vectors([head.retrospective])
    return Put(head.row(), vectors[0], head.version)


def _puts(place: Place, ended: Ended, lessons: Iterable[Lesson], text: str, folder: Path | None) -> list[Put]:
    rows = [lesson_row(place.scope, each) for each in lessons]
    vectors, _ = place.searcher.vectors([row.text for row in rows]) if rows else ([], None)
    puts = [Put(row, vector) for row, vector in zip(rows, vectors, strict=True)]
    return [*puts, _profile_put(place, ended, text, folder), *(_done(each) for each in ended.waiting)]


def _profile_put(place: Place, ended: Ended, text: str, folder: Path | None) -> Put:
    written = [*folders_of(place, ended.profile), *([str(folder.absolute())] if folder is not None else [])]
    data: dict[str, JSON] = {"run": ended.head.ids.run, "markdown": text, "folders": [*dict.fromkeys(written)]}
    key = Key(place.scope, PROFILE, ended.profile)
    return Put(Record(key=key, text="", at=place.clock.now(), data=data, sources=(ended.head.ids.head(),)))


def _done(head: Head) -> Put:
    return Put(replace(head, status=Status.CLOSED).clear(VERB).row(), None, head.version)


def lessons_of(place: Place, profile: str | None) -> list[Lesson]:
    """Return the lessons of a profile, or of all, in the order of `ordered`."""
    where = None if profile is None else Compare("data.profile", Op.EQ, profile)
    found = pages(place.store, Query(scope=place.scope, kinds=(LESSON,), where=where, k=2_000))
    return ordered(made for hit in found if (made := lesson_of(hit)) is not None)


def profile_text(lessons: Iterable[Lesson], retrospective: str, run: str) -> str:
    """Return a profile as Markdown."""
    lines = [Line(each.text, each.times, each.contradicted_by is not None) for each in ordered(lessons)]
    told = story(retrospective)
    return rendered(lines, f"{run}\n\n{told}" if told else "")


def folders_of(place: Place, profile: str) -> tuple[str, ...]:
    """Return the folders in which a profile's file was written."""
    found = by_keys(place.store, place.scope, [Key(place.scope, PROFILE, profile)])
    return texts(found[0].record.data, "folders") if found else ()


def last_profile(place: Place, profile: str) -> str:
    """Return a profile as it was written last, "" where none was."""
    found = by_keys(place.store, place.scope, [Key(place.scope, PROFILE, profile)])
    return str(found[0].record.data.get("markdown") or "") if found else ""


def _foreign(place: Place, profile: str, folder: Path, known: Sequence[Lesson]) -> list[Lesson]:
    """Return the lessons that others wrote to the profile file since this store did; all, where it never did.

    What this store wrote there itself and has forgotten since does not come back.
    """
    ours = {line.text: line for line in lines_in(last_profile(place, profile))}
    by_text = {each.text: each for each in known}
    found = list[Lesson]()
    for line in lines_in(read_profile(folder, profile)):
        old, mine = ours.get(line.text), by_text.get(line.text)
        more = line.times - (old.times if old else 0)
        if mine is not None and more > 0:
            found.append(replace(mine, times=max(mine.times + more if old else line.times, mine.times)))
        elif mine is None and old is None:
            found.append(_imported(place, profile, line))
    return found


def _imported(place: Place, profile: str, line: Line) -> Lesson:
    return Lesson(
        id=lesson_id(profile, line.text),
        profile=profile,
        text=line.text,
        times=line.times,
        contradicted_by="an earlier run" if line.contradicted else None,
        at=place.clock.now(),
    )
