"""What the tests of the memory say shortly: embedders of a few lines, and what a memory holds."""

from __future__ import annotations

import numpy as np

from seasoned import CallableEmbedder, HashingEmbedder

_SPELLING = HashingEmbedder(64)


def ids(hits) -> list[str]:
    """The ids of hits or of a page's, in order."""
    return [hit.id for hit in getattr(hits, "hits", hits)]


def texts(hits) -> list[str]:
    """Their texts."""
    return [hit.text for hit in getattr(hits, "hits", hits)]


def spelling(name="spelling", **options) -> CallableEmbedder:
    """An embedder whose cosines count, near where the spelling is."""
    return CallableEmbedder(_SPELLING.embed, name, dimension=64, **options)


def concepts(*groups, name="concepts", **options) -> CallableEmbedder:
    """An embedder that knows which words mean the same: one axis for each group of them, and one for the rest."""

    def embed(asked: list[str]) -> np.ndarray:
        rows = np.zeros((len(asked), len(groups) + 1), np.float32)
        for row, text in zip(rows, asked, strict=True):
            row[:-1] = [any(word in text.split() for word in group.split()) for group in groups]
            row[-1] = 0.0 if row.any() else 1.0
        return rows

    return CallableEmbedder(embed, name, dimension=len(groups) + 1, **options)


class Switched:
    """An embedding function that fails while it is `off`, and counts the texts that it was asked for."""

    def __init__(self, *, off: bool = False) -> None:
        self.off = off
        self.asked: list[str] = []

    def __call__(self, asked: list[str]) -> np.ndarray:
        self.asked += asked
        if self.off:
            raise ConnectionError("the embedding service is down")
        return _SPELLING.embed(asked)


def stored_bytes(path) -> bytes:
    """All bytes of a store's file and of those that belong to it, whether it is open or not."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.iterdir()) if one.name.startswith(path.name))
