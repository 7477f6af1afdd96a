"""The encrypted store keeps the contract over several engines, in sealed scopes and beside them."""

from __future__ import annotations

from pathlib import Path

from langgraph.store.memory import InMemoryStore

from seasoned.ports import Clock, Store
from seasoned.stores.encrypted import EncryptedStore
from seasoned.stores.langgraph import LangGraphEngine
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import StoreContract

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
