"""What forgetting leaves of runs: a run stays a run, and a profile a profile, without what is gone.

So both are written anew where other derived records go: the head of a run without outcome and retrospective, which were
written from all its turns, or without its lessons where one of them is gone; a profile, its record and its file, from
the lessons that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.cascade import Asked, Remade, by_keys
from seasoned.following import pages
from seasoned.ports import Put, Store
from seasoned.query import Compare, Op, Query
from seasoned.records import Hit, Key, Record, text_field
from seasoned.runs.left_profiles import LeftProfile
from seasoned.runs.retrospective import story
from seasoned.runs.rows import ATOM, EPISODE, LESSON, PROFILE, RUN, TURN, texts, whole

_PAGE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Unlearning:
    """Writes run heads and profiles anew without what is forgotten; a `Remaker`."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Run heads and profiles."""
        return (RUN, PROFILE)

    def follows(self, store: Store, keys: Sequence[Key]) -> Iterable[Key]:
        """Return the episodes that tell of forgotten turns, whether or not an atom stood between."""
        turns: dict[Key, set[int]] = {}
        for key in keys:
            number = key.id.rpartition("/")[2]
            if key.kind == TURN and number.isascii() and number.isdigit():
                turns.setdefault(_run_of(key), set()).add(int(number))
        return [key for run, numbers in turns.items() for key in _telling(store, run, numbers)]

    def remade(self, store: Store, asked: Asked) -> Remade:
        """Return what is left of heads and profiles, and write or remove the profiles' files unless it is a dry run."""
        heads = {hit.record.key: (hit.record, _emptied(hit.record, asked)) for hit in _losing(store, asked)}
        for hit in _quoting(store, asked):
            heads.setdefault(hit.record.key, (hit.record, _without_lessons(hit.record)))
        puts = [Put(new, None, old.version) for old, new in heads.values() if new != old]
        return _with_profiles(store, asked, {key: new for key, (_, new) in heads.items()}, puts)


def _run_of(key: Key) -> Key:
    """Return the key of the run of a turn, atom or episode."""
    return Key(key.scope, RUN, _unescaped(key.id.partition("/")[0]))


def _unescaped(name: str) -> str:
    return name.replace("%2F", "/").replace("%25", "%")


def _telling(store: Store, run: Key, numbers: set[int]) -> Iterator[Key]:
    """Yield the episodes of a run that were written from turns of these numbers."""
    after = -1
    for hit in sorted(
        _of(store, run, EPISODE, "data.run", run.id), key=lambda each: whole(each.record.data, "number") or 0
    ):
        data = hit.record.data
        start, end = whole(data, "turn_start") or 0, max(whole(data, "turn_end") or 0, whole(data, "upto") or 0)
        if any(min(start, after + 1) <= number <= end for number in numbers):
            yield hit.record.key
        after = max(after, end)


def _of(store: Store, near: Key, kind: str, field: str, value: str) -> Iterator[Hit]:
    query = Query(scope=near.scope, kinds=(kind,), where=Compare(field, Op.EQ, value), k=_PAGE)
    for page in pages(store, query):
        yield from page.hits


def _losing(store: Store, asked: Asked) -> Iterator[Hit]:
    """Yield the heads of the runs that lose a turn, or what was made of one; those that go themselves left out."""
    runs = [_run_of(key) for key in asked.gone if key.kind in (TURN, ATOM, EPISODE)]
    return _there(store, asked, [*runs, *(key for key in asked.derived if key.kind == RUN)])


def _quoting(store: Store, asked: Asked) -> Iterator[Hit]:
    """Yield the heads of the runs in which a lesson that goes was found: their retrospectives have it, too."""
    lessons = [key for key in asked.gone if key.kind == LESSON]
    found = (hit.record for scope in {key.scope for key in lessons} for hit in by_keys(store, scope, lessons))
    return _there(store, asked, [Key(one.key.scope, RUN, run) for one in found for run in texts(one.data, "runs")])


def _there(store: Store, asked: Asked, runs: Iterable[Key]) -> Iterator[Hit]:
    wanted = [key for key in dict.fromkeys(runs) if key not in asked.gone]
    for scope in {key.scope for key in wanted}:
        yield from (hit for hit in by_keys(store, scope, wanted) if hit.record.key.scope == scope)


def _emptied(head: Record, asked: Asked) -> Record:
    """Return a head without what was written of its run; one under way changes only where bytes are erased."""
    data, sources = head.data, tuple(key for key in head.sources if key not in asked.gone)
    said = bool(head.text or data.get("outcome"))
    if not said and not (asked.hard and data.get("errors")) and sources == head.sources:
        return head
    return replace(head, text="", data={**data, "outcome": "", "errors": []}, sources=sources)


def _without_lessons(head: Record) -> Record:
    """Return a head whose retrospective tells no lesson; where they do not stand apart in it, none is left."""
    told = story(head.text)
    return replace(head, text="" if told == head.text else told)


def _with_profiles(store: Store, asked: Asked, heads: Mapping[Key, Record], puts: Sequence[Put]) -> Remade:
    left, gone, files = list(puts), list[Key](), dict[str, str]()
    for key in _profiles(asked, heads.values()):
        for hit in by_keys(store, key.scope, [key]):
            profile = LeftProfile(store, hit.record, asked, heads)
            files |= profile.files()
            if key not in asked.gone and profile.nothing_left and asked.hard:
                gone.append(key)
            elif key not in asked.gone and profile.changed:
                left.append(Put(profile.record(), None, hit.record.version))
    return Remade(puts=tuple(left), gone=tuple(gone), files=files)


def _profiles(asked: Asked, heads: Iterable[Record]) -> list[Key]:
    """Return the profiles that may tell of what goes."""
    found = [key for key in (*asked.gone, *asked.derived) if key.kind == PROFILE]
    lessons = [key for key in asked.gone if key.kind == LESSON]
    found += [Key(key.scope, PROFILE, _unescaped(key.id.partition("/")[0])) for key in lessons]
    named = [(head.key.scope, text_field(head.data, "profile")) for head in heads]
    return list(dict.fromkeys([*found, *(Key(scope, PROFILE, name) for scope, name in named if name)]))
