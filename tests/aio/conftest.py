"""A small memory to hand, watched from below."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .world import World, world


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    """A memory with something in each part."""
    made = world(tmp_path)
    yield made
    made.close()
