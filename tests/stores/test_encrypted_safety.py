"""What an encrypted scope promises: nothing in the clear, nothing altered is returned, nothing without its key."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from langgraph.store.memory import InMemoryStore

from seasoned.errors import Conflict, InvalidInput, StoreCorrupt, StoreError, WrongType
from seasoned.ports import ABSENT, Credit, Fingerprint, Put, Remove, Vectors
from seasoned.query import Order, Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.encrypted import EncryptedStore, KeyRing, LockedHit, new_key
from seasoned.stores.langgraph import LangGraphEngine
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock

ALICE, BOB = Scope(("acme", "alice")), Scope(("acme", "bob"))
ONE, TWO = bytes(range(32)), bytes(range(32, 64))
SPACE = Fingerprint("test", "1", 4)
ROW = np.array([[0.25, 0.5, 0.75, -0.125]], dtype=np.float32)
SECRETS = (b"Quicksilver", b"quicksilver", b"quicksilv", b"zanzibar", b"sessionalpha", b"tagbeta", b"giverdelta")


def note(id_: str, text: str = "", data: dict | None = None, scope: Scope = ALICE, **fields: object) -> Record:
    """A note of Alice, or of another scope."""
    return Record(key=Key(scope, "note", id_), text=text, at=FakeClock().now(), data=data or {}, **fields)


def named(id_: str, scope: Scope = ALICE) -> Key:
    """The key of a note."""
    return Key(scope, "note", id_)


def ring(**keys: bytes) -> KeyRing:
    """Keys of Alice alone."""
    return KeyRing({ALICE: keys or {"1": ONE}})


class Place:
    """A file, and what opens it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "agent.db"
        self.clock = FakeClock()
        self.opened: list[EncryptedStore] = []

    def open(self, keys: KeyRing | None = None) -> EncryptedStore:
        """Open the file with these keys."""
        inner = SQLiteStore(self.path, clock=self.clock)
        self.opened.append(EncryptedStore(inner, keys or ring(), clock=self.clock))
        return self.opened[-1]

    def edit(self, sql: str, *values: object) -> list[tuple]:
        """Change the closed file behind the store's back."""
        with sqlite3.connect(self.path) as db:
            found = db.execute(sql, values).fetchall()
        db.close()
        return found

    def box(self, id_: str) -> dict:
        """Read the sealed field of a record from the closed file."""
        return json.loads(self.edit("SELECT data FROM record WHERE id = ?", id_)[0][0])

    def set_box(self, id_: str, box: dict) -> None:
        """Write it there."""
        self.edit("UPDATE record SET data = ? WHERE id = ?", json.dumps(box), id_)


@pytest.fixture
def place(tmp_path):
    """A file in a folder of its own; every store opened there is closed at the end."""
    made = Place(tmp_path)
    yield made
    for store in made.opened:
        store.close()


def ids(page) -> list[str]:
    """The ids of a page."""
    return [hit.id for hit in page.hits]


WAYS = {
    "order": Query(scope=ALICE),
    "newest": Query(scope=ALICE, order=Order.NEWEST),
    "changed": Query(scope=ALICE, order=Order.CHANGED),
    "keys": Query(scope=ALICE, keys=(named("a"), named("b"))),
    "words": Query(scope=ALICE, words="tea"),
    "vector": Query(scope=ALICE, vector=Vectors(SPACE, ROW)),
    "filter": Query(scope=ALICE, where={"data.n": {"ge": 0}}),
    "subtree": Query(scope=Scope("acme"), subtree=True, where={"data.n": {"ge": 0}}),
}


def fill(store: EncryptedStore) -> None:
    """Two notes that every way of asking finds, and one of Bob in the clear."""
    store.apply([Put(note(id_, "green tea", {"n": 1}), Vectors(SPACE, ROW)) for id_ in ("a", "b")])
    store.apply([Put(note("c", "black coffee", scope=BOB))])


# Nothing in the clear


WRITER = """
import os, sys
import numpy as np
from seasoned.ports import Credit, Fingerprint, Put, Remove, Vectors
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.encrypted import EncryptedStore, KeyRing
from seasoned.stores.sqlite import SQLiteStore

scope, rows = Scope(("acme", "alice")), np.array([[0.25, 0.5, 0.75, -0.125]], dtype=np.float32)
store = EncryptedStore(SQLiteStore(sys.argv[1]), KeyRing({scope: {"1": bytes(range(32))}}))
def write(number, text):
    data = {"session": "sessionalpha", "tags": ["tagbeta"], "value": "zanzibar", "role": "user"}
    record = Record(key=Key(scope, "note", f"n{number}"), text=text, at="2026-01-31", data=data)
    return Put(record, Vectors(Fingerprint("test", "1", 4), rows))
store.apply([write(number, f"Quicksilver runs {number}") for number in range(300)])
store.apply([write(number, f"Quicksilver stops {number}") for number in range(100)])
store.apply([Credit(Key(scope, "note", f"n{number}"), "data.used", 1, "giverdelta") for number in range(50)])
store.apply([Remove(Key(scope, "note", f"n{number}")) for number in range(20)])
assert len(store.find(Query(scope=scope, words="quicksilver", k=1000)).hits) == 280
assert len(store.find(Query(scope=scope, where={"data.tags": "tagbeta"}, k=1000)).hits) == 280
if sys.argv[2] == "killed":
    os._exit(0)
if sys.argv[2] == "rebuilt":
    store.rebuild()
store.close()
"""


@pytest.mark.parametrize("end", ["killed", "closed", "rebuilt"])
def test_no_file_of_the_store_holds_a_byte_of_what_was_written(place, end):
    """After writes, updates, credits, removals and searches: no text, term, value, session, tag, giver or vector."""
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(place.path), end], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    files = sorted(place.path.parent.iterdir())
    content = b"".join(file.read_bytes() for file in files)
    raw = ROW.astype("<f4").tobytes()
    assert [word for word in (*SECRETS, raw, base64.b64encode(raw), ONE) if word in content] == []
    assert b"n299" in content, "ids stay readable, so the files that were looked at are the store's"
    assert end != "killed" or f"{place.path.name}-wal" in [file.name for file in files]
    store = place.open()
    assert len(store.find(Query(scope=ALICE, words="quicksilver stops", k=1000)).hits) == 280
    assert store.find(Query(scope=ALICE, keys=(named("n30"),))).hits[0].record.data["used"] == 1


def test_an_engine_is_given_neither_text_nor_vectors(tmp_path):
    """What the inner store holds of a sealed record is a key, times and one field; of a scope in the clear, all."""
    inner = MemoryStore()
    store = EncryptedStore(inner, ring())
    fill(store)
    held = inner.find(Query(scope=ALICE, keys=(named("a"),))).hits[0].record
    assert (held.text, held.sources, held.worth, list(held.data)) == ("", (), 0.0, ["sealed"])
    assert inner.find(Query(scope=ALICE, vector=Vectors(SPACE, ROW))).hits == []
    assert inner.find(Query(scope=BOB, keys=(named("c", BOB),))).hits[0].text == "black coffee"
    store.close()


def test_an_engine_of_documents_holds_sealed_bodies_and_no_vectors():
    """Every way of asking answers over such an engine, and no document of it has what was written."""
    held = InMemoryStore()
    store = EncryptedStore(LangGraphEngine(held), ring())
    fill(store)
    store.apply([Credit(named("a"), "worth", 2.0, "giverdelta")])
    assert {way: sorted(ids(store.find(query))) for way, query in WAYS.items()} == {way: ["a", "b"] for way in WAYS}
    content = str([item.value for space in held.list_namespaces() for item in held.search(space, limit=100)])
    assert "black coffee" in content, "Bob's lies in the clear"
    assert "green tea" not in content
    assert "giverdelta" not in content
    assert "test/1/4" not in content
    store.close()


# Nothing altered is returned


def flip(place: Place) -> None:
    """Change one bit in the middle of the ciphertext."""
    box = place.box("a")
    raw = bytearray(base64.b64decode(box["sealed"]["box"]))
    raw[len(raw) // 2] ^= 1
    box["sealed"]["box"] = base64.b64encode(raw).decode()
    place.set_box("a", box)


def swap(place: Place) -> None:
    """Give a the ciphertext of b."""
    place.set_box("a", place.box("b"))


def cut(place: Place) -> None:
    """Leave the first half."""
    box = place.box("a")
    box["sealed"]["box"] = box["sealed"]["box"][: len(box["sealed"]["box"]) // 8 * 4]
    place.set_box("a", box)


def empty(place: Place) -> None:
    """Leave nothing."""
    box = place.box("a")
    box["sealed"]["box"] = ""
    place.set_box("a", box)


def garble(place: Place) -> None:
    """Write what is no base64."""
    box = place.box("a")
    box["sealed"]["box"] = "é" + box["sealed"]["box"]
    place.set_box("a", box)


def postdate(place: Place) -> None:
    """Say that it happened later."""
    place.edit("UPDATE record SET at = at + 1 WHERE id = 'a'")


def prolong(place: Place) -> None:
    """Say that it ends some day."""
    place.edit("UPDATE record SET until = 4102444800000000 WHERE id = 'a'")


def renumber(place: Place) -> None:
    """Say that it is another version."""
    place.edit("UPDATE record SET version = version + 1 WHERE id = 'a'")


def lay_open(place: Place) -> None:
    """Put a forged record in the clear in its place."""
    place.edit("UPDATE record SET text = 'green tea', data = '{\"n\": 1}' WHERE id = 'a'")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "alter", [flip, swap, cut, empty, garble, postdate, prolong, renumber, lay_open], ids=lambda alter: alter.__name__
)
def test_an_altered_record_is_told_as_unreadable_and_never_returned(place, alter, way):
    """Flipped, swapped, cut, re-dated or forged: no way of asking returns it, and the page names it."""
    store = place.open()
    fill(store)
    store.close()
    alter(place)
    store = place.open()
    page = store.find(WAYS[way])
    assert [hit.id for hit in page.hits if hit.record.key.scope == ALICE] == ["b"]
    assert page.unreadable == (named("a"),)
    assert [reason.startswith("corrupt: ") for reason in page.degraded] == [True]
    store.find(Query(scope=ALICE, words="tea"))
    assert [found.where for found in store.check() if "'a'" in found.what] == ["record"]


def test_the_ciphertext_of_an_older_version_is_unreadable_under_a_newer(place):
    """Moved back into the record that followed it, it is not believed."""
    store = place.open()
    fill(store)
    store.close()
    old = place.box("a")
    store = place.open()
    store.apply([Put(note("a", "green tea again", {"n": 2}))])
    store.close()
    place.set_box("a", old)
    page = place.open().find(WAYS["keys"])
    assert (ids(page), page.unreadable) == (["b"], (named("a"),))


def test_a_record_that_goes_bad_under_an_open_copy_is_not_kept(place):
    """What this process had decrypted is gone from its answers at the next change of the scope's sequence."""
    store = place.open()
    fill(store)
    assert ids(store.find(WAYS["filter"])) == ["a", "b"]
    flip(place)
    place.edit("UPDATE record SET seq = 900 WHERE id = 'a'")
    place.edit("UPDATE scope SET seq = 900 WHERE name = 'acme/alice/'")
    page = store.find(WAYS["filter"])
    assert (ids(page), page.unreadable) == (["b"], (named("a"),))


def test_an_unreadable_record_can_be_overwritten_and_removed_but_not_credited(place):
    """A write whole makes it good, with the next version; a credit has nothing to add to."""
    store = place.open()
    fill(store)
    store.close()
    flip(place)
    store = place.open()
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        store.apply([Credit(named("a"), "worth", 1.0, "x")])
    assert store.apply([Put(note("a", "anew"))]).versions == (2,)
    assert store.find(WAYS["keys"]).hits[0].text == "anew"
    assert store.apply([Remove(named("b"))]).versions == (0,)


# Nothing without its key


def lost(**keys: bytes) -> KeyRing:
    """A ring that knows the names of these keys and has them no more."""
    made = ring(**keys)
    for name in keys:
        made.drop(ALICE, name)
    return made


CLOSED = {"no key": lambda: lost(**{"1": ONE}), "another key of that name": lambda: ring(**{"1": TWO})}


@pytest.mark.parametrize("keys", CLOSED)
def test_without_the_key_hits_are_locked(place, keys):
    """Listed, by key, counted and by words they are there: ids, kinds and times, and no more."""
    store = place.open()
    fill(store)
    before = store.find(WAYS["order"]).hits[0]
    store.close()
    store = place.open(CLOSED[keys]())
    for way in ("order", "newest", "keys", "words", "vector"):
        page = store.find(WAYS[way])
        assert sorted(ids(page)) == ["a", "b"]
        assert all(isinstance(hit, LockedHit) and hit.locked and hit.name == "1" for hit in page.hits)
        assert all(reason.startswith("locked: 2 records") for reason in page.degraded)
        assert page.degraded
    hit = store.find(WAYS["keys"]).hits[0]
    assert (hit.text, hit.record.data, hit.score, hit.record.worth) == ("", {"locked": True}, 0.0, 0.0)
    assert (hit.record.at, hit.written, hit.order, hit.seq, hit.record.version, hit.record.key) == (
        before.record.at, before.written, before.order, before.seq, 1, named("a"),
    )  # fmt: skip
    assert store.find(Query(scope=ALICE, count=True)).count == 2
    assert store.find(Query(scope=ALICE, where={"id": "b", "kind": "note"})).hits[0].id == "b"
    assert ids(store.find(Query(scope=BOB, words="coffee"))) == ["c"]


@pytest.mark.parametrize("keys", CLOSED)
@pytest.mark.parametrize(
    "query",
    [
        Query(scope=ALICE, where={"data.n": 1}),
        Query(scope=ALICE, where={"not": {"data.n": 1}}),
        Query(scope=ALICE, where={"worth": {"gt": 0}}, count=True),
        Query(scope=ALICE, words="tea", where={"data.n": 1}),
        Query(scope=ALICE, source=named("a")),
        Query(scope=ALICE, order=Order.CHANGED),
        Query(scope=Scope("acme"), subtree=True, where={"text": "x"}, scopes=True),
        Query(scope=ALICE, keys=(named("a"),), where={"data.n": 1}),
    ],
    ids=["data", "not", "worth", "words", "source", "changed", "scopes", "keys"],
)
def test_what_only_content_could_tell_raises_without_the_key(place, keys, query):
    """It never looks like an empty answer."""
    store = place.open()
    fill(store)
    store.close()
    with pytest.raises(StoreError, match="locked: the key '1' of acme/alice is not here"):
        place.open(CLOSED[keys]()).find(query)


def test_no_locked_record_waits_for_a_vector(place):
    """It cannot be given one: there is nothing to embed, and the page says why."""
    store = place.open()
    fill(store)
    store.close()
    page = place.open(lost(**{"1": ONE})).find(Query(scope=ALICE, lacking="other/1/4"))
    assert (ids(page), page.degraded) == (
        [], ("locked: 2 records of acme/alice cannot be compared, since their keys are not here",),
    )  # fmt: skip


def test_what_a_readable_part_of_a_filter_rules_out_needs_no_key(place):
    """Another kind and another id are another kind and id, whatever else is asked."""
    store = place.open()
    fill(store)
    store.close()
    store = place.open(lost(**{"1": ONE}))
    assert ids(store.find(Query(scope=ALICE, where={"data.n": 1, "kind": "message"}))) == []
    assert ids(store.find(Query(scope=ALICE, where={"or": [{"data.n": 1}, {"kind": "note"}]}))) == ["a", "b"]


@pytest.mark.parametrize("keys", CLOSED)
def test_without_the_key_nothing_is_written_and_removals_go_through(place, keys):
    """Neither a new record nor an old one, sealed or in the clear; what is to go can go."""
    store = place.open()
    fill(store)
    store.close()
    store = place.open(CLOSED[keys]())
    for change in (Put(note("new", "plain words")), Put(note("a", "x")), Credit(named("a"), "worth", 1.0, "x")):
        with pytest.raises(StoreError, match="locked"):
            store.apply([change])
    assert store.apply([Remove(named("a"))]).versions == (0,)
    assert ids(store.find(WAYS["order"])) == ["b"]
    assert store.purge([named("b")]).rows == 1


def test_a_scope_stays_shut_when_no_key_is_named_for_it_any_more(place):
    """A ring that was lost whole does not open the scope to writes in the clear, and what is there is locked."""
    store = place.open()
    fill(store)
    store.close()
    store = place.open(KeyRing({}))
    assert [type(hit) for hit in store.find(WAYS["words"]).hits] == [LockedHit, LockedHit]
    with pytest.raises(StoreError, match="locked"):
        store.apply([Put(note("new", "plain words"))])
    assert store.apply([Put(note("d", "tea", scope=BOB))]).versions == (1,)


def test_a_key_that_comes_later_opens_the_scope(place):
    """Without a reopening, a copy that was made while it was locked included."""
    store = place.open()
    fill(store)
    store.close()
    keys = lost(**{"1": ONE})
    store = place.open(keys)
    assert all(isinstance(hit, LockedHit) for hit in store.find(WAYS["words"]).hits)
    keys.add(ALICE, "1", ONE)
    assert [hit.text for hit in store.find(WAYS["words"]).hits] == ["green tea", "green tea"]


def test_a_forgotten_key_ends_all_reading_in_this_process_too(place):
    """Copies, indexes and followers alike; what was sealed stays on disk, and nobody can read it."""
    keys = ring()
    store = place.open(keys)
    fill(store)
    for way, query in WAYS.items():
        assert all(hit.text for hit in store.find(query).hits), way
    seq = store.find(WAYS["changed"]).seq
    store.forget_key(ALICE)
    assert all(isinstance(hit, LockedHit) for hit in store.find(WAYS["words"]).hits)
    assert all(isinstance(hit, LockedHit) for hit in store.find(WAYS["keys"]).hits)
    for query in (WAYS["filter"], WAYS["changed"], replace(WAYS["changed"], cursor=str(seq))):
        with pytest.raises(StoreError, match="locked"):
            store.find(query)
    with pytest.raises(StoreError, match="locked"):
        store.apply([Put(note("new", "plain words"))])
    assert (keys.current(ALICE), keys.get(ALICE, "1")) == ("1", None)
    assert [found.where for found in store.check()] == ["locked"]


def test_part_of_a_scope_may_be_locked(place):
    """A key dropped too early: what it sealed is locked, the rest is found, and a page says what is missing."""
    keys = ring()
    store = place.open(keys)
    fill(store)
    keys.add(ALICE, "2", TWO)
    store.apply([Put(note("z", "green tea", {"n": 1}))])
    keys.drop(ALICE, "1")
    assert [type(hit).__name__ for hit in store.find(WAYS["words"]).hits] == ["Hit", "LockedHit", "LockedHit"]
    page = store.find(WAYS["filter"])
    assert (ids(page), page.unreadable) == (["z"], ())
    assert page.degraded == ("locked: 2 records of acme/alice cannot be compared, since their keys are not here",)
    followed = store.find(WAYS["changed"])
    assert (ids(followed), set(followed.unreadable)) == (["z"], {named("a"), named("b")})
    assert store.rotate(ALICE).locked == (named("a"), named("b"))


# Versions, credits, keys


def test_versions_and_credits_of_two_processes_hold(place):
    """Another store at the same file sees, and is guarded against, what this one did; a giver counts once for both."""
    here, there = place.open(), place.open()
    here.apply([Put(note("a", "1", {"n": 1}), expect=ABSENT)])
    with pytest.raises(Conflict):
        there.apply([Put(note("a", "2"), expect=ABSENT)])
    there.apply([Credit(named("a"), "data.n", 2, "x"), Credit(named("a"), "worth", 0.5, "x")])
    assert here.apply([Credit(named("a"), "data.n", 2, "x")]).seqs == (0,)
    found = here.find(Query(scope=ALICE, keys=(named("a"),))).hits[0].record
    assert (found.data, found.worth, found.version) == ({"n": 3}, 0.5, 3)
    assert ids(here.find(Query(scope=ALICE, where={"data.n": 3}))) == ["a"]
    assert ids(there.find(Query(scope=ALICE, where={"worth": {"gt": 0}}))) == ["a"]


def test_a_key_is_32_bytes_and_a_name_stands_for_one_for_ever():
    """Anything else is refused, and a ring does not show its keys."""
    for wrong in (b"short", bytes(16), bytes(33)):
        with pytest.raises(InvalidInput, match="32 bytes"):
            KeyRing({ALICE: {"1": wrong}})
    with pytest.raises(WrongType):
        KeyRing({ALICE: {"1": "k" * 32}})
    with pytest.raises(InvalidInput, match="no key"):
        KeyRing({ALICE: {}})
    keys = ring()
    with pytest.raises(InvalidInput, match="another key of the name '1'"):
        keys.add(ALICE, "1", TWO)
    assert len({new_key(), new_key()}) == 2
    assert repr(keys) == "KeyRing({('acme', 'alice'): ['1']})"


def test_scopes_below_have_the_keys_of_the_nearest_scope_that_has_some():
    """Those of a nearer one go first; a scope without keys of its own cannot forget those it shares."""
    keys = KeyRing({("acme",): {"all": ONE}, ALICE: {"own": TWO}})
    assert [keys.current(Scope(parts)) for parts in (("acme",), BOB, ALICE.within("run"), ("other",))] == [
        "all", "all", "own", None,
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="no keys of its own"):
        keys.forget(BOB)


def test_an_expired_record_is_gone_from_sealed_scopes_too(place):
    """Its end is readable, so that the engine and every answer agree."""
    store = place.open()
    store.apply([Put(note("a", "green tea", {"n": 1}, until=place.clock.now() + timedelta(days=1)))])
    assert ids(store.find(WAYS["filter"])) == ["a"]
    place.clock.advance(timedelta(days=2))
    assert [ids(store.find(WAYS[way])) for way in ("order", "filter", "words", "keys")] == [[], [], [], []]
    assert store.apply([Put(note("a", "anew"), expect=ABSENT)]).versions == (1,)


# Rotation


class Killed(Exception):
    """The process ended here."""


class Mortal:
    """A store that dies after so many changes, the one under way half done."""

    def __init__(self, inner: SQLiteStore, after: int) -> None:
        self.inner = inner
        self.left = after

    @property
    def can(self):
        """As the inner store."""
        return self.inner.can

    def find(self, query):
        """As the inner store."""
        return self.inner.find(query)

    def apply(self, changes):
        """Apply what it lives to see."""
        if len(changes) > self.left:
            self.inner.apply(changes[: self.left])
            raise Killed
        self.left -= len(changes)
        return self.inner.apply(changes)

    def close(self):
        """As the inner store."""
        self.inner.close()


def filled(path: Path, clock: FakeClock) -> None:
    """Seven records under the first key, with vectors, sources and credits."""
    store = EncryptedStore(SQLiteStore(path, clock=clock), ring(), clock=clock)
    for number in range(7):
        record = note(f"n{number}", f"tea {number}", {"n": number}, sources=(named("m"),))
        store.apply([Put(record, Vectors(SPACE, ROW))])
        store.apply([Credit(named(f"n{number}"), "worth", 1.0, "x")])
    store.close()


def rotated(path: Path, clock: FakeClock, stop: int) -> list:
    """Rotate to the second key, killed after so many changes and called again; return what can then be read."""
    keys = KeyRing({ALICE: {"1": ONE, "2": TWO}})
    store = EncryptedStore(Mortal(SQLiteStore(path, clock=clock), stop), keys, clock=clock)
    if stop < 7:
        with pytest.raises(Killed):
            store.rotate(ALICE)
        assert len(store.find(Query(scope=ALICE, words="tea")).hits) == 7
        store.close()
        store = EncryptedStore(SQLiteStore(path, clock=clock), keys, clock=clock)
    done = store.rotate(ALICE)
    assert (done.resealed, done.current, done.done) == (7 - stop, stop, True) if stop < 7 else (7, 0, True)
    keys.drop(ALICE, "1")
    hits = store.find(Query(scope=ALICE)).hits
    assert len(store.find(Query(scope=ALICE, vector=Vectors(SPACE, ROW))).hits) == 7
    assert len(store.find(Query(scope=ALICE, source=named("m"))).hits) == 7
    assert store.apply([Credit(named("n0"), "worth", 1.0, "x")]).seqs == (0,)
    assert store.rotate(ALICE).current == 7
    store.close()
    return list(hits)


@pytest.mark.parametrize("stop", range(8))
def test_a_rotation_killed_anywhere_and_called_again_ends_the_same(tmp_path, stop):
    """After any number of its writes: the same records, places, sequences and times, and the old key is not needed."""
    clock = FakeClock()
    for name in ("whole", "killed"):
        filled(tmp_path / name, clock)
    expected = rotated(tmp_path / "whole", clock, 7)
    assert [hit.record.version for hit in expected] == [3] * 7
    assert rotated(tmp_path / "killed", clock, stop) == expected


def test_a_rotation_keeps_the_time_of_writing(place):
    """Sealing anew is no change of what a record says, though it takes the next version."""
    keys = ring()
    store = place.open(keys)
    fill(store)
    before = store.find(WAYS["keys"]).hits[0]
    keys.add(ALICE, "2", TWO)
    place.clock.advance(timedelta(days=3))
    store.rotate(ALICE)
    after = store.find(WAYS["keys"]).hits[0]
    assert (after.written, after.order, after.record.version) == (before.written, before.order, 2)
    assert replace(after.record, version=1) == before.record


def test_a_scope_without_a_key_is_not_rotated(place):
    """There is nothing to seal with."""
    with pytest.raises(InvalidInput, match="no key is named"):
        place.open().rotate(BOB)


def test_without_the_package_the_error_names_the_extra():
    """And nothing else of the library needs it."""
    code = """
import sys
sys.modules["cryptography"] = None
import seasoned
from seasoned.errors import MissingExtra
try:
    import seasoned.stores.encrypted
except MissingExtra as error:
    print(error.extra, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "encryption cryptography is not installed; run: pip install 'seasoned[encryption]'\n"
