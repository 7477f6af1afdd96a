"""What lives come to: means, learning curves, and paired differences with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from examples.energy_tycoon.figures import Difference
from examples.life.lives import ARMS, FEEDBACK, WITH, WITHOUT, Lived


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Per arm the mean reward of an episode and its learning curve, and how the arms differ over lives, paired.

    `seen` are means of what the agent sees of the rewards, the aftermaths left out. `shares` are differences as shares
    of the mean without memory.
    """

    seeds: tuple[int, ...]
    episodes: int
    means: dict[str, float]
    seen: dict[str, float]
    curves: dict[str, list[float]]
    differences: dict[str, Difference]
    shares: dict[str, float]
    by_seed: dict[int, dict[str, float]]


def figures(lived: Sequence[Lived]) -> Figures:
    """Return the figures of the lives lived."""
    means = {arm: [fmean(life.rewards[arm]) for life in lived] for arm in ARMS}

    def over(one: str, other: str) -> Difference:
        return Difference.of([a - b for a, b in zip(means[one], means[other], strict=True)])

    base = fmean(means[WITHOUT])
    differences = {
        WITH: over(WITH, WITHOUT),
        FEEDBACK: over(FEEDBACK, WITHOUT),
        "feedback_over_with": over(FEEDBACK, WITH),
    }
    return Figures(
        seeds=tuple(life.seed for life in lived),
        episodes=len(lived[0].rewards[WITHOUT]),
        means={arm: fmean(values) for arm, values in means.items()},
        seen={arm: fmean(fmean(life.seen[arm]) for life in lived) for arm in ARMS},
        curves={arm: [fmean(one) for one in zip(*(life.rewards[arm] for life in lived), strict=True)] for arm in ARMS},
        differences=differences,
        shares={arm: differences[arm].mean / base for arm in (WITH, FEEDBACK)} if base > 0 else {},
        by_seed={life.seed: {arm: fmean(life.rewards[arm]) for arm in ARMS} for life in lived},
    )
