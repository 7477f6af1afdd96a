"""The steps of an episode around the model: what is due and from what it is written, then how it is stored."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import Conflict
from seasoned.ports import Put
from seasoned.records import Key
from seasoned.runs.episodes import Material, Written
from seasoned.runs.extraction import MAX_SOURCES
from seasoned.runs.live import Live
from seasoned.runs.models import EpisodePromptContext, L2Episode, TurnRecord
from seasoned.runs.policy import RunPolicy
from seasoned.runs.protocols import EpisodeClassifier
from seasoned.runs.reading import atoms_by_id, episodes_before, turns_by_number
from seasoned.runs.rows import Before, Ids, StoredAtom, StoredEpisode, StoredTurn, episode_row

VERB: Final = "update_episode"

MAX_READ: Final = 2_000
"""Most turns that one episode reads; what gathers beyond, while a model is away, the next ones read."""

_LOG: Final = logging.getLogger("seasoned.runs")


@dataclass(frozen=True, slots=True)
class Chapter:
    """What an episode is written from, and how far the run is read with it; `at` is its last turn's time."""

    ids: Ids
    material: Material
    turns: list[StoredTurn]
    upto: int

    @property
    def last(self) -> int:
        """The last turn that is read."""
        return self.turns[-1].turn.turn


def chapter(live: Live, upto: int, classifier: EpisodeClassifier, policy: RunPolicy) -> Chapter | str | None:
    """Return what the next episode is written from; a text says why it cannot be; None where there is nothing."""
    store, ids = live.place.store, live.head.ids
    numbers = live.after(live.head.covered, upto, MAX_READ)
    turns = turns_by_number(store, ids, numbers)
    if not turns:
        return None
    current = live.current()
    shown = [each.turn for each in turns]
    context = _context(classifier, shown, current.episode.turn_end if current else 0)
    if isinstance(context, str):
        return context
    end = upto if len(numbers) < MAX_READ else numbers[-1]
    atoms = [each for each in atoms_by_id(store, ids, live.head.since) if _was_known(each, end, live.last, policy)]
    earlier = [each.episode for each in episodes_before(store, ids, live.head.episodes, policy.max_episodes - 1)]
    material = Material(context, shown, end, atoms, current.episode if current else None, earlier)
    return Chapter(ids, material, turns, end)


def _was_known(atom: StoredAtom, end: int, last: int, policy: RunPolicy) -> bool:
    """Tell whether an atom was there when the run stood at `end`: a late episode reads what it would have read then."""
    every = policy.extract_every
    return end >= last or (max(atom.atom.turn - 1, 0) // every + 1) * every <= end


def _context(classifier: EpisodeClassifier, turns: list[TurnRecord], before: int) -> EpisodePromptContext | str:
    try:
        made: object = classifier.build_context(list(turns), before)
    except Exception as error:  # noqa: BLE001  # the caller's own code: whatever it raises, the run goes on
        return f"the classifier failed: {type(error).__name__}: {error!s:.300}"
    if isinstance(made, EpisodePromptContext):
        return made
    return f"the classifier returned {made!r:.80}, not an EpisodePromptContext"


def phase_rule(classifier: EpisodeClassifier) -> Callable[[list[TurnRecord]], str] | None:
    """Return the domain's rule for phases, None where it has none."""
    rule = getattr(classifier, "phase", None)
    return rule if callable(rule) else None


def fail(live: Live, upto: int, reason: str, calls: int = 0) -> None:
    """Write that an episode failed at a turn; what it was to read waits for the next one."""
    _LOG.warning("run %s, turn %d: no episode was written", live.head.ids.run, upto)
    head = replace(live.head, tried=max(live.head.tried, upto), calls=live.head.calls + calls)
    live.save(replace(head, retries=head.retries + max(calls - 1, 0)).failing(VERB, reason))


def store(live: Live, made: Chapter, written: Written, writer: str) -> L2Episode:
    """Write an episode, new or in the place of the current one that it extends, and return it."""
    stored = _placed(live, made, written, writer)
    head, names = live.head, {each.atom.id for each in made.material.atoms}
    head = replace(
        head,
        covered=max(head.covered, made.last),
        episodes=stored.number,
        since=tuple(name for name in head.since if name not in names),
        calls=head.calls + written.calls,
        retries=head.retries + max(written.calls - 1, 0),
    )
    head = head.failing(VERB, written.reason) if written.reason else head.clear(VERB)
    vectors, _ = live.place.searcher.vectors([stored.episode.narrative])
    row = episode_row(live.head.ids, stored)
    live.save(head, [*_heat_of_old(live, stored), Put(row, vectors[0], stored.version or None)])
    live.heat = 0
    return stored.episode


def _placed(live: Live, made: Chapter, written: Written, writer: str) -> StoredEpisode:
    current, end = live.current(), made.material.end
    sources = [made.ids.atom(each.atom.id) for each in made.material.atoms]
    if current is not None and current.episode.name == written.name:
        united = tuple(dict.fromkeys((*current.sources, *sources)))
        if len(united) <= MAX_SOURCES:
            episode = replace(current.episode, turn_end=max(end, current.episode.turn_end), narrative=written.narrative)
            old = Before(current.episode.turn_end, current.episode.narrative, len(current.sources))
            extended = replace(current, episode=episode, sources=united, at=made.turns[-1].at, upto=made.last)
            return replace(extended, writer=writer, before=old)
    before = current.episode.turn_end if current is not None else 0
    start = written.start if written.start is not None and before < written.start <= end else made.material.start
    return StoredEpisode(
        L2Episode(written.name, start, end, written.narrative),
        live.head.episodes + 1,
        tuple(sources) or _turn_keys(made),
        made.turns[-1].at,
        made.last,
        writer,
    )


def _turn_keys(made: Chapter) -> tuple[Key, ...]:
    """Return the turns themselves, where no atom stands between."""
    return tuple(made.ids.turn(each.turn.turn) for each in made.turns)[-MAX_SOURCES:]


def _heat_of_old(live: Live, stored: StoredEpisode) -> list[Put]:
    return live.heat_puts() if stored.number != live.head.episodes else []


def still(live: Live | None, ids: Ids) -> Live:
    """Return the run if it is still the one under way.

    Raises:
        Conflict: it was closed or forgotten meanwhile.
    """
    if live is None or live.head.ids != ids:
        raise Conflict(ids.head(), expected="an open run", found="it was closed or forgotten")
    return live
