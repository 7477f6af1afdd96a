"""What lies behind a market seed, and the luck of one of its runs; no player may read it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from examples.energy_tycoon.shapes import RUN_TURNS, Conditions, Event, Tech

CARBON_LIMIT: Final = 110.0
SPORADIC_CHANCE: Final = 1 / 40
RECURRING_KINDS: Final = 3
STRENGTH: Final[Mapping[Event, tuple[float, float]]] = {
    Event.FUEL_SHOCK: (1.5, 2.0),
    Event.DROUGHT: (0.3, 0.3),
    Event.DEMAND_SURGE: (1.10, 1.18),
    Event.PLANT_OUTAGE: (300.0, 300.0),
    Event.POLICY_CHANGE: (6.0, 14.0),
}
LENGTH: Final[Mapping[Event, tuple[int, int]]] = {
    Event.FUEL_SHOCK: (4, 6),
    Event.DROUGHT: (3, 5),
    Event.DEMAND_SURGE: (3, 6),
    Event.PLANT_OUTAGE: (3, 5),
    Event.POLICY_CHANGE: (1, 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """How an event behaves in a market; `every` is 0 where it strikes at random."""

    strength: float
    turns: int
    first: int = 0
    every: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The hidden characteristics of a market, the same in every run."""

    seed: int
    demand_growth: float
    wind: float
    solar: float
    nuclear_delay: int
    nuclear_overrun: float
    gas: float
    gas_drift: float
    coal: float
    carbon: float
    carbon_from: int
    carbon_ramp: float
    habits: Mapping[Event, Habit]

    @classmethod
    def of(cls, seed: int) -> World:
        """Return the market of a seed."""
        draw = random.Random(f"market {seed}")
        return cls(
            seed=seed,
            demand_growth=draw.uniform(-0.001, 0.004),
            wind=draw.uniform(0.18, 0.44),
            solar=draw.uniform(0.09, 0.23),
            nuclear_delay=draw.randint(0, 8),
            nuclear_overrun=draw.uniform(0.0, 0.5),
            gas=draw.uniform(20, 32),
            gas_drift=draw.uniform(-0.004, 0.010),
            coal=draw.uniform(8, 13),
            carbon=draw.uniform(10, 25),
            carbon_from=draw.randint(4, 16),
            carbon_ramp=draw.uniform(0.0, 1.4),
            habits=_habits(draw),
        )

    def yields(self, tech: Tech, listed: float) -> float:
        """Return what a technology really yields over a year, as a share of its MW."""
        return {Tech.WIND: self.wind, Tech.SOLAR: self.solar}.get(tech, listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """What the weather, the exchanges and fate do in one run; index 0 is turn 1."""

    conditions: tuple[Conditions, ...]
    demand: tuple[float, ...]
    wind: tuple[float, ...]

    @classmethod
    def of(cls, world: World, run: int, turns: int = RUN_TURNS) -> Luck:
        """Return the luck of a run, numbered from 1."""

        def noise(what: str, deviation: float) -> tuple[float, ...]:
            draw = random.Random(f"market {world.seed} run {run} {what}")
            return tuple(max(0.0, draw.gauss(1.0, deviation)) for _ in range(turns))

        began = _calendar(world, random.Random(f"market {world.seed} run {run} events"), turns)
        return cls(
            conditions=tuple(_conditions(world, began, noise("gas", 0.03), noise("coal", 0.03))),
            demand=noise("demand", 0.02),
            wind=noise("wind", 0.15),
        )


def season(turn: int, swing: float) -> float:
    """Return 1 + swing in January and 1 - swing in July, along a cosine."""
    return 1 + swing * math.cos(2 * math.pi * (turn - 1) / 12)


def _habits(draw: random.Random) -> dict[Event, Habit]:
    recurring = set(draw.sample(list(Event), RECURRING_KINDS))
    return {kind: _habit(draw, kind, recurs=kind in recurring) for kind in Event}


def _habit(draw: random.Random, kind: Event, *, recurs: bool) -> Habit:
    strength, turns = draw.uniform(*STRENGTH[kind]), draw.randint(*LENGTH[kind])
    first, every = draw.randint(5, 16), draw.randint(12, 20)
    return (
        Habit(strength=strength, turns=turns, first=first, every=every)
        if recurs
        else Habit(strength=strength, turns=turns)
    )


def _calendar(world: World, draw: random.Random, turns: int) -> dict[Event, list[int]]:
    return {kind: list(_beginnings(world.habits[kind], draw, turns)) for kind in Event}


def _beginnings(habit: Habit, draw: random.Random, turns: int) -> Iterator[int]:
    if habit.every:
        yield from (turn + draw.randint(-1, 1) for turn in range(habit.first, turns + 1, habit.every))
        return
    free_from = 1
    for turn in range(1, turns + 1):
        if draw.random() < SPORADIC_CHANCE and turn >= free_from:
            free_from = turn + habit.turns
            yield turn


def _conditions(
    world: World, began: Mapping[Event, list[int]], gas: tuple[float, ...], coal: tuple[float, ...]
) -> Iterator[Conditions]:
    for turn in range(1, len(gas) + 1):
        lasting = tuple(
            kind
            for kind, habit in world.habits.items()
            if any(start <= turn < start + habit.turns for start in began[kind])
        )
        shock = world.habits[Event.FUEL_SHOCK].strength if Event.FUEL_SHOCK in lasting else 1.0
        steps = sum(start <= turn for start in began[Event.POLICY_CHANGE])
        ramp = min(CARBON_LIMIT, world.carbon + world.carbon_ramp * max(0, turn - world.carbon_from))
        yield Conditions(
            turn=turn,
            gas=world.gas * (1 + world.gas_drift) ** (turn - 1) * gas[turn - 1] * shock,
            coal=world.coal * coal[turn - 1],
            carbon=ramp + steps * world.habits[Event.POLICY_CHANGE].strength,
            began=tuple(kind for kind in Event if turn in began[kind]),
            lasting=lasting,
        )
