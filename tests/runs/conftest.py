"""A run memory to hand: on each embedded store, with rules that see losses, as another process would have it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seasoned.ports import Store
from seasoned.records import Scope
from seasoned.runs import RunMemory
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock

from .domain import Losses, Outcome, Phases

Make = Callable[..., RunMemory]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "runs.db")
    yield opened
    opened.close()


@pytest.fixture
def make(store: Store, clock: FakeClock) -> Make:
    """Give run memories over one store, as other processes would have them."""

    def made(**given: object) -> RunMemory:
        rules = {"atom_extractor": Losses(), "episode_classifier": Phases(), "retro_classifier": Outcome()}
        return RunMemory(store, Scope(("acme", "bot")), clock=clock, **(rules | given))  # type: ignore[arg-type]

    return made


@pytest.fixture
def runs(make: Make) -> RunMemory:
    return make()
