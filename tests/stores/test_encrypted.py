"""The encrypted store keeps the contract over several engines, in sealed scopes and beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from seasoned.locked import with_keys
from seasoned.ports import Clock, Put, Remove, Store
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.documents import DocumentStore
from seasoned.stores.encrypted import EncryptedStore
from seasoned.stores.langgraph import LangGraphEngine
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock, StoreContract
from seasoned.text import Analyser

from .plain_documents import PlainDocuments

KEY = bytes(range(32))
PLACES: dict[Path, InMemoryStore] = {}


class Everywhere:
    """One key for every scope there is."""

    def current(self, scope):
        """Every scope is sealed."""
        return "1"

    def get(self, scope, name):
        """There is one key."""
        return KEY if name == "1" else None

    def forget(self, scope):
        """Nothing is forgotten here."""


class TestEncryptedInAFile(StoreContract):
    """Every scope is sealed, over SQLite."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The file is made at first use."""
        return EncryptedStore(SQLiteStore(place / "agent.db", clock=clock), Everywhere(), clock=clock)


class TestEncryptedInMemory(StoreContract):
    """Every scope is sealed, in memory."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each is another."""
        return EncryptedStore(MemoryStore(clock=clock), Everywhere(), clock=clock)


class Alternating(Everywhere):
    """One key for about every second scope."""

    def current(self, scope):
        """Whether a scope is sealed follows from its characters."""
        return "1" if sum(scope.encode().encode()) % 2 else None


class TestEncryptedInPart(StoreContract):
    """Some scopes are sealed, and others lie above, below and beside them in the clear."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Over SQLite."""
        return EncryptedStore(SQLiteStore(place / "agent.db", clock=clock), Alternating(), clock=clock)


class TestEncryptedOverDocuments(StoreContract):
    """Every scope is sealed, over an engine of flat documents that is not atomic."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """A LangGraph store in memory, one a place."""
        engine = LangGraphEngine(PLACES.setdefault(place, InMemoryStore()), clock=clock)
        return EncryptedStore(engine, Everywhere(), clock=clock)


class TestOpenedWithoutKeys(StoreContract):
    """Nothing is sealed, and what would lock sealed scopes stands before the engine."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Over SQLite."""
        store = SQLiteStore(place / "agent.db", clock=clock)
        return with_keys(store, None, Scope("acme"), clock=clock, analyser=Analyser("english"), owns=True)


class Bounded:
    """A store that is asked so many times and no more."""

    def __init__(self, inner: Store, left: int) -> None:
        self.inner = inner
        self.left = left

    @property
    def can(self):
        """What the engine can do."""
        return self.inner.can

    def find(self, query):
        """Count the question."""
        self.left -= 1
        assert self.left >= 0, "it reads on for ever"
        return self.inner.find(query)

    def apply(self, changes):
        """Hand the changes on."""
        return self.inner.apply(changes)

    def close(self):
        """Close the engine."""
        self.inner.close()


@pytest.mark.parametrize("older", [10, 1_500, 2_500], ids=["in one page", "in two pages", "in three"])
def test_a_scope_is_read_whole_however_old_its_records_and_though_removals_are_no_longer_known(tmp_path, older):
    """What a first read would have to be told of removals is nothing: it holds nothing yet."""
    here, there = (DocumentStore(PlainDocuments(str(tmp_path)), clock=FakeClock(), gone_kept=20) for _ in range(2))
    written = EncryptedStore(here, Everywhere())
    fill(written, older)
    reader = EncryptedStore(Bounded(there, 40), Everywhere())
    assert reader.find(Query(scope="acme", where={"data.n": {"ge": 0}}, count=True)).count == older
    assert [hit.id for hit in reader.find(Query(scope="acme", words="seven", k=10)).hits] == ["n7"]
    churn(written)
    assert reader.find(Query(scope="acme", where={"data.n": {"ge": 0}}, count=True)).count == older - 1
    assert reader.find(Query(scope="acme", words="seven", k=10)).hits == []
    written.close()
    reader.close()


def fill(store: Store, older: int) -> None:
    """Write that many notes, and then turns that are removed again: far more than removals are known for."""
    for start in range(0, older, 500):
        store.apply([Put(named(number)) for number in range(start, min(older, start + 500))])
    turns = [Record(key=Key(Scope("acme"), "turn", f"t{n}"), text="", at=FakeClock().now()) for n in range(200)]
    for turn in turns:
        store.apply([Put(turn)])
    for turn in turns:
        store.apply([Remove(turn.key)])


def churn(store: Store) -> None:
    """Remove the seventh note, and then write and remove until nobody is told of that removal any more."""
    store.apply([Remove(named(7).key)])
    fill(store, 0)


def named(number: int) -> Record:
    """A note with its number."""
    text = "seven" if number == 7 else "another"
    return Record(key=Key(Scope("acme"), "note", f"n{number}"), text=text, at=FakeClock().now(), data={"n": number})
