"""How good a ranking is, given what should have been found."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import log2


def recall_at(k: int, ranked: Sequence[str], gold: AbstractSet[str]) -> float:
    """Return the share of `gold` among the first k."""
    return len(gold & set(ranked[:k])) / len(gold)


def ndcg_at(k: int, ranked: Sequence[str], gold: AbstractSet[str]) -> float:
    """Return the normalised discounted cumulative gain of the first k, each of `gold` being worth one."""
    found = sum(1 / log2(place + 2) for place, each in enumerate(ranked[:k]) if each in gold)
    return found / sum(1 / log2(place + 2) for place in range(min(k, len(gold))))


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
