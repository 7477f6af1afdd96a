"""A conversation memory to hand: in this process or on a file, with a clock and ids that tests can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seasoned.conversation import ConversationMemory, ConversationPolicy
from seasoned.embedders import resolve
from seasoned.ports import Store
from seasoned.records import Scope
from seasoned.search import Searcher
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock, sequential_ids

Make = Callable[..., ConversationMemory]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "a.db")
    yield opened
    opened.close()


@pytest.fixture
def make(store: Store, clock: FakeClock) -> Make:
    """Give conversation memories over one store, as other processes would have them."""
    ids = sequential_ids("m")

    def made(scope: tuple[str, ...] = ("acme", "alice"), **policy: object) -> ConversationMemory:
        chosen = ConversationPolicy(**policy)  # type: ignore[arg-type]
        return ConversationMemory(store, Scope(scope), Searcher(store, resolve("hashing")), clock, ids, chosen)

    return made


@pytest.fixture
def memory(make: Make) -> ConversationMemory:
    return make()
