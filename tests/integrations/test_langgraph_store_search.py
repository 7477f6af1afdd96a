"""SeasonedStore: filters, vectors, words, and pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Memory, MemoryStore
from seasoned.errors import EmbeddingError, InvalidFilter, InvalidInput, WrongType

base = pytest.importorskip("langgraph.store.base", reason="langgraph is not installed")
from langgraph.store.memory import InMemoryStore  # noqa: E402  # only where it is installed

from seasoned.integrations.langchain_adapters import SeasonedEmbeddings  # noqa: E402
from seasoned.integrations.langgraph import SeasonedStore  # noqa: E402

PutOp, SearchOp = base.PutOp, base.SearchOp

DIRECTIONS = {"tea": [1.0, 0.0, 0.0], "coffee": [0.0, 1.0, 0.0], "both": [0.6, 0.8, 0.0], "none": [0.0, 0.0, 1.0]}


def embed(texts):
    """Each known text has a direction of its own; "not tea" is opposite to tea."""
    return [[-1.0, 0.0, 0.0] if text == "not tea" else DIRECTIONS.get(text, DIRECTIONS["none"]) for text in texts]


INDEX = {"dims": 3, "embed": embed, "fields": ["text"]}


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "agent.db" if request.param == "sqlite" else None


@pytest.fixture
def plain(place: Path | None) -> Iterator[SeasonedStore]:
    with SeasonedStore(place, durability="normal") as opened:
        yield opened


@pytest.fixture
def dense(place: Path | None) -> Iterator[SeasonedStore]:
    with SeasonedStore(place, durability="normal", index=INDEX) as opened:
        yield opened


def found(store, where, **options):
    return sorted(item.key for item in store.search((), filter=where, limit=100, **options))


def scored(items):
    return [(item.key, None if item.score is None else round(item.score, 3)) for item in items]


# filters


@pytest.fixture
def shelf(plain: SeasonedStore) -> SeasonedStore:
    values = {
        "a": {"n": 1, "color": "red", "tags": ["x", "y"], "in": {"deep": {"er": 5}, "it's": True}, "v.1": "dotted"},
        "b": {"n": 2.5, "color": "blue", "tags": ["x"], "in": {"deep": {"er": 6}}, "v": {"1": "path"}},
        "c": {"n": "2", "color": None, "tags": "x", "flag": True},
        "d": {"flag": 1, "tags": [], "in": []},
    }
    for key, value in values.items():
        plain.put(("shelf",), key, value)
    return plain


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        (None, "abcd"),
        ({}, "abcd"),
        ({"color": "red"}, "a"),
        ({"color": None}, "cd"),
        ({"n": 1, "color": "red"}, "a"),
        ({"n": 1, "color": "blue"}, ""),
        ({"n": 1.0}, "a"),
        ({"n": "2"}, "c"),
        ({"flag": True}, "c"),
        ({"flag": 1}, "d"),
        ({"tags": ["x", "y"]}, "a"),
        ({"tags": ["y", "x"]}, ""),
        ({"tags": ("x",)}, "b"),
        ({"tags": "x"}, "c"),
        ({"tags": []}, "d"),
        ({"in": {"deep": {"er": 5}}}, "a"),
        ({"in": {"deep": {"er": {"$gt": 5}}}}, "b"),
        ({"in": {"deep": {}}}, "ab"),
        ({"in": {"absent": None}}, "ab"),
        ({"in": {"it's": True}}, "a"),
        ({"in.deep.er": 6}, "b"),
        ({"v.1": "dotted"}, "a"),
        ({"v.1": "path"}, "b"),
    ],
)
def test_a_filter_holds_where_every_field_does(shelf, where, keys):
    """Equality is of JSON: true is not 1, a list is compared whole, an object by the fields that are named."""
    assert found(shelf, where) == list(keys)


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ({"$eq": 1}, "a"),
        ({"$ne": 1}, "bcd"),
        ({"$gt": 1}, "b"),
        ({"$gte": 1}, "ab"),
        ({"$lt": 2.5}, "a"),
        ({"$lte": 2.5}, "ab"),
        ({"$gt": "1"}, "c"),
        ({"$gt": 0, "$lt": 2}, "a"),
        ({"$lt": float("inf")}, "ab"),
        ({"$gt": float("-inf")}, "ab"),
        ({"$gt": float("nan")}, ""),
        ({"$eq": float("nan")}, ""),
        ({"$lt": 10**100}, "ab"),
        ({"$gt": -(10**400)}, "ab"),
    ],
)
def test_operators_compare_numbers_with_numbers_and_texts_with_texts(shelf, condition, keys):
    """What cannot be compared does not pass; what is missing is only unequal."""
    assert found(shelf, {"n": condition}) == list(keys)


def test_ne_holds_for_a_list_that_contains_the_value(shelf):
    """A list is not equal to one of its items."""
    assert found(shelf, {"tags": {"$ne": "x"}}) == ["a", "b", "d"]


@pytest.mark.parametrize(
    "where",
    [
        {"n": {"$regex": "1"}},
        {"n": {"$gt": 1, "plain": 2}},
        {"n": {"$gt": None}},
        {"n": {"$lt": True}},
        {"n": {"$gt": [1]}},
        {"in": {"deep": {"$exists": True}}},
        {7: 1},
        {"n": object()},
        ["n"],
    ],
)
def test_what_is_no_filter_is_refused_though_nothing_is_stored(plain, where):
    """A condition is never dropped, and an error does not wait for an item to compare with."""
    with pytest.raises(InvalidFilter):
        plain.search((), filter=where)


@pytest.mark.parametrize(
    "key",
    [
        "access') = 'public' OR '1'='1' OR json_extract(value, '$.",
        'a"b',
        "a\\b",
        "a b",
        "a$[0]",
        "*",
        "",
        "a\nb",
        "ключ",
    ],
)
def test_a_key_is_taken_literally(plain, key):
    """Whatever signs it holds: it finds the item that has it and no other."""
    plain.put(("docs",), "public", {"access": "public"})
    plain.put(("docs",), "keyed", {key: "dummy", "in": {key: 3}})
    assert found(plain, {key: "dummy"}) == ["keyed"]
    assert found(plain, {key: "other"}) == []
    assert found(plain, {"in": {key: {"$gte": 3}}}) == ["keyed"]


@pytest.mark.parametrize("value", ["public' OR '1'='1", "public'; --", "''''", "$.access", "%", "public\0"])
def test_a_value_is_taken_literally(plain, value):
    """No value is ever part of a query's text."""
    plain.put(("docs",), "public", {"access": "public"})
    plain.put(("docs",), "odd", {"access": value})
    assert found(plain, {"access": value}) == ["odd"]
    assert found(plain, {"access": {"$eq": value}}) == ["odd"]


LEAF = st.integers(-3, 3) | st.sampled_from(["", "a", "b", "ab"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(-3, 3), "t": st.sampled_from(["a", "b", "ab"])},
    optional={"in": st.dictionaries(st.sampled_from("xy"), LEAF, max_size=2), "l": st.lists(LEAF, max_size=2)},
)
ORDERED = st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]), st.integers(-3, 3), min_size=1)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-3, 3) | ORDERED,
        "t": st.sampled_from(["a", "b"]) | st.fixed_dictionaries({"$ne": st.sampled_from(["a", "b"])}),
        "in": st.dictionaries(st.sampled_from("xy"), LEAF, min_size=1, max_size=2),
        "l": st.lists(LEAF, max_size=2),
    },
)
NAMED = st.tuples(st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple), st.sampled_from("kl"))


@given(
    puts=st.lists(st.tuples(NAMED, VALUES | st.none()), max_size=12), where=FILTERS, prefix=st.sampled_from(["", "a"])
)
def test_it_answers_as_langgraphs_own_store_in_memory(puts, where, prefix):
    """Over any puts and deletes, the same items pass any filter, and the same namespaces are there to be listed."""
    theirs = InMemoryStore()
    with SeasonedStore() as ours:
        for (namespace, key), value in puts:
            for store in (ours, theirs):
                store.batch([PutOp(namespace, key, value)])
        wanted, got = (
            sorted((item.namespace, item.key, str(item.value)) for item in store.search(tuple(prefix), filter=where))
            for store in (theirs, ours)
        )
        assert got == wanted
        held = {item.namespace for item in theirs.search((), limit=100)}  # theirs lists emptied ones too
        assert ours.list_namespaces() == sorted(held)


# vectors


def test_the_score_is_the_cosine_of_the_nearest_text(dense):
    """Cosines as they are, best first, negative ones too; what has no vector fills the tail with no score."""
    for key in ("tea", "coffee", "both", "not tea"):
        dense.put(("d",), key, {"text": key})
    dense.put(("d",), "other", {"title": "tea"})
    assert scored(dense.search(("d",), query="tea")) == [
        ("tea", 1.0),
        ("both", 0.6),
        ("coffee", 0.0),
        ("not tea", -1.0),
        ("other", None),
    ]


def test_an_item_with_several_texts_counts_by_its_nearest(place):
    """One vector a path and a vector for each element of a list, of which the best is the score."""
    index = {"dims": 3, "embed": embed, "fields": ["title", "notes[*].text"]}
    with SeasonedStore(place, index=index) as store:
        store.put(("d",), "one", {"title": "coffee", "notes": [{"text": "both"}, {"text": "tea"}, {"no": 1}]})
        store.put(("d",), "two", {"title": "both"})
        assert scored(store.search(("d",), query="tea")) == [("one", 1.0), ("two", 0.6)]
        assert scored(store.search(("d",), query="coffee")) == [("one", 1.0), ("two", 0.8)]


def test_put_may_name_its_own_paths_or_none(dense):
    """`index` of put replaces the fields; False leaves the item out of what is ranked, not out of what is found."""
    dense.put(("d",), "own", {"title": "tea", "text": "coffee"}, index=["title"])
    dense.put(("d",), "none", {"text": "tea"}, index=False)
    dense.put(("d",), "nothing", {"text": "tea"}, index=[])
    assert scored(dense.search(("d",), query="tea")) == [("own", 1.0), ("nothing", None), ("none", None)]
    with pytest.raises(WrongType, match="index"):
        dense.put(("d",), "k", {"text": "tea"}, index="text")


@pytest.mark.parametrize("again", [{"index": False}, {"index": ["absent"]}])
def test_a_vector_does_not_outlive_the_text_it_was_made_from(dense, again):
    """Putting the same value again unindexed drops its vector; putting another text replaces it."""
    dense.put(("d",), "k", {"text": "tea"})
    dense.put(("d",), "k", {"text": "tea"}, **again)
    assert scored(dense.search(("d",), query="tea")) == [("k", None)]
    dense.put(("d",), "k", {"text": "coffee"})
    assert scored(dense.search(("d",), query="tea")) == [("k", 0.0)]


def test_equal_texts_in_one_batch_are_embedded_once(place):
    """Three items, two of one text, and two equal queries: one call with two texts, one with one query."""
    asked = []

    def counted(texts):
        asked.append(list(texts))
        return embed(texts)

    with SeasonedStore(place, index={"embed": counted, "fields": ["text"]}) as store:
        store.batch([PutOp(("d",), key, {"text": text}) for key, text in (("a", "tea"), ("b", "tea"), ("c", "both"))])
        first, second = store.batch([SearchOp(("d",), query="tea", limit=1), SearchOp((), query="tea")])
        assert asked == [["tea", "both"], ["tea"]]
        assert scored(first) == [("b", 1.0)]
        assert scored(second) == [("b", 1.0), ("a", 1.0), ("c", 0.6)]


def test_filters_narrow_before_the_best_are_chosen(dense):
    """Twenty nearer items of another color do not crowd out the one that passes."""
    for number in range(20):
        dense.put(("d",), f"near{number}", {"text": "tea", "color": "red", "list": ["red"]})
    dense.put(("d",), "far", {"text": "coffee", "color": "blue", "list": ["blue"]})
    assert scored(dense.search(("d",), query="tea", filter={"color": "blue"}, limit=1)) == [("far", 0.0)]
    assert scored(dense.search(("d",), query="tea", filter={"list": ["blue"]}, limit=1)) == [("far", 0.0)]
    assert scored(dense.search(("d",), query="tea", filter={"color": {"$ne": "red"}}, limit=1)) == [("far", 0.0)]


@pytest.mark.parametrize("query", [None, "tea"])
def test_pages_make_up_the_whole(dense, query):
    """Pages of any size, laid end to end, are the one long answer: ranked, then unranked, each item once."""
    for number in range(7):
        dense.put(("d", str(number % 2)), f"i{number}", {"text": "tea" if number % 3 else "coffee"})
        dense.put(("d",), f"u{number}", {"title": "no text"})
    whole = [item.key for item in dense.search((), query=query, limit=100)]
    assert len(whole) == len(set(whole)) == 14
    for size in (1, 3, 5):
        pages = [dense.search((), query=query, limit=size, offset=start) for start in range(0, 15, size)]
        assert [item.key for page in pages for item in page] == whole
    assert dense.search((), query=query, limit=0) == []


@pytest.mark.parametrize("bounds", [{"limit": -1}, {"offset": -1}])
def test_a_negative_bound_is_refused(plain, bounds):
    """It would mean something else in every engine."""
    with pytest.raises(InvalidInput):
        plain.search((), **bounds)


def test_without_a_query_the_newest_come_first(plain):
    """An update does not move an item."""
    for key in ("a", "b", "c"):
        plain.put(("d",), key, {"n": 1})
    plain.put(("d",), "a", {"n": 2})
    assert [item.key for item in plain.search(("d",))] == ["c", "b", "a"]
    assert [item.key for item in plain.search(("d",), query="")] == ["c", "b", "a"]


def test_more_items_than_a_page_are_all_found(plain):
    """1,201 items come back in one search and are counted once each."""
    plain.batch([PutOp(("d",), str(number), {"n": number}) for number in range(1_201)])
    assert {item.value["n"] for item in plain.search(("d",), limit=5_000)} == set(range(1_201))
    assert [item.value["n"] for item in plain.search(("d",), filter={"n": {"$ne": 1_200}}, limit=2)] == [1_199, 1_198]


def test_an_async_model_serves_the_async_methods(place):
    """It runs on the loop; the sync methods say that they cannot use it."""

    async def aembed(texts):
        return embed(texts)

    async def used(store):
        await store.aput(("d",), "k", {"text": "both"})
        return await store.asearch(("d",), query="tea")

    with SeasonedStore(place, index={"dims": 3, "embed": aembed, "fields": ["text"]}) as store:
        assert scored(asyncio.run(used(store))) == [("k", 0.6)]
        with pytest.raises(EmbeddingError, match="async"):
            store.search(("d",), query="tea")


@pytest.mark.parametrize(
    "broken",
    [
        lambda texts: [[1.0, 2.0]] * len(texts),
        lambda texts: [[float("nan"), 0.0, 0.0]] * len(texts),
        lambda texts: [],
        lambda texts: 1 / 0,
    ],
    ids=["dimension", "nan", "none", "raises"],
)
def test_a_model_that_fails_writes_nothing(place, broken):
    """All is embedded before anything is written, and the error says whose it is."""
    with SeasonedStore(place, index={"dims": 3, "embed": broken, "fields": ["text"]}) as store:
        with pytest.raises(EmbeddingError, match="test_langgraph_store_search"):
            store.batch([PutOp(("d",), "plain", {"n": 1}), PutOp(("d",), "k", {"text": "tea"})])
        assert store.search(()) == []


def test_another_model_never_meets_the_vectors_of_the_first(tmp_path):
    """Items of the first model have no score for the second, and are found all the same."""
    with SeasonedStore(tmp_path / "agent.db", index=INDEX) as store:
        store.put(("d",), "k", {"text": "tea"})

    def other(texts):
        return [[0.0, 1.0, 0.0] for _ in texts]

    with SeasonedStore(tmp_path / "agent.db", index={**INDEX, "embed": other}) as store:
        store.put(("d",), "l", {"text": "tea"})
        assert scored(store.search(("d",), query="tea")) == [("l", 1.0), ("k", None)]


def test_an_embedder_of_ours_serves_both_sides():
    """Vectors written through LangGraph are those that a memory with the same embedder searches."""
    with closing(MemoryStore()) as engine:
        embedder = SeasonedEmbeddings("hashing")
        store = SeasonedStore(engine, index={"embed": embedder, "fields": ["text"]})
        store.put(("d",), "k", {"text": "likes oolong tea"})
        assert scored(store.search(("d",), query="likes oolong tea")) == [("k", 1.0)]
        with Memory(engine, embedder=embedder.embedder) as memory:
            assert memory.stats()["without_vector"] == 0
            assert [hit.id for hit in memory.recall("oolong", subtree=True)] == ["k"]


# words


def test_without_an_index_a_query_ranks_by_words(plain):
    """No model is needed: what says the words comes first with its score, the rest follows with none."""
    plain.put(("d",), "tea", {"text": "Alice drinks oolong tea every morning", "n": 7})
    plain.put(("d",), "none", {"text": "the train was late"})
    plain.put(("d",), "chinese", {"text": "我喜欢喝乌龙茶"})
    first, *rest = plain.search(("d",), query="drinking oolong")
    assert (first.key, [item.score for item in rest]) == ("tea", [None, None])
    assert 0 < first.score <= 1
    assert plain.search(("d",), query="乌龙茶")[0].key == "chinese"
    assert plain.search(("d",), query="7")[0].key == "tea"


def test_words_are_those_at_the_paths_that_put_names(plain):
    """A key of the value is no word of it; what is not indexed is not ranked."""
    plain.put(("d",), "own", {"title": "oolong", "text": "coffee"}, index=["title"])
    plain.put(("d",), "off", {"title": "oolong"}, index=False)
    assert [(item.key, item.score is None) for item in plain.search((), query="oolong")] == [
        ("own", False),
        ("off", True),
    ]
    assert [item.score for item in plain.search((), query="coffee")] == [None, None]
    assert [item.score for item in plain.search((), query="title")] == [None, None]


@pytest.mark.parametrize("query", ['don\'t panic: C++ (v2) AND/OR NEAR "x" -y *', "🙂", "?!", "x" * 200_000])
def test_any_text_is_a_query(plain, dense, query):
    """User text is never query syntax and never an error."""
    for store in (plain, dense):
        store.put(("d",), "k", {"text": "android and origin"})
        assert [item.key for item in store.search(("d",), query=query)] == ["k"]
