"""Ready-made rules that find atoms, alone or combined: frozen, and the same however the turns are cut into windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import finite
from seasoned.runs.figures import number
from seasoned.runs.models import COORDINATION_EVENT, MARKET_EVENT, PORTFOLIO_EVENT, L1Atom, TurnRecord, atom_id
from seasoned.runs.protocols import AtomExtractor

Direction: TypeAlias = Literal["up", "down", "both"]
_DIRECTIONS: Final = ("up", "down", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What every rule takes: the type, the priority and the tags of its atoms."""

    type: str = MARKET_EVENT
    priority: int = 60
    tags: tuple[str, ...] = ()

    @property
    def lookback(self) -> int:
        """How many turns before the new ones it must see."""
        return 1

    def _atom(self, turn: int, tag: str, said: str, turns: Sequence[int]) -> L1Atom:
        return L1Atom(
            id=atom_id(turn, tag),
            turn=turn,
            type=self.type,
            content=f"T{turn}: {said}.",
            priority=self.priority,
            tags=[tag, *self.tags],
            turns=[*turns],
        )


@dataclass(frozen=True, slots=True)
class Crossing(Rule):
    """An atom where a value passes a threshold: `up` to it or above, `down` below it, or `both`."""

    field: str
    threshold: float
    direction: Direction = "both"

    def __post_init__(self) -> None:
        finite(self.threshold, "a threshold")
        _check_direction(self.direction)

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:  # noqa: ARG002  # the protocol's form
        """Return the crossings of a window."""
        atoms, limit = list[L1Atom](), number(self.threshold)
        for before, turn, old, new in _neighbours(window, self.field):
            way = "up" if old < self.threshold <= new else "down" if new < self.threshold <= old else None
            if way is not None and self.direction in (way, "both"):
                verb = "rose to" if way == "up" else "fell to"
                said = f"{self.field} {verb} {number(new)}, {'over' if way == 'up' else 'under'} {limit}"
                atoms.append(self._atom(turn, f"{self.field}_{way}_{limit}", said, [before, turn]))
        return atoms


@dataclass(frozen=True, slots=True)
class SignChange(Rule):
    """An atom where a value turns negative, or stops to be; 0 is not negative."""

    field: str = "reward"
    _: KW_ONLY
    priority: int = 80

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:  # noqa: ARG002  # as above
        """Return the changes of sign in a window."""
        atoms = list[L1Atom]()
        for before, turn, old, new in _neighbours(window, self.field):
            if (old < 0) != (new < 0):
                way = "negative" if new < 0 else "positive"
                said = f"{self.field} turned {way}, from {number(old)} to {number(new)}"
                atoms.append(self._atom(turn, f"{self.field}_{way}", said, [before, turn]))
        return atoms


@dataclass(frozen=True, slots=True)
class Streak(Rule):
    """An atom at the turn where a value has stood below (or above) a bound for so many consecutive turns."""

    length: int
    field: str = "reward"
    below: float | None = None
    above: float | None = None
    _: KW_ONLY
    priority: int = 85

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int):
            raise WrongType(f"a streak's length is an integer, not {self.length!r}")
        if self.length < 2:
            raise InvalidInput(f"a streak has at least 2 turns, found {self.length}")
        if self.below is not None and self.above is not None:
            raise InvalidInput("a streak is below or above a bound, not both")
        if self.below is None and self.above is None:
            object.__setattr__(self, "below", 0.0)

    @property
    def lookback(self) -> int:
        """As many turns as the streak has."""
        return self.length

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:  # noqa: ARG002  # as above
        """Return the streaks that became full in a window."""
        atoms, hold = list[L1Atom](), [self._holds(value_of(turn, self.field)) for turn in window]
        for place in range(max(_fresh(window), self.length - 1), len(window)):
            start = place - self.length + 1
            if all(hold[start : place + 1]) and not (start > 0 and hold[start - 1]):
                atoms.append(self._full([turn.turn for turn in window[start : place + 1]]))
        return atoms

    def _full(self, turns: list[int]) -> L1Atom:
        side, bound = ("below", self.below) if self.below is not None else ("above", self.above)
        limit = number(bound or 0.0)
        said = f"{self.field} {side} {limit} for {self.length} turns, since T{turns[0]}"
        return self._atom(turns[-1], f"{self.field}_{side}_{limit}_for_{self.length}", said, turns)

    def _holds(self, value: float | None) -> bool:
        if value is None:
            return False
        return value < self.below if self.below is not None else self.above is not None and value > self.above


@dataclass(frozen=True, slots=True)
class NewExtreme(Rule):
    """An atom where a value passes all those of the `within` turns before, at least `least` of them.

    Of a row of new extremes the first is one; the next comes after a turn that was none.
    """

    field: str = "reward"
    within: int = 50
    least: int = 5
    direction: Direction = "both"

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.within:
            raise InvalidInput(f"least lies between 1 and within, found {self.least} and {self.within}")
        _check_direction(self.direction)

    @property
    def lookback(self) -> int:
        """One turn more than it compares with, to know what the turn before was."""
        return self.within + 1

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:  # noqa: ARG002  # as above
        """Return the new extremes of a window."""
        atoms, values = list[L1Atom](), [value_of(turn, self.field) for turn in window]
        for place in range(_fresh(window), len(window)):
            for way in ("up", "down"):
                if self.direction not in (way, "both") or not self._extreme(values, place, way):
                    continue
                if not self._extreme(values, place - 1, way):
                    turn, value = window[place].turn, values[place]
                    said = f"{self.field} {number(value or 0.0)}, the {'highest' if way == 'up' else 'lowest'}"
                    tag = f"{self.field}_new_{'high' if way == 'up' else 'low'}"
                    atoms.append(self._atom(turn, tag, f"{said} in {self.within} turns", [turn]))
        return atoms

    def _extreme(self, values: Sequence[float | None], place: int, way: str) -> bool:
        value = values[place] if place >= 0 else None
        before = [each for each in values[max(0, place - self.within) : max(0, place)] if each is not None]
        if value is None or len(before) < self.least:
            return False
        return value > max(before) if way == "up" else value < min(before)


@dataclass(frozen=True, slots=True)
class ActionChange(Rule):
    """An atom where other kinds of action are taken than in the turn before; `key` is the field that says the kind."""

    key: str = "type"
    _: KW_ONLY
    type: str = PORTFOLIO_EVENT
    priority: int = 50

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:  # noqa: ARG002  # as above
        """Return the changes of action in a window."""
        atoms, kinds = list[L1Atom](), [self._kinds(turn) for turn in window]
        for place in range(max(_fresh(window), 1), len(window)):
            if kinds[place] != kinds[place - 1]:
                turn = window[place].turn
                said = f"action changed from {_listed(kinds[place - 1])} to {_listed(kinds[place])}"
                atoms.append(self._atom(turn, "action_changed", said, [window[place - 1].turn, turn]))
        return atoms

    def _kinds(self, turn: TurnRecord) -> frozenset[str]:
        return frozenset(str(action[self.key]) for action in turn.actions_taken if self.key in action)


@dataclass(frozen=True, slots=True, init=False)
class NamedEvent(Rule):
    """An atom for each event of one of the names, or for any event where there are none."""

    names: tuple[str, ...]

    def __init__(
        self,
        *names: str,
        type: str = MARKET_EVENT,  # noqa: A002  # the field's name everywhere
        priority: int = 70,
        tags: Iterable[str] = (),
    ) -> None:
        _set(self, names=_all_strings(names), type=type, priority=priority, tags=tuple(tags))

    @property
    def lookback(self) -> int:
        """One turn, as every rule has."""
        return 1

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:  # noqa: ARG002  # as above
        """Return the events of a window."""
        return [
            self._atom(turn.turn, event, f"{event} happened", [turn.turn])
            for turn in window[_fresh(window) :]
            for event in dict.fromkeys(turn.events)
            if event.strip() and (not self.names or event in self.names)
        ]


@dataclass(frozen=True, slots=True, init=False)
class Combined:
    """The atoms of several rules, in their order; it looks back as far as the one that looks furthest."""

    extractors: tuple[AtomExtractor, ...]

    def __init__(self, *extractors: AtomExtractor) -> None:
        for each in extractors:
            if not isinstance(each, AtomExtractor):
                raise WrongType(f"an extractor has extract(window, existing_atoms), {each!r:.80} has not")
        _set(self, extractors=extractors)

    @property
    def lookback(self) -> int:
        """The most that any of them asks for."""
        asked = [getattr(each, "lookback", 1) for each in self.extractors]
        return max((each for each in asked if isinstance(each, int)), default=1)

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:
        """Return the atoms of all."""
        return [atom for each in self.extractors for atom in each.extract(window, existing_atoms)]


def value_of(turn: TurnRecord, field: str) -> float | None:
    """Return a number of a turn: its reward, or a field of `extra`, nested ones by dots; None where it has none."""
    if field == "reward":
        return turn.reward
    found: object = turn.extra.get(field)
    if found is None and "." in field:
        found = turn.extra
        for part in field.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _neighbours(window: list[TurnRecord], field: str) -> Iterator[tuple[int, int, float, float]]:
    """Yield the turns and values of neighbours of which the second is new; turns without a value are passed over."""
    known = [(place, value) for place, turn in enumerate(window) if (value := value_of(turn, field)) is not None]
    for (before, old), (place, new) in pairwise(known):
        if place >= _fresh(window):
            yield window[before].turn, window[place].turn, old, new


def _fresh(window: list[TurnRecord]) -> int:
    fresh = getattr(window, "fresh", 0)
    return fresh if isinstance(fresh, int) else 0


def _listed(kinds: frozenset[str]) -> str:
    return ", ".join(sorted(kinds)) or "none"


def _check_direction(direction: object) -> None:
    if direction not in _DIRECTIONS:
        raise InvalidInput(f"a direction is one of {', '.join(_DIRECTIONS)}, not {direction!r}")


def _all_strings(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not isinstance(name, str):
            raise WrongType(f"an event's name is a string, not {name!r:.80}")
    return names


def _set(made: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(made, name, value)


__all__ = [
    "COORDINATION_EVENT", "MARKET_EVENT", "PORTFOLIO_EVENT", "ActionChange", "Combined", "Crossing", "NamedEvent",
    "NewExtreme", "SignChange", "Streak", "value_of",
]  # fmt: skip
