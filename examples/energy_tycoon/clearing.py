"""Merit order: the cheapest offers first until demand is met, and the last one taken sets the price for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SCARCITY_PRICE: Final = 400.0


@dataclass(frozen=True, slots=True)
class Offer:
    """So many MW at so many €/MWh, under a name of its own."""

    price: float
    name: str
    mw: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The price in €/MWh, the MW that were missing, and the MW taken by the name of the offer."""

    price: float
    missing_mw: float
    taken: dict[str, float]


def clear(offers: Sequence[Offer], demand_mw: float) -> Outcome:
    """Return what the offers come to at a demand."""
    price, left, taken = 0.0, demand_mw, {}
    for offer in sorted(offers, key=lambda one: (one.price, one.name)):
        if left <= 0:
            break
        taken[offer.name] = min(offer.mw, left)
        price, left = offer.price, left - taken[offer.name]
    if left > 1e-9:
        return Outcome(SCARCITY_PRICE, left, taken)
    return Outcome(price, 0.0, taken)
