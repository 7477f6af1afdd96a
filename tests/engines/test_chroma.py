"""The Chroma store keeps the contract in a folder and on a server of Chroma's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("chromadb")

from seasoned import Memory
from seasoned.errors import StoreError
from seasoned.ports import Clock, Put, Store
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.chroma import ChromaStore, open_url
from seasoned.testing import StoreContract
from seasoned.testing.contract_changes import ChangeRules
from seasoned.testing.contract_lifetime import LifetimeRules
from seasoned.testing.contract_order import OrderRules
from seasoned.testing.contract_words import WordRules

from .chroma_server import free_port, start, stop
from .conftest import new_folder
from .engine_rules import EngineRules

ALICE = Scope(("acme", "alice"))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server for the tests of this file."""
    port = free_port()
    folder = new_folder()
    server = start(folder, port)
    yield f"127.0.0.1:{port}"
    stop(server)
    shutil.rmtree(folder)


class TestChromaStoreInAFolder(EngineRules, StoreContract):
    """Every rule, with what survives the process."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The folder is made at first use."""
        return ChromaStore(place / "chroma", clock=clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A collection of that name in one folder."""
        return ChromaStore(place / "chroma", collection_name=name, clock=clock)


class TestChromaStoreOnAServer(EngineRules, OrderRules, ChangeRules, WordRules, LifetimeRules):
    """The rules that a way over HTTP may break; what is computed in this process is tested in a folder."""

    @pytest.fixture(autouse=True)
    def _server(self, url: str) -> None:
        self.url = url

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each place is a collection of its own."""
        name = sha256(str(place).encode()).hexdigest()[:40]
        return self.make_named(place, name, clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A collection of that name."""
        return ChromaStore(url=f"http://{self.url}", collection_name=name, clock=clock)


def test_a_memory_lives_at_the_url_of_a_server(url):
    """Two memories at one URL are one; another collection is another."""
    with_store = [open_url(f"chroma://{url}/{name}") for name in ("life", "life", "work")]
    one, same, other = (Memory(store, scope=ALICE, embedder="hashing") for store in with_store)
    one.remember("green tea in the morning")
    assert [hit.text for hit in same.recall("tea")] == ["green tea in the morning"]
    assert other.recall("tea") == []
    for store in with_store:
        store.close()


def test_a_server_that_is_killed_is_an_error_and_loses_nothing_acknowledged(tmp_path):
    """While it is away every call says so; started again, all that was acknowledged is there, and writing goes on."""
    port = free_port()
    server = start(tmp_path, port)
    try:
        store = ChromaStore(url=f"http://127.0.0.1:{port}")
        for number in range(10):
            key = Key(ALICE, "note", f"n{number}")
            store.apply([Put(Record(key=key, text="green tea", at=datetime(2026, 1, 31, tzinfo=UTC)))])
        stop(server)
        for query in (Query(scope=ALICE), Query(scope=ALICE, words="tea"), Query(scope=ALICE, keys=(key,))):
            with pytest.raises(StoreError):
                store.find(query)
        with pytest.raises(StoreError):
            store.apply([Put(Record(key=key, text="lost", at=datetime(2026, 1, 31, tzinfo=UTC)))])
        server = start(tmp_path, port)
        store.apply([Put(Record(key=key, text="black tea", at=datetime(2026, 1, 31, tzinfo=UTC)))])
        hits = store.find(Query(scope=ALICE)).hits
        assert [hit.text for hit in hits] == ["green tea"] * 9 + ["black tea"]
        store.close()
    finally:
        stop(server)
