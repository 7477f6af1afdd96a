"""The LangGraph engine keeps the contract over LangGraph's own stores."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("langgraph.store.sqlite")

from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from seasoned import Memory
from seasoned.errors import InvalidInput, StoreError, WrongType
from seasoned.ports import Clock, Put, Remove, Store
from seasoned.query import Order, Query
from seasoned.records import Key, Scope
from seasoned.stores.langgraph import LangGraphEngine
from seasoned.testing import StoreContract

from .engine_rules import ALICE, EngineRules, listed, note, said


def in_a_file(path: Path) -> SqliteStore:
    """LangGraph's store in a file, which need not survive a power cut."""
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    store = SqliteStore(connection)
    store.setup()
    return store


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store in this test's file."""
    store = in_a_file(tmp_path / "store.db")
    yield store
    store.conn.close()


class TestLangGraphEngineInMemory(EngineRules, StoreContract):
    """Every rule, over LangGraph's store in memory."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """A store of its own for each."""
        return LangGraphEngine(InMemoryStore(), clock=clock)

    @pytest.fixture(autouse=True)
    def _shared(self) -> None:
        self.shared = InMemoryStore()

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A namespace of that name in one store."""
        return LangGraphEngine(self.shared, namespace=(name,), clock=clock)


class TestLangGraphEngineInSQLite(EngineRules, StoreContract):
    """Every rule, over LangGraph's store in a file."""

    @pytest.fixture(autouse=True)
    def _file(self, file: SqliteStore) -> None:
        self.file = file

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The one store of this test's file."""
        return LangGraphEngine(self.file, clock=clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A namespace of that name in one store."""
        return LangGraphEngine(self.file, namespace=(name,), clock=clock)


def test_what_else_a_store_holds_is_left_alone():
    """Items of the application are neither listed nor changed, and ours lie below their namespace."""
    store = InMemoryStore()
    store.put(("users", "alice"), "prefs", {"theme": "dark"})
    store.put(("seasoned",), "own", {"text": "green tea"})
    engine = LangGraphEngine(store)
    engine.apply([Put(note("a", "green tea"))])
    assert (listed(engine), said(engine, "tea")) == (["a"], ["a"])
    assert engine.find(Query(scope=Scope("acme"), subtree=True, scopes=True)).scopes == (ALICE,)
    engine.apply([Remove(Key(ALICE, "note", "a"))])
    assert store.get(("users", "alice"), "prefs").value == {"theme": "dark"}
    assert {name[0] for name in store.list_namespaces()} == {"users", "seasoned"}
    engine.close()
    assert store.get(("seasoned",), "own") is not None


def test_engines_over_one_store_see_each_other_and_leave_it_open(file):
    """What one wrote the other finds at its next call; another namespace is another memory."""
    one, other = LangGraphEngine(file), LangGraphEngine(file)
    apart = LangGraphEngine(file, namespace=("agents", "memory"))
    one.apply([Put(note("a", "green tea"))])
    assert (said(other, "tea"), said(apart, "tea")) == (["a"], [])
    other.apply([Remove(Key(ALICE, "note", "a")), Put(note("b"))])
    assert listed(one) == ["b"]
    one.close()
    other.close()
    apart.close()
    assert file.get(("anything",), "x") is None


def test_a_memory_lives_in_a_store(file):
    """What is remembered through one engine is recalled through another."""
    for number in range(2):
        engine = LangGraphEngine(file)
        memory = Memory(engine, scope=ALICE, embedder="hashing")
        if number == 0:
            memory.remember("green tea in the morning")
        assert [hit.text for hit in memory.recall("tea")] == ["green tea in the morning"]
        engine.close()


class Comparing(InMemoryStore):
    """A store that compares texts where a filter orders, as LangGraph's for PostgreSQL does."""

    def search(self, namespace, /, *, limit=10, offset=0, **asked):
        """Search as text."""
        bounds = asked["filter"]["seq"]
        found = super().search(namespace, limit=1_000_000)
        kept = [item for item in found if str(bounds["$gt"]) < str(item.value["seq"]) <= str(bounds.get("$lte", "~"))]
        return kept[offset : offset + limit]


class Ignoring(InMemoryStore):
    """A store that knows no filters."""

    def search(self, namespace, /, *, limit=10, offset=0, **asked):
        """Search for all."""
        return super().search(namespace, limit=limit, offset=offset)


@pytest.mark.parametrize("store", [InMemoryStore, Comparing, Ignoring])
def test_a_long_history_is_read_whole_and_followed(store):
    """Thousands of changes, of which few records are left, and thousands of records, whatever filters mean."""
    store = store()
    one, other = LangGraphEngine(store), LangGraphEngine(store)
    for _ in range(12):
        one.apply([Put(note(f"n{number}", "old")) for number in range(200)])
    one.apply([Put(note(f"m{number}", "green tea")) for number in range(1_300)])
    assert listed(other) == [*(f"n{number}" for number in range(200)), *(f"m{number}" for number in range(1_300))]
    one.apply([Put(note("n7", "oolong")), Remove(Key(ALICE, "note", "n8"))])
    assert said(other, "oolong") == ["n7"]
    assert len(listed(other)) == 1_499
    assert other.find(Query(scope=ALICE, order=Order.CHANGED, cursor="3699")).seq == 3_702
    one.close()
    other.close()


def test_a_store_that_embeds_and_expires_does_neither_to_ours():
    """Items are written without an index and without a time to live."""

    def embed(texts):
        raise AssertionError(f"asked to embed {texts!r:.80}")

    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection, ttl={"default_ttl": 0.000001, "refresh_on_read": False})
    store.setup()
    engine, embedding = LangGraphEngine(store), LangGraphEngine(InMemoryStore(index={"dims": 3, "embed": embed}))
    for each in (engine, embedding):
        each.apply([Put(note("a", "green tea"))])
        store.sweep_ttl()
        assert said(each, "tea") == ["a"]
        each.close()
    connection.close()


def test_a_store_that_fails_is_an_error_and_never_an_empty_answer(tmp_path):
    """In every way of asking, and for a write; whatever the store raised is the cause."""
    store = in_a_file(tmp_path / "store.db")
    engine = LangGraphEngine(store)
    engine.apply([Put(note("a", "green tea"))])
    store.conn.close()
    for query in (
        Query(scope=ALICE),
        Query(scope=ALICE, words="tea"),
        Query(scope=ALICE, keys=(Key(ALICE, "note", "a"),)),
        Query(scope=ALICE, count=True),
        Query(scope=ALICE, subtree=True),
        Query(scope=ALICE, subtree=True, scopes=True),
    ):
        with pytest.raises(StoreError, match="langgraph") as caught:
            engine.find(query)
        assert isinstance(caught.value.__cause__, sqlite3.ProgrammingError)
    with pytest.raises(StoreError):
        engine.apply([Put(note("b"))])
    engine.close()


@pytest.mark.parametrize(
    "namespace", [(), "seasoned", ("a.b",), ("",), ("a\x00b",), ("langgraph", "x"), ("*",), (" ",)], ids=repr
)
def test_a_namespace_that_langgraph_refuses_is_refused(namespace):
    """Before anything is written."""
    with pytest.raises(InvalidInput):
        LangGraphEngine(InMemoryStore(), namespace=namespace)


def test_something_else_than_a_store_is_refused():
    """A dictionary has not what is asked of it."""
    with pytest.raises(WrongType):
        LangGraphEngine({})


def test_what_a_store_can_do_is_declared(file):
    """One in this process compares versions and is gone with it; of another the opposite is assumed, unless said."""
    memory, durable = LangGraphEngine(InMemoryStore()), LangGraphEngine(file)
    short = LangGraphEngine(file, durable=False, fresh=False)
    assert [(one.can.compare, one.can.durable, one.can.fresh) for one in (memory, durable, short)] == [
        (True, False, True), (False, True, True), (False, False, False)
    ]  # fmt: skip
    assert not memory.can.atomic
    for one in (memory, durable, short):
        one.close()


def test_without_langgraph_the_error_names_the_extra():
    """Importing the engine where langgraph is not installed says what to install."""
    program = "import sys; sys.modules['langgraph.store.base'] = None\nimport seasoned.stores.langgraph"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "seasoned[langgraph]" in done.stderr.splitlines()[-1]
