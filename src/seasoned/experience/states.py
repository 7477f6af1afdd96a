"""The states of a table, by name: how alike each is to the state that is asked about, without a loop over records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seasoned.experience.growing import Growing
from seasoned.experience.metrics import State, is_number, span, stress
from seasoned.experience.policy import ExperiencePolicy, MetricRules

Floats = NDArray[np.float32]

_BASE = 0.25
"""What a metric at its good end counts; one at its bad end counts 1 more."""
_LARGEST = 1e18
"""Values beyond it count as it, so that no difference overflows."""
_NARROWEST = 1e-30
"""The least width of a range."""


class _Values:
    """The values of one name: the slots that have it, and what they have; numbers, or codes of other values."""

    __slots__ = ("_slots", "_values", "high", "low")

    def __init__(self) -> None:
        self._slots: Growing[np.int64] = Growing(np.int64)
        self._values: Growing[np.float32] = Growing(np.float32)
        self.low, self.high = np.inf, -np.inf

    def add(self, slot: int, value: float) -> None:
        """Add what a new slot has."""
        clipped = _clipped(value)
        self._slots.append(slot)
        self._values.append(clipped)
        if clipped < self.low:
            self.low = clipped
        if clipped > self.high:
            self.high = clipped

    @property
    def slots(self) -> NDArray[np.int64]:
        """The slots, rising."""
        return self._slots.view

    @property
    def values(self) -> NDArray[np.float32]:
        """What they have."""
        return self._values.view

    def at(self, asked: NDArray[np.int64]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the values of some slots, 0 where there is none, and where there is one."""
        slots = self.slots
        places = np.minimum(np.searchsorted(slots, asked), len(slots) - 1)
        here = slots[places] == asked
        return np.where(here, self.values[places], np.float32(0)), here

    def places(self) -> slice | NDArray[np.int64]:
        """Return the slots, as a slice where they follow each other."""
        slots = self.slots
        if len(slots) and slots[-1] - slots[0] + 1 == len(slots):
            return slice(int(slots[0]), int(slots[-1]) + 1)
        return slots


class States:
    """The states of all slots."""

    def __init__(self, rules: MetricRules) -> None:
        self._rules = rules
        self._numbers: dict[str, _Values] = {}
        self._others: dict[str, _Values] = {}
        self._codes: dict[str, int] = {}

    def add(self, slot: int, state: State) -> None:
        """Take in the state of a new slot, greater than all before."""
        for name, value in state.items():
            if is_number(value):
                _held(self._numbers, name).add(slot, float(value))  # type: ignore[arg-type]  # a number
            else:
                _held(self._others, name).add(slot, self._code(value))

    def _code(self, value: object) -> int:
        return self._codes.setdefault(repr(value), len(self._codes))

    def likeness(self, asked: State, size: int, policy: ExperiencePolicy) -> Floats:
        """Return how alike each slot's state is to the one asked about, 0 to 1, shape (size,).

        What a slot does not say of what is asked counts as `policy.unknown`.
        """
        distance, partly = np.zeros(size, np.float32), np.zeros(size, np.float32)
        total, wholly = 0.0, 0.0
        for name, value in asked.items():
            weight = _BASE + stress(name, value, self._rules)
            total += weight
            held = (self._numbers if is_number(value) else self._others).get(name)
            if held is None or not len(held.slots):
                continue
            places = held.places()
            distance[places] += self._away(name, held, value, weight)
            if len(held.slots) == size:
                wholly += weight
            else:
                partly[places] += np.float32(weight)
        shared = partly if wholly == 0 else np.add(partly, np.float32(wholly), out=partly)
        return _alike(distance, shared, total, policy)

    def _away(self, name: str, held: _Values, value: object, weight: float) -> Floats:
        """Return how far the values of one name are from the one asked about, 0 to `weight`."""
        if not is_number(value):
            apart: Floats = (held.values != self._codes.get(repr(value), -1)) * np.float32(weight)
            return apart
        point = _clipped(float(value))  # type: ignore[arg-type]  # a number
        seen = min(held.low, point), max(held.high, point)
        low, high = span(name, *seen, self._rules)
        with np.errstate(over="ignore"):
            away: Floats = np.abs(held.values - np.float32(point))
            away *= np.float32(weight / max(high - low, _NARROWEST))
        return away if low <= seen[0] and seen[1] <= high else np.minimum(away, np.float32(weight), out=away)

    def pairwise(self, slots: Sequence[int], scale: float) -> Floats:
        """Return how alike the states of each two slots are, 1 where neither says anything, shape (n, n)."""
        asked = np.asarray(slots, np.int64)
        distance, shared = np.zeros((2, len(asked), len(asked)), np.float32)
        for name, held in self._numbers.items():
            self._apart(held, asked, distance, shared, span(name, held.low, held.high, self._rules))
        for held in self._others.values():
            self._apart(held, asked, distance, shared, None)
        alike: Floats = np.exp(-distance / np.maximum(shared, 1) / np.float32(scale))
        return alike

    def _apart(
        self,
        held: _Values,
        asked: NDArray[np.int64],
        distance: Floats,
        shared: Floats,
        ends: tuple[float, float] | None,
    ) -> None:
        """Add the distances in one name; where only one of two has it, they are as far apart as can be."""
        values, here = held.at(asked)
        if not here.any():
            return
        either, both = here[:, None] | here[None, :], here[:, None] & here[None, :]
        apart = np.abs(values[:, None] - values[None, :])
        apart = (apart != 0).astype(np.float32) if ends is None else _share(apart, ends)
        shared += either
        distance += np.where(both, apart, either)


def _held(by_name: dict[str, _Values], name: str) -> _Values:
    held = by_name.get(name)
    if held is None:
        held = by_name[name] = _Values()
    return held


def _clipped(value: float) -> float:
    return value if -_LARGEST < value < _LARGEST else (_LARGEST if value > 0 else -_LARGEST)


def _share(apart: Floats, ends: tuple[float, float]) -> Floats:
    with np.errstate(over="ignore"):
        found: Floats = np.minimum(apart / np.float32(max(ends[1] - ends[0], _NARROWEST)), np.float32(1))
    return found


def _alike(distance: Floats, shared: Floats, total: float, policy: ExperiencePolicy) -> Floats:
    """Return likenesses from distances over weights that are shared with what is asked, of `total` asked."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distance /= shared
        distance *= np.float32(-1 / policy.metric_scale)
        alike: Floats = np.exp(distance, out=distance)
    if shared.size and float(shared.min()) <= 0:
        alike[shared <= 0] = 0
    share = np.minimum(shared * np.float32(1 / total if total else 0.0), np.float32(1))
    alike -= np.float32(policy.unknown)
    alike *= share
    alike += np.float32(policy.unknown)
    return alike
