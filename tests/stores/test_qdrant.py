"""The Qdrant store keeps the contract: in memory, and on a server where `QDRANT_URL` names one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("qdrant_client")

from qdrant_client import QdrantClient

from seasoned.errors import InvalidInput, StoreBusy, StoreClosed, StoreError
from seasoned.ports import Clock, Fingerprint, Put, Remove, Store, Vectors
from seasoned.query import Query, parse_filter
from seasoned.records import Key, Record, Scope
from seasoned.stores.documents import Document, Sort, document_id
from seasoned.stores.qdrant import QdrantStore, open_url
from seasoned.stores.qdrant.client import opened
from seasoned.stores.qdrant.points import QdrantDocuments
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock, StoreContract

ALICE = Scope(("acme", "alice"))
SPACE = Fingerprint("test", "1", 8)
SERVER = os.environ.get("QDRANT_URL")


class TestQdrantStore(StoreContract):
    """Every rule of the contract, in this process."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Nothing is kept at `place`."""
        return QdrantStore(clock=clock)


class TestQdrantStoreWithVectors(StoreContract):
    """Every rule of the contract, where each point has vectors of its own."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Of the contract's own dimension."""
        return QdrantStore(clock=clock, vector_size=4)


class TestQdrantStoreOnAServer(StoreContract):
    """Every rule of the contract, on the server that `QDRANT_URL` names, with `QDRANT_API_KEY` if it is set."""

    __test__ = SERVER is not None

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each place is a collection of its own, which stays."""
        name = f"contract-{sha256(str(place).encode()).hexdigest()[:24]}"
        return QdrantStore(
            SERVER, collection_name=name, api_key=os.environ.get("QDRANT_API_KEY"), vector_size=4, clock=clock
        )


def note(id_: str, text: str = "", scope: Scope = ALICE, kind: str = "note", **fields: object) -> Record:
    """A note of Alice, or of another scope."""
    return Record(key=Key(scope, kind, id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC), **fields)


def listed(store: Store, scope: Scope = ALICE) -> list[str]:
    """The ids that a scope has, oldest first."""
    return [hit.id for hit in store.find(Query(scope=scope)).hits]


def rows(seed: int, count: int = 1) -> Vectors:
    """Unit vectors that a seed gives."""
    made = np.random.default_rng(seed).normal(size=(count, SPACE.dimension)).astype(np.float32)
    return Vectors(SPACE, made / np.linalg.norm(made, axis=1, keepdims=True))


def test_stores_over_one_client_see_each_other_and_leave_it_open():
    """What one wrote the other finds at its next call; the client is the caller's."""
    client = QdrantClient(location=":memory:")
    one, other = QdrantStore(client=client), QdrantStore(client=client)
    one.apply([Put(note("a", "green tea"))])
    assert [hit.id for hit in other.find(Query(scope=ALICE, words="tea")).hits] == ["a"]
    other.apply([Remove(Key(ALICE, "note", "a")), Put(note("b"))])
    assert listed(one) == ["b"]
    assert (one.can.durable, one.can.compare) == (False, False)
    one.close()
    assert listed(other) == ["b"]
    other.close()
    assert client.collection_exists("seasoned")
    client.close()


def test_collections_of_one_client_share_nothing():
    """Each name is a memory of its own, in any script."""
    client = QdrantClient(location=":memory:")
    stores = [
        QdrantStore(client=client, collection_name=name) for name in ("a", "A", "记忆", "a b", "..x", "' OR 1=1 --")
    ]
    for number, store in enumerate(stores):
        store.apply([Put(note(str(number)))])
    assert [listed(store) for store in stores] == [["0"], ["1"], ["2"], ["3"], ["4"], ["5"]]
    for store in stores:
        store.close()
    client.close()


def _head(seq: int, was: int) -> Document:
    partition = ALICE.encode()
    name = document_id(partition, Sort.HEAD)
    return Document(id=name, partition=partition, sort=Sort.HEAD, seq=seq, order=seq, version=0, was=was)


def test_a_write_over_what_another_process_wrote_meanwhile_is_refused():
    """The engine reports success either way, so what stands is read back; the other's document is not overwritten."""
    client = QdrantClient(location=":memory:")
    documents = QdrantDocuments(opened(None, None, None, client), "shared")
    documents.put([_head(1, was=0)])
    documents.put([_head(2, was=1)])
    for stale in (_head(3, was=1), _head(3, was=0)):
        with pytest.raises(StoreBusy, match="another writer"):
            documents.put([stale])
    assert [one.seq for one in documents.get([(ALICE.encode(), _head(0, was=0).id)])] == [2]
    documents.put([_head(3, was=2)])
    client.close()


def test_a_large_scope_is_searched_by_candidates_and_says_so():
    """Beyond `read_whole` the engine names what is ranked, within the scope and the kinds; nothing else is read."""
    client = QdrantClient(location=":memory:")
    store = QdrantStore(client=client, vector_size=8, read_whole=5, clock=FakeClock())
    store.apply([Put(note(f"n{number}", f"green tea {number}"), rows(number)) for number in range(20)])
    store.apply([Put(note("dense", "nothing of the sort"), rows(99)), Put(note("m", "green tea", kind="message"))])
    bob = Scope(("acme", "bob"))
    store.apply([Put(note(f"n{number}", "green tea", scope=bob), rows(99)) for number in range(20)])
    page = store.find(Query(scope=ALICE, words="tea", vector=rows(99), kinds=("note",), k=30))
    assert {hit.record.key.scope for hit in page.hits} == {ALICE}
    assert {hit.id for hit in page.hits} == {"dense", *(f"n{number}" for number in range(20))}
    assert [reason.partition(":")[0] for reason in page.degraded] == ["candidates"]
    by_vector = store.find(Query(scope=ALICE, vector=rows(99), k=1))
    assert [(hit.id, round(hit.score, 5)) for hit in by_vector.hits] == [("dense", 1.0)]
    assert store.find(Query(scope=ALICE, words="nothing at all here", k=1)).hits[0].id == "dense"
    store.close()
    client.close()


def test_a_filtered_search_of_a_large_scope_reads_it_whole():
    """A condition is never dropped, nor does it cut the candidates short."""
    store = QdrantStore(vector_size=8, read_whole=5, clock=FakeClock())
    store.apply([Put(note(f"n{number}", "green tea", data={"x": number}), rows(number)) for number in range(20)])
    page = store.find(Query(scope=ALICE, words="tea", where=parse_filter({"data.x": {"ge": 18}})))
    assert (sorted(hit.id for hit in page.hits), page.degraded) == (["n18", "n19"], ())
    store.close()


def test_expired_records_are_no_candidates():
    """From its instant on a record is in no answer of a large scope either."""
    clock = FakeClock(datetime(2026, 1, 31, tzinfo=UTC))
    store = QdrantStore(vector_size=8, read_whole=2, clock=clock)
    soon = clock.now() + timedelta(hours=1)
    store.apply([Put(replace(note(f"n{number}", "green tea"), until=soon)) for number in range(9)])
    store.apply([Put(note("stays", "green tea"))])
    clock.advance(timedelta(hours=1))
    assert [hit.id for hit in store.find(Query(scope=ALICE, words="tea")).hits] == ["stays"]
    store.close()


def test_candidates_are_mostly_those_of_sqlite(tmp_path):
    """Of the first ten at least nine are the same as where the whole scope is ranked."""
    random = np.random.default_rng(7)
    words = [f"word{number}" for number in range(400)]
    texts = [" ".join(words[int(at)] for at in random.zipf(1.3, 12) % 400) for _ in range(600)]
    changes = [Put(note(f"n{number}", text), rows(number)) for number, text in enumerate(texts)]
    store = QdrantStore(vector_size=8, read_whole=0, clock=FakeClock())
    sqlite = SQLiteStore(tmp_path / "agent.db", clock=FakeClock())
    for each in (store, sqlite):
        each.apply(changes)
    shared = []
    for number in range(20):
        query = Query(scope=ALICE, words=" ".join(texts[number].split()[:4]), vector=rows(number + 1000), k=10)
        found, expected = ({hit.id for hit in each.find(query).hits} for each in (store, sqlite))
        shared.append(len(found & expected) / len(expected))
    store.close()
    sqlite.close()
    assert sum(shared) / len(shared) >= 0.9


def test_a_collection_made_for_other_vectors_is_refused():
    """Of another size, or of none; opened without vectors it is read as any other."""
    client = QdrantClient(location=":memory:")
    store = QdrantStore(client=client, vector_size=8)
    store.apply([Put(note("a"), rows(1))])
    QdrantStore(client=client, collection_name="plain").close()
    for name, size in (("seasoned", 9), ("plain", 8)):
        with pytest.raises(InvalidInput, match="vector_size"):
            QdrantStore(client=client, collection_name=name, vector_size=size)
    again = QdrantStore(client=client)
    assert listed(again) == ["a"]
    store.close()
    again.close()
    client.close()


@pytest.mark.parametrize(
    "fields",
    [
        {"collection_name": ""}, {"collection_name": "a/b"}, {"collection_name": "../b"}, {"collection_name": "a?b"},
        {"collection_name": "a\x00b"}, {"collection_name": "x" * 256}, {"vector_size": 0}, {"vector_size": True},
        {"distance": "manhattan"}, {"path": "x", "url": "http://localhost:6333"},
    ],
    ids=repr,
)  # fmt: skip
def test_what_cannot_be_opened_is_refused(fields):
    """Names that would be paths, impossible sizes, an unknown distance, and two places at once."""
    with pytest.raises(InvalidInput):
        QdrantStore(**fields)


def test_a_server_that_is_not_there_is_an_error():
    """It says so at once, and is no empty memory."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(StoreError, match="qdrant"):
            QdrantStore(f"http://127.0.0.1:{port}")


def test_a_folder_is_shared_within_a_process_and_refused_to_another(tmp_path):
    """Two stores at one folder see each other; while one is open no other process gets in."""
    one, other = QdrantStore(path=tmp_path / "q"), open_url(f"qdrant://{tmp_path}/q")
    one.apply([Put(note("a", "green tea"))])
    assert listed(other) == ["a"]
    one.close()
    with pytest.raises(StoreClosed):
        one.find(Query(scope=ALICE))
    program = (
        "import sys; from seasoned.stores.qdrant import QdrantStore; from seasoned.errors import StoreError\n"
        "try: QdrantStore(path=sys.argv[1])\nexcept StoreError as error: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "q")], capture_output=True, text=True)
    assert done.stdout.strip() == "refused"
    other.close()
    again = QdrantStore(path=tmp_path / "q")
    assert listed(again) == ["a"]
    again.close()


def test_a_url_opens_memory_or_a_folder(tmp_path, monkeypatch):
    """`qdrant://` keeps nothing; `qdrant:///folder?collection=name` is that collection of it, `./folder` is here."""
    monkeypatch.chdir(tmp_path)
    memory = open_url("qdrant://")
    assert (memory.can.durable, listed(memory)) == (False, [])
    memory.close()
    for name in ("x", "y", "x"):
        store = open_url(f"qdrant://{tmp_path}/q?collection={name}")
        if not listed(store):
            store.apply([Put(note(name))])
        assert listed(store) == [name]
        store.close()
    with open_url("qdrant://./q?collection=x") as store:
        assert listed(store) == ["x"]
    for url in ("qdrant://?wrong=1", "qdrant://localhost:1/a/b", "redis://"):
        with pytest.raises(InvalidInput):
            open_url(url)


def test_without_the_client_the_error_names_the_extra():
    """Importing the engine where qdrant-client is not installed says what to install."""
    program = "import sys; sys.modules['qdrant_client'] = None\nimport seasoned.stores.qdrant"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "seasoned[qdrant]" in done.stderr.splitlines()[-1]
