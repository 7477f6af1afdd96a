"""The Pinecone store keeps the contract, on a loopback server that speaks Pinecone's protocol."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("pinecone")

import pinecone

from seasoned import Memory
from seasoned.errors import InvalidInput, StoreError
from seasoned.ports import Clock, Put, Remove, Store
from seasoned.query import Query
from seasoned.records import Key, Scope
from seasoned.stores.pinecone import PineconeStore, open_url
from seasoned.testing import StoreContract

from .engine_rules import ALICE, EngineRules, listed, note, said
from .pinecone_server import PineconeIndex, PineconeServer, serving

KEY = "secret"


@pytest.fixture(scope="module")
def shared() -> Iterator[PineconeServer]:
    """A server for the contract's tests, each at an index of its own."""
    yield from serving()


@pytest.fixture
def server() -> Iterator[PineconeServer]:
    """A server of a test's own, with an index that is named "memories"."""
    for one in serving():
        one.add("memories", PineconeIndex(dimension=3))
        yield one


def open_at(server: PineconeServer, **fields: object) -> PineconeStore:
    """Open the index of a server."""
    return PineconeStore(**{"host": server.host("memories"), "api_key": KEY, **fields})


class TestPineconeStore(EngineRules, StoreContract):
    """Every rule, where what was written is seen some requests later, each entry by itself and in no order."""

    @pytest.fixture(autouse=True)
    def _served(self, shared: PineconeServer) -> None:
        self.shared = shared

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each place is an index of its own; between two openings enough time passes for all to be seen."""
        name = sha256(str(place).encode()).hexdigest()[:40]
        self.shared.indexes.setdefault(name, PineconeIndex(late=6)).settle()
        return PineconeStore(host=self.shared.host(name), api_key=KEY, clock=clock)


def entries(server: PineconeServer) -> dict[str, dict[str, object]]:
    """All entries of the index, in whatever namespace."""
    return {name: one for held in server.indexes["memories"].namespaces.values() for name, one in held.items()}


def test_a_long_record_lies_in_parts_and_goes_with_them(server):
    """No entry is longer than Pinecone takes; written anew or removed, nothing of the old parts stays."""
    store = open_at(server)
    text = 'the vault code is 4711, "said\\" \x01🦊 ' * 6_000
    store.apply([Put(note("a", text))])
    sizes = [len(json.dumps(one["metadata"], ensure_ascii=False).encode()) for one in entries(server).values()]
    assert (len(sizes) > 10, max(sizes) <= 40 * 1024) == (True, True)
    assert store.find(Query(scope=ALICE, words="vault")).hits[0].text == text
    store.apply([Put(note("a", "short"))])
    assert len(entries(server)) == 3  # the record, the head, and the name of the scope
    store.apply([Put(note("a", text)), Remove(Key(ALICE, "note", "a"))])
    assert (len(entries(server)), "4711" in json.dumps(entries(server))) == (3, False)
    store.close()


def test_own_writes_are_seen_at_once_and_those_of_others_when_they_are_shown(server):
    """By key, in order, by words, and for scopes; removals too."""
    index = PineconeIndex(dimension=3, late=1_000)
    host = server.add("late", index)
    own, other = open_at(server, host=host), open_at(server, host=host)
    assert not own.can.fresh
    key = Key(ALICE, "note", "a")
    for number in range(3):
        own.apply([Put(note("a", f"green tea {number}")), Put(note(f"b{number}", "milk"))])
        assert own.find(Query(scope=ALICE, keys=(key,))).hits[0].text == f"green tea {number}"
    own.apply([Remove(Key(ALICE, "note", "b1"))])
    assert (listed(own), said(own, "tea")) == (["a", "b0", "b2"], ["a"])
    assert own.find(Query(scope=Scope("acme"), subtree=True, scopes=True)).scopes == (ALICE,)
    assert (listed(other), other.find(Query(scope=Scope("acme"), subtree=True)).hits) == ([], [])
    index.settle()
    assert (listed(other), said(other, "tea")) == (["a", "b0", "b2"], ["a"])
    other.apply([Put(note("a", "black coffee"))])
    assert said(own, "tea") == ["a"]
    index.settle()
    assert (said(own, "tea"), said(own, "coffee")) == ([], ["a"])
    own.close()
    other.close()


def test_a_scope_is_a_namespace_whatever_its_length_and_script(server):
    """Names of many thousand characters are listed below their first part, as others are."""
    store = open_at(server)
    scopes = [Scope(("acme", *["🦊/" * 256] * depth)) for depth in (0, 1, 20)]
    for scope in scopes:
        store.apply([Put(replace(note("a", "tea"), key=Key(scope, "note", "a")))])
    again = open_at(server)
    assert set(again.find(Query(scope=Scope("acme"), subtree=True, scopes=True)).scopes) == set(scopes)
    assert len(again.find(Query(scope=Scope("acme"), subtree=True, words="tea")).hits) == 3
    names = server.indexes["memories"].namespaces
    assert len(names) == 4
    assert all(len(name) < 60 and name.isascii() for name in names)
    store.close()
    again.close()


def test_what_else_an_index_holds_is_left_alone(server):
    """Entries of other namespaces are neither listed nor removed."""
    client = pinecone.Index(host=server.host("memories"), api_key=KEY)
    client.upsert(vectors=[{"id": "x", "values": [1, 2, 3], "metadata": {"seq": 1, "text": "tea"}}], namespace="")
    store = open_at(server)
    store.apply([Put(note("a", "tea")), Remove(Key(ALICE, "note", "a"))])
    assert (listed(store), store.stats()["records"]) == ([], 0)
    assert list(client.fetch(ids=["x"], namespace="").vectors) == ["x"]
    store.close()
    client.close()


def test_a_lost_connection_is_an_error_and_loses_nothing_acknowledged(server):
    """Though all was seen before; once the server is back the store goes on by itself."""
    store = open_at(server)
    store.apply([Put(note("a", "green tea"))])
    assert said(store, "tea") == ["a"]
    server.stop()
    with pytest.raises(StoreError, match="pinecone"):
        store.find(Query(scope=ALICE, words="tea"))
    with pytest.raises(StoreError):
        store.apply([Put(note("b", "lost"))])
    server.start()
    store.apply([Put(note("c", "green tea"))])
    assert listed(store) == ["a", "c"]
    store.close()


def test_an_index_that_went_away_is_an_error_and_not_an_empty_memory(server):
    """Though an answer that a namespace is not there is an empty scope."""
    store = open_at(server)
    assert (listed(store), said(store, "tea")) == ([], [])
    server.indexes.clear()
    for query in (Query(scope=ALICE), Query(scope=ALICE, words="tea"), Query(scope=ALICE, subtree=True, scopes=True)):
        with pytest.raises(StoreError):
            store.find(query)
    store.close()


def test_a_key_that_is_refused_is_an_error_that_does_not_show_it(server):
    """Nor does anything else that is raised or shown."""
    with pytest.raises(StoreError) as caught:
        open_at(server, api_key="not-the-right-one")
    assert "not-the-right-one" not in f"{caught.value} {caught.value.__cause__!r}"


def test_an_index_is_found_by_its_name_and_made_where_a_size_is_given(server, monkeypatch):
    """One that is not there is an error otherwise; one that is there must have the size that is given."""
    monkeypatch.setenv("PINECONE_CONTROLLER_HOST", server.control)
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    with pytest.raises(StoreError, match="'new-index'"):
        PineconeStore("new-index")
    made = PineconeStore("new-index", vector_size=5, distance="dot")
    made.apply([Put(note("a"))])
    found = PineconeStore("new-index")
    assert listed(found) == ["a"]
    assert (server.indexes["new-index"].dimension, server.indexes["new-index"].metric) == (5, "dotproduct")
    with pytest.raises(InvalidInput, match="vector_size 5, not 6"):
        PineconeStore("new-index", vector_size=6)
    made.close()
    found.close()


@pytest.mark.parametrize("name", ["../memories", "a/b", "' OR 1=1 --", "x?y=1", "%2e%2e", "{x}", "UPPER", "x" * 600])
def test_a_hostile_name_of_an_index_is_refused_or_literal(server, monkeypatch, name):
    """None reaches another index."""
    monkeypatch.setenv("PINECONE_CONTROLLER_HOST", server.control)
    with pytest.raises((InvalidInput, StoreError)):
        PineconeStore(name, api_key=KEY)


@pytest.mark.parametrize(
    "fields",
    [
        {"index_name": ""}, {"index_name": "a\x00b"}, {"api_key": ""}, {"api_key": None}, {"vector_size": 0},
        {"vector_size": True}, {"vector_size": 20_001}, {"distance": "manhattan"}, {"host": ""}, {"host": "a\nb"},
    ],
    ids=repr,
)  # fmt: skip
def test_what_cannot_be_opened_is_refused(server, monkeypatch, fields):
    """Blank names and keys, impossible sizes, an unknown distance."""
    monkeypatch.delenv("PINECONE_API_KEY", raising=False)
    with pytest.raises(InvalidInput):
        open_at(server, **fields)


def test_a_memory_lives_at_a_url(server, monkeypatch):
    """Its key stands before the host, or in the environment."""
    host = server.host("memories")
    monkeypatch.setenv("PINECONE_API_KEY", "wrong")
    one = open_url(f"pinecone://{KEY}@?host={host}")
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    monkeypatch.setenv("PINECONE_CONTROLLER_HOST", server.control)
    stores = [one, open_url(f"pinecone://?host={host}"), open_url("pinecone://?index=memories")]
    stores.append(open_url("pinecone://:secret@memories"))
    memories = [Memory(store, scope=ALICE, embedder="hashing") for store in stores]
    memories[0].remember("green tea in the morning")
    for memory in memories:
        assert [hit.text for hit in memory.recall("tea")] == ["green tea in the morning"]
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    "url",
    ["pinecone://k@a?index=b", "pinecone://k@?x=1", "pinecone://k@a/b", "qdrant://", "pinecone://k@?vector_size=x",
     "pinecone://k@?host=h&distance=far"],
)  # fmt: skip
def test_a_url_of_another_form_is_refused(url):
    """Nothing is opened, and nothing in it is passed over."""
    with pytest.raises(InvalidInput):
        open_url(url)


FORKING = """
import os, sys
from seasoned.ports import Put
from seasoned.records import Key, Record
from seasoned.stores.pinecone import open_url
store = open_url(sys.argv[1])
def put(name):
    store.apply([Put(Record(key=Key(("acme", "alice"), "note", name), text="tea", at="2026-01-31T00:00:00Z"))])
put("before")
if os.fork() == 0:
    put("child")
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
put("parent")
store.close()
"""


def test_a_fork_takes_no_connection_along(server):
    """Child and parent write over connections of their own."""
    url = f"pinecone://{KEY}@?host={server.host('memories')}"
    done = subprocess.run([sys.executable, "-c", FORKING, url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    store = open_at(server)
    assert listed(store) == ["before", "child", "parent"]
    store.close()


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "a", "values": [1, 0, 0], "metadata": {"x": "é" * 20_481}},
        {"id": "a", "values": [1, 0, 0], "metadata": {"x": {"y": 1}}},
        {"id": "a", "values": [1, 0]}, {"id": "a", "values": [0, 0, 0]},
    ],
)  # fmt: skip
def test_the_server_of_these_tests_has_the_limits_of_pinecone(server, entry):
    """Metadata is short and flat, and vectors are of the index's dimension and not zero."""
    with pinecone.Index(host=server.host("memories"), api_key=KEY) as client, pytest.raises(pinecone.PineconeError):
        client.upsert(vectors=[entry])


def test_without_the_client_the_error_names_the_extra():
    """Importing the engine where pinecone is not installed says what to install."""
    program = "import sys; sys.modules['pinecone'] = None\nimport seasoned.stores.pinecone"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "seasoned[pinecone]" in done.stderr.splitlines()[-1]
