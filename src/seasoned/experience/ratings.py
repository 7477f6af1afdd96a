"""Writing what people say, and reading what was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from seasoned.errors import Conflict, InvalidInput, NotFound
from seasoned.experience.feedback import OutcomeFeedback
from seasoned.experience.forms import DECISION, FEEDBACK, TRAJECTORY, feedback_record
from seasoned.experience.ledger import Ledger
from seasoned.ports import ABSENT, Clock, Put, Store
from seasoned.records import Key, Scope, checked_id
from seasoned.results import Added, Status
from seasoned.search import Searcher

RETRIES: Final = 1_000
"""How many ids are tried where other processes rate the same episode at once."""


class Ratings:
    """The feedback of one scope."""

    def __init__(self, store: Store, scope: Scope, searcher: Searcher, clock: Clock, ledger: Ledger) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._clock = clock
        self._ledger = ledger

    def store(self, feedback: OutcomeFeedback, episode: str | None, decisions: Sequence[str], *, early: bool) -> Added:
        """Write feedback under the next free id; a time ahead of the clock counts as now."""
        vectors, failed = self._searcher.vectors([feedback.unexpected_effects])
        heard = replace(feedback, submitted_at=min(feedback.submitted_at, self._clock.now()))
        base = f"fb_{episode or decisions[0]}"
        with self._ledger.lock:
            self._ledger.follow()
            sources = self._sources(episode, decisions, early)
            taken = sum(name == base or name.startswith(f"{base}#") for name in self._ledger.book.said)
        for number in range(taken + 1, taken + 1 + RETRIES):
            name = base if number == 1 else f"{base}#{number}"
            record = feedback_record(Key(self._scope, FEEDBACK, name), heard, episode, decisions, sources)
            try:
                self._store.apply([Put(record, vectors[0], ABSENT)])
            except Conflict:
                continue
            return Added(id=name, status=Status.WRITTEN, reason=f"degraded: {failed}" if failed else None)
        raise Conflict(base, expected="a free id", found="other writers ahead at every try")

    def _sources(self, episode: str | None, decisions: Sequence[str], early: bool) -> tuple[Key, ...]:
        """Return what feedback is about: its decisions; or the episode's trajectories; or its decisions."""
        place = str(self._scope)
        missing = [name for name in decisions if name not in self._ledger.decisions.slots]
        if missing:
            raise NotFound(f"no decision {missing[0]!r} in {place}; nothing was stored")
        if decisions:
            return tuple(Key(self._scope, DECISION, name) for name in decisions)
        if episode is not None and not early and not self._ledger.known_episode(episode):
            raise NotFound(
                f"nothing is stored of the episode {episode!r} in {place}: record a decision or trajectory with that"
                " episode first (early=True stores feedback all the same)"
            )
        for kind in (TRAJECTORY, DECISION):
            table = self._ledger.table(kind)
            if slots := table.episodes.get(episode or ""):
                return tuple(Key(self._scope, kind, table.ids[slot]) for slot in slots)
        return ()

    def history(self, episode: str | None, decision: str | None) -> list[OutcomeFeedback]:
        """Return all feedback on an episode, or on a decision and its episode; the one that stands is the last.

        Raises:
            InvalidInput: both or neither.
        """
        if (episode is None) == (decision is None):
            raise InvalidInput("ask either for an episode or for a decision")
        name = checked_id(episode if decision is None else decision, "an episode or decision")
        with self._ledger.lock:
            self._ledger.follow()
            book, table = self._ledger.book, self._ledger.decisions
            if decision is None:
                found = [*book.by_episode.get(name, ())]
            else:
                slot = table.slots.get(name)
                of = None if slot is None else table.episode_of(slot)
                found = [*book.by_decision.get(name, ()), *book.by_episode.get(of or "", ())]
            return [one.feedback for one in sorted(found, key=lambda one: one.when)]
