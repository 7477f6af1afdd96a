"""What two ways of asking must agree on, and what an interrupted or repeated removal must not leave."""

from __future__ import annotations

import pytest

from seasoned import Memory, SQLiteStore
from seasoned.errors import BundleError, InvalidInput, WrongType
from seasoned.ports import Credit, Put, Remove
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.embedded import Indexes
from seasoned.text import Analyser
from seasoned.transfer.importing import import_file

KEY = Key(Scope("alice"), "note", "n")
RECORD = Record(key=KEY, text="tea", at="2026-01-31")


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"session": ["a", "b"]}, {"data.session": "a"}),
        ({"session": ["a", "b"]}, {"data.session": ["a", "x"]}),
        ({"role": ["user"]}, {"data.role": "user"}),
        ({"session": ""}, {"data.session": ""}),
        ({"role": ""}, {"data.role": ""}),
        ({"session": "a"}, {"data.session": "a"}),
    ],
)
def test_a_filter_means_the_same_in_a_search_as_in_a_list(opened, place, data, where):
    """Whatever a session or a role is stored as: text, empty text, or a list."""
    memory = opened(place)
    memory.remember("green tea", id="x", data=data)
    memory.remember("green tea", id="plain", data={"session": "other", "role": "assistant"})
    assert [hit.id for hit in memory.list(where).hits] == ["x"]
    assert [hit.id for hit in memory.recall("tea", where=where)] == ["x"]
    assert memory.count(where) == 1


def test_the_file_of_another_open_memory_is_never_opened_beside_it(tmp_path, opened):
    """Neither as a bundle nor as a conversation: that would take its locks away."""
    mine, other = opened(tmp_path / "mine.db"), opened(tmp_path / "other.db")
    for name in ("other.db", "other.db-wal", "other.db-shm"):
        with pytest.raises(BundleError, match="memory itself"):
            mine.import_(tmp_path / name)
        with pytest.raises(BundleError, match="memory itself"):
            import_file(mine, tmp_path / name)
    assert other.remember("tea").status == "written"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Put("x"), WrongType),
        (lambda: Put(RECORD, "vectors"), WrongType),
        (lambda: Put(RECORD, None, "1"), WrongType),
        (lambda: Remove(None), WrongType),
        (lambda: Credit("n", "worth", 1.0, "me"), WrongType),
        (lambda: Credit(KEY, 5, 1.0, "me"), WrongType),
        (lambda: Credit(KEY, "worth", "much", "me"), WrongType),
        (lambda: Credit(KEY, "worth", float("nan"), "me"), InvalidInput),
        (lambda: Credit(KEY, "worth", 1.0, None), WrongType),
        (lambda: Credit(KEY, "worth", 1.0, "\ud800"), InvalidInput),
        (lambda: Query(scope="alice", kinds=("\ud800",)), InvalidInput),
        (lambda: Query(scope="alice", words="tea", count=True), InvalidInput),
    ],
)
def test_a_change_or_query_that_breaks_a_rule_is_refused_when_made(make, error):
    """Before any engine sees it."""
    with pytest.raises(error):
        make()


def test_an_index_that_was_loaded_counts_in_the_bound(tmp_path, opened):
    """What comes from the file takes memory like what was made."""
    memory = opened(tmp_path / "agent.db")
    memory.conversation.add([{"role": "user", "content": f"tea {number}"} for number in range(2_500)])
    memory.warm()
    memory.close()
    store = SQLiteStore(tmp_path / "agent.db")
    store.find(Query(scope=memory.scope, words="tea"))
    with store._indexes.held(memory.scope.encode()) as held:
        assert held.size > 10_000
    store.close()


def test_forgetting_many_is_whole_or_not_at_all(opened, place):
    """What was derived goes with its sources in one change, so a retry after an interruption finds all or none."""
    memory = opened(place)
    for number in range(1_200):
        memory.remember(f"fact {number}", id=f"f{number}")
    memory.remember(
        "all the facts", "gist", id="gist", sources=[Key(memory.scope, "note", f"f{n}") for n in range(1_200)]
    )
    receipt = memory.forget([f"f{number}" for number in range(1_200)])
    assert (len(receipt.ids), receipt.derived) == (1_200, ("gist",))
    assert memory.count() == 0


def test_indexes_of_no_scope_hold_nothing():
    """The bound starts at nothing."""
    assert Indexes(Analyser()).unsaved() == []


def test_a_second_close_of_a_memory_over_a_closed_store_is_harmless(tmp_path):
    """Whatever was closed first."""
    store = SQLiteStore(tmp_path / "agent.db")
    with Memory(store, embedder="hashing") as memory:
        memory.remember("tea")
        store.close()
    memory.close()
