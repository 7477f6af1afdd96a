"""An experience memory to hand, in this process or on a file, with a clock and ids that tests can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seasoned import Memory
from seasoned.experience import ExperienceMemory
from seasoned.ports import Store
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock, sequential_ids

Make = Callable[..., Memory]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    opened: Store = (
        MemoryStore(clock=clock) if request.param == "memory" else SQLiteStore(tmp_path / "a.db", clock=clock)
    )
    yield opened
    opened.close()


@pytest.fixture
def make(store: Store, clock: FakeClock) -> Make:
    """Give memories over one store, as other processes would have them."""
    ids = sequential_ids("d")

    def made(scope: tuple[str, ...] = ("acme", "alice"), embedder: object = "hashing") -> Memory:
        return Memory(store, scope=scope, embedder=embedder, clock=clock, ids=ids)  # type: ignore[arg-type]

    return made


@pytest.fixture
def memory(make: Make) -> Memory:
    return make()


@pytest.fixture
def e(memory: Memory) -> ExperienceMemory:
    return memory.experience
