"""The store in memory keeps the contract."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from seasoned.ports import Clock, Put, Store
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.memory import MemoryStore
from seasoned.testing import StoreContract


class TestMemoryStore(StoreContract):
    """Every rule of the contract, on `MemoryStore`."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Nothing is kept at `place`."""
        return MemoryStore(clock=clock)


def test_a_store_in_memory_declares_that_nothing_lasts():
    """It is not durable; all else it can."""
    store = MemoryStore()
    can = store.can
    store.close()
    assert (can.durable, can.atomic, can.compare, can.ordered, can.lexical, can.dense, can.fresh) == (
        False, True, True, True, True, True, True,
    )  # fmt: skip


def test_two_stores_in_memory_share_nothing():
    """Each is a memory of its own, in one process too."""
    one, other = MemoryStore(), MemoryStore()
    scope = Scope("alice")
    one.apply([Put(Record(key=Key(scope, "note", "n1"), text="green tea", at=datetime(2026, 1, 31, tzinfo=UTC)))])
    assert [hit.id for hit in one.find(Query(scope=scope, words="tea")).hits] == ["n1"]
    assert list(other.find(Query(scope=scope)).hits) == []
    one.close()
    other.close()
