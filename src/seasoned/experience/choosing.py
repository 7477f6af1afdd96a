"""Which of the best are shown: those that are not the same decision in the same situation and state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.diversity import mmr
from seasoned.experience.policy import ExperiencePolicy
from seasoned.experience.table import Table
from seasoned.text import words

SAID: Final = (0.25, 0.5, 0.25)
"""What of a likeness an equal situation, an equal action and an equal domain make up."""

Floats = NDArray[np.float32]


def diverse(table: Table, slots: Sequence[int], totals: Sequence[float], n: int, policy: ExperiencePolicy) -> list[int]:
    """Return the places of `n` slots, in the order given, that are good and unlike each other."""
    return sorted(mmr(totals, likeness(table, slots, policy), n, policy.diversity))


def likeness(table: Table, slots: Sequence[int], policy: ExperiencePolicy) -> Floats:
    """Return how alike each two slots are, 1 for copies, shape (n, n).

    It is the share of common words in their situations, times whether the action and domain are the same, times how
    alike the states are. Rewards and reasonings do not tell decisions apart.
    """
    codes = table.array("situation")[[*slots]]
    distinct, place = np.unique(codes, return_inverse=True)
    texts = _jaccard([frozenset(words(table.situations.text(int(code)))) for code in distinct])
    same = [_equal(table.array(name)[[*slots]]) for name in ("action", "domain")]
    acts = SAID[0] + SAID[1] * same[0] + SAID[2] * same[1]
    found: Floats = texts[place][:, place] * acts.astype(np.float32)
    return found * table.states.pairwise(slots, policy.metric_scale)


def _equal(codes: NDArray[np.generic]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = codes[:, None] == codes[None, :]
    return found


def best_slots(table: Table, totals: Floats, size: int, n: int = 0) -> list[int]:
    """Return the slots of the `size` (at least `n`) best totals above -inf, best first; of equals the newest."""
    size = max(size, n)
    slots = np.flatnonzero(totals > -np.inf)
    if len(slots) > size:
        cut = np.partition(totals[slots], len(slots) - size)[len(slots) - size]
        above, level = slots[totals[slots] > cut], slots[totals[slots] == cut]
        newest = np.argsort(-table.array("order")[level].astype(np.int64), kind="stable")
        slots = np.concatenate([above, level[newest[: size - len(above)]]])
    order = np.lexsort((-table.array("order")[slots].astype(np.int64), -totals[slots]))
    best: list[int] = slots[order].tolist()
    return best


def unlike_slots(table: Table, totals: Floats, size: int, n: int) -> list[int]:
    """Return the best slots that are no copies of each other, then as many copies as `n` may still need."""
    copies, eligible, read = table.array("copy"), int((totals > -np.inf).sum()), 4 * size
    while True:
        slots = best_slots(table, totals, read)
        first: dict[int, int] = {}
        for slot, copy in zip(slots, copies[slots].tolist(), strict=True):
            first.setdefault(copy, slot)
        if len(first) >= size or len(slots) >= eligible:
            break
        read *= 8
    distinct = list(first.values())[:size]
    taken = set(distinct)
    more = [slot for slot in slots if slot not in taken][: max(0, n - len(distinct)) + n]
    return distinct + more


def _jaccard(said: Sequence[frozenset[str]]) -> Floats:
    """Return the share of common words of each two texts, shape (n, n)."""
    codes = {word: code for code, word in enumerate(frozenset().union(*said))}
    has = np.zeros((len(said), max(1, len(codes))), np.float32)
    for row, some in zip(has, said, strict=True):
        row[[codes[word] for word in some]] = 1
    shared, sizes = has @ has.T, has.sum(axis=1)
    found: Floats = shared / np.maximum(sizes[:, None] + sizes[None, :] - shared, 1)
    return found
