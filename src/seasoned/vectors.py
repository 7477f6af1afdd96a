"""The dense arm: the vectors of one scope in one space, exact up to some size, then by sign bits and rescoring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.columns import Column

EXACT_UP_TO: Final = 20_000
"""Up to so many vectors every cosine is computed; above, sign bits choose which are."""

RESCORED: Final = 2_000
"""Fewest vectors whose exact cosine is computed above `EXACT_UP_TO`; one in fifty of them all if that is more."""

Floats = NDArray[np.float32]


class DenseIndex:
    """Unit vectors with the slot that each belongs to; a slot may have several, of which the nearest counts."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._matrix: Column[np.float32] = Column(np.float32, (dimension,))
        self._bits: list[Column[np.uint64]] = [Column(np.uint64) for _ in range(-(-dimension // 64))]
        self._owner: Column[np.int32] = Column(np.int32)
        self._live: Column[np.bool_] = Column(np.bool_)
        self._one_each = True
        self._all_live = True

    def __len__(self) -> int:
        return len(self._owner)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._matrix.nbytes + sum(bits.nbytes for bits in self._bits) + self._owner.nbytes

    @property
    def owners(self) -> NDArray[np.int32]:
        """The slot of each vector."""
        return self._owner.view

    def make_room(self, more: int) -> None:
        """Make room for so many vectors at once."""
        self._matrix.reserve(more)
        self._owner.reserve(more)
        self._live.reserve(more)
        for bits in self._bits:
            bits.reserve(more)

    def rows(self, start: int, number: int) -> Floats:
        """Return some of the vectors, in the order in which they were added."""
        return self._matrix.view[start : start + number]

    def add(self, slots: NDArray[np.int32], vectors: Floats) -> None:
        """Add vectors, row i belonging to slot i."""
        self._matrix.extend(vectors)
        for bits, words in zip(self._bits, sign_bits(vectors).T, strict=True):
            bits.extend(words)
        self._owner.extend(slots)
        self._live.extend(np.ones(len(slots), np.bool_))
        if self._one_each and len(slots):
            self._one_each = bool((np.diff(self.owners[-len(slots) - 1 :]) > 0).all())

    def drop(self, slots: Sequence[int], total: int) -> None:
        """Forget the vectors of some of `total` slots."""
        gone = np.zeros(total, np.bool_)
        gone[list(slots)] = True
        self._live.view[gone[self.owners]] = False
        self._all_live = bool(self._live.view.all())

    def cosines(self, query: Floats, slots: int, allowed: NDArray[np.bool_]) -> Floats:
        """Return the cosine of each slot with `query`, shape (slots,); NaN where not allowed or not computed."""
        out = np.full(slots, np.nan, np.float32)
        rows = self._candidates(query, self._eligible(allowed))
        found, owners = self._products(rows, query), self.owners if rows is None else self.owners[rows]
        if self._one_each:
            out[owners] = found
        else:
            best = np.full(slots, -np.inf, np.float32)
            np.maximum.at(best, owners, found)
            out[owners] = best[owners]
        return out

    def _eligible(self, allowed: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Return the places of vectors that may be looked at, None for all."""
        if self._all_live and allowed.all():
            return None
        return np.flatnonzero(allowed[self.owners] & self._live.view)

    def _candidates(self, query: Floats, rows: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Return the places of vectors whose exact cosine is wanted, None for all."""
        number = len(self) if rows is None else len(rows)
        return self._nearest_by_bits(query, rows, number) if number > EXACT_UP_TO else rows

    def _products(self, rows: NDArray[np.int64] | None, query: Floats) -> Floats:
        matrix = self._matrix.view if rows is None else self._matrix.view[rows]
        products: Floats = np.clip(matrix @ query, -1.0, 1.0)
        return products

    def _nearest_by_bits(self, query: Floats, rows: NDArray[np.int64] | None, number: int) -> NDArray[np.int64]:
        wanted = sign_bits(query[None, :])[0]
        differing = np.zeros(number, np.uint16)
        for bits, word in zip(self._bits, wanted, strict=True):
            mine = bits.view if rows is None else bits.view[rows]
            differing += np.bitwise_count(mine ^ word)
        reached = np.cumsum(np.bincount(differing, minlength=64 * len(self._bits) + 1))
        limit = int(np.searchsorted(reached, max(RESCORED, number // 50)))
        near = np.flatnonzero(differing <= limit)
        return near if rows is None else rows[near]


class DenseSpace(DenseIndex):
    """The vectors of one space, of which each slot has those written last."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.seq = 0
        self._first: Column[np.int32] = Column(np.int32)

    def reserve(self, slots: int) -> None:
        """Make room for so many slots."""
        missing = slots - len(self._first)
        if missing > 0:
            self._first.extend(np.full(missing, -1, np.int32))
            self.make_room(missing)

    def take(self, placed: Sequence[tuple[int, bytes]]) -> None:
        """Add the vectors of slots that have none yet, or other ones."""
        first = self._first.view
        known = [(slot, data) for slot, data in placed if first[slot] >= 0]
        if known:
            same = {slot for slot, data in known if self._has(slot, data)}
            placed = [(slot, data) for slot, data in placed if slot not in same]
            self.drop([slot for slot, _ in known if slot not in same], len(first))
        if not placed:
            return
        slots = np.array([slot for slot, _ in placed], np.int32)
        parts = np.array([len(data) for _, data in placed]) // (4 * self.dimension)
        first[slots] = len(self) + np.cumsum(parts) - parts
        matrix = np.frombuffer(b"".join(data for _, data in placed), "<f4").reshape(-1, self.dimension)
        self.add(np.repeat(slots, parts), matrix)

    def _has(self, slot: int, data: bytes) -> bool:
        start = int(self._first.view[slot])
        parts = len(data) // (4 * self.dimension)
        mine = self.owners[start : start + parts + 1]
        return int((mine == slot).sum()) == parts and self.rows(start, parts).tobytes() == data


def sign_bits(vectors: Floats) -> NDArray[np.uint64]:
    """Return one bit a number, set where it is positive, packed into words; shape (n, ceil(dimension / 64))."""
    packed = np.packbits(vectors > 0, axis=1)
    short = -packed.shape[1] % 8
    padded = np.pad(packed, ((0, 0), (0, short))) if short else packed
    return np.ascontiguousarray(padded).view(np.uint64)
