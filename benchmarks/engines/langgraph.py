"""LangGraph's SqliteStore with its vector index (sqlite-vec): one namespace, cosine.

It needs a Python whose sqlite3 can load extensions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from engines.protocol import Data, Floats, Reply, Request, serve

SPACE = ("messages",)


class LangGraphStore:
    """One namespace; the store asks for the vectors by text."""

    def __init__(self, path: Path, data: Data) -> None:
        module: Any = import_module("langgraph.store.sqlite")
        base: Any = import_module("langgraph.store.base")
        self._put = base.PutOp
        self._db = sqlite3.connect(path / "store.db", check_same_thread=False, isolation_level=None)

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [data.vector(text).tolist() for text in texts]

        index = {"dims": int(data.query_vectors.shape[1]), "embed": embed, "fields": ["text"], "text_fields": ["text"]}
        self._store: Any = module.SqliteStore(self._db, index=index)
        self._store.setup()

    def about(self) -> Reply:
        """Say the version and the pragmas of its connection."""
        journal = self._db.execute("PRAGMA journal_mode").fetchone()[0]
        sync = ("off", "normal", "full", "extra")[self._db.execute("PRAGMA synchronous").fetchone()[0]]
        version = metadata.version("langgraph-checkpoint-sqlite")
        return {"version": version, "mode": f"journal {journal}, synchronous {sync}"}

    def add_many(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:  # noqa: ARG002  # by text
        """Put a batch, in pieces small enough for one statement."""
        pairs = list(zip(ids, texts, strict=True))
        for start in range(0, len(pairs), 500):
            self._store.batch(
                [self._put(SPACE, each, {"text": text, "session": "s"}) for each, text in pairs[start : start + 500]]
            )

    def add(self, id: str, text: str, vector: Floats) -> None:  # noqa: A002, ARG002  # the field's name; by text
        """Put one item."""
        self._store.put(SPACE, id, {"text": text, "session": "s"})

    def search(self, text: str, vector: Floats, k: int) -> list[str]:  # noqa: ARG002  # it asks for it by text
        """Return the nearest items."""
        return [item.key for item in self._store.search(SPACE, query=text, limit=k)]

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def opened(path: Path, _request: Request, data: Data) -> LangGraphStore:
    """Open the store."""
    return LangGraphStore(path, data)


if __name__ == "__main__":
    serve(opened)
