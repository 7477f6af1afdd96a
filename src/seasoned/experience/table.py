"""The decisions or the trajectories of a scope as columns: what filters and ranking read of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.experience.forms import Entry
from seasoned.experience.growing import Growing
from seasoned.experience.policy import MetricRules
from seasoned.experience.situations import Situations
from seasoned.experience.states import States
from seasoned.index import Names

Bools = NDArray[np.bool_]

_COLUMNS: Final[Mapping[str, str]] = {
    "alive": "|b1",
    "order": "<i8",
    "at": "<i8",
    "until": "<i8",
    "copy": "<i8",
    "situation": "<i4",
    "action": "<i4",
    "domain": "<i4",
    "personality": "<i4",
    "episode": "<i4",
    "group": "<i4",
    "loose": "|b1",
    "reward": "<f8",
    "basis": "<f8",
    "value": "<f8",
    "human": "<f4",
    "rating": "<f4",
}
_LARGEST: Final = 1e150
"""Rewards beyond it count as it, so that no square overflows."""

_NAMED: Final = ("action", "domain", "personality", "episode")


@dataclass(frozen=True, slots=True)
class Tally:
    """For each group: how many there are, and what can be relied on, 0 to 1."""

    count: NDArray[np.int64]
    confidence: NDArray[np.float64]

    @classmethod
    def of(cls, groups: NDArray[np.generic], rewards: NDArray[np.generic], size: int) -> Tally:
        """Return the tally of rewards, NaN where unknown.

        Of n rewards, n / (n + 2) can be relied on where they are equal, and half of that where they differ among
        themselves as much as all do.
        """
        codes = groups.astype(np.int64)
        known = ~np.isnan(rewards.astype(np.float64))
        values = np.clip(rewards.astype(np.float64)[known], -_LARGEST, _LARGEST)
        count = np.bincount(codes, minlength=size)
        number = np.maximum(np.bincount(codes[known], minlength=size), 1)
        spread = float(values.var()) if len(values) else 0.0
        mean = np.bincount(codes[known], values, size) / number
        square = np.bincount(codes[known], (values - mean[codes[known]]) ** 2, size) / number
        consistent = 1 / (1 + square / spread) if spread > 0 else np.ones(size)
        return cls(count, count / (count + 2) * consistent)


class Table:
    """The records of one kind. A record that changes gets a new slot; slots are never reused.

    `reward` is what was given (NaN where none was), `basis` what a floor is compared with, `value` what ranks, `rating`
    the standing one (NaN where there is none), `human` what of it counts, -1 to 1; the ledger writes these four.
    """

    def __init__(self, rules: MetricRules) -> None:
        self.ids: list[str] = []
        self.slots: dict[str, int] = {}
        self.situations = Situations()
        self.states = States(rules)
        self.names = {name: Names() for name in _NAMED}
        self.episodes: dict[str, list[int]] = {}
        self.tags: dict[str, list[int]] = {}
        self._columns: dict[str, Growing[np.generic]] = {name: Growing(dtype) for name, dtype in _COLUMNS.items()}
        self._groups: dict[tuple[int, int], int] = {}
        self._tally: Tally | None = None
        self.changed: set[int] = set()
        self.episodes_changed: set[str] = set()

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def size(self) -> int:
        """How many slots there are, dead ones included."""
        return len(self.ids)

    def array(self, name: str) -> NDArray[np.generic]:
        """Return one column, a value a slot."""
        return self._columns[name].view

    def take(self, found: Entry) -> None:
        """Take in a record that is new or has changed."""
        self.drop(found.id)
        slot = self.size
        self.ids.append(found.id)
        self.slots[found.id] = slot
        for name, value in self._features(found).items():
            self._columns[name].append(value)
        self.states.add(slot, found.state)
        for tag in found.tags:
            self.tags.setdefault(tag, []).append(slot)
        self._note_change(slot, found.episode)
        if found.episode is not None:
            self.episodes.setdefault(found.episode, []).append(slot)

    def _features(self, found: Entry) -> dict[str, float | int]:
        reward = math.nan if found.reward is None else found.reward
        codes = {name: self.names[name].code(getattr(found, name)) for name in _NAMED}
        situation = self.situations.take(found.situation)
        return codes | {
            "alive": True,
            "order": found.order,
            "at": found.at,
            "until": found.until,
            "copy": found.copy,
            "situation": situation,
            "group": self._groups.setdefault((situation, codes["action"]), len(self._groups)),
            "loose": found.episode is None and not found.preseeded,
            "reward": reward,
            "basis": reward,
            "value": reward,
            "human": 0.0,
            "rating": math.nan,
        }

    def drop(self, name: str) -> None:
        """Forget a record; one that is not there is none."""
        slot = self.slots.pop(name, None)
        if slot is None:
            return
        self.array("alive")[slot] = False
        self.situations.release(int(self.array("situation")[slot]))
        episode = self.episode_of(slot)
        self._note_change(slot, episode)
        if episode is not None:
            self.episodes[episode].remove(slot)
            if not self.episodes[episode]:
                del self.episodes[episode]

    def _note_change(self, slot: int, episode: str | None) -> None:
        if episode is None:
            self.changed.add(slot)
        else:
            self.episodes_changed.add(episode)

    def episode_of(self, slot: int) -> str | None:
        """Return the episode of a slot."""
        return self.name_of("episode", slot)

    def name_of(self, column: str, slot: int) -> str | None:
        """Return what a column of names has at a slot."""
        code = int(self.array(column)[slot])
        return self.names[column].strings[code] if code >= 0 else None

    def named(self, column: str, wanted: Iterable[str]) -> Bools:
        """Tell which slots have one of some names."""
        codes = [self.names[column].known(name) for name in wanted]
        found: Bools = np.isin(self.array(column), codes)
        return found

    def tagged(self, tag: str) -> Bools:
        """Tell which slots have a tag."""
        found = np.zeros(self.size, np.bool_)
        found[self.tags.get(tag, [])] = True
        return found

    def in_order(self, slots: Sequence[int]) -> list[int]:
        """Return slots in the order in which their records were first written."""
        order = self.array("order")
        return sorted(slots, key=lambda slot: int(order[slot]))

    def tally(self) -> Tally:
        """Return how often each action was taken in each situation, and how alike its rewards were."""
        if self._tally is None:
            alive = self.array("alive").astype(np.bool_)
            self._tally = Tally.of(self.array("group")[alive], self.array("basis")[alive], len(self._groups))
        return self._tally

    def credited(self) -> None:
        """Tell that what flows back was computed."""
        self.changed.clear()
        self.episodes_changed.clear()
        self._tally = None

    @property
    def wasted(self) -> bool:
        """Whether so many slots are dead that reading all anew pays."""
        return self.size > max(1_000, 2 * len(self))
