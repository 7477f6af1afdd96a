"""The environments, and how what is observed in them becomes a situation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Final, Protocol, SupportsFloat, SupportsIndex

from seasoned.errors import WrongType
from seasoned.experience import ExperiencePolicy, MetricRules


class Environment(Protocol):
    """What is used of a gymnasium environment."""

    def reset(self, *, seed: int | None = None) -> tuple[object, Mapping[str, object]]:
        """Begin an episode."""
        ...

    def step(self, action: int) -> tuple[object, SupportsFloat, bool, bool, Mapping[str, object]]:
        """Take an action."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """An observation as memory takes it: words, and either a tag that names it or metrics that place it."""

    text: str
    tags: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An environment, and what an episodic controller has to be told of it.

    `discount` is that of returns, `scale` what a discounted return is multiplied by before it is stored. With `best`,
    the best return of the neighbours counts, as in a deterministic table, else their mean. At most `capacity`
    decisions are stored.
    """

    name: str
    options: Mapping[str, object]
    actions: int
    situation: Callable[[object], Situation]
    policy: ExperiencePolicy
    episodes: int
    last: int
    discount: float
    scale: float
    neighbours: int
    best: bool = False
    capacity: int = 100_000

    def make(self) -> Environment:
        """Return the environment.

        Raises:
            ImportError: gymnasium is not installed.
        """
        environment: Environment = gymnasium().make(self.name, **self.options)
        return environment


def gymnasium() -> ModuleType:
    """Return the gymnasium package; `ImportError` where it is not installed."""
    try:
        return import_module("gymnasium")
    except ImportError as error:
        raise ImportError("the environments are gymnasium's, which is not installed: pip install gymnasium") from error


def _cell(observation: object) -> Situation:
    if not isinstance(observation, SupportsIndex):
        raise WrongType(f"an observation of a table is a whole number, not {observation!r}")
    name = f"cell {observation.__index__()}"
    return Situation(text=name, tags=(name,))


CART: Final[Mapping[str, tuple[float, float]]] = {
    "position": (-2.4, 2.4),
    "velocity": (-3.0, 3.0),
    "angle": (-0.21, 0.21),
    "turning": (-3.0, 3.0),
}


def _cart(observation: object) -> Situation:
    values = [float(value) for value in observation]  # type: ignore[attr-defined]  # a row of four numbers
    return Situation(text="pole on a cart", metrics=dict(zip(CART, values, strict=True)))


FROZEN_LAKE: Final = Task(
    name="FrozenLake-v1",
    options={"is_slippery": False},
    actions=4,
    situation=_cell,
    policy=ExperiencePolicy(),
    episodes=150,
    last=50,
    discount=0.95,
    scale=1.0,
    neighbours=8,
    best=True,
)
CART_POLE: Final = Task(
    name="CartPole-v1",
    options={},
    actions=2,
    situation=_cart,
    policy=ExperiencePolicy(
        metrics=MetricRules(inverted=(), ranges=CART), metric_weight=50, metric_scale=0.05, reward=0, confidence=0
    ),
    episodes=30,
    last=10,
    discount=0.95,
    scale=0.05,
    neighbours=10,
    capacity=4_000,
)
TASKS: Final[Mapping[str, Task]] = {task.name: task for task in (FROZEN_LAKE, CART_POLE)}
