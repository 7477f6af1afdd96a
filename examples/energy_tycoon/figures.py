"""What the seasons come to: means, differences between paired markets, and their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final

from examples.energy_tycoon.season import Compared, Season

ARMS: Final = ("without", "with", "control")
FEWEST: Final = 5
"""With fewer markets no interval is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A mean difference over markets, and its 95 % interval by Student's t, None for fewer than five markets."""

    mean: float
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, differences: Sequence[float]) -> Difference:
        """Return what the differences of paired markets come to."""
        mean, number = fmean(differences), len(differences)
        if number < FEWEST:
            return cls(mean=mean, interval=None)
        half = _t_quantile(number - 1) * stdev(differences) / sqrt(number)
        return cls(mean=mean, interval=(mean - half, mean + half))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All that is shown, in k€ a turn: per arm the mean reward and its learning curve, and how the arms differ."""

    seeds: tuple[int, ...]
    means: dict[str, float]
    curves: dict[str, list[float]]
    by_seed: dict[int, dict[str, float]]
    with_over_without: Difference
    control_over_without: Difference
    with_over_control: Difference


def figures(compared: Sequence[Compared]) -> Figures:
    """Return the figures of the markets played."""
    rewards = {arm: [_arm(one, arm).rewards for one in compared] for arm in ARMS}
    means = {arm: [fmean(season) for season in seasons] for arm, seasons in rewards.items()}

    def over(one: str, other: str) -> Difference:
        return Difference.of([a - b for a, b in zip(means[one], means[other], strict=True)])

    return Figures(
        seeds=tuple(one.seed for one in compared),
        means={arm: fmean(values) for arm, values in means.items()},
        curves={arm: [fmean(run) for run in zip(*seasons, strict=True)] for arm, seasons in rewards.items()},
        by_seed={one.seed: {arm: fmean(_arm(one, arm).rewards) for arm in ARMS} for one in compared},
        with_over_without=over("with", "without"),
        control_over_without=over("control", "without"),
        with_over_control=over("with", "control"),
    )


def _arm(compared: Compared, arm: str) -> Season:
    return {"without": compared.without, "with": compared.with_memory, "control": compared.control}[arm]


def _t_quantile(freedom: int) -> float:
    """Return Student's t at 97.5 % by the Cornish-Fisher expansion, within 0.3 % from four degrees of freedom on."""
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
