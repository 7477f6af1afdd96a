"""Files to import, written by hand after the shapes that the programs export."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seasoned import Memory

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a value as JSON, or a text or bytes as they are, and give the path."""

    def write_file(content: object, name: str = "chat.json", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            path.write_text(text, encoding=encoding, newline="")
        return path

    return write_file


@pytest.fixture
def memory() -> Iterator[Memory]:
    """An empty memory whose embedder needs no model."""
    with Memory(embedder="hashing") as made:
        yield made
