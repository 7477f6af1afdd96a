"""A month of the market: everybody's offers, cleared block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from examples.energy_tycoon.clearing import Offer, clear
from examples.energy_tycoon.owners import Owner, offered_at
from examples.energy_tycoon.shapes import HOURS, MONTH_HOURS, Block, Conditions, Event, Tech
from examples.energy_tycoon.technology import CATALOGUE, NUCLEAR_RUNNING_COST, sun
from examples.energy_tycoon.world import Luck, World, season

DEMAND_MW: Final = 3000.0
SHAPE: Final[Mapping[Block, float]] = {Block.NIGHT: 0.80, Block.DAY: 1.04, Block.PEAK: 1.22}
OLD_DECLINE: Final = 0.008


@dataclass(slots=True)
class Month:
    """What the blocks of a month add up to: prices, the shortage in MWh, and by station its MWh and sales in €."""

    prices: dict[Block, float] = field(default_factory=dict)
    demand_mwh: float = 0.0
    shortage_mwh: float = 0.0
    sold: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def demand_mw(self) -> float:
        """Mean demand."""
        return self.demand_mwh / MONTH_HOURS


def dispatch(owners: Iterable[Owner], world: World, luck: Luck, now: Conditions) -> Month:
    """Clear the blocks of a turn."""
    month = Month()
    known = list(owners)
    old = list(_old_fleet(world, now))
    for block, hours in HOURS.items():
        demand = DEMAND_MW * SHAPE[block] * _demand_factor(world, luck, now)
        outcome = clear([*old, *_offers(known, world, luck, now, block)], demand)
        month.prices[block] = outcome.price
        month.demand_mwh += demand * hours
        month.shortage_mwh += outcome.missing_mw * hours
        for name, mw in outcome.taken.items():
            mwh, sales = month.sold.get(name, (0.0, 0.0))
            month.sold[name] = (mwh + mw * hours, sales + mw * hours * outcome.price)
    return month


def _demand_factor(world: World, luck: Luck, now: Conditions) -> float:
    surge = world.habits[Event.DEMAND_SURGE].strength if Event.DEMAND_SURGE in now.lasting else 1.0
    growth = (1 + world.demand_growth) ** (now.turn - 1)
    return season(now.turn, 0.10) * growth * luck.demand[now.turn - 1] * surge


def _offers(owners: list[Owner], world: World, luck: Luck, now: Conditions, block: Block) -> Iterator[Offer]:
    for owner in owners:
        for station in owner.running(now.turn):
            mw = CATALOGUE[station.tech].mw * _available(station.tech, world, luck, now) * sun(station.tech, block)
            yield Offer(offered_at(station, owner.markup, now), station.name, mw)


def _available(tech: Tech, world: World, luck: Luck, now: Conditions) -> float:
    share = world.yields(tech, CATALOGUE[tech].available)
    match tech:
        case Tech.WIND:
            return share * season(now.turn, 0.2) * luck.wind[now.turn - 1]
        case Tech.SOLAR:
            return share * season(now.turn, -0.5)
        case Tech.NUCLEAR:
            return share * _dry_nuclear(now)
        case _:
            return share


def _dry_nuclear(now: Conditions) -> float:
    return 0.85 if Event.DROUGHT in now.lasting else 1.0


def _old_fleet(world: World, now: Conditions) -> Iterator[Offer]:
    dry = Event.DROUGHT in now.lasting
    hydro = 400 * (0.875 + 0.125 * (season(now.turn, 1.0) - 1)) * (world.habits[Event.DROUGHT].strength if dry else 1)
    standing = world.habits[Event.PLANT_OUTAGE].strength if Event.PLANT_OUTAGE in now.lasting else 0.0
    kept = (1 - OLD_DECLINE) ** (now.turn - 1)
    yield Offer(2.0, "old-hydro", hydro)
    yield Offer(NUCLEAR_RUNNING_COST, "old-nuclear", (600 - standing) * _dry_nuclear(now))
    yield Offer(now.coal / 0.36 + now.carbon * 0.95, "old-coal", 1100 * kept)
    yield Offer(now.gas / 0.46 + now.carbon * 0.41, "old-gas", 1000 * kept)
    yield Offer(now.gas / 0.38 + now.carbon * 0.50, "old-old-gas", 700 * kept)
    yield Offer(180.0, "old-oil", 200)
