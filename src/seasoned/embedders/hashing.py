"""Feature hashing: a vector with no model behind it, the same in every process and on every machine.

Weinberger et al. 2009 (arXiv:0902.2206): each feature adds plus or minus its weight at the place that its hash gives.
The features are the terms of `seasoned.text` and, so that near spellings are near, the letter trigrams in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import log

import numpy as np
from numpy.typing import NDArray

from seasoned.embedders.rows import ChecksItself, clean_texts, unit_rows
from seasoned.errors import InvalidInput
from seasoned.ports import Fingerprint
from seasoned.text import DEFAULT, STOP_WORDS, tokens

_SMALLEST = 8
_TRIGRAMS_SHARE = 0.5
_STOP_WORD_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class _Features:
    """One term's features: the hash of each, and its weight."""

    hashes: NDArray[np.uint64]
    weights: NDArray[np.float32]


class HashingEmbedder(ChecksItself):
    """Embeds a text by its terms and their spelling; it knows no synonyms, so beside words it counts for nothing.

    `dimension` is how many places there are (256; at least 8): more of them, fewer collisions.

    Raises:
        InvalidInput: `dimension` is less than 8.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < _SMALLEST:
            raise InvalidInput(f"a hashing embedder needs a dimension of at least {_SMALLEST}, not {dimension!r}")
        self._fingerprint = Fingerprint("hashing", f"1-{DEFAULT.fingerprint.replace('/', '-')}", dimension)

    @property
    def fingerprint(self) -> Fingerprint:
        """The vector space that the embedder writes to; its version names how words are cut and stemmed."""
        return self._fingerprint

    @property
    def weight(self) -> float:
        """Nothing beside words, which say the same and better."""
        return 0.0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row a text, shape (n, dimension); the row of an empty or blank text is zero."""
        asked = clean_texts(texts)
        sums = np.zeros((len(asked), self._fingerprint.dimension), dtype=np.float64)
        for row, text in zip(sums, asked, strict=True):
            _add(row, Counter(tokens(text) or text.split()))
        return unit_rows(sums)


def _add(row: NDArray[np.float64], terms: Counter[str]) -> None:
    """Add the features of `terms`; a term that comes n times counts 1 + log n times."""
    if not terms:
        return
    found = [_features(term) for term in terms]
    hashes = np.concatenate([features.hashes for features in found])
    times = [1 + log(count) for count in terms.values()]
    weights = np.concatenate([features.weights * n for features, n in zip(found, times, strict=True)])
    signs = np.where(hashes >> np.uint64(63), 1.0, -1.0)
    places = (hashes % np.uint64(len(row))).astype(np.intp)
    row += np.bincount(places, weights=signs * weights, minlength=len(row))


@lru_cache(maxsize=16_384)
def _features(term: str) -> _Features:
    marked = f"<{term}>"
    trigrams = [marked[i : i + 3] for i in range(len(marked) - 2)] if len(term) > 2 else []
    whole = _STOP_WORD_SHARE if term in STOP_WORDS else 1.0
    each = whole * _TRIGRAMS_SHARE / max(1, len(trigrams)) ** 0.5
    hashes = [_hash(f"term {term}"), *(_hash(f"letters {trigram}") for trigram in trigrams)]
    return _Features(np.array(hashes, dtype=np.uint64), np.array([whole] + [each] * len(trigrams), dtype=np.float32))


def _hash(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
