"""SeasonedStore: keys, namespaces, batches, and what a value may hold."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Memory, MemoryStore, SQLiteStore
from seasoned.errors import InvalidInput, InvalidScope, StoreClosed, WrongType
from seasoned.testing import FakeClock

base = pytest.importorskip("langgraph.store.base", reason="langgraph is not installed")
from seasoned.integrations.langgraph import KIND, SeasonedStore  # noqa: E402  # only where it is installed

GetOp, PutOp, SearchOp = base.GetOp, base.PutOp, base.SearchOp
ListNamespacesOp, MatchCondition = base.ListNamespacesOp, base.MatchCondition

LABELS = st.text(min_size=1, max_size=12).filter(lambda label: "." not in label and "\0" not in label)
NAMESPACES = st.lists(LABELS, min_size=1, max_size=4).map(tuple).filter(lambda labels: labels[0] != "langgraph")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[SeasonedStore]:
    place = tmp_path / "agent.db" if request.param == "sqlite" else None
    with SeasonedStore(place, durability="normal", clock=clock) as opened:
        yield opened


def keys(items) -> list[tuple[tuple[str, ...], str]]:
    return [(item.namespace, item.key) for item in items]


# keys and values


def test_what_was_put_comes_back(store):
    """An item has its namespace, key, value and both times."""
    store.put(("memories", "alice"), "k1", {"text": "likes tea", "cups": 2, "sure": None})
    item = store.get(("memories", "alice"), "k1")
    assert (item.namespace, item.key) == (("memories", "alice"), "k1")
    assert item.value == {"text": "likes tea", "cups": 2, "sure": None}
    assert item.created_at == item.updated_at


def test_an_unknown_key_is_none(store):
    """A key that was never put, in a namespace that was or was not, is no item."""
    store.put(("memories",), "k1", {"a": 1})
    assert store.get(("memories",), "k2") is None
    assert store.get(("others",), "k1") is None


def test_putting_again_keeps_when_it_was_created(store, clock):
    """The value and the time of the update are new, that of its creation is not."""
    store.put(("memories",), "k1", {"a": 1})
    first = store.get(("memories",), "k1")
    clock.advance(seconds=60)
    store.put(("memories",), "k1", {"a": 2})
    second = store.get(("memories",), "k1")
    assert second.value == {"a": 2}
    assert second.created_at == first.created_at
    assert (second.updated_at - first.updated_at).total_seconds() == 60


def test_deleting_removes_and_deleting_nothing_is_harmless(store):
    """A deleted item is gone at once from every way of reading."""
    store.put(("memories",), "k1", {"text": "likes tea"})
    store.delete(("memories",), "k1")
    store.delete(("memories",), "k1")
    assert store.get(("memories",), "k1") is None
    assert store.search(("memories",), query="tea") == []
    assert store.list_namespaces() == []


def test_an_item_that_is_put_after_deletion_is_new(store, clock):
    """Its creation is that of the second put."""
    store.put(("memories",), "k1", {"a": 1})
    store.delete(("memories",), "k1")
    clock.advance(seconds=5)
    store.put(("memories",), "k1", {"a": 1})
    assert store.get(("memories",), "k1").created_at == clock.now()


@pytest.mark.parametrize(
    "key",
    ["", " ", "a.b", ".hidden", "line\nbreak", "nul\0", "lone \ud800", "太郎", "a/b:c|d%2F", "x" * 512, "x" * 5_000],
    ids=["empty", "blank", "period", "leading period", "line", "nul", "surrogate", "cjk", "signs", "long", "longest"],
)
def test_any_text_can_be_a_key(store, key):
    """A key comes back as it was given, by get and by search."""
    store.put(("memories",), key, {"a": 1})
    assert store.get(("memories",), key).key == key
    assert keys(store.search(("memories",))) == [(("memories",), key)]


def test_long_keys_that_differ_in_the_end_are_two(store):
    """Nothing is cut off."""
    store.put(("memories",), "x" * 5_000 + "a", {"n": 1})
    store.put(("memories",), "x" * 5_000 + "b", {"n": 2})
    assert [store.get(("memories",), "x" * 5_000 + end).value for end in "ab"] == [{"n": 1}, {"n": 2}]


@given(st.dictionaries(st.tuples(NAMESPACES, st.text(max_size=12)), st.integers(0, 9), max_size=8))
def test_no_two_names_ever_meet(items):
    """Any namespaces and keys stay apart and come back exactly, whatever characters they hold."""
    with SeasonedStore() as store:
        for (namespace, key), number in items.items():
            store.put(namespace, key, {"n": number})
        found = {(item.namespace, item.key): item.value["n"] for item in store.search((), limit=100)}
        assert found == items
        assert store.list_namespaces() == sorted({namespace for namespace, _ in items})


def test_labels_of_any_length_are_kept(store):
    """Two labels of 2,000 characters that differ in the last one are two namespaces."""
    one, other = ("u" * 2_000 + "1", "x"), ("u" * 2_000 + "2", "x")
    store.put(one, "k", {"n": 1})
    store.put(other, "k", {"n": 2})
    assert keys(store.search(one[:1])) == [(one, "k")]
    assert store.list_namespaces(prefix=other[:1]) == [other]


def test_a_value_is_not_shared_with_its_caller(store):
    """What is done to a value after put, or to an item after get, changes nothing that is stored."""
    value = {"tags": ["a"]}
    store.put(("memories",), "k1", value)
    value["tags"].append("b")
    store.get(("memories",), "k1").value["tags"].append("c")
    assert store.get(("memories",), "k1").value == {"tags": ["a"]}
    assert value == {"tags": ["a", "b"]}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"f": float("nan")}, InvalidInput),
        ({"n": 10**30}, InvalidInput),
        ({1: "x"}, WrongType),
        ({"o": object()}, WrongType),
        (["no", "mapping"], WrongType),
    ],
)
def test_a_value_that_is_no_plain_json_is_refused_before_anything_is_written(store, value, error):
    """The good item of the same batch is not written either."""
    with pytest.raises(error):
        store.batch([PutOp(("memories",), "good", {"a": 1}), PutOp(("memories",), "bad", value)])
    assert store.search(()) == []


def test_nul_and_lone_surrogates_are_replaced(store):
    """They are stored as U+FFFD, as everywhere, and found by a filter as they were given."""
    store.put(("memories",), "k1", {"t": "a\0b \ud800"})
    assert store.get(("memories",), "k1").value == {"t": "a\ufffdb \ufffd"}
    assert len(store.search(("memories",), filter={"t": "a\0b \ud800"})) == 1


# namespaces


def test_a_prefix_is_compared_label_by_label(store):
    """Neither a longer label nor a wildcard of any query language is mistaken for another."""
    for label in ("foo", "foobar", "f%", "f_o", "f*", "Foo"):
        store.put((label,), "k", {"a": 1})
    store.put(("foo", "child"), "k", {"a": 1})
    assert {item.namespace for item in store.search(("foo",))} == {("foo",), ("foo", "child")}
    for label in ("foobar", "f%", "f_o", "f*", "Foo"):
        assert keys(store.search((label,))) == [((label,), "k")]


@pytest.mark.parametrize("namespace", [("a.b",), ("a", ""), ("a\0",), ("a", 1), "ab"])
@pytest.mark.parametrize("kind", ["get", "put", "delete", "search", "prefix", "suffix"])
def test_a_batch_refuses_labels_as_the_single_methods_do(store, namespace, kind):
    """The framework's rule holds for operations that pass its methods by; nothing of the batch is done."""
    op = {
        "get": GetOp(namespace, "k"),
        "put": PutOp(namespace, "k", {"a": 1}),
        "delete": PutOp(namespace, "k", None),
        "search": SearchOp(namespace),
        "prefix": ListNamespacesOp((MatchCondition("prefix", namespace),)),
        "suffix": ListNamespacesOp((MatchCondition("suffix", namespace),)),
    }[kind]
    with pytest.raises(ValueError, match=r"[Nn]amespace"):
        store.batch([PutOp(("good",), "k", {"a": 1}), op])
    assert store.list_namespaces() == []


def test_namespaces_are_listed_by_prefix_suffix_wildcard_and_depth(store):
    """Conditions join; a star stands for one label; deeper ones are cut and each is listed once, in order."""
    for namespace in (("u", "a", "docs"), ("u", "b", "docs"), ("u", "b", "mail"), ("v", "a", "docs")):
        store.put(namespace, "k", {"a": 1})
    assert store.list_namespaces(prefix=("u",), suffix=("docs",)) == [("u", "a", "docs"), ("u", "b", "docs")]
    assert store.list_namespaces(prefix=("*", "a")) == [("u", "a", "docs"), ("v", "a", "docs")]
    assert store.list_namespaces(suffix=("b", "*")) == [("u", "b", "docs"), ("u", "b", "mail")]
    assert store.list_namespaces(max_depth=2) == [("u", "a"), ("u", "b"), ("v", "a")]
    assert store.list_namespaces(max_depth=2, limit=1, offset=1) == [("u", "b")]
    assert store.list_namespaces(prefix=("u", "a", "docs", "more")) == []


def test_an_unknown_kind_of_match_is_refused(store):
    """A condition is never dropped."""
    with pytest.raises(ValueError, match="infix"):
        store.batch([ListNamespacesOp((MatchCondition("infix", ("a",)),))])


def test_two_base_scopes_never_meet():
    """Stores over one engine with different base scopes see nothing of each other, by any way of reading."""
    engine = MemoryStore()
    acme, other = SeasonedStore(engine, scope="acme"), SeasonedStore(engine, scope=("acme2",))
    acme.put(("memories",), "k", {"text": "the vault code"})
    other.put(("memories",), "k", {"text": "the vault door"})
    assert [item.value["text"] for item in acme.search((), query="vault")] == ["the vault code"]
    other.delete(("memories",), "k")
    assert acme.get(("memories",), "k").value == {"text": "the vault code"}
    assert other.list_namespaces() == []
    engine.close()


# batches


def test_a_batch_answers_in_order_and_reads_what_was_there_before(store):
    """Reads see the state before the writes of their own batch."""
    store.put(("a",), "k1", {"n": 1})
    found = store.batch(
        [
            PutOp(("a",), "k1", {"n": 2}),
            GetOp(("a",), "k1"),
            PutOp(("a",), "k2", {"n": 3}),
            SearchOp(("a",)),
            ListNamespacesOp(),
            GetOp(("a",), "k2"),
        ]
    )
    assert (found[0], found[2], found[5]) == (None, None, None)
    assert found[1].value == {"n": 1}
    assert [item.value for item in found[3]] == [{"n": 1}]
    assert found[4] == [("a",)]
    assert store.get(("a",), "k1").value == {"n": 2}


def test_of_several_writes_to_one_key_the_last_counts(store):
    """Also where the last one deletes, or puts what an earlier one deleted."""
    store.batch([PutOp(("a",), "k1", {"n": 1}), PutOp(("a",), "k1", {"n": 2}), PutOp(("a",), "k2", {"n": 1})])
    store.batch([PutOp(("a",), "k2", {"n": 5}), PutOp(("a",), "k2", None)])
    store.batch([PutOp(("a",), "k1", None), PutOp(("a",), "k1", {"n": 6})])
    assert [(item.key, item.value) for item in store.search(("a",))] == [("k1", {"n": 6})]


def test_an_unknown_operation_is_refused(store):
    """Nothing is passed over."""
    with pytest.raises(InvalidInput, match="GetOp"):
        store.batch([("get", "a")])


def test_the_async_methods_do_the_same(store):
    """Put, get, search, list and delete, awaited."""

    async def used():
        await store.aput(("a", "b"), "k", {"text": "likes tea"})
        got = await store.aget(("a", "b"), "k")
        found = await store.asearch(("a",), query="tea", filter={"text": "likes tea"})
        listed = await store.alist_namespaces(prefix=("a",))
        await store.adelete(("a", "b"), "k")
        return got.value, keys(found), listed, await store.aget(("a", "b"), "k")

    assert asyncio.run(used()) == ({"text": "likes tea"}, [(("a", "b"), "k")], [("a", "b")], None)


class WatchedStore(MemoryStore):
    """Notes which threads call it."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def find(self, query):
        self.threads.add(threading.get_ident())
        return super().find(query)

    def apply(self, changes):
        self.threads.add(threading.get_ident())
        return super().apply(changes)


def test_no_call_to_the_store_runs_on_the_event_loops_thread():
    """Neither a read, a write, nor an embedding by a sync model."""
    engine, embedding = WatchedStore(), set()

    def embed(texts):
        embedding.add(threading.get_ident())
        return [[1.0, float(len(text))] for text in texts]

    store = SeasonedStore(engine, index={"dims": 2, "embed": embed}, ttl={"default_ttl": 5})

    async def used():
        await store.aput(("a",), "k", {"text": "tea"})
        await store.aget(("a",), "k")
        await store.asearch(("a",), query="tea")
        await store.alist_namespaces()
        await store.adelete(("a",), "k")

    asyncio.run(used())
    assert embedding
    assert engine.threads
    assert threading.get_ident() not in engine.threads | embedding
    engine.close()


def test_many_threads_and_tasks_lose_nothing(store):
    """Forty writers of ten items each, half of them tasks: 400 items."""

    async def tasks():
        await asyncio.gather(*(store.aput(("t", str(task)), str(n), {"n": n}) for task in range(20) for n in range(10)))

    def put(number):
        for n in range(10):
            store.put(("s", str(number)), str(n), {"n": n})

    threads = [threading.Thread(target=put, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    assert len(store.search((), limit=1_000)) == 400
    assert len(store.list_namespaces()) == 40


# places


def test_a_file_keeps_what_was_put(tmp_path):
    """Another store on the same file reads it."""
    with SeasonedStore(tmp_path / "agent.db") as first:
        first.put(("a",), "k", {"n": 1})
    with SeasonedStore(str(tmp_path / "agent.db")) as second:
        assert second.get(("a",), "k").value == {"n": 1}


def test_a_closed_store_says_so_and_leaves_a_store_that_was_handed_in_open(tmp_path):
    """Every verb raises after close; the engine below stays usable where another opened it."""
    with closing(SQLiteStore(tmp_path / "agent.db")) as engine:
        store = SeasonedStore(engine)
        store.put(("a",), "k", {"n": 1})
        store.close()
        store.close()
        with pytest.raises(StoreClosed):
            store.get(("a",), "k")
        with pytest.raises(StoreClosed):
            asyncio.run(store.aput(("a",), "k", {"n": 2}))
        with pytest.raises(StoreClosed):
            store.sweep_ttl()
        assert SeasonedStore(engine).get(("a",), "k").value == {"n": 1}


def test_a_memory_over_the_same_scope_recalls_items(tmp_path):
    """Items are records of a kind of their own: found by recall, counted, exported and forgotten like others."""
    with Memory(tmp_path / "agent.db", scope="acme", embedder="hashing") as memory:
        store = SeasonedStore(memory.store, scope=memory.scope)
        store.put(("memories", "alice"), "k1", {"text": "likes oolong tea"})
        store.put(("memories", "bob"), "k1", {"text": "likes coffee"})
        hits = memory.recall("oolong", subtree=True)
        assert [(hit.id, hit.record.key.kind) for hit in hits] == [("k1", KIND)]
        assert memory.within("memories", "alice").count(kinds=(KIND,)) == 1
        assert memory.within("memories", "alice").forget(everything=True).total == 1
        assert keys(store.search(())) == [(("memories", "bob"), "k1")]


def test_records_of_others_are_no_items(tmp_path):
    """Notes in the same scopes are not seen, and a record of the items' kind that is none breaks nothing."""
    with Memory(tmp_path / "agent.db", scope="acme", embedder="hashing") as memory:
        store = SeasonedStore(memory.store, scope=memory.scope)
        below = memory.within("memories")
        below.remember("a note about tea", id="k1")
        store.put(("memories",), "k2", {"text": "tea"})
        assert keys(store.search((), query="tea")) == [(("memories",), "k2")]
        store.delete(("memories",), "k1")
        assert below.get("k1", kind="note").text == "a note about tea"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"scope": ()}, InvalidScope),
        ({"index": {"embed": len, "fieldz": ["a"]}}, InvalidInput),
        ({"index": {"dims": 3}}, InvalidInput),
        ({"index": {"embed": len, "dims": 0}}, InvalidInput),
        ({"index": {"embed": len, "dims": "3"}}, WrongType),
        ({"ttl": {"default": 3}}, InvalidInput),
        ({"ttl": {"default_ttl": -1}}, InvalidInput),
        ({"location": 7}, WrongType),
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused(options, error):
    """A misspelt name is never passed over."""
    with pytest.raises(error):
        SeasonedStore(**options)


def test_without_langgraph_the_import_names_the_extra():
    """Importing the integration says what to install; importing the package needs nothing and loads nothing."""
    program = (
        "import sys; sys.modules['langgraph.store.base'] = None\n"
        "import seasoned; from seasoned.errors import MissingExtra\n"
        "assert not any(name.startswith(('langgraph.', 'langchain')) for name in sys.modules if sys.modules[name])\n"
        "try:\n    import seasoned.integrations.langgraph\n"
        "except MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "langgraph is not installed; run: pip install 'seasoned[langgraph]'\n"
