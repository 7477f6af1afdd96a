"""Maximal marginal relevance: the best that do not say the same (Carbonell and Goldstein 1998)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mmr(scores: Sequence[float], likeness: NDArray[np.floating], k: int, diversity: float = 0.5) -> list[int]:
    """Return the places of at most `k` scores, each the best after what the ones before it already say.

    `likeness` says how alike two are, shape (n, n), 0 to 1. Each step takes the highest of
    `(1 - diversity) * score / best score - diversity * likeness to the nearest taken`, the first of equals; with a
    diversity of 0 that is the order of the scores.
    """
    values = np.asarray(scores, np.float64)
    best = float(values.max(initial=0.0))
    worth = (1 - diversity) * (values / best if best > 0 else values)
    nearest = np.zeros(len(values))
    left = np.ones(len(values), np.bool_)
    taken: list[int] = []
    while len(taken) < min(k, len(values)):
        place = int(np.argmax(np.where(left, worth - diversity * nearest, -np.inf)))
        taken.append(place)
        left[place] = False
        nearest = np.maximum(nearest, likeness[place])
    return taken
