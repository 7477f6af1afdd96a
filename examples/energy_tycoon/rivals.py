"""The three other owners, who follow one rule each and never learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from examples.energy_tycoon.shapes import HOURS, Action, Build, Cleared, Markup, Observation, Tech
from examples.energy_tycoon.technology import CATALOGUE, cost_now, sun

ORDER_EVERY: Final = 3
PAYBACK_TURNS: Final = 48


@dataclass(frozen=True, slots=True)
class Rival:
    """An owner who builds what pays by the catalogue at last turn's prices."""

    name: str
    kinds: tuple[Tech, ...]
    markup: float

    def act(self, seen: Observation) -> tuple[Action, ...]:
        """Return what the rival does in a turn."""
        actions: tuple[Action, ...] = (Markup(self.markup),)
        if not seen.history or seen.now.turn % ORDER_EVERY:
            return actions
        rates = {tech: _listed_rate(tech, seen.history[-1]) for tech in self.kinds}
        best = max(rates, key=lambda tech: rates[tech])
        pays = rates[best] * PAYBACK_TURNS >= 1
        return (*actions, Build(best)) if pays and CATALOGUE[best].price <= seen.cash else actions


RIVALS: Final = (
    Rival("torch", (Tech.GAS, Tech.COAL), 0.05),
    Rival("breeze", (Tech.WIND, Tech.SOLAR), 0.0),
    Rival("atlas", tuple(Tech), 0.10),
)


def _listed_rate(tech: Tech, last: Cleared) -> float:
    """Return the margin of a turn over the price, by the catalogue and the prices of a turn."""
    entry, cost = CATALOGUE[tech], cost_now(tech, last.conditions)
    earned = sum(hours * sun(tech, block) * max(0.0, last.prices[block] - cost) for block, hours in HOURS.items())
    return (entry.mw * entry.available * earned / 1e6 - entry.upkeep / 1000) / entry.price
