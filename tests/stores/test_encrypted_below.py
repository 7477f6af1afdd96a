"""Scopes that are sealed below a memory's own: locked where their keys are not here, and in nobody's way."""

from __future__ import annotations

import json

import pytest

from seasoned import Memory, MemoryStore, Note, SQLiteStore
from seasoned.errors import InvalidInput, StoreLocked
from seasoned.keys import holds_sealed
from seasoned.locked import NOTHING, check_clear
from seasoned.ports import Put, Remove
from seasoned.query import Order, Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.documents import DocumentStore
from seasoned.stores.encrypted import EncryptedStore, KeyRing, LockedHit
from seasoned.testing import FakeClock
from seasoned.transfer.importing import import_file

from .plain_documents import PlainDocuments

ACME, ALICE, BOB = Scope("acme"), Scope(("acme", "alice")), Scope(("acme", "bob"))
KEY = bytes(range(32))


def ring() -> KeyRing:
    """Keys of Alice alone."""
    return KeyRing({ALICE: {"1": KEY}})


def opened(location: object, scope: Scope = ACME, keys: KeyRing | None = None) -> Memory:
    """Open the memory above hers, or another."""
    return Memory(location, scope=scope, embedder="hashing", keys=keys, clock=FakeClock())


@pytest.fixture(params=["file", "documents"])
def place(request, tmp_path):
    """Open a store that holds a sealed note of Alice, and later than that notes of others in the clear."""

    def made() -> object:
        if request.param == "file":
            return SQLiteStore(tmp_path / "agent.db", clock=FakeClock())
        return DocumentStore(PlainDocuments(str(tmp_path)), clock=FakeClock())

    with made() as store, opened(store, keys=ring()) as memory:
        memory.within("alice").remember("Alice likes milk.", id="milk")
        memory.remember("We sell tea.", id="we")
        memory.within("bob").remember("Bob likes tea.", id="tea")
    store = made()
    yield store
    store.close()


WRITES = {
    "within": lambda memory: memory.within("alice").remember("plain words"),
    "a note below": lambda memory: memory.remember_all([Note(text="plain words", below=("alice",)), "others"]),
    "a message": lambda memory: memory.within("alice").conversation.add({"role": "user", "content": "plain words"}),
    "the store": lambda memory: memory.store.apply(
        [Put(Record(key=Key(ALICE, "note", "n"), text="plain words", at="2026-01-31"))]
    ),
    "update": lambda memory: memory.within("alice").update("milk", text="plain words"),
}


@pytest.mark.parametrize("way", WRITES)
def test_nothing_is_written_in_the_clear_into_a_sealed_scope_below(place, way):
    """Whichever way it would get there; whatever else was in the same write is not written either."""
    with opened(place) as memory:
        with pytest.raises(StoreLocked, match="the key '1' of acme/alice"):
            WRITES[way](memory)
        assert memory.count(subtree=True) == 3
        assert (memory.get("we").text, memory.within("bob").get("tea").text) == ("We sell tea.", "Bob likes tea.")
    with opened(place, ALICE, ring()) as memory:
        assert ([hit.text for hit in memory.list().hits], memory.list().degraded) == (["Alice likes milk."], ())


def test_an_import_of_several_users_writes_nothing_in_the_clear_beside_what_is_sealed(place, tmp_path):
    """The notes of another product's user of the same name meet a locked scope."""
    notes = [{"id": str(n), "memory": f"{who} says plain words.", "user_id": who} for n, who in enumerate(("alice",))]
    (tmp_path / "mem0.json").write_text(json.dumps({"results": notes}))
    with opened(place) as memory:
        with pytest.raises(StoreLocked, match="acme/alice"):
            import_file(memory, tmp_path / "mem0.json")
        assert memory.count(subtree=True) == 3


def test_a_scope_that_is_sealed_after_the_memory_was_opened_is_locked_too(place):
    """Somebody else writes the first record of Carol's scope, and this memory had found it empty before."""
    carol = Scope(("acme", "carol"))
    with opened(place) as memory:
        assert memory.within("carol").list().hits == []
        assert memory.within("carol").recall("tea") == []
        with opened(place, carol, KeyRing({carol: {"1": KEY}})) as hers:
            hers.remember("Carol likes juice.", id="juice")
        with pytest.raises(StoreLocked, match="acme/carol"):
            memory.within("carol").remember("plain words")
        assert memory.within("carol").get("juice").locked


READS = {
    "list": lambda memory: memory.list(subtree=True).hits,
    "recall": lambda memory: memory.recall("milk", subtree=True, k=5),
    "within": lambda memory: memory.within("alice").list().hits,
    "by id": lambda memory: [memory.within("alice").get("milk")],
    "recall within": lambda memory: memory.within("alice").recall("milk"),
}


@pytest.mark.parametrize("way", READS)
def test_what_is_sealed_below_is_shown_as_locked(place, way):
    """In lists, by id, and after what a search found; never as an empty record, never left out."""
    with opened(place) as memory:
        found = {hit.id: hit for hit in READS[way](memory)}
        assert isinstance(found["milk"], LockedHit)
        assert (found["milk"].text, dict(found["milk"].record.data)) == ("", {"locked": True})
        assert [name for name, hit in found.items() if hit.locked] == ["milk"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.within("alice").conversation.sessions(),
        lambda memory: memory.within("alice").list({"data.tags": "x"}),
        lambda memory: memory.within("alice").experience.similar("milk"),
        lambda memory: memory.list({"data.tags": "x"}, subtree=True),
    ],
    ids=["sessions", "a filter", "experience", "a filter over all"],
)
def test_what_only_content_could_tell_of_it_raises(place, ask):
    """The memory above goes on."""
    with opened(place) as memory:
        with pytest.raises(StoreLocked, match="acme/alice"):
            ask(memory)
        assert memory.conversation.sessions() == []
        memory.update("we", text="We sell coffee.")
        assert memory.recall("coffee")[0].id == "we"


def test_one_record_in_the_clear_does_not_open_a_sealed_scope(tmp_path):
    """Somebody wrote it past the keys: the scope's oldest record is sealed, and so it stays shut."""
    store = MemoryStore()
    with opened(store, ALICE, ring()) as memory:
        memory.remember("Alice likes milk.", id="milk")
    store.apply([Put(Record(key=Key(ALICE, "note", "leak"), text="leak", at="2026-01-31"))])
    for scope in (ACME, ALICE):
        with opened(store, scope) as memory:
            hers = memory if scope == ALICE else memory.within("alice")
            with pytest.raises(StoreLocked):
                hers.remember("plain words")
    others = EncryptedStore(store, KeyRing({BOB: {"1": KEY}}))
    with pytest.raises(StoreLocked):
        others.apply([Put(Record(key=Key(ALICE, "note", "n"), text="plain", at="2026-01-31"))])
    others.close()


def test_a_store_that_was_opened_without_keys_is_given_some(place):
    """It is the engine below that is sealed then, not what locks it; given on without keys, it is as it was."""
    with opened(place) as memory:
        assert memory.within("alice").get("milk").locked
        with opened(memory.store, ALICE, ring()) as hers:
            assert hers.get("milk").text == "Alice likes milk."
        with opened(memory.store) as again:
            assert again.store is memory.store
            with pytest.raises(InvalidInput, match="open it with keys="):
                again.rotate_key()


def test_the_removals_of_a_locked_scope_are_told_without_its_key(tmp_path):
    """To a follower that wants no record; one that wants records is told that the scope is locked."""
    store, keys = SQLiteStore(tmp_path / "agent.db", clock=FakeClock()), ring()
    sealed = EncryptedStore(store, keys, clock=FakeClock())
    names = [Key(ALICE, "note", name) for name in "abc"]
    sealed.apply([Put(Record(key=name, text="words", at="2026-01-31")) for name in names])
    sealed.apply([Remove(names[1])])
    keys.forget(ALICE)
    page = sealed.find(Query(scope=ALICE, order=Order.CHANGED, where=NOTHING))
    assert (page.hits, page.gone, page.seq, page.cursor, page.reload) == ([], (names[1],), 4, None, False)
    later = sealed.find(Query(scope=ALICE, order=Order.CHANGED, where=NOTHING, cursor="4"))
    assert (later.hits, later.gone) == ([], ())
    for query in ({}, {"kinds": ("none",)}, {"where": {"kind": "none"}, "cursor": "4"}):
        with pytest.raises(StoreLocked):
            sealed.find(Query(scope=ALICE, order=Order.CHANGED, **query))
    sealed.close()
    with opened(tmp_path / "agent.db") as memory:
        assert memory.store.find(Query(scope=ALICE, order=Order.CHANGED, where=NOTHING)).gone == (names[1],)


def test_no_sealed_record_passes_for_data(place):
    """Of a bare engine it is refused; a store that knows of keys shows what is in it, or that it is locked."""
    (hit,) = place.find(Query(scope=ALICE)).hits
    with pytest.raises(StoreLocked, match="the key '1' of acme/alice"):
        check_clear(place, hit.record)
    (ours,) = place.find(Query(scope=ACME)).hits
    check_clear(place, ours.record)
    with opened(place) as memory:
        check_clear(memory.store, memory.within("alice").get("milk").record)


def test_any_sealed_record_tells_wherever_it_lies(place):
    """The newest record of all lies in the clear, in another scope; data of a similar form is no sealed record."""
    place.apply([Put(Record(key=Key(BOB, "note", "n"), text="", at="2026-01-31", data={"sealed": {"box": "letters"}}))])
    assert [holds_sealed(place, scope) for scope in (ACME, ALICE, BOB)] == [True, True, False]
    with opened(place) as memory:
        assert holds_sealed(memory.store, ACME)


def test_a_clear_memory_is_opened_and_used_for_a_few_small_questions():
    """However much it holds: none of the questions at opening asks for more than two records."""
    asked: list[Query] = []

    class Asked(MemoryStore):
        """Keeps what it was asked."""

        def find(self, query):
            asked.append(query)
            return super().find(query)

    with Asked() as store, Memory(store, scope=ACME, embedder="hashing") as memory:
        memory.remember("We sell tea.")
        asked.clear()
        for _ in range(3):
            memory.remember("We sell tea, too.")
        first = [query for query in asked if not query.keys and query.k == 1]
        assert len(first) == 2
        asked.clear()
        memory.remember("We sell coffee.")
        memory.recall("coffee")
        assert [query for query in asked if query.k == 1 and query.order in (Order.NEWEST, Order.OLDEST)] == []
