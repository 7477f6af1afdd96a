"""What every part of the store contract stands on: the fixtures, and short ways to write and to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from seasoned.ports import Applied, Clock, Credit, Fingerprint, Put, Remove, Store, Vectors
from seasoned.query import Page, Query
from seasoned.records import JSON, Hit, Key, Record, Scope
from seasoned.testing.clock import FakeClock

NOON: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
"""When the clock of every test starts, and when its records happened unless they say otherwise."""

HOME: Final = Scope(("acme", "alice"))
SPACE: Final = Fingerprint("contract", "1", 4)
OTHER_SPACE: Final = Fingerprint("contract", "2", 4)

EAST: Final = (1.0, 0.0, 0.0, 0.0)
NEAR_EAST: Final = (0.8, 0.6, 0.0, 0.0)
NORTH: Final = (0.0, 1.0, 0.0, 0.0)
WEST: Final = (-1.0, 0.0, 0.0, 0.0)

OpenStore: TypeAlias = Callable[[], Store]
_numbers: Final = count()

examples: Final = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow],
)
"""How often a rule is tried; one store serves all examples of a test, each in a scope of its own (`fresh_scope`)."""


class ContractBase:
    """How a test gets its store: `make_store`, which the subclass writes, and the fixtures around it."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Open the store that lives at `place`; called again for the same place after a close."""
        raise NotImplementedError(
            f"{type(self).__name__} must say how to open a store: def make_store(self, place, clock)"
        )

    @pytest.fixture
    def clock(self) -> FakeClock:
        """The only time that the store knows; it stands still until a test moves it."""
        return FakeClock(NOON)

    @pytest.fixture
    def open_store(self, tmp_path: Path, clock: FakeClock) -> Iterator[OpenStore]:
        """Open a store at this test's place; every one opened is closed at the end."""
        opened: list[Store] = []

        def open_one() -> Store:
            opened.append(self.make_store(tmp_path, clock))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        """An empty store."""
        return open_store()


def need(store: Store, *abilities: str) -> None:
    """Skip the test unless the engine declares these abilities."""
    for ability in abilities:
        if not getattr(store.can, ability):
            pytest.skip(f"the engine does not declare {ability!r}")


def fresh_scope() -> Scope:
    """Return a scope that no test has used."""
    return Scope(("fresh", str(next(_numbers))))


def key(id_: str, scope: Scope = HOME, kind: str = "note") -> Key:
    """Name a note of Alice, or of another scope or kind."""
    return Key(scope, kind, id_)


def note(
    id_: str,
    text: str = "",
    data: dict[str, JSON] | None = None,
    *,
    scope: Scope = HOME,
    kind: str = "note",
    sources: tuple[Key, ...] = (),
    worth: float = 0.0,
    at: datetime = NOON,
    until: datetime | None = None,
) -> Record:
    """Return a record of Alice that happened at noon, or as said."""
    return Record(
        key=key(id_, scope, kind), text=text, data=data or {}, sources=sources, worth=worth, at=at, until=until
    )


def rows(*values: Sequence[float], space: Fingerprint = SPACE) -> Vectors:
    """Return the vectors of one record, one row a part."""
    return Vectors(space, np.array(values, dtype=np.float32))


def put(store: Store, *records: Record) -> Applied:
    """Write records in one batch."""
    return store.apply([Put(record) for record in records])


def remove(store: Store, *keys: Key) -> Applied:
    """Remove records in one batch."""
    return store.apply([Remove(name) for name in keys])


def credit(store: Store, name: Key, amount: float, by: str, field: str = "worth") -> Applied:
    """Credit one record."""
    return store.apply([Credit(name, field, amount, by)])


def pages(store: Store, query: Query) -> Iterator[Page]:
    """Give page after page until the end; what happens between two of them is the caller's."""
    while True:
        page = store.find(query)
        yield page
        if page.cursor is None:
            return
        query = replace(query, cursor=page.cursor)


def everything(store: Store, query: Query) -> list[Hit]:
    """Return the hits of all pages."""
    return [hit for page in pages(store, query) for hit in page.hits]


def ids(hits: Sequence[Hit]) -> list[str]:
    """Return the ids, in order."""
    return [hit.id for hit in hits]


def listed(store: Store, scope: Scope = HOME) -> list[str]:
    """Return the ids of all that a scope holds, oldest first."""
    return ids(everything(store, Query(scope=scope)))


def get(store: Store, name: Key) -> Hit | None:
    """Return what the store holds under a key, or None."""
    hits = store.find(Query(scope=name.scope, keys=(name,))).hits
    return hits[0] if hits else None


def held(store: Store, name: Key) -> Record:
    """Return the record that the store holds under a key, which must be there."""
    hit = get(store, name)
    assert hit is not None, f"{name} is not in the store"
    return hit.record


def counted(store: Store, query: Query) -> int:
    """Return the count that a counting query gives."""
    found = store.find(query).count
    assert found is not None, "a query with count=True gives Page.count"
    return found


def said(store: Store, words: str, k: int = 100, scope: Scope = HOME) -> list[str]:
    """Return the ids found by words alone, best first."""
    return ids(store.find(Query(scope=scope, words=words, k=k)).hits)


def nearest(store: Store, vector: Vectors, k: int = 100, scope: Scope = HOME) -> list[Hit]:
    """Return the hits found by a vector alone, best first."""
    return list(store.find(Query(scope=scope, vector=vector, k=k)).hits)
