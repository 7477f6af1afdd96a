"""How experience is read: what good metrics are, what ranks, what flows back, what a prompt shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.ranking import Blend
from seasoned.records import finite

INVERTED: Final = ("stress", "debt", "workload", "commute", "admin")
"""Words in the names of metrics of which less is better, where the caller names none."""

TEXT: Final = Blend(neighbour=0.0, session=0.0, user=0.0, named=0.0, recency=0.0, worth=0.0, echo=0.0, depth=50)
"""How words and cosines are fused here: a situation stands alone, in no session and said by nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRules:
    """What a metric's values mean.

    `inverted`: of these less is better; each is a metric's whole name, or a word in it ("stress" is one of
    "mental_wellbeing.stress_level"). `ranges`: the least and the most of a metric, by its whole name.

    Raises:
        InvalidInput: a range that is empty or not finite.
        WrongType: names that are not strings.
    """

    inverted: tuple[str, ...] = INVERTED
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inverted", _names(self.inverted))
        if not isinstance(self.ranges, Mapping):
            raise WrongType(f"ranges are a mapping of names to pairs, not {self.ranges!r:.80}")
        object.__setattr__(self, "ranges", {name: _range(name, ends) for name, ends in self.ranges.items()})


def _names(names: object) -> tuple[str, ...]:
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in names):
        raise WrongType(f"inverted is a tuple of names, not {names!r:.80}")
    return tuple(names)


def _range(name: object, ends: object) -> tuple[float, float]:
    if not isinstance(name, str) or not isinstance(ends, (list, tuple)) or len(ends) != 2:
        raise WrongType(f"a range is a name and a pair of numbers, not {name!r}: {ends!r:.80}")
    low, high = finite(ends[0], f"the least of {name}"), finite(ends[1], f"the most of {name}")
    if low >= high:
        raise InvalidInput(f"the range of {name!r} must rise, found {low} to {high}")
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperiencePolicy:
    """Every weight and default of `ExperienceMemory`.

    Raises:
        InvalidInput: a number out of its range.
        WrongType: a value of another type.
    """

    metrics: MetricRules = field(default_factory=MetricRules)
    """What metrics mean."""
    min_reward: float = 0.05
    """The floor of retrieval where the caller names none."""
    metric_weight: float = 0.5
    """How much the state counts beside the text."""
    metric_scale: float = 0.15
    """The distance between two states, in shares of the ranges, at which their likeness has fallen to 1/e."""
    unknown: float = 0.2
    """The likeness of a metric that one of two states lacks."""
    reward: float = 0.2
    """What the best value gains over the least."""
    feedback: float = 0.5
    """What a rating of 10 gains over one of 5, and one of 0 loses."""
    confidence: float = 0.1
    """What an action gains that was taken often here, always with the same reward."""
    discount: float = 0.9
    """What a reward or rating is multiplied by for each decision further back in its episode."""
    credit_share: float = 0.5
    """How much of a decision's value is what flows back to it, where it has a reward of its own."""
    diversity: float = 0.5
    """How much likeness to what is taken already counts against a result, 0 to 1."""
    prompt_budget: int = 800
    """Most tokens of a few-shot block where the caller names no budget."""
    avoid: int = 2
    """Most failures that a few-shot block shows."""
    avoid_score: float = 0.2
    """A failure whose relevance is less is not shown."""
    low_rating: float = 3.0
    """Up to this rating a decision is a failure, whatever its reward."""
    floor: float = 0.25
    """The similarity from which on a rated decision speaks for a prompt in `reward_human_feedback`."""

    def __post_init__(self) -> None:
        if not isinstance(self.metrics, MetricRules):
            raise WrongType(f"metrics are MetricRules, not {self.metrics!r:.80}")
        for each in fields(self):
            if each.name != "metrics":
                finite(getattr(self, each.name), each.name)
        for name in ("unknown", "feedback", "discount", "credit_share", "diversity"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"{name} lies between 0 and 1, found {getattr(self, name)!r}")
        for name in ("metric_weight", "reward", "confidence", "prompt_budget", "avoid"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"{name} is 0 or more, found {getattr(self, name)!r}")
        if self.metric_scale <= 0:
            raise InvalidInput(f"metric_scale is positive, found {self.metric_scale!r}")
