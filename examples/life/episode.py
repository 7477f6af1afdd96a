"""An episode: one conflict of a life, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from examples.life.catalogue import COSTS, INVERTED, goodness, of_domain, wellbeing
from examples.life.shapes import STEPS, Act, Action, Budget, Domain, Outcome, Seen
from examples.life.world import Life, Luck

WORKS: Final = 0.85
WORKS_NOT: Final = 0.10

CASCADES: Final[tuple[tuple[str, float, Mapping[str, float]], ...]] = (
    ("mental_wellbeing.stress_level", 70, {"physical_health.sleep": -3, "mental_wellbeing.clarity": -3}),
    ("career.workload", 75, {"mental_wellbeing.stress_level": 3, "relationships.romantic": -2}),
    ("physical_health.sleep", 35, {"physical_health.energy": -4, "mental_wellbeing.stress_level": 2}),
    ("finances.debt", 70, {"mental_wellbeing.stress_level": 3}),
    ("time.free_hours", 25, {"relationships.family": -2, "relationships.romantic": -2}),
    ("time.admin_load", 75, {"mental_wellbeing.clarity": -2}),
    ("physical_health.energy", 30, {"career.standing": -2}),
)
"""A metric worse than its limit (above it where less is better, else below), and what that does."""


class Episode:
    """One conflict of a life; `step` until it is `over`."""

    def __init__(self, life: Life, number: int) -> None:
        self.life = life
        self.luck = Luck.of(life.seed, number)
        self.taken: list[Action] = []
        self.seen_reward = 0.0
        self._metrics = {name: _cut(value + self.luck.noise[name]) for name, value in life.usual.items()}
        self._open = self.luck.conflict.demands
        self._budget = self.luck.budget
        self._left = STEPS
        for domain, severity in self._open.items():
            self._improve(domain, -6 * severity)

    @property
    def over(self) -> bool:
        """Whether no step is left."""
        return self._left == 0

    @property
    def reward(self) -> float:
        """The reward of the episode so far, with the aftermaths that the agent does not see."""
        return self.seen_reward + sum(self.life.aftermath[action] for action in self.taken)

    def seen(self) -> Seen:
        """Return what the agent is shown."""
        return Seen(
            title=self.luck.conflict.title,
            wording=self.luck.wording,
            open=dict(self._open),
            metrics={name: round(value, 1) for name, value in self._metrics.items()},
            budget=self._budget,
            left=self._left,
        )

    def step(self, action: Action | None) -> Outcome:
        """Take one action, or none; what is not demanded or not covered by the budget counts as none."""
        before, start = dict(self._metrics), wellbeing(self._metrics)
        allowed = action if action is not None and self._allows(action) else None
        severity = self._act(allowed) if allowed else 0
        for domain, pressure in self._open.items():
            self._improve(domain, -2 * pressure)
        self._cascade(before)
        self._left -= 1
        reward = (wellbeing(self._metrics) - start) / 10 + 0.2 * severity
        self.seen_reward += reward
        return Outcome(action=allowed, met=severity > 0, reward=reward)

    def _allows(self, action: Action) -> bool:
        return action.domain in self._open and self._budget.covers(COSTS[action.act])

    def _act(self, action: Action) -> int:
        """Pay for an action and take it; return the severity of the demand that it met, 0 for none."""
        self.taken.append(action)
        self._pay(COSTS[action.act])
        if action.act is Act.PUSH_THROUGH:
            self._move("physical_health.energy", -6)
            self._move("mental_wellbeing.stress_level", 6)
        works = action in self.life.works[self.luck.conflict.title]
        if self.luck.chance[action] >= (WORKS if works else WORKS_NOT):
            return 0
        severity = self._open.pop(action.domain)
        self._improve(action.domain, 5 * severity)
        return severity

    def _pay(self, cost: Budget) -> None:
        self._budget = self._budget.less(cost)
        self._move("time.free_hours", -2 * cost.hours)
        self._move("finances.liquidity", -2 * cost.money / 50)

    def _improve(self, domain: Domain, by: float) -> None:
        for name in of_domain(domain):
            self._move(name, -by if name in INVERTED else by)

    def _cascade(self, before: Mapping[str, float]) -> None:
        for name, limit, effects in CASCADES:
            if goodness(name, before[name]) < goodness(name, limit):
                for other, by in effects.items():
                    self._move(other, by)

    def _move(self, name: str, by: float) -> None:
        self._metrics[name] = _cut(self._metrics[name] + by)


def _cut(value: float) -> float:
    return min(100.0, max(0.0, value))
