"""The Chroma store keeps the contract in a folder and on a server of Chroma's own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
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

ALICE = Scope(("acme", "alice"))


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start Chroma's own server on the loopback address, and wait until it takes calls."""
    command = [
        Path(sys.executable).parent / "chroma",
        "run",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--path",
        folder,
    ]
    quiet = os.environ | {"ANONYMIZED_TELEMETRY": "False"}
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=quiet)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return server
    stop(server)
    raise RuntimeError(f"Chroma's server did not start on port {port}")


def stop(server: subprocess.Popen[bytes]) -> None:
    """Kill a server, and wait until it is gone."""
    server.kill()
    server.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for the tests of this file."""
    port = free_port()
    server = start(tmp_path_factory.mktemp("chroma"), port)
    yield f"127.0.0.1:{port}"
    stop(server)


class TestChromaStoreInAFolder(StoreContract):
    """Every rule of the contract, with what survives the process."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The folder is made at first use."""
        return ChromaStore(place / "chroma", clock=clock)


class TestChromaStoreOnAServer(StoreContract):
    """Every rule of the contract, over HTTP."""

    @pytest.fixture(autouse=True)
    def _server(self, url: str) -> None:
        self.url = url

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each place is a collection of its own."""
        name = sha256(str(place).encode()).hexdigest()[:40]
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
