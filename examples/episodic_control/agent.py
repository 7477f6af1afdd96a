"""Episodic control (Blundell et al. 2016, arXiv:1606.04460): do what came to most in the situations most like this."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from examples.episodic_control.tasks import Situation, Task
from seasoned.experience import ExperienceMemory, Match

Step = tuple[Situation, int, float]
"""A situation, the action taken in it, and the reward that came of that step."""


class EpisodicAgent:
    """An agent that knows only what its memory finds; without memory it is the same agent, and always guesses."""

    def __init__(self, task: Task, memory: ExperienceMemory | None, seed: int) -> None:
        self._task = task
        self._memory = memory.with_policy(task.policy) if memory else None
        self._luck = Random(f"episodic-control/{seed}")
        self._stored = 0

    def act(self, situation: Situation) -> int:
        """Return an action never tried in situations like this, while there is one; else the one that came to most."""
        values = {action: self._value(situation, action) for action in range(self._task.actions)}
        untried = [action for action, value in values.items() if value is None]
        if untried:
            return self._luck.choice(untried)
        known = {action: value for action, value in values.items() if value is not None}
        most = max(known.values())
        return self._luck.choice([action for action, value in known.items() if value == most])

    def remember(self, episode: str, steps: Sequence[Step]) -> None:
        """Store each step of an episode that is over, with the discounted return that followed it."""
        if self._memory is None:
            return
        returns, following = [], 0.0
        for _, _, reward in reversed(steps):
            following = reward + self._task.discount * following
            returns.append(following * self._task.scale)
        for (situation, action, _), value in zip(steps, reversed(returns), strict=True):
            if self._stored == self._task.capacity:
                return
            if self._task.best and self._knows_better(situation, action, value):
                continue
            self._stored += 1
            self._memory.record(
                situation.text, str(action), value, metrics=situation.metrics, tags=situation.tags, episode=episode
            )

    def _knows_better(self, situation: Situation, action: int, value: float) -> bool:
        known = self._value(situation, action)
        return known is not None and known >= value

    def _value(self, situation: Situation, action: int) -> float | None:
        """Return what an action came to in the situations most like this; None where it was never taken."""
        near = self._near(situation, action)
        if not near:
            return None
        if self._task.best:
            return max(match.reward or 0.0 for match in near)
        weight = sum(_likeness(match) for match in near)
        return sum(_likeness(match) * (match.reward or 0.0) for match in near) / weight

    def _near(self, situation: Situation, action: int) -> list[Match]:
        if self._memory is None:
            return []
        return self._memory.similar(
            situation.text,
            situation.metrics,
            self._task.neighbours,
            min_reward=None,
            actions=[str(action)],
            tags=situation.tags,
            diverse=False,
        )


def _likeness(match: Match) -> float:
    """Return how alike the states are, above 0."""
    part = match.why.get("metrics")
    return 1.0 if part is None else max(part.value, 1e-9)
