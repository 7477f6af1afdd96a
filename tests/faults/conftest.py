"""A memory to hand for what users of other products report: in this process or in a file, with a clock that stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from seasoned import Memory
from seasoned.testing import FakeClock

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
    with ExitStack() as closing:

        def opened_at(location: object, **options: object) -> Memory:
            chosen = {"embedder": "hashing", "durability": "normal", "clock": clock, **options}
            return closing.enter_context(Memory(location, **chosen))  # type: ignore[arg-type]

        yield opened_at


@pytest.fixture
def memory(opened: Open, place: Path | None) -> Memory:
    return opened(place)
