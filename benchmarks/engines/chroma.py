"""Chroma, in its persistent client: one collection, cosine, vectors given."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from engines.protocol import Data, Floats, Reply, Request, serve

MOST_AT_ONCE = 5_000


class Chroma:
    """One collection."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._client: Any = import_module("chromadb").PersistentClient(path=str(path))
        self._all: Any = self._client.get_or_create_collection(
            "messages", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def about(self) -> Reply:
        """Say the version, and the journal of its file; what it writes through is not told."""
        with sqlite3.connect(self._path / "chroma.sqlite3") as db:
            journal = db.execute("PRAGMA journal_mode").fetchone()[0]
        return {"version": metadata.version("chromadb"), "mode": f"journal {journal}"}

    def add_many(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:
        """Add a batch."""
        self._all.add(ids=list(ids), documents=list(texts), embeddings=vectors)

    def add(self, id: str, text: str, vector: Floats) -> None:  # noqa: A002  # the field's name everywhere
        """Add one record."""
        self._all.add(ids=[id], documents=[text], embeddings=[vector], metadatas=[{"session": "s"}])

    def search(self, text: str, vector: Floats, k: int) -> list[str]:  # noqa: ARG002  # it ranks by vectors alone
        """Return the nearest, with their texts."""
        found = self._all.query(query_embeddings=[vector], n_results=k, include=["documents", "distances"])
        ids: list[str] = found["ids"][0]
        return ids

    def close(self) -> None:
        """Nothing to close: it has no such call that can be relied on."""


def opened(path: Path, _request: Request, _data: Data) -> Chroma:
    """Open the collection."""
    return Chroma(path)


if __name__ == "__main__":
    serve(opened)
