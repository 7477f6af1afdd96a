"""What a conversation is made of: units that stand or fall together, in exchanges that a user message opens.

A unit is one message, or an assistant's message that calls tools with all the results right behind it. Results that
arrive late are put behind their call; a result without a call, and a call without all its results, are no unit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from seasoned.conversation.cutting import cut_message
from seasoned.conversation.messages import SYSTEM_ROLES, call_ids, result_id
from seasoned.ports import Message
from seasoned.tokens import Counter

CUT_ROLES: Final = ("assistant", "tool", "function")
"""Roles whose messages are cut where they are longer than an item may be."""

MAX_CUT: Final = 1_000
"""Most cut messages that are kept at hand for one conversation."""

ORPHAN: Final = "a result without its call"
WAITING: Final = "a call without all its results"
REPEATED: Final = "the same system message again"


@dataclass(frozen=True, slots=True)
class Turn:
    """One stored message: its id, where it stands, and what it counts."""

    id: str
    order: int
    message: Message
    tokens: int

    @property
    def role(self) -> str:
        """Who speaks."""
        return str(self.message["role"])


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that are kept or left out together."""

    turns: tuple[Turn, ...]

    @property
    def order(self) -> int:
        """Where its first message stands."""
        return self.turns[0].order

    @property
    def role(self) -> str:
        """Who speaks first."""
        return self.turns[0].role


@dataclass(slots=True)
class _Call:
    turn: Turn
    missing: set[str]
    results: list[Turn] = field(default_factory=list)


class Layout:
    """The units of one conversation as one counter counts them; turns are added in their order."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.system: list[Turn] = []
        self.units: list[Unit] = []
        self.heads: list[int] = []
        """For each unit the place of the user message that opens its exchange, -1 before the first."""
        self.turns_before: list[int] = [0]
        """How many messages stand before each unit, and in all."""
        self.ids: list[str] = []
        """The id of each message of the units, in order."""
        self.survivors: dict[Hashable, frozenset[int]] = {}
        """What was chosen to survive a cut, by all that the choice depends on but the units before the cut."""
        self._ends: dict[int, list[int]] = {}
        self._cut: dict[tuple[int, int], tuple[Message, int, bool]] = {}
        self._calls: dict[str, _Call] = {}
        self._waiting: dict[int, _Call] = {}
        self._orphans: list[str] = []
        self._repeated: list[str] = []
        self._unverified: set[int] = set()
        self._trusting = True

    def add(self, turn: Turn, *, stored: bool = False) -> None:
        """Add the next turn; `stored` tells that its count was read, not made here."""
        if stored and self._trusting:
            self._unverified.add(turn.order)
        elif stored:
            turn = self._counted(turn)
        result = result_id(turn.message)
        ids = call_ids(turn.message)
        if turn.role in SYSTEM_ROLES:
            self._add_system(turn)
        elif result is not None:
            self._add_result(result, turn)
        elif ids:
            call = self._waiting[turn.order] = _Call(turn, set(ids))
            self._calls.update(dict.fromkeys(ids, call))
        else:
            self._place(Unit((turn,)))

    def verify(self, shown: Iterable[Turn]) -> bool:
        """Tell whether the stored counts of what is shown are right; each is counted once, and then known."""
        for turn in shown:
            if turn.order in self._unverified:
                if self.counter.one(turn.message) != turn.tokens:
                    return False
                self._unverified.discard(turn.order)
        return True

    def recount(self) -> None:
        """Count every message anew, and those that come later, since a stored count was wrong."""
        self.units = [Unit(tuple(self._counted(turn) for turn in unit.turns)) for unit in self.units]
        for call in self._waiting.values():
            call.turn, call.results = self._counted(call.turn), [self._counted(turn) for turn in call.results]
        self._unverified.clear()
        self._trusting = False
        for known in (self._ends, self._cut, self.survivors):
            known.clear()

    def _counted(self, turn: Turn) -> Turn:
        return replace(turn, tokens=self.counter.one(turn.message))

    def _add_system(self, turn: Turn) -> None:
        if any(turn.message == other.message for other in self.system):
            self._repeated.append(turn.id)
        else:
            self.system.append(turn)

    def _add_result(self, name: str, turn: Turn) -> None:
        call = self._calls.pop(name, None)
        if call is None:
            self._orphans.append(turn.id)
            return
        call.missing.discard(name)
        call.results.append(turn)
        if not call.missing:
            del self._waiting[call.turn.order]
            self._place(Unit((call.turn, *call.results)))

    def _place(self, unit: Unit) -> None:
        at = len(self.units)
        if at and self.units[-1].order > unit.order:
            at = bisect_left(self.units, unit.order, key=lambda each: each.order)
        self.units.insert(at, unit)
        for ends in self._ends.values():
            del ends[at:]
        if at + 1 < len(self.units):
            self.survivors.clear()
        del self.heads[at:], self.ids[self.turns_before[at] :], self.turns_before[at + 1 :]
        for place in range(at, len(self.units)):
            opens = self.units[place].role == "user"
            self.heads.append(place if opens else self.heads[-1] if self.heads else -1)
            self.ids.extend(turn.id for turn in self.units[place].turns)
            self.turns_before.append(self.turns_before[-1] + len(self.units[place].turns))

    def ends(self, cap: int) -> list[int]:
        """Return for each unit how many tokens it and all before it count, items cut to `cap`."""
        ends = self._ends.get(cap)
        if ends is None:
            if len(self._ends) >= 8:
                self._ends.clear()
            ends = self._ends[cap] = []
        for unit in self.units[len(ends) :]:
            ends.append((ends[-1] if ends else 0) + self.unit_tokens(unit, cap))
        return ends

    def unit_tokens(self, unit: Unit, cap: int) -> int:
        """Return what a unit counts, items cut to `cap`."""
        return sum(turn.tokens if turn.tokens <= cap else self._cut_tokens(turn, cap) for turn in unit.turns)

    def _cut_tokens(self, turn: Turn, cap: int) -> int:
        return self.shown(turn, cap)[1]

    def shown(self, turn: Turn, cap: int) -> tuple[Message, int, bool]:
        """Return a turn as a context shows it, what that counts, and whether it was cut; not a copy."""
        if turn.tokens <= cap or turn.role not in CUT_ROLES:
            return turn.message, turn.tokens, False
        known = self._cut.get((turn.order, cap))
        if known is None:
            if len(self._cut) >= MAX_CUT:
                self._cut.clear()
            cut = cut_message(turn.message, turn.id, lambda message: self.counter.one(message) <= cap)
            known = (turn.message, turn.tokens, False) if cut is None else (cut, self.counter.one(cut), True)
            self._cut[turn.order, cap] = known
        return known

    def newest_user(self) -> int:
        """Return the place of the newest user message, -1 where there is none."""
        return self.heads[-1] if self.heads else -1

    def never_shown(self) -> Iterator[tuple[str, str]]:
        """Give the id of each message that no context shows, and why."""
        yield from ((name, ORPHAN) for name in self._orphans)
        for call in self._waiting.values():
            yield from ((turn.id, WAITING) for turn in (call.turn, *call.results))
        yield from ((name, REPEATED) for name in self._repeated)
