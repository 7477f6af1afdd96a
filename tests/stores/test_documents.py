"""What is made of an engine of flat documents keeps the contract, whatever the engine cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import InvalidInput, StoreCorrupt, StoreError
from seasoned.ports import Clock, Put, Remove, Store
from seasoned.query import Order, Query
from seasoned.records import Key, Scope
from seasoned.stores.documents import Document, DocumentStore, Place, Sort, document_id
from seasoned.stores.documents.urls import parse_url
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock, StoreContract

from .plain_documents import ALICE, PlainDocuments, note, opened, texts


class TestDocumentStore(StoreContract):
    """Every rule of the contract, on an engine that several processes may write to."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The dictionary of that place."""
        return DocumentStore(PlainDocuments(str(place)), clock=clock)


class TestDocumentStoreInTheSmallestBatches(StoreContract):
    """Every rule of the contract, where two documents at once are the most, and no other process writes."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each batch is one record and its head."""
        return DocumentStore(PlainDocuments(str(place), batch=2, exclusive=True), clock=clock)


class TestDocumentStoreInParts(StoreContract):
    """Every rule of the contract, where a document holds few bytes."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Most records come in several parts."""
        return DocumentStore(PlainDocuments(str(place), chars=4096), clock=clock)


class BrokenDocuments(PlainDocuments):
    """An engine that is lost after so many documents were written, in the middle of a request too."""

    def __init__(self, place: str, left: int, batch: int = 3) -> None:
        super().__init__(place, batch)
        self.left = left

    def put(self, documents: Sequence[Document]) -> None:
        """Write as many as are left, then fail."""
        for one in documents:
            if self.left == 0:
                raise StoreError("the connection was lost")
            super().put([one])
            self.left -= 1

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Fail once nothing is left."""
        if self.left == 0:
            raise StoreError("the connection was lost")
        return super().get(places)


BATCH = (
    Put(note("source", "one")),
    Put(note("derived", "two")),
    Put(note("old", "rewritten")),
    Put(note("derived", "three")),
    Remove(Key(ALICE, "note", "doomed")),
    Put(note("derived", "four")),
    Put(note("head", "up to here")),
)


@pytest.mark.parametrize("batch", [3, 100])
@pytest.mark.parametrize("left", range(1, 16))
def test_a_connection_lost_anywhere_leaves_a_prefix_and_a_repeat_completes_it(tmp_path, left, batch):
    """Whichever document arrives last, another process sees a prefix of the batch; repeated, it is whole."""
    with opened(PlainDocuments(str(tmp_path))) as store:
        store.apply([Put(note("old", "as it was")), Put(note("doomed", "to go"))])
        prefixes = [texts(store)]
    with opened(PlainDocuments(f"{tmp_path}/other")) as store:
        store.apply([Put(note("old", "as it was")), Put(note("doomed", "to go"))])
        for change in BATCH:
            store.apply([change])
            prefixes.append(texts(store))
    with opened(BrokenDocuments(str(tmp_path), left, batch)) as broken, suppress(StoreError):
        broken.apply(BATCH)
    with opened(PlainDocuments(str(tmp_path))) as after:
        assert texts(after) in prefixes
        after.apply(BATCH)
        assert texts(after) == prefixes[-1]
        hits = after.find(Query(scope=ALICE, order=Order.CHANGED)).hits
        assert len({hit.seq for hit in hits}) == len({hit.order for hit in hits}) == len(hits) == 4


def test_a_lost_connection_is_an_error_and_never_an_empty_answer(tmp_path):
    """By key, by order, by words, for a count and for scopes."""
    documents = BrokenDocuments(str(tmp_path), left=100)
    with opened(documents) as store:
        store.apply([Put(note("a", "green tea"))])
        documents.left = 0
        for query in (
            Query(scope=ALICE, keys=(Key(ALICE, "note", "a"),)),
            Query(scope=ALICE),
            Query(scope=ALICE, words="tea"),
            Query(scope=ALICE, count=True),
            Query(scope=ALICE, scopes=True),
        ):
            with pytest.raises(StoreError, match="lost"):
                store.find(query)


def test_a_damaged_document_is_named_and_hides_no_other(tmp_path):
    """A listing and a search give the rest and say which cannot be read; it can be forgotten, or written anew."""
    with opened(PlainDocuments(str(tmp_path))) as store:
        store.apply([Put(note(name, "green tea")) for name in ("a", "b", "c", "d")])
    rows = PlainDocuments.places[str(tmp_path)]
    for place, one in list(rows.items()):
        if one.name in ("b", "c"):
            rows[place] = replace(one, body=one.body[:-9] if one.name == "b" else '{"text":1}')
    with opened(PlainDocuments(str(tmp_path))) as store:
        page = store.find(Query(scope=ALICE))
        assert [hit.id for hit in page.hits] == ["a", "d"]
        assert {key.id for key in page.unreadable} == {"b", "c"}
        assert all(reason.startswith("corrupt: ") for reason in page.degraded)
        found = store.find(Query(scope=ALICE, words="tea"))
        assert (sorted(hit.id for hit in found.hits), len(found.unreadable)) == (["a", "d"], 2)
        assert [finding.where for finding in store.check()] == ["record", "record"]
        with pytest.raises(StoreCorrupt):
            store.find(Query(scope=ALICE, keys=(Key(ALICE, "note", "b"),)))
        store.apply([Remove(Key(ALICE, "note", "b")), Put(note("c", "black tea"))])
        page = store.find(Query(scope=ALICE))
        assert ([hit.id for hit in page.hits], page.unreadable) == (["a", "c", "d"], ())


def test_removals_too_far_back_are_forgotten_and_followers_told_to_reload(tmp_path):
    """Nothing is left of them in the engine, and one that has seen enough still learns what went."""
    with opened(PlainDocuments(str(tmp_path)), gone_kept=20) as store:
        for number in range(40):
            store.apply([Put(note(f"n{number}"))])
            if number >= 10:
                store.apply([Remove(Key(ALICE, "note", f"n{number - 10}"))])
        last = store.find(Query(scope=ALICE, order=Order.CHANGED)).seq
        far = store.find(Query(scope=ALICE, order=Order.CHANGED, cursor="5"))
        near = store.find(Query(scope=ALICE, order=Order.CHANGED, cursor=str(last - 2)))
        assert (last, far.reload, near.reload, len(near.gone)) == (70, True, False, 1)
        assert len(texts(store)) == 10
    left = [one for one in PlainDocuments.places[str(tmp_path)].values() if one.sort is Sort.GONE]
    assert 10 <= len(left) <= 12
    assert all(one.body == one.vectors == "" for one in left)


def test_a_copy_made_before_removals_were_forgotten_is_made_anew(tmp_path):
    """Another process that slept meanwhile sees no record that is gone."""
    with opened(PlainDocuments(str(tmp_path))) as sleeper, opened(PlainDocuments(str(tmp_path)), gone_kept=10) as store:
        store.apply([Put(note("a", "green tea")), Put(note("b", "green tea"))])
        assert sorted(texts(sleeper)) == ["a", "b"]
        assert len(sleeper.find(Query(scope=ALICE, words="tea")).hits) == 2
        store.apply([Remove(Key(ALICE, "note", "a"))])
        for number in range(30):
            store.apply([Put(note("c", str(number)))])
        assert sorted(texts(sleeper)) == ["b", "c"]
        assert [hit.id for hit in sleeper.find(Query(scope=ALICE, words="tea")).hits] == ["b"]


def test_copies_that_do_not_fit_are_read_again(tmp_path):
    """With room for none, each answer is the same."""
    with opened(PlainDocuments(str(tmp_path)), cache_bytes=1) as store:
        scopes = [ALICE.within(name) for name in "abc"]
        for scope in scopes:
            store.apply([Put(replace(note("n1", "green tea"), key=Key(scope, "note", scope[-1])))])
        for _ in range(2):
            assert [[hit.id for hit in store.find(Query(scope=scope, words="tea")).hits] for scope in scopes] == [
                ["a"],
                ["b"],
                ["c"],
            ]
        assert len(store.find(Query(scope=ALICE, subtree=True, words="tea")).hits) == 3


WORDS = ("tea", "green", "coffee", "run", "running", "茶", "ocean", "blue", "a", "the")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=12),
    asked=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    removed=st.sets(st.integers(0, 11), max_size=4),
)
def test_hits_are_always_those_of_sqlite(tmp_path_factory, said, asked, removed):
    """The same records, in the same order, with the same scores and reasons."""
    place = tmp_path_factory.mktemp("place")
    with opened(PlainDocuments(str(place))) as store:
        sqlite = SQLiteStore(place / "agent.db", clock=FakeClock())
        for each in (store, sqlite):
            each.apply([Put(note(f"n{number}", text, worth=number % 3)) for number, text in enumerate(said)])
            each.apply([Remove(Key(ALICE, "note", f"n{number}")) for number in removed])
        found, expected = ([(hit.record, hit.score, hit.why) for hit in each.find(Query(scope=ALICE, words=asked)).hits]
                           for each in (store, sqlite))  # fmt: skip
        sqlite.close()
    assert found == expected


NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=6).filter(str.strip)
KEYS = st.builds(Key, st.lists(st.sampled_from(["a", "a/", "/", "a%2F", "%", "b", "é", "e\u0301", "A"]), min_size=1,
                               max_size=3).map(Scope), NAMES, NAMES)  # fmt: skip


@given(one=KEYS, other=KEYS)
def test_two_keys_never_share_a_document(one, other):
    """Scope, kind and id together make its id, and no character of one reads as a border to the next."""
    ids = [document_id(key.scope.encode(), Sort.RECORD, key.kind, key.id) for key in (one, other)]
    assert (ids[0] == ids[1]) is (one == other)


def test_a_document_under_a_foreign_id_is_not_read(tmp_path):
    """What was put there by other means does not pass for a record."""
    with opened(PlainDocuments(str(tmp_path))) as store:
        store.apply([Put(note("a", "green tea"))])
    rows = PlainDocuments.places[str(tmp_path)]
    place, one = next((place, one) for place, one in rows.items() if one.name == "a")
    rows[place[0], "0" * 32] = replace(one, id="0" * 32, name="forged")
    with opened(PlainDocuments(str(tmp_path))) as store:
        page = store.find(Query(scope=ALICE))
        assert ([hit.id for hit in page.hits], [key.id for key in page.unreadable]) == (["a"], ["forged"])


def test_what_is_purged_leaves_no_content_in_any_document(tmp_path):
    """Text, data and vectors are gone from rows and parts; what stays names the record and holds nothing."""
    with opened(PlainDocuments(str(tmp_path), chars=200)) as store:
        secret = "the vault code is 4711-XQ " * 40
        store.apply([Put(note("a", secret, data={"code": secret})), Put(note("b", "other"))])
        counts = store.purge([Key(ALICE, "note", "a")])
        assert (counts.rows, counts.vectors, counts.pending) == (1, 0, ("engine",))
    rows = list(PlainDocuments.places[str(tmp_path)].values())
    assert "4711" not in repr(rows)
    assert [one.name for one in rows if one.sort in (Sort.GONE, Sort.RECORD)] == ["a", "b"]


def test_a_whole_memory_works_over_documents(tmp_path):
    """Notes are written, found, corrected and erased as on any store."""
    with opened(PlainDocuments(str(tmp_path))) as store, Memory(store, scope=ALICE, embedder="hashing") as memory:
        added = memory.remember("green tea in the morning")
        memory.remember("a walk along the river")
        assert [hit.text for hit in memory.recall("tea", k=1)] == ["green tea in the morning"]
        receipt = memory.forget(added.id, hard=True)
        assert (receipt.rows, [hit.text for hit in memory.recall("tea")]) == (1, [])


def test_an_engine_says_what_it_cannot_promise(tmp_path):
    """Where others can write too, neither batches nor versions are sure, and the figures say so."""
    with opened(PlainDocuments(str(tmp_path))) as store:
        store.apply([Put(note("a"))])
        assert store.stats() == {"engine": "plain", "records": 1, "scopes": 1, "degraded": ["atomic", "compare"]}
    with opened(PlainDocuments(f"{tmp_path}/alone", exclusive=True)) as store:
        assert store.stats() == {"engine": "plain", "records": 0, "scopes": 0, "degraded": ["atomic"]}


def test_a_url_of_an_engine_is_read_whole_or_refused():
    """Percent signs are decoded; what is unknown, repeated or impossible is an error that shows no key."""
    found = parse_url("x://u%40:k%3A@host:12/a%20b?collection=c%2F", ("x",), ("collection",))
    assert (found.host, found.port, found.path, found.user, found.key, found.options) == (
        "host", 12, "/a b", "u@", "k:", {"collection": "c/"},
    )  # fmt: skip
    for url, path in (("x://./a/b", "./a/b"), ("x://../a", "../a"), ("x:///a", "/a")):
        assert (parse_url(url, ("x",), ()).host, parse_url(url, ("x",), ()).path) == ("", path)
    for url in (
        "y://host",
        "x://host?colection=c",
        "x://host?collection=a&collection=b",
        "x://host:99999",
        "x://[host",
    ):
        with pytest.raises(InvalidInput):
            parse_url(url, ("x",), ("collection",))
    with pytest.raises(InvalidInput) as caught:
        parse_url("x://:secret@host:port/?wrong=1", ("x",), ())
    assert "secret" not in str(caught.value)
