"""Owners and their stations: what may be ordered, when it runs, and what a month's sales leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from examples.energy_tycoon.shapes import (
    MONTH_HOURS,
    Action,
    Build,
    Conditions,
    Contract,
    Finished,
    Markup,
    Owned,
    Tech,
)
from examples.energy_tycoon.technology import CATALOGUE, LIFE_TURNS, cost_now, running_cost
from examples.energy_tycoon.world import World
from seasoned.errors import InvalidInput

START_CASH: Final = 150.0
ORDERS_A_TURN: Final = 2
CONTRACT_TURNS: Final = 6
CONTRACT_PREMIUM: Final = 1.12
MAX_MARKUP: Final = 0.5
DEBT_RATE: Final = 0.01


@dataclass(slots=True, kw_only=True)
class Station:
    """A station and its books: ordered and first running in turns, `price` in M€ with what it cost more."""

    name: str
    tech: Tech
    ordered: int
    ready: int
    price: float
    turns_run: int = 0
    output_mwh: float = 0.0

    def seen(self) -> Owned:
        """Return what its owner sees; before it runs he knows only the date in the catalogue."""
        entry = CATALOGUE[self.tech]
        could = self.turns_run * entry.mw * MONTH_HOURS
        return Owned(
            tech=self.tech,
            ordered=self.ordered,
            price=self.price,
            ready=self.ready if self.turns_run else self.ordered + entry.build_turns,
            turns_run=self.turns_run,
            yielded=self.output_mwh / could if could else 0.0,
        )


@dataclass(slots=True)
class Owner:
    """Somebody with cash in M€, stations, a markup and perhaps a fuel contract."""

    name: str
    cash: float = START_CASH
    stations: list[Station] = field(default_factory=list)
    markup: float = 0.0
    contract_price: float = 0.0
    contract_until: int = 0

    def running(self, turn: int) -> list[Station]:
        """Return the stations that run in a turn."""
        return [station for station in self.stations if station.ready <= turn]

    def add(self, tech: Tech, *, ordered: int, ready: int) -> None:
        """Give the owner a station at the catalogue's price."""
        name = f"{self.name}-{len(self.stations):03d}"
        self.stations.append(Station(name=name, tech=tech, ordered=ordered, ready=ready, price=CATALOGUE[tech].price))

    def carry_out(self, actions: Sequence[Action], world: World, now: Conditions) -> list[Action]:
        """Do what the rules allow of `actions`, and return what was done.

        Raises:
            InvalidInput: a markup outside of 0 to 0.5.
        """
        done: list[Action] = []
        self.markup = 0.0
        for action in actions:
            match action:
                case Markup(share):
                    self.markup = _checked_markup(share)
                    done.append(action)
                case Contract() if self.contract_until <= now.turn:
                    self.contract_price = now.gas * CONTRACT_PREMIUM
                    self.contract_until = now.turn + CONTRACT_TURNS
                    done.append(action)
                case Build(tech) if self._can_order(tech, done):
                    self.cash -= CATALOGUE[tech].price
                    late = world.nuclear_delay if tech is Tech.NUCLEAR else 0
                    self.add(tech, ordered=now.turn, ready=now.turn + CATALOGUE[tech].build_turns + late)
                    done.append(action)
        return done

    def _can_order(self, tech: Tech, done: list[Action]) -> bool:
        orders = sum(isinstance(action, Build) for action in done)
        return orders < ORDERS_A_TURN and CATALOGUE[tech].price <= self.cash

    def finish(self, world: World, turn: int) -> Iterator[Finished]:
        """Pay what the stations that first run in this turn cost more than listed, and yield them."""
        for station in self.stations:
            if station.ready == turn and station.ordered > 0:
                if station.tech is Tech.NUCLEAR:
                    more = station.price * world.nuclear_overrun
                    station.price += more
                    self.cash -= more
                yield Finished(tech=station.tech, turns_taken=turn - station.ordered, price=station.price)

    def settle(self, sold: dict[str, tuple[float, float]], now: Conditions) -> Books:
        """Book the month: `sold` has the MWh and the sales in € of each station by name."""
        books = Books()
        gas = self.contract_price if self.contract_until > now.turn else now.gas
        for station in self.running(now.turn):
            mwh, sales = sold.get(station.name, (0.0, 0.0))
            station.turns_run += 1
            station.output_mwh += mwh
            cost = mwh * running_cost(station.tech, gas=gas, coal=now.coal, carbon=now.carbon)
            books.add(station, mwh, (sales - cost) / 1000 - CATALOGUE[station.tech].upkeep)
        books.interest = -min(0.0, self.cash) * DEBT_RATE * 1000
        self.cash += (sum(books.margin.values()) - books.interest) / 1000
        return books


@dataclass(slots=True)
class Books:
    """A month's output in MWh, margin before write-off in k€ and MW by technology; write-off and interest in k€."""

    output: dict[Tech, float] = field(default_factory=dict)
    margin: dict[Tech, float] = field(default_factory=dict)
    running_mw: dict[Tech, float] = field(default_factory=dict)
    written_off: float = 0.0
    interest: float = 0.0

    def add(self, station: Station, mwh: float, margin: float) -> None:
        """Add a station's month."""
        for column, amount in (
            (self.output, mwh),
            (self.margin, margin),
            (self.running_mw, CATALOGUE[station.tech].mw),
        ):
            column[station.tech] = column.get(station.tech, 0.0) + amount
        self.written_off += station.price * 1000 / LIFE_TURNS

    @property
    def reward(self) -> float:
        """What is left, in k€."""
        return sum(self.margin.values()) - self.written_off - self.interest


def _checked_markup(share: float) -> float:
    if not 0 <= share <= MAX_MARKUP:
        raise InvalidInput(f"a markup is between 0 and {MAX_MARKUP}, not {share!r}")
    return share


def offered_at(station: Station, markup: float, now: Conditions) -> float:
    """Return the price at which a station is offered, in €/MWh."""
    return cost_now(station.tech, now) * (1 + markup)
