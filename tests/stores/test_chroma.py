"""The Chroma store keeps the contract, in memory; in a folder and on a server see `tests/engines`."""

from __future__ import annotations

import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("chromadb")

import chromadb
from chromadb.config import Settings

from seasoned.errors import InvalidInput, StoreError, WrongType
from seasoned.ports import Clock, Put, Remove, Store
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.chroma import ChromaStore, collection_of, open_url
from seasoned.testing import StoreContract

ALICE = Scope(("acme", "alice"))


class TestChromaStore(StoreContract):
    """Every rule of the contract, in this process."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Nothing is kept at `place`."""
        return ChromaStore(clock=clock)


def note(id_: str, text: str = "") -> Record:
    """A note of Alice."""
    return Record(key=Key(ALICE, "note", id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC))


def listed(store: Store) -> list[str]:
    """The ids that Alice has, oldest first."""
    return [hit.id for hit in store.find(Query(scope=ALICE)).hits]


def test_two_stores_in_memory_share_nothing():
    """Though Chroma keeps one memory for the whole process, and nothing of a closed store stays in it."""
    one, other = ChromaStore(), ChromaStore()
    one.apply([Put(note("a"))])
    assert (listed(one), listed(other)) == (["a"], [])
    one.close()
    other.apply([Put(note("b"))])
    assert listed(other) == ["b"]
    other.close()
    with chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False)) as client:
        assert client.list_collections() == []


def test_stores_over_one_client_see_each_other_and_leave_it_open(tmp_path):
    """What one wrote the other finds at its next call; the client is the caller's."""
    with chromadb.PersistentClient(str(tmp_path), settings=Settings(anonymized_telemetry=False)) as client:
        one, other = ChromaStore(client=client), ChromaStore(client=client)
        one.apply([Put(note("a", "green tea"))])
        assert [hit.id for hit in other.find(Query(scope=ALICE, words="tea")).hits] == ["a"]
        other.apply([Remove(Key(ALICE, "note", "a")), Put(note("b"))])
        assert listed(one) == ["b"]
        one.close()
        assert listed(other) == ["b"]
        other.close()
        assert [one.name for one in client.list_collections()] == ["seasoned"]


def test_any_name_is_a_collection_of_its_own(tmp_path):
    """Those that Chroma refuses are mapped, each to another: short, long, with spaces, in any script, or hostile."""
    names = ["abc", "ABC", "a", "A", "a b", "a/b", "..", "-ab", "é", "e\u0301", "记忆", "x" * 512, "' OR 1=1 --",
             collection_of("a")]  # fmt: skip
    stores = [ChromaStore(tmp_path, collection_name=name) for name in names]
    for number, store in enumerate(stores):
        store.apply([Put(note(str(number)))])
    assert [listed(store) for store in stores] == [[str(number)] for number in range(len(names))]
    for store in stores:
        store.close()
    assert collection_of("my-memory.v2") == "my-memory.v2"


@pytest.mark.parametrize(
    "fields",
    [
        {"collection_name": ""}, {"collection_name": "a\x00b"}, {"path": "x", "url": "http://localhost:8000"},
        {"url": "localhost:8000"}, {"url": "file:///etc"}, {"url": "http://localhost:8000/api"},
    ],
    ids=repr,
)  # fmt: skip
def test_what_cannot_be_opened_is_refused(fields):
    """Blank names, two places at once, and URLs that name no server."""
    with pytest.raises(InvalidInput):
        ChromaStore(**fields)


def test_a_client_of_something_else_is_refused():
    """Only a client of chromadb has what is asked of it."""
    with pytest.raises(WrongType):
        ChromaStore(client="http://localhost:8000")


def test_a_server_that_is_not_there_is_an_error():
    """It says so at once, and is no empty memory."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(StoreError, match="chroma"):
            open_url(f"chroma://127.0.0.1:{taken.getsockname()[1]}/memory")


def test_a_url_opens_memory_or_a_folder(tmp_path):
    """`chroma://` keeps nothing; `chroma:///folder?collection=name` is that collection of it."""
    memory = open_url("chroma://")
    assert (memory.can.durable, listed(memory)) == (False, [])
    memory.close()
    for name in ("x", "y", "x"):
        store = open_url(f"chroma://{tmp_path}/c?collection={name}")
        if not listed(store):
            store.apply([Put(note(name))])
        assert listed(store) == [name]
        store.close()
    with pytest.raises(InvalidInput):
        open_url("chroma://?wrong=1")


def test_nothing_leaves_the_machine():
    """Neither the import nor opening, writing and searching looks up or reaches any address."""
    program = """
import sys
reached = []
def seen(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"):
        reached.append(event)
sys.addaudithook(seen)
from seasoned import Memory
from seasoned.stores.chroma import ChromaStore
store = ChromaStore()
memory = Memory(store, embedder="hashing")
memory.remember("green tea")
print([hit.text for hit in memory.recall("tea")], reached)
memory.close()
store.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "['green tea'] []"


def test_without_the_client_the_error_names_the_extra():
    """Importing the engine where chromadb is not installed says what to install."""
    program = "import sys; sys.modules['chromadb'] = None\nimport seasoned.stores.chroma"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "seasoned[chroma]" in done.stderr.splitlines()[-1]
