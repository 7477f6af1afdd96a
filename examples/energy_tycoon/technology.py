"""The catalogue of power stations: what every player is told, as RULES.md lists it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from examples.energy_tycoon.shapes import Block, Conditions, Tech

NUCLEAR_RUNNING_COST: Final = 9.0
LIFE_TURNS: Final = 100
SUN: Final[Mapping[Block, float]] = {Block.NIGHT: 0.0, Block.DAY: 1.8, Block.PEAK: 0.85}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the catalogue: price in M€, upkeep in k€ a turn; `efficiency` is 0 where nothing is burnt."""

    mw: float
    price: float
    build_turns: int
    efficiency: float = 0.0
    co2: float = 0.0
    available: float
    upkeep: float


CATALOGUE: Final[Mapping[Tech, Entry]] = {
    Tech.GAS: Entry(mw=100, price=35, build_turns=3, efficiency=0.52, co2=0.36, available=0.92, upkeep=60),
    Tech.COAL: Entry(mw=100, price=60, build_turns=5, efficiency=0.42, co2=0.82, available=0.90, upkeep=110),
    Tech.WIND: Entry(mw=50, price=25, build_turns=3, available=0.31, upkeep=45),
    Tech.SOLAR: Entry(mw=50, price=14, build_turns=2, available=0.16, upkeep=20),
    Tech.NUCLEAR: Entry(mw=100, price=120, build_turns=10, available=0.92, upkeep=260),
}


def running_cost(tech: Tech, *, gas: float, coal: float, carbon: float) -> float:
    """Return what a MWh costs to make, in €."""
    if tech is Tech.NUCLEAR:
        return NUCLEAR_RUNNING_COST
    entry = CATALOGUE[tech]
    if not entry.efficiency:
        return 0.0
    return (gas if tech is Tech.GAS else coal) / entry.efficiency + carbon * entry.co2


def cost_now(tech: Tech, now: Conditions) -> float:
    """Return the running cost under the conditions of a turn."""
    return running_cost(tech, gas=now.gas, coal=now.coal, carbon=now.carbon)


def sun(tech: Tech, block: Block) -> float:
    """Return how a technology's mean output is spread over the blocks: 1 for all but solar."""
    return SUN[block] if tech is Tech.SOLAR else 1.0
