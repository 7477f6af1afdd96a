"""BM25 by bm25s: words in lower case, the longer list of English stop words left out, Snowball stems; k1 .9, b .4."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from engines.protocol import Data, Floats, Reply, Request, serve


class Bm25:
    """An index over everything added, made at the first search."""

    def __init__(self) -> None:
        self._library: Any = import_module("bm25s")
        self._stemmer: Any = import_module("Stemmer").Stemmer("english")
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._index: Any = None

    def about(self) -> Reply:
        """Say the version."""
        return {"version": metadata.version("bm25s"), "mode": "in memory"}

    def add_many(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:  # noqa: ARG002  # words alone
        """Add texts."""
        self._ids += ids
        self._texts += texts
        self._index = None

    def add(self, id: str, text: str, vector: Floats) -> None:  # noqa: A002  # the field's name everywhere
        """Add a text."""
        self.add_many([id], [text], vector)

    def search(self, text: str, vector: Floats, k: int) -> list[str]:  # noqa: ARG002  # words alone
        """Return the texts that match best."""
        if self._index is None:
            self._index = self._library.BM25(k1=0.9, b=0.4)
            self._index.index(self._tokens(self._texts), show_progress=False)
        places, _ = self._index.retrieve(self._tokens([text]), k=min(k, len(self._ids)), show_progress=False)
        return [self._ids[place] for place in places[0]]

    def _tokens(self, texts: Sequence[str]) -> object:
        found: object = self._library.tokenize(
            list(texts), stopwords="en_plus", stemmer=self._stemmer, show_progress=False
        )
        return found

    def close(self) -> None:
        """Nothing to close."""


def opened(_path: Path, _request: Request, _data: Data) -> Bm25:
    """Make an empty index."""
    return Bm25()


if __name__ == "__main__":
    serve(opened)
