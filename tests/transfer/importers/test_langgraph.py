"""LangGraph's stores: files and open ones, filled by the real packages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import BundleError
from seasoned.transfer.importers import Format, Noted, Refused, Skipped, detect, read
from seasoned.transfer.importers.langgraph import readable
from seasoned.transfer.importing import import_file, import_store

sqlite_store = pytest.importorskip("langgraph.store.sqlite")
InMemoryStore = pytest.importorskip("langgraph.store.memory").InMemoryStore

DARK = {"kind": "Memory", "content": {"content": "The user prefers dark mode"}}
PROFILE = {"kind": "UserProfile", "content": {"name": "Ann Müller", "languages": ["German", "日本語"], "age": 31}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for a store's file."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[object]:
    """An open SqliteStore in that file."""
    with sqlite_store.SqliteStore.from_conn_string(str(path)) as made:
        made.setup()
        yield made


def test_items_become_notes_in_the_scopes_of_their_namespaces(store, path, memory):
    """Two users' memories are kept apart, their ids are their keys, and their values are kept whole."""
    store.put(("memories", "älice"), "k1", DARK)
    store.put(("memories", "bob"), "鍵/1", PROFILE)
    assert detect(path) is Format.LANGGRAPH
    report = import_file(memory, path)
    assert (report.format, report.read, report.written, report.notes) == ("langgraph", 2, 2, 2)
    record = memory.within("memories", "älice").get("langgraph/k1").record
    assert record.text == "The user prefers dark mode"
    assert record.data["value"] == DARK
    assert record.data["imported"] == {"from": "langgraph", "id": "k1"}
    assert record.data["tags"] == ["Memory"]
    assert abs(record.at - datetime.now(UTC)) < timedelta(minutes=5)
    record = memory.within("memories", "bob").get("langgraph/鍵%2F1").record
    assert record.text == "name: Ann Müller\nlanguages: German, 日本語\nage: 31"
    assert [hit.id for hit in memory.within("memories", "bob").recall("dark mode German")] == ["langgraph/鍵%2F1"]


def test_what_has_expired_is_left_out_and_what_will_does_here(store, path):
    """An expired item that no sweep has removed yet is skipped with its reason; the other keeps its time to live."""
    store.put(("a",), "lasting", {"text": "one"})
    store.put(("a",), "passing", {"text": "two"}, ttl=60)
    store.put(("a",), "past", {"text": "three"}, ttl=60)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE store SET expires_at = '2020-01-01 00:00:00' WHERE key = 'past'")
        connection.commit()
    items = list(read(path))
    notes = {item.id: item for item in items if isinstance(item, Noted)}
    assert list(notes) == ["langgraph/lasting", "langgraph/passing"]
    assert notes["langgraph/lasting"].until is None
    until = notes["langgraph/passing"].until
    assert until is not None
    assert timedelta(minutes=55) < until - datetime.now(UTC) <= timedelta(minutes=60)
    assert [str(item) for item in items if isinstance(item, Skipped)] == ["store.db, row 3, key past: expired"]


def test_damaged_rows_are_refused_and_the_others_are_imported(store, path, memory):
    """JSON that is broken or no object is named by its key."""
    for key in ("broken", "fine", "list", "number", "void"):
        store.put(("a",), key, {"text": "words"})
    with closing(sqlite3.connect(path)) as connection:
        for key, value in [("broken", '{"text": "wor'), ("list", "[1]"), ("number", '{"n": NaN}'), ("void", "{}")]:
            connection.execute("UPDATE store SET value = ? WHERE key = ?", (value, key))
        connection.commit()
    report = import_file(memory, path)
    assert (report.read, report.written, len(report.refused)) == (5, 1, 3)
    assert report.skipped == {"item without a text": 1}
    assert [reason.split(": ")[0] for reason in report.refused] == [
        "store.db, row 1, key broken",
        "store.db, row 3, key list",
        "store.db, row 4, key number",
    ]


def test_langmem_s_own_tool_writes_what_is_read(path, memory):
    """A memory that an agent kept by LangMem's tool is found by its words."""
    langmem = pytest.importorskip("langmem")
    with sqlite_store.SqliteStore.from_conn_string(str(path)) as store:
        store.setup()
        tool = langmem.create_manage_memory_tool(namespace=("memories", "{langgraph_user_id}"), store=store)
        tool.invoke({"content": "Ann lives in Graz"}, config={"configurable": {"langgraph_user_id": "ann"}})
    assert import_file(memory, path).written == 1
    hits = memory.recall("Where does Ann live?", subtree=True)
    assert [(hit.text, hit.record.key.scope) for hit in hits] == [("Ann lives in Graz", ("default", "memories", "ann"))]


def test_a_value_of_any_shape_has_a_text():
    """The main field comes first and bare, others by name; times and ids are not said, lines keep their indentation."""
    assert readable({"text": " tea ", "importance": 3, "created_at": "2026-01-01"}) == "tea\nimportance: 3"
    assert (
        readable({"title": "Trip", "content": "Rome", "done": True, "nothing": None}) == "Rome\ntitle: Trip\ndone: true"
    )
    assert readable({"content": "", "text": "full"}) == "full"
    assert readable({"content": ["def f():", "", "    return 1"], "encoding": "utf-8"}) == "def f():\n\n    return 1"
    assert readable({"facts": [{"content": "one"}, {"content": "two"}]}) == "facts:\none\ntwo"
    assert readable({"home": {"city": "Graz"}}) == "home: city: Graz"
    assert readable({}) == readable({"a": [None, {}]}) == readable(None) == ""


def test_binary_files_of_an_agent_are_left_out(store, path):
    """Their Base64 is no text."""
    store.put(("filesystem",), "/a.png", {"content": "iVBORw0KGgo=", "encoding": "base64"})
    store.put(("filesystem",), "/a.txt", {"content": "hello", "encoding": "utf-8"})
    items = list(read(path))
    assert [item.id for item in items if isinstance(item, Noted)] == ["langgraph/%2Fa.txt"]
    assert [item.reason for item in items if isinstance(item, Skipped)] == ["binary content"]


def test_an_open_store_is_imported_whole_and_only_below_the_namespace(memory):
    """However many items it holds, each comes once; a name that only begins alike is not below."""
    store = InMemoryStore()
    for number in range(2_345):
        store.put(("a", "deep", f"u{number % 3}"), f"k{number}", {"text": f"fact {number}"})
    store.put(("ab",), "k", {"text": "elsewhere"})
    report = import_store(memory, store, ("a",))
    assert (report.file, report.format, report.read, report.written) == ("InMemoryStore", "langgraph", 2345, 2345)
    assert memory.within("a", "deep", "u1").get("langgraph/k1").text == "fact 1"
    assert import_store(memory, store).written == 1
    assert import_store(memory, store).duplicate == 2346


def test_an_open_store_and_its_file_are_the_same_import(store, path, memory):
    """What one wrote the other finds there, and reading prolongs no item's life."""
    store.put(("a",), "k", {"text": "fact"}, ttl=60)
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute("SELECT expires_at FROM store").fetchall()
        assert import_store(memory, store).written == 1
        assert connection.execute("SELECT expires_at FROM store").fetchall() == before
    assert import_file(memory, path).duplicate == 1


class Capped:
    """A store that never returns more than so many items, as a server may."""

    def __init__(self, inner: object, most: int) -> None:
        self._inner = inner
        self._most = most

    def search(self, namespace, /, *, limit=10, offset=0, refresh_ttl=None):
        """Return at most so many."""
        return self._inner.search(namespace, limit=min(limit, self._most), offset=offset, refresh_ttl=refresh_ttl)


def test_a_store_that_caps_its_answers_is_read_to_the_end(memory):
    """A short answer is not taken for the last one."""
    store = InMemoryStore()
    for number in range(25):
        store.put(("a",), f"k{number}", {"text": f"fact {number}"})
    assert import_store(memory, Capped(store, 7)).written == 25
    assert import_store(memory, Capped(InMemoryStore(), 7)).read == 0


def test_a_value_that_is_no_json_costs_only_itself(memory):
    """An open store in this process may hold anything."""
    store = InMemoryStore()
    store.put(("a",), "odd", {"text": "x", "when": datetime(2026, 1, 1, tzinfo=UTC)})
    store.put(("a",), "even", {"text": "y"})
    report = import_store(memory, store)
    assert (report.written, len(report.refused)) == (1, 1)
    assert "key odd" in report.refused[0]


_PRINTED = st.characters(categories=("L", "N", "P", "S"), exclude_characters=".")
labels = st.text(_PRINTED, min_size=1, max_size=6)
values = st.dictionaries(
    st.text(max_size=5), st.recursive(st.none() | st.integers(-9, 9) | st.text(max_size=9), st.lists)
)


@settings(max_examples=80, deadline=None)
@given(items=st.dictionaries(st.tuples(labels, labels, st.text(max_size=8)), values, max_size=8))
def test_every_item_is_always_accounted_for_and_the_second_time_a_duplicate(items):
    """Whatever the namespaces, keys and values, the report adds up and nothing is written twice."""
    store = InMemoryStore()
    for (first, second, key), value in items.items():
        store.put((first, second), key, json.loads(json.dumps(value)))
    with Memory(embedder="hashing") as memory:
        report = import_store(memory, store)
        assert report.read == len(items)
        assert report.read == report.written + len(report.refused) + sum(report.skipped.values())
        assert memory.count(subtree=True) == report.written
        assert import_store(memory, store).duplicate == report.written


def test_what_is_not_of_a_store_is_not_taken_for_one(path):
    """A table of the same name with other columns is something else."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE store (id INTEGER, address TEXT)")
    with pytest.raises(BundleError, match="the tables 'store'"):
        detect(path)


def test_broken_rows_are_refused_items(store, path):
    """Each is one `Refused`, at its row."""
    store.put(("a",), "k", {"text": "x"})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE store SET value = x'ff00'")
        connection.commit()
    assert [type(item) for item in read(path)] == [Refused]
