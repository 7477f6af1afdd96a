"""What a player expects: the newest twelve turns carried on, or, where lessons say more, what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from examples.energy_tycoon.lessons import Subject, Taught
from examples.energy_tycoon.shapes import Block, Event, Observation, Tech
from examples.energy_tycoon.technology import CATALOGUE

LISTED_WEIGHT: Final = 4
LESSON_WEIGHT: Final = 24
SHOCK_TURNS: Final = 5
SHOCK_STRENGTH: Final = 1.75
TREND_TURNS: Final = 24
CARBON_IN_PRICE: Final = 0.45
GAS_IN_PRICE: Final = 1.6


class Forecast:
    """Prices of the turns to come, and what stations yield, from an observation and what was learned.

    `seen_shocks` are the turns in which a fuel shock began in this run, as far as memory tells.
    """

    def __init__(self, seen: Observation, taught: Taught, seen_shocks: Sequence[int] = ()) -> None:
        self._seen = seen
        self._taught = taught
        self._past = seen.history
        self._served = [past for past in self._past if not past.shortage_mwh] or [*self._past]
        turns = range(seen.now.turn, seen.turns + 1)
        self._shocks = self._expected_shocks(seen_shocks)
        self._carbon = dict(zip(turns, self._carbons(turns), strict=True))
        self._calm_gas = dict(zip(turns, self._calm_gases(turns), strict=True))
        more = SHOCK_STRENGTH - 1
        self._gas = {turn: gas * (1 + more * self._shock_chance(turn)) for turn, gas in self._calm_gas.items()}
        self._prices = {block: dict(zip(turns, self._block_prices(block, turns), strict=True)) for block in Block}

    @property
    def knows_prices(self) -> bool:
        """Whether there is anything to expect prices from."""
        return bool(self._past) or self._knows(Subject.PRICE, Subject.BLOCKS)

    def price(self, block: Block, turn: int) -> float:
        """Return the expected price of a block, in €/MWh."""
        return self._prices[block][turn]

    def carbon(self, turn: int) -> float:
        """Return the expected price of carbon, in €/t."""
        return self._carbon[turn]

    def gas(self, turn: int) -> float:
        """Return the expected price of gas with the shocks that last or are to come, in €/MWh."""
        return self._gas[turn]

    @property
    def coal(self) -> float:
        """The expected price of coal, in €/MWh."""
        return self._seen.now.coal

    def yielding(self, tech: Tech) -> float:
        """Return what a technology is expected to yield, as a share of its MW."""
        listed = CATALOGUE[tech].available
        if tech not in (Tech.WIND, Tech.SOLAR):
            return listed
        known = self._taught.facts.get(Subject(tech.value))
        start, weight = (listed, LISTED_WEIGHT) if known is None else (known.values[0], LESSON_WEIGHT)
        own = [station for station in self._seen.stations if station.tech is tech]
        turns = sum(station.turns_run for station in own)
        return (start * weight + sum(one.yielded * one.turns_run for one in own)) / (weight + turns)

    def building(self, tech: Tech) -> tuple[float, float]:
        """Return the turns from order to first run, and the whole price in M€."""
        done = [station for station in self._seen.stations if station.tech is tech and station.turns_run]
        if tech is Tech.NUCLEAR and done:
            return done[-1].ready - done[-1].ordered, done[-1].price
        if tech is Tech.NUCLEAR and self._knows(Subject.NUCLEAR):
            turns, price = self._taught.facts[Subject.NUCLEAR].values[:2]
            return turns, price
        return CATALOGUE[tech].build_turns, CATALOGUE[tech].price

    def _knows(self, *subjects: Subject) -> bool:
        return all(subject in self._taught.facts for subject in subjects)

    def _along(self, subject: Subject, turns: Sequence[int]) -> list[float]:
        """Return what is said of each turn, straight from the middle of one year to that of the next."""
        values = self._taught.facts[subject].values
        middles = [12 * year + 6.5 for year in range(len(values))]
        return [float(said) for said in np.interp(turns, middles, values)]

    def _expected_shocks(self, seen_shocks: Sequence[int]) -> list[float]:
        """Return when shocks come: as lessons say, else as far apart as the last two of this run."""
        last = self._seen.turns
        if habit := self._taught.habits.get(Event.FUEL_SHOCK):
            return habit.turns(last)
        if len(seen_shocks) < 2:
            return []
        *_, before, newest = seen_shocks
        return [float(turn) for turn in range(2 * newest - before, last + 1, newest - before)]

    def _carbons(self, turns: range) -> list[float]:
        now = self._seen.now
        if self._knows(Subject.CARBON):
            said = self._along(Subject.CARBON, turns)
            return [max(0.0, now.carbon + value - said[0]) for value in said]
        past = [seen.conditions for seen in self._past]
        trend = _trend([seen.turn for seen in past], [seen.carbon for seen in past])
        return [max(0.0, now.carbon + trend * min(TREND_TURNS, turn - now.turn)) for turn in turns]

    def _calm_gases(self, turns: range) -> list[float]:
        past = [seen.conditions for seen in self._past if Event.FUEL_SHOCK not in seen.conditions.lasting]
        now = self._seen.now
        calm = now.gas
        if Event.FUEL_SHOCK in now.lasting:
            calm = past[-1].gas if past else now.gas / SHOCK_STRENGTH
        if self._knows(Subject.GAS):
            said = self._along(Subject.GAS, turns)
            return [calm * value / max(1.0, said[0]) for value in said]
        trend = _trend([seen.turn for seen in past], [seen.gas for seen in past])
        return [max(5.0, calm + trend * min(TREND_TURNS, turn - now.turn)) for turn in turns]

    def _shock_chance(self, turn: int) -> float:
        now = self._seen.now
        if Event.FUEL_SHOCK in now.lasting:
            known = (*(seen.conditions for seen in self._past), now)
            began = [seen.turn for seen in known if Event.FUEL_SHOCK in seen.began]
            return float(turn < (began[-1] if began else now.turn) + SHOCK_TURNS)
        hits = [any(began + late <= turn < began + late + SHOCK_TURNS for began in self._shocks) for late in (-1, 0, 1)]
        return sum(hits) / len(hits)

    def _block_prices(self, block: Block, turns: range) -> list[float]:
        if self._knows(Subject.PRICE, Subject.BLOCKS):
            level = (
                self._price_level() * dict(zip(Block, self._taught.facts[Subject.BLOCKS].values, strict=False))[block]
            )
            return [level * said for said in self._along(Subject.PRICE, turns)]
        if not self._past:
            return [0.0 for _ in turns]
        mean = _mean([past.prices[block] for past in self._served])
        carbon = _mean([past.conditions.carbon for past in self._past])
        gas = _mean([past.conditions.gas for past in self._past])
        dearer = [
            CARBON_IN_PRICE * (self._carbon[t] - carbon) + GAS_IN_PRICE * (self._calm_gas[t] - gas) for t in turns
        ]
        return [max(0.0, mean + more) for more in dearer]

    def _price_level(self) -> float:
        """Return how this run's prices compare with those said, or 1 while nothing was seen; half way, being noisy."""
        if not self._past:
            return 1.0
        said = _mean(self._along(Subject.PRICE, [past.conditions.turn for past in self._served]))
        return (1 + min(2.0, _mean([past.price for past in self._served]) / max(1.0, said))) / 2


def _trend(turns: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of the straight line nearest to the values, 0 for fewer than four."""
    if len(values) < 4:
        return 0.0
    at, mean = _mean(turns), _mean(values)
    spread = sum((turn - at) ** 2 for turn in turns)
    return sum((turn - at) * (value - mean) for turn, value in zip(turns, values, strict=True)) / spread


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
