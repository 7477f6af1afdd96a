"""A memory to hand: in this process or on a file, with a clock and ids that tests can tell."""

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


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """Where a memory lies: nowhere, or in a file."""
    return tmp_path / "agent.db" if request.param == "sqlite" else None


@pytest.fixture
def opened(clock: FakeClock) -> Iterator[Open]:
    """Open memories at any place, of one clock, and close them all in the end."""
    ids = sequential_ids("n")
    with ExitStack() as closing:

        def opened_at(location: object, scope: tuple[str, ...] = ("acme", "alice"), **options: object) -> Memory:
            chosen = {"embedder": "hashing", "durability": "normal", "clock": clock, "ids": ids, **options}
            return closing.enter_context(Memory(location, scope=scope, **chosen))  # type: ignore[arg-type]

        yield opened_at


@pytest.fixture
def alice(opened: Open, place: Path | None) -> Memory:
    """The memory of one of two users."""
    return opened(place)


@pytest.fixture
def bob(opened: Open, alice: Memory) -> Memory:
    """The memory of the other, over the same store."""
    return opened(alice.store, ("acme", "bob"))
