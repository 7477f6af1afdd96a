"""mem0 with infer=False in its default local form: Qdrant in process, and its history file.

Its embedder is replaced by a look-up of the given vectors, and no language model is ever asked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from engines.protocol import Data, Floats, Reply, Request, serve

WHO = {"user_id": "alice"}


class LookUp:
    """An embedder in mem0's form."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002  # mem0 passes it
        """Return the vector of a text."""
        found: list[float] = self._data.vector(text).tolist()
        return found


class Mem0:
    """One user's memories."""

    def __init__(self, path: Path, data: Data) -> None:
        os.environ["MEM0_DIR"] = str(path / "home")
        (path / "home").mkdir(exist_ok=True)
        dimension = int(data.query_vectors.shape[1])
        store = {"path": str(path / "qdrant"), "embedding_model_dims": dimension, "on_disk": True}
        self._memory: Any = import_module("mem0").Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "embedder": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": str(path / "history.db"),
            }
        )
        self._memory.embedding_model = LookUp(data)

    def about(self) -> Reply:
        """Say the version and what lies below."""
        below = metadata.version("qdrant-client")
        return {"version": metadata.version("mem0ai"), "mode": f"qdrant-client {below} local + SQLite history"}

    def add_many(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:
        """Put a batch into its vector store as `add` would put each, without its history."""
        payloads = [{**WHO, "data": text, "name": each} for each, text in zip(ids, texts, strict=True)]
        numbers = [f"00000000-0000-0000-0000-{int(each[1:]):012d}" for each in ids]
        self._memory.vector_store.insert(vectors=vectors.tolist(), ids=numbers, payloads=payloads)

    def add(self, id: str, text: str, vector: Floats) -> None:  # noqa: A002, ARG002  # the field's name; by text
        """Add one memory as it is."""
        message = {"role": "user", "content": text}
        self._memory.add([message], **WHO, infer=False, metadata={"name": id})

    def search(self, text: str, vector: Floats, k: int) -> list[str]:  # noqa: ARG002  # it asks for it by text
        """Return the best memories."""
        found = self._memory.search(text, top_k=k, filters=WHO, threshold=0.0)["results"]
        return [each["metadata"]["name"] for each in found]

    def close(self) -> None:
        """Close the vector store and the history."""
        self._memory.vector_store.client.close()
        self._memory.close()


def opened(path: Path, _request: Request, data: Data) -> Mem0:
    """Open the memory."""
    return Mem0(path, data)


if __name__ == "__main__":
    serve(opened)
