"""Made-up messages, queries and vectors: the same for the same seed, and shaped like real ones.

Words follow Zipf's law with Mandelbrot's shift over 40,000 made-up words, of which the commonest are English function
words, as in English half of all words are. Lengths are log-normal, 20 words in the middle. Vectors are unit rows around
random centres, a hundred to a centre, some near to it and some far. A query takes its vector from near a message's,
and half of its words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

DIMENSION: Final = 384
WORDS: Final = 40_000
QUERIES: Final = 200
BLOCK: Final = 50_000
PER_CENTRE: Final = 100

_COMMON: Final = """
    the to i and a of you it that in is for was on my with have be this at are but not so we me what do they can like
    just your all about if from or there out as up an when one go more some will would how has he she them had been
"""
_SYLLABLES: Final = tuple("".join(pair) for pair in product("bdfgklmnprstvz", "aeiou"))


class Maker:
    """Writes made-up data; everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._words = np.array(self._vocabulary())
        shares = 1 / (np.arange(1, WORDS + 1) + 2.7) ** 1.07
        self._shares = shares / shares.sum()

    def write(self, folder: Path, count: int) -> None:
        """Write `count` texts with their vectors, and queries with theirs."""
        centres = self._unit(self._random.standard_normal((max(1, count // PER_CENTRE), DIMENSION)))
        table = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (count, DIMENSION))
        for start in range(0, count, BLOCK):
            table[start : start + BLOCK] = self._around(centres, min(BLOCK, count - start))
        texts = list(self._texts(count))
        with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(text) + "\n" for text in texts)
        self._write_queries(folder, texts, table)
        table.flush()

    def _write_queries(self, folder: Path, texts: list[str], table: Floats) -> None:
        # from the first thousand, so that every size has what they ask for
        places = self._random.choice(min(1_000, len(texts)), QUERIES, replace=False)
        queries = [self._query(texts[place]) for place in places]
        noise = self._random.standard_normal((QUERIES, DIMENSION)) * 0.5 / DIMENSION**0.5
        (folder / "queries.json").write_text(json.dumps(queries), encoding="utf-8")
        np.save(folder / "query_vectors.npy", self._unit(table[places] + noise))

    def _query(self, text: str) -> str:
        length = int(self._random.integers(4, 17))
        said = text.split()
        taken = self._random.choice(said, min(length // 2, len(said)), replace=False).tolist()
        return " ".join([*taken, *self._drawn(length - len(taken)), "?"])

    def _vocabulary(self) -> list[str]:
        made = dict.fromkeys(_COMMON.split())
        while len(made) < WORDS:
            made["".join(self._random.choice(_SYLLABLES, self._random.integers(2, 5)))] = None
        return list(made)

    def _drawn(self, count: int) -> list[str]:
        drawn: list[str] = self._random.choice(self._words, count, p=self._shares).tolist()
        return drawn

    def _texts(self, count: int) -> Iterator[str]:
        """Yield texts, no two alike, so that a text gives its vector."""
        seen: set[str] = set()
        for start in range(0, count, BLOCK):
            lengths = np.clip(self._random.lognormal(3.0, 0.6, min(BLOCK, count - start)), 3, 150).astype(int)
            words = self._drawn(int(lengths.sum()))
            for end, length in zip(np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
                text = " ".join(words[end - length : end])
                while text in seen:
                    text += f" {self._drawn(1)[0]}"
                seen.add(text)
                yield text

    def _around(self, centres: Floats, count: int) -> Floats:
        spread = self._random.uniform(0.3, 1.2, (count, 1)) / DIMENSION**0.5
        noise = self._random.standard_normal((count, DIMENSION)) * spread
        return self._unit(centres[self._random.integers(0, len(centres), count)] + noise)

    @staticmethod
    def _unit(rows: NDArray[np.floating]) -> Floats:
        unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


def exact(folder: Path, size: int, k: int) -> list[list[str]]:
    """Return the ids of the k nearest of the first `size` messages to each query, by exact cosine."""
    table = np.load(folder / "vectors.npy", mmap_mode="r")
    queries = np.load(folder / "query_vectors.npy")
    found = np.concatenate(
        [queries @ table[start : start + BLOCK][: size - start].T for start in range(0, size, BLOCK)], 1
    )
    return [[f"m{place}" for place in np.argsort(-row, kind="stable")[:k]] for row in found]
