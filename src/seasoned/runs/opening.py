"""Opening runs and recording turns: which run is under way, and what becomes of a turn that is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import Conflict, InvalidInput
from seasoned.ports import ABSENT, Change, Put
from seasoned.results import Added, Status
from seasoned.runs.head import Head
from seasoned.runs.live import Live, Place, is_open, reopened
from seasoned.runs.models import TurnRecord, stored_turn
from seasoned.runs.reading import head_by_name, newest_head, turns_by_number
from seasoned.runs.rows import Ids, run_name, turn_row

RETRIES: Final = 8
"""How often a write is tried again where another process was faster."""


@dataclass(slots=True)
class Log:
    """The run under way in this process, read from the store at first use. A lock must be held while it is used."""

    place: Place
    live: Live | None = None
    ended: Head | None = None
    known: bool = False

    def current(self, lookback: int) -> Live | None:
        """Return the open run, None where there is none."""
        if not self.known:
            head = newest_head(self.place.store, self.place.scope)
            self.live = reopened(self.place, head, lookback) if head is not None and is_open(head) else None
            self.ended, self.known = head, True
        return self.live

    @property
    def head(self) -> Head | None:
        """The head of the run under way, or of the last one."""
        return self.live.head if self.live is not None else self.ended

    def forget(self) -> None:
        """Read everything from the store again at the next use."""
        self.live, self.ended, self.known = None, None, False

    def start(self, name: str | None, lookback: int) -> Live:
        """Open a run, or go on with the open one of that name.

        Raises:
            InvalidInput: the run of that name is closed.
        """
        current = self.current(lookback)
        if name is None:
            return current if current is not None and not current.numbers else self._opened(None)
        if current is not None and current.head.ids.run == run_name(name):
            return current
        found = head_by_name(self.place.store, Ids(self.place.scope, run_name(name)))
        if found is None:
            return self._opened(name)
        if not is_open(found):
            raise InvalidInput(f"the run {name!r} is over; choose another name for the next one")
        self.live, self.known = reopened(self.place, found, lookback), True
        return self.live

    def _opened(self, name: str | None) -> Live:
        for _ in range(RETRIES):
            head = self._next_head(name)
            try:
                self.place.store.apply([Put(head.row(), None, ABSENT)])
            except Conflict:
                continue
            self.live, self.known = Live(self.place, replace(head, version=1)), True
            return self.live
        raise Conflict(name or "a run", expected="a new name", found="names that others take at the same time")

    def _next_head(self, name: str | None) -> Head:
        newest = newest_head(self.place.store, self.place.scope)
        number = 1 if newest is None else newest.number + 1
        while name is None and head_by_name(self.place.store, Ids(self.place.scope, f"run-{number}")):
            number += 1
        return Head(ids=Ids(self.place.scope, name or f"run-{number}"), number=number, at=self.place.clock.now())

    def record(self, turn: TurnRecord, lookback: int) -> Added:
        """Store a turn.

        Raises:
            InvalidInput: a turn before the last one, or another one of the same number.
        """
        for _ in range(RETRIES):
            live = self.current(lookback) or self._opened(None)
            if turn.turn <= live.last:
                return _repeated(live, turn)
            heat: list[Change] = [*live.heat_puts()]
            row = turn_row(live.head.ids, turn, self.place.clock.now())
            try:
                self.place.store.apply([Put(row, None, ABSENT), *heat])
            except Conflict:
                self.forget()
                continue
            live.numbers.append(turn.turn)
            live.heat = 0
            return Added(id=row.key.id, status=Status.WRITTEN)
        raise Conflict(
            "a turn", expected="one process that writes the run", found="others that write it at the same time"
        )


def _repeated(live: Live, turn: TurnRecord) -> Added:
    stored = turns_by_number(live.place.store, live.head.ids, [turn.turn])
    given = live.place.searcher.stored(turn_row(live.head.ids, turn, live.head.at))
    if stored and stored[0].turn == stored_turn(given.data):
        reason = "this turn is recorded already"
        return Added(id=live.head.ids.turn(turn.turn).id, status=Status.DUPLICATE, reason=reason)
    if stored:
        raise InvalidInput(f"turn {turn.turn} of {live.head.ids.run} is recorded already, with other content")
    raise InvalidInput(
        f"turn {turn.turn} is not after turn {live.last}, the last of {live.head.ids.run}; summarise_run ends a run, "
        "and the turn after it begins the next"
    )
