"""A playbook to hand, in this process or on a file, with a clock and ids that tests can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seasoned.playbook import Playbook
from seasoned.ports import Store
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock, sequential_ids

Make = Callable[..., Playbook]


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
    """Give playbooks over one store, as other processes would have them."""
    ids = sequential_ids("token")

    def made(scope: tuple[str, ...] = ("acme", "alice")) -> Playbook:
        return Playbook(store, scope=scope, embedder="hashing", clock=clock, ids=ids)

    return made


@pytest.fixture
def p(make: Make) -> Playbook:
    return make()
