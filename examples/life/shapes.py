"""The words and values that the simulator, the agent and the person share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

STEPS: Final = 5


class Domain(StrEnum):
    """A side of life."""

    CAREER = "career"
    FINANCES = "finances"
    RELATIONSHIPS = "relationships"
    PHYSICAL_HEALTH = "physical_health"
    MENTAL_WELLBEING = "mental_wellbeing"
    TIME = "time"


class Act(StrEnum):
    """What can be done."""

    COMMUNICATE = "communicate"
    DELEGATE = "delegate"
    NEGOTIATE = "negotiate"
    POSTPONE = "postpone"
    SPEND = "spend"
    REST = "rest"
    PUSH_THROUGH = "push_through"
    ORGANISE = "organise"


@dataclass(frozen=True, slots=True)
class Action:
    """One act on one domain."""

    act: Act
    domain: Domain


@dataclass(frozen=True, slots=True)
class Budget:
    """Hours and euros."""

    hours: float
    money: float

    def covers(self, cost: Budget) -> bool:
        """Tell whether a cost can be paid."""
        return cost.hours <= self.hours and cost.money <= self.money

    def less(self, cost: Budget) -> Budget:
        """Return what is left after a cost."""
        return Budget(self.hours - cost.hours, self.money - cost.money)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the agent is shown before a step: the conflict, open demands by severity, metrics, budget, steps left."""

    title: str
    wording: str
    open: Mapping[Domain, int]
    metrics: Mapping[str, float]
    budget: Budget
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step came to: the action taken, whether it met its demand, and the reward that the agent sees."""

    action: Action | None
    met: bool
    reward: float
