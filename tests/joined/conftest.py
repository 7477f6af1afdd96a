"""Memories to hand: in this process or on a file, with a clock and ids that tests can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from seasoned import Memory
from seasoned.testing import FakeClock, sequential_ids

Open = Callable[..., Memory]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def opened(clock: FakeClock) -> Iterator[Open]:
    """Open memories at any place, of one clock, and close them all in the end."""
    ids = sequential_ids("n")
    with ExitStack() as closing:

        def opened_at(location: object = None, scope: tuple[str, ...] = ("acme", "alice"), **options: object) -> Memory:
            chosen = {"embedder": "hashing", "durability": "normal", "clock": clock, "ids": ids, **options}
            return closing.enter_context(Memory(location, scope=scope, **chosen))  # type: ignore[arg-type]

        yield opened_at


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, opened: Open) -> Memory:
    """A memory in this process, and one on a file."""
    return opened(tmp_path / "agent.db" if request.param == "sqlite" else None)
