"""The lexical arm: an inverted index of one scope in numpy arrays, ranked by BM25."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.columns import Column

K1: Final = 0.9
"""How soon repetitions of a term stop counting (BM25, Robertson and Zaragoza 2009)."""

B: Final = 0.4
"""How much long texts are held back, 0 to 1 (BM25)."""

MAX_QUERY_TERMS: Final = 64
"""Most terms of one query that are looked up: the rarest ones of a longer query."""

_MERGE_AT: Final = 512
_MERGE_SHARE: Final = 0.25

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Matched:
    """One query term: how rare it is, the slots that hold it and how often."""

    term: str
    idf: float
    slots: Ints
    counts: Floats


class Vocabulary:
    """The terms of a process as small numbers, shared by all its indexes; it only grows, some 100 bytes a term."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._terms: list[str] = []
        self._lock = threading.Lock()

    def ids(self, terms: Iterable[str]) -> list[int]:
        """Return the number of each term, new ones for new terms."""
        known = self._ids
        try:
            return [known[term] for term in terms]
        except KeyError:
            with self._lock:
                return [self._id(term) for term in terms]

    def _id(self, term: str) -> int:
        if term not in self._ids:
            self._terms.append(term)
            self._ids[term] = len(self._terms) - 1
        return self._ids[term]

    def known(self, term: str) -> int:
        """Return the number of a term, or -1 if no text had it."""
        return self._ids.get(term, -1)

    def terms(self, ids: Iterable[int]) -> list[str]:
        """Return the terms of numbers."""
        return [self._terms[number] for number in ids]


VOCABULARY: Final = Vocabulary()
"""The vocabulary of this process."""


class Postings:
    """Which slots hold which terms. Slots are numbered as texts are added; the caller masks those that are removed."""

    def __init__(self) -> None:
        self._terms: Ints = np.zeros(0, np.int32)
        self._offsets: NDArray[np.int64] = np.zeros(1, np.int64)
        self._slots: Ints = np.zeros(0, np.int32)
        self._counts: NDArray[np.uint16] = np.zeros(0, np.uint16)
        self._tail: dict[int, list[int]] = {}
        self._tail_size = 0
        self._lengths: Column[np.int32] = Column(np.int32)

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """About how many bytes it holds, without the shared vocabulary."""
        arrays = (self._terms, self._offsets, self._slots, self._counts)
        return sum(array.nbytes for array in arrays) + self._lengths.nbytes + 150 * self._tail_size

    @property
    def lengths(self) -> Ints:
        """The number of words of each slot."""
        return self._lengths.view

    def add(self, terms: Sequence[str], length: int) -> int:
        """Add a text of so many words by its terms, and return its slot."""
        slot, tail = len(self._lengths), self._tail
        counts = Counter(terms)
        for term, count in zip(VOCABULARY.ids(list(counts)), counts.values(), strict=True):
            tail.setdefault(term, []).extend((slot, min(count, 65_535)))
        self._tail_size += len(counts)
        self._lengths.append(length)
        return slot

    def match(self, terms: Sequence[str], alive: NDArray[np.bool_]) -> list[Matched]:
        """Look up the terms, rarest first, at most `MAX_QUERY_TERMS`; slots that are not `alive` do not count."""
        if self._tail_size > max(_MERGE_AT, _MERGE_SHARE * len(self._slots)):
            self.merge()
        total = int(np.count_nonzero(alive & (self.lengths > 0)))
        found = [self._matched(term, alive, total) for term in terms]
        return sorted(found, key=lambda match: -match.idf)[:MAX_QUERY_TERMS]

    def _matched(self, term: str, alive: NDArray[np.bool_], total: int) -> Matched:
        slots, counts = self._postings(VOCABULARY.known(term))
        living = alive[slots]
        if not living.all():
            slots, counts = slots[living], counts[living]
        df = len(slots)
        return Matched(term, float(np.log1p((total - df + 0.5) / (df + 0.5))), slots, counts.astype(np.float32))

    def _postings(self, term: int) -> tuple[Ints, NDArray[np.uint16]]:
        place = int(np.searchsorted(self._terms, term))
        base = slice(0, 0)
        if place < len(self._terms) and self._terms[place] == term:
            base = slice(int(self._offsets[place]), int(self._offsets[place + 1]))
        slots, counts = self._slots[base], self._counts[base]
        tail = self._tail.get(term)
        if not tail:
            return slots, counts
        more = np.array(tail, np.int64).reshape(-1, 2)
        return (
            np.concatenate([slots, more[:, 0].astype(np.int32)]),
            np.concatenate([counts, more[:, 1].astype(np.uint16)]),
        )

    def merge(self) -> None:
        """Fold what was added since the last merge into the sorted arrays."""
        if not self._tail_size:
            return
        new = np.repeat(np.fromiter(self._tail, np.int32), [len(pairs) // 2 for pairs in self._tail.values()])
        pairs = np.fromiter(chain.from_iterable(self._tail.values()), np.int64).reshape(-1, 2)
        terms = np.concatenate([np.repeat(self._terms, np.diff(self._offsets)), new])
        order = np.argsort(terms, kind="stable")
        self._slots = np.concatenate([self._slots, pairs[:, 0].astype(np.int32)])[order]
        self._counts = np.concatenate([self._counts, pairs[:, 1].astype(np.uint16)])[order]
        self._terms, sizes = np.unique(terms, return_counts=True)
        self._offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._tail, self._tail_size = {}, 0

    def dump(self, keep: NDArray[np.bool_]) -> dict[str, bytes]:
        """Return the slots to keep, numbered anew, as named blobs; terms that only others had are not in them."""
        terms, slots, counts = self._flat((np.cumsum(keep) - 1) * keep - ~keep)
        used, sizes = np.unique(terms, return_counts=True)
        return {
            "terms": "\n".join(VOCABULARY.terms(used.tolist())).encode(),
            "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype("<i8").tobytes(),
            "slots": slots.astype("<i4").tobytes(),
            "counts": counts.astype("<u2").tobytes(),
            "lengths": self.lengths[keep].astype("<i4").tobytes(),
        }

    def canonical(self, place: NDArray[np.int64]) -> bytes:
        """Return every posting with its slot replaced by `place` (-1 leaves it out), sorted, as bytes."""
        terms, slots, counts = self._flat(place)
        order = np.lexsort((counts, slots, terms))
        return b"".join(array[order].astype("<i8").tobytes() for array in (terms, slots, counts))

    def _flat(self, place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        self.merge()
        slots = place[self._slots]
        kept = slots >= 0
        terms = np.repeat(self._terms, np.diff(self._offsets)).astype(np.int64)
        return terms[kept], slots[kept], self._counts[kept].astype(np.int64)

    @classmethod
    def load(cls, blobs: Mapping[str, bytes]) -> Postings:
        """Return what `dump` wrote.

        Raises:
            ValueError, KeyError: the blobs do not fit together.
        """
        made = cls()
        terms = blobs["terms"].decode()
        numbers = np.array(VOCABULARY.ids(terms.split("\n")) if terms else [], np.int32)
        offsets = np.frombuffer(blobs["offsets"], "<i8")
        made._slots = np.frombuffer(blobs["slots"], "<i4")
        made._counts = np.frombuffer(blobs["counts"], "<u2")
        made._lengths = Column(np.int32, start=np.frombuffer(blobs["lengths"], "<i4"))
        made._check(numbers, offsets)
        made._sort_terms(numbers, offsets)
        return made

    def _check(self, numbers: Ints, ends: NDArray[np.int64]) -> None:
        fits = len(ends) == len(numbers) + 1 and ends[0] == 0 and ends[-1] == len(self._slots) == len(self._counts)
        inside = not len(self._slots) or 0 <= self._slots.min() <= self._slots.max() < len(self._lengths)
        if not fits or not inside or (np.diff(ends) < 0).any():
            raise ValueError("the stored postings do not fit together")

    def _sort_terms(self, numbers: Ints, offsets: NDArray[np.int64]) -> None:
        """Bring the terms into the order that this process' vocabulary gives them."""
        order = np.argsort(numbers, kind="stable")
        sizes = np.diff(offsets)
        if not (order[1:] > order[:-1]).all():
            places = np.repeat(offsets[:-1][order] - np.concatenate([[0], np.cumsum(sizes[order])])[:-1], sizes[order])
            places += np.arange(len(self._slots))
            self._slots, self._counts = self._slots[places], self._counts[places]
        self._terms = numbers[order]
        self._offsets = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)


def bm25(matched: Sequence[Matched], lengths: Ints, alive: NDArray[np.bool_]) -> Floats:
    """Return the BM25 score of each slot, shape (n,), 0 where no term matches."""
    scores = np.zeros(len(lengths), np.float32)
    norm = _norms(lengths, alive)
    for match in matched:
        scores[match.slots] += _gain(match, norm[match.slots])
    return scores


def ideal(
    matched: Sequence[Matched], query: Sequence[str], length: int, lengths: Ints, alive: NDArray[np.bool_]
) -> float:
    """Return the score of a text with exactly the terms of the query and its length in words."""
    norm = K1 * (1 - B + B * length / _average(lengths, alive))
    counts = Counter(query)
    return sum(match.idf * counts[match.term] * (K1 + 1) / (counts[match.term] + norm) for match in matched)


def _gain(match: Matched, norm: Floats) -> Floats:
    gain: Floats = match.idf * match.counts * np.float32(K1 + 1) / (match.counts + norm)
    return gain


def _norms(lengths: Ints, alive: NDArray[np.bool_]) -> Floats:
    norm: Floats = (K1 * (1 - B) + (K1 * B / _average(lengths, alive)) * lengths).astype(np.float32)
    return norm


def _average(lengths: Ints, alive: NDArray[np.bool_]) -> float:
    counted = lengths[alive & (lengths > 0)]
    return float(counted.mean()) if len(counted) else 1.0
