"""What goes in and out of the simulator: actions, observations and results of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

RUN_TURNS: Final = 60


class Tech(StrEnum):
    """What a power station burns or catches."""

    GAS = "gas"
    COAL = "coal"
    WIND = "wind"
    SOLAR = "solar"
    NUCLEAR = "nuclear"


class Block(StrEnum):
    """A part of the day."""

    NIGHT = "night"
    DAY = "day"
    PEAK = "peak"


class Event(StrEnum):
    """What can befall the market."""

    FUEL_SHOCK = "fuel_shock"
    DROUGHT = "drought"
    DEMAND_SURGE = "demand_surge"
    PLANT_OUTAGE = "plant_outage"
    POLICY_CHANGE = "policy_change"


HOURS: Final[Mapping[Block, int]] = {Block.NIGHT: 240, Block.DAY: 330, Block.PEAK: 160}
MONTH_HOURS: Final = sum(HOURS.values())
BlockPrices: TypeAlias = Mapping[Block, float]


def mean_price(prices: BlockPrices) -> float:
    """Return the mean of prices by block over the hours of a month."""
    return sum(prices[block] * hours for block, hours in HOURS.items()) / MONTH_HOURS


@dataclass(frozen=True, slots=True)
class Build:
    """Order a station."""

    tech: Tech


@dataclass(frozen=True, slots=True)
class Contract:
    """Fix the price of gas for six turns."""


@dataclass(frozen=True, slots=True)
class Markup:
    """Offer at running cost times 1 + `share` in this turn; `share` is between 0 and 0.5."""

    share: float


Action: TypeAlias = Build | Contract | Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What everybody knows of a turn before acting: prices in €/MWh and €/t, and the events that last."""

    turn: int
    gas: float
    coal: float
    carbon: float
    began: tuple[Event, ...] = ()
    lasting: tuple[Event, ...] = ()

    @property
    def month(self) -> int:
        """The month of the year, 1 to 12."""
        return (self.turn - 1) % 12 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """What everybody knows of a turn after it: prices by block in €/MWh, mean demand in MW, the shortage in MWh."""

    conditions: Conditions
    prices: BlockPrices
    demand_mw: float
    shortage_mwh: float

    @property
    def price(self) -> float:
        """The mean price over the hours of the month."""
        return mean_price(self.prices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """A station as its owner sees it: due in turn `ready`, its output so far as a share of what its MW could give.

    `price` is in M€, with what it cost more than listed once that is known.
    """

    tech: Tech
    ordered: int
    ready: int
    price: float
    turns_run: int = 0
    yielded: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A station that ran for the first time: the turns from order to first run, and its whole price in M€."""

    tech: Tech
    turns_taken: int
    price: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that a player is shown before acting. `history` is the newest twelve turns, oldest first; `cash` in M€.

    `turns` is the length of the run; `contract_turns` are those left of a fuel contract, this one included.
    """

    now: Conditions
    turns: int
    cash: float
    stations: tuple[Owned, ...]
    history: tuple[Cleared, ...]
    contract_turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """What a turn brought a player: reward in k€, cash in M€, output in MWh and margin in k€ by technology.

    `ordered` are the orders that were carried out, `contracted` says if a fuel contract was made in this turn.
    """

    player: str
    reward: float
    cash: float
    cleared: Cleared
    output_mwh: Mapping[Tech, float]
    margin: Mapping[Tech, float]
    running_mw: Mapping[Tech, float]
    ordered: tuple[Tech, ...] = ()
    finished: tuple[Finished, ...] = ()
    contracted: bool = False
