"""What runs teach of a market: a few numbers, written as sentences, read again from any text, and joined over runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

import numpy as np

from examples.energy_tycoon.shapes import Event

NEWEST_PART: Final = 6
"""The newest run has at least one part in so many of a mean over runs."""

LATE: Final = 2
"""Turns by which the distance of two occurrences may differ from the mean, where an event recurs."""

_NUMBER: Final = r"\d+(?:\.\d+)?"
_OVER: Final = r", over (\d+) runs?\b"


class Subject(StrEnum):
    """What a fact is about: wind and solar (yield), nuclear (turns, M€), and prices by year and block."""

    PRICE = "price"
    BLOCKS = "blocks"
    CARBON = "carbon"
    GAS = "gas"
    WIND = "wind"
    SOLAR = "solar"
    NUCLEAR = "nuclear"


@dataclass(frozen=True, slots=True)
class _Wording:
    """A sentence around a row of numbers; no two are alike, so that none is taken for another's repetition."""

    before: str
    after: str
    decimals: int

    def said(self, values: Sequence[float]) -> str:
        row = [f"{value:.{self.decimals}f}" for value in values]
        return f"{self.before}{' and '.join([', '.join(row[:-1]), row[-1]] if row[1:] else row)}{self.after}"

    def pattern(self) -> re.Pattern[str]:
        row = rf"({_NUMBER}(?:(?:, | and ){_NUMBER})*)"
        return re.compile(re.escape(self.before) + row + re.escape(self.after) + _OVER, re.IGNORECASE)


_WORDINGS: Final[Mapping[Subject, _Wording]] = {
    Subject.PRICE: _Wording("Electricity costs ", " €/MWh from year to year", 0),
    Subject.BLOCKS: _Wording("Night, day and peak stand at ", " of the mean price", 2),
    Subject.CARBON: _Wording("A tonne of carbon goes for ", " € year by year", 0),
    Subject.GAS: _Wording("Without shocks, gas is at ", " in these years", 0),
    Subject.WIND: _Wording("Wind blows for ", " of its megawatts", 2),
    Subject.SOLAR: _Wording("The sun gives solar ", " of what it could", 2),
    Subject.NUCLEAR: _Wording("Nuclear needs ", " for turns to the first run and M€", 0),
}
_PATTERNS: Final = {name: wording.pattern() for name, wording in _WORDINGS.items()}
_KINDS: Final = "|".join(Event)
_RECURS: Final = re.compile(
    rf"\b({_KINDS}) comes (?:every ({_NUMBER}) turns from turn ({_NUMBER}) on|at no fixed time){_OVER}", re.IGNORECASE
)
_BEGINS: Final = re.compile(rf"\bT(\d+): ({_KINDS}) begins", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Numbers that are a mean over runs."""

    values: tuple[float, ...]
    runs: int = 1

    def joined(self, newer: Fact) -> Fact:
        """Return the mean with a newer fact; what only one of them has stands as it is."""
        part = 1 / min(self.runs + 1, NEWEST_PART)
        both = [old + (new - old) * part for old, new in zip(self.values, newer.values, strict=False)]
        rest = max(self.values, newer.values, key=len)[len(both) :]
        return Fact(values=(*both, *rest), runs=self.runs + newer.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """When an event comes: every so many turns from a turn on; `every` is 0 where it has no fixed time."""

    every: float = 0.0
    first: float = 0.0
    runs: int = 1

    @classmethod
    def of(cls, began: Sequence[int]) -> Habit:
        """Return the habit that the turns of a run show; fewer than three show none."""
        gaps = [after - before for before, after in pairwise(began)]
        if len(gaps) < 2 or max(abs(gap - sum(gaps) / len(gaps)) for gap in gaps) > LATE:
            return cls()
        every, first = np.polyfit(range(len(began)), began, 1)
        return cls(every=float(every), first=float(first))

    def joined(self, newer: Habit) -> Habit:
        """Return the habit over both; none where they disagree."""
        runs = self.runs + newer.runs
        apart = abs(self.every - newer.every) > LATE or abs(self.first - newer.first) > 2 * LATE
        if apart or not self.every:
            return Habit(runs=runs)
        part = 1 / min(runs, NEWEST_PART)
        every, first = self.every + (newer.every - self.every) * part, self.first + (newer.first - self.first) * part
        return Habit(every=every, first=first, runs=runs)

    def turns(self, last: int) -> list[float]:
        """Return the turns up to `last` in which the event is expected."""
        return [float(turn) for turn in np.arange(self.first, last + 1, self.every)] if self.every else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What is known of a market from earlier runs; empty where nothing is."""

    facts: Mapping[Subject, Fact] = field(default_factory=dict)
    habits: Mapping[Event, Habit] = field(default_factory=dict)

    @classmethod
    def from_text(cls, text: str) -> Taught:
        """Read the sentences in a text; of several on one thing, the one that stands on the most runs."""
        facts: dict[Subject, Fact] = {}
        for name, pattern in _PATTERNS.items():
            said = [(int(runs), row) for row, runs in pattern.findall(text)]
            if said:
                runs, row = max(said)
                facts[name] = Fact(values=tuple(float(one) for one in re.findall(_NUMBER, row)), runs=runs)
        habits: dict[Event, Habit] = {}
        for kind, every, first, runs in _RECURS.findall(text):
            habit = Habit(every=float(every or 0), first=float(first or 0), runs=int(runs))
            event = Event(kind.lower())
            habits[event] = max(habits.get(event, habit), habit, key=lambda one: one.runs)
        return cls(facts=facts, habits=habits)

    def joined(self, run: Taught) -> Taught:
        """Return what `run` teaches, each joined with what is known of it."""
        facts = {
            name: self.facts[name].joined(fact) if name in self.facts else fact for name, fact in run.facts.items()
        }
        habits = {
            kind: self.habits[kind].joined(one) if kind in self.habits else one for kind, one in run.habits.items()
        }
        return replace(run, facts=facts, habits=habits)

    def sentences(self) -> list[str]:
        """Return what is known, a sentence each, what matters most first."""
        facts = [
            f"{wording.said(self.facts[name].values)}{_over(self.facts[name].runs)}"
            for name, wording in _WORDINGS.items()
            if name in self.facts
        ]
        return [*facts, *(f"{kind} comes {_when(self.habits[kind])}" for kind in Event if kind in self.habits)]


def beginning_sentence(event: Event, turn: int) -> str:
    """Say that an event begins."""
    return f"T{turn}: {event} begins."


def read_beginnings(text: str, event: Event) -> tuple[int, ...]:
    """Return the turns in which an event is said to begin, in order."""
    return tuple(sorted({int(turn) for turn, kind in _BEGINS.findall(text) if kind.lower() == event}))


def _when(habit: Habit) -> str:
    when = f"every {habit.every:.1f} turns from turn {habit.first:.1f} on" if habit.every else "at no fixed time"
    return when + _over(habit.runs)


def _over(runs: int) -> str:
    return f", over {runs} run{'' if runs == 1 else 's'}."
