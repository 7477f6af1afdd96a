"""The player: builds what it expects to pay best, and fixes its fuel price when that is expected to pay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from examples.energy_tycoon.forecast import Forecast
from examples.energy_tycoon.lessons import Taught, read_beginnings
from examples.energy_tycoon.owners import CONTRACT_PREMIUM, CONTRACT_TURNS, ORDERS_A_TURN
from examples.energy_tycoon.shapes import HOURS, Action, Build, Contract, Event, Markup, Observation, Tech
from examples.energy_tycoon.technology import CATALOGUE, LIFE_TURNS, running_cost, sun

PATIENCE: Final = 0.98
MARKUP: Final = 0.05


class Player:
    """A player who decides by what it is shown and by `notes`, the lessons of earlier runs, if there are any.

    With and without them it is the same player, and keeps nothing itself: what it knows from before the newest twelve
    turns, memory must tell it.
    """

    def __init__(self, notes: str = "") -> None:
        self._taught = Taught.from_text(notes)

    def act(self, seen: Observation, observed: str = "") -> list[Action]:
        """Return the actions of a turn; `observed` is what memory tells of this run so far."""
        forecast = Forecast(seen, self._taught, read_beginnings(observed, Event.FUEL_SHOCK))
        if not forecast.knows_prices:
            return [Markup(MARKUP)]
        contracts = [Contract()] if self._fuel_gets_dearer(seen, forecast) else []
        return [Markup(MARKUP), *contracts, *self._orders(seen, forecast)]

    def _orders(self, seen: Observation, forecast: Forecast) -> Iterator[Build]:
        values = {tech: value(tech, seen, forecast) for tech in Tech}
        ranked = sorted(Tech, key=lambda tech: -values[tech] / CATALOGUE[tech].price)
        cash = seen.cash
        for _ in range(ORDERS_A_TURN):
            paying = [tech for tech in ranked if values[tech] > 0 and CATALOGUE[tech].price <= cash]
            if paying:
                cash -= CATALOGUE[paying[0]].price
                yield Build(paying[0])

    def _fuel_gets_dearer(self, seen: Observation, forecast: Forecast) -> bool:
        burns = any(station.tech is Tech.GAS and station.ready <= seen.now.turn for station in seen.stations)
        turns = range(seen.now.turn + 1, min(seen.turns, seen.now.turn + CONTRACT_TURNS - 1) + 1)
        expected = seen.now.gas + sum(forecast.gas(turn) for turn in turns)
        return burns and not seen.contract_turns and expected > seen.now.gas * CONTRACT_PREMIUM * (len(turns) + 1)


def value(tech: Tech, seen: Observation, forecast: Forecast) -> float:
    """Return what a station ordered now is expected to bring until the run ends, in M€; later turns count for less."""
    build_turns, price = forecast.building(tech)
    mw = CATALOGUE[tech].mw * forecast.yielding(tech)
    hours = [(block, hours * sun(tech, block)) for block, hours in HOURS.items() if sun(tech, block)]
    total = 0.0
    for turn in range(seen.now.turn + round(build_turns), seen.turns + 1):
        cost = running_cost(tech, gas=forecast.gas(turn), coal=forecast.coal, carbon=forecast.carbon(turn))
        earned = sum(share * max(0.0, forecast.price(block, turn) - cost) for block, share in hours)
        month = (mw * earned / 1000 - CATALOGUE[tech].upkeep) / 1000 - price / LIFE_TURNS
        total += month * PATIENCE ** (turn - seen.now.turn)
    return total
