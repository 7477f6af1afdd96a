"""The SQLite store and its file: modes, foreign and damaged files, full and read-only disks, erased bytes."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
from contextlib import closing, suppress

import pytest

from seasoned.errors import InvalidInput, SchemaTooNew, StoreCorrupt, StoreError, StoreFull, StoreReadOnly, WrongType
from seasoned.ports import Credit, Put, Remove
from seasoned.query import Query
from seasoned.records import Key
from seasoned.stores.sqlite import SQLiteStore

from .conftest import ALICE, listed, note, said


def filled(path, size=50):
    """A closed store of so many notes on tea."""
    store = SQLiteStore(path)
    store.apply(
        [Put(note(f"n{number}", f"green tea number {number} " + "and more of it " * 20)) for number in range(size)]
    )
    store.close()
    return path


def raw(path, statement, *bound):
    """Run one statement on the file, as another program would."""
    db = sqlite3.connect(path)
    db.execute(statement, bound)
    db.commit()
    db.close()


def bytes_beside(path):
    """All bytes of the file and of those that belong to it."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.iterdir()) if one.name.startswith(path.name))


@pytest.mark.parametrize(
    ("path", "error"), [("a\0b.db", InvalidInput), (" ", InvalidInput), (b"a.db", WrongType), (5, WrongType)]
)
def test_what_names_no_file_is_refused(tmp_path, monkeypatch, path, error):
    """With what was found, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match="path"):
        SQLiteStore(path)
    assert list(tmp_path.iterdir()) == []


def test_the_files_are_readable_by_their_owner_alone(tmp_path):
    """Under the usual umask, and while in use: the file, its log and its shared memory have mode 0600."""
    before = os.umask(0o022)
    try:
        store = SQLiteStore(tmp_path / "agent.db")
        store.apply([Put(note("n1", "secret"))])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("agent.db", "agent.db-wal", "agent.db-shm"), 0o600)


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path):
    """The error names both versions; not a byte is changed."""
    path = filled(tmp_path / "agent.db")
    raw(path, "PRAGMA user_version=99")
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="99"):
        SQLiteStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"not a database at all, but some text " * 200, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content):
    """A text file, and one that only begins like a database."""
    path = tmp_path / "agent.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        SQLiteStore(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("pragma", ["user_version=0", "user_version=1", "application_id=7"])
def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path, pragma):
    """Whatever version it claims; nothing is created in it, and it stays in its own journal mode."""
    path = tmp_path / "agent.db"
    raw(path, "CREATE TABLE record (mine TEXT)")
    raw(path, f"PRAGMA {pragma}")
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another program"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["agent.db"]


def test_an_empty_file_becomes_a_store(tmp_path):
    """A file that `touch` or `mkstemp` made holds nothing of anybody."""
    path = tmp_path / "agent.db"
    path.touch()
    assert listed_of(filled(path, 2)) == ["n0", "n1"]


def listed_of(path):
    """What a store at this path lists."""
    with closing(SQLiteStore(path)) as store:
        return listed(store)


@pytest.mark.parametrize("path", ["nowhere/agent.db", "."], ids=["no folder", "a folder"])
def test_a_place_where_no_file_can_be_is_said(tmp_path, path):
    """A folder that is missing, or one in place of the file, is a store error with the path in it."""
    with pytest.raises(StoreError, match=str(tmp_path)):
        SQLiteStore(tmp_path / path)


@pytest.mark.parametrize("seed", range(24))
def test_damage_anywhere_in_a_file_is_a_store_error_or_harmless(tmp_path, seed):
    """Bytes overwritten at random never crash a read, and never raise what is not ours."""
    path = filled(tmp_path / "agent.db", 300)
    chance = random.Random(seed)  # noqa: S311
    with path.open("r+b") as file:
        for _ in range(8):
            file.seek(chance.randrange(100, path.stat().st_size - 200))
            file.write(chance.randbytes(200))
    attempts = (
        lambda store: store.find(Query(scope=ALICE, k=1000)),
        lambda store: store.find(Query(scope=ALICE, words="green tea")),
        lambda store: store.find(Query(scope=ALICE, keys=(Key(ALICE, "note", "n7"),))),
        lambda store: store.find(Query(scope=ALICE, count=True)),
        lambda store: store.apply([Put(note("new", "new"))]),
        lambda store: store.check(),
    )
    for attempt in attempts:
        with suppress(StoreError), closing(SQLiteStore(path)) as store:
            attempt(store)


def test_a_damaged_page_is_said_to_be_damage(tmp_path):
    """Reading over it raises StoreCorrupt, with what to do."""
    path = filled(tmp_path / "agent.db", 300)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(StoreCorrupt, match="doctor"):
        listed_of(path)


@pytest.mark.parametrize("column", ["data", "sources"])
def test_one_unreadable_row_is_said_and_hides_no_other(tmp_path, column):
    """A row whose JSON is broken is damage; the others are still read by key, and the check names it."""
    path = filled(tmp_path / "agent.db", 3)
    raw(path, f"UPDATE record SET {column} = '[broken' WHERE id = 'n1'")
    store = SQLiteStore(path)
    with pytest.raises(StoreCorrupt):
        store.find(Query(scope=ALICE, keys=(Key(ALICE, "note", "n1"),)))
    assert [hit.id for hit in store.find(Query(scope=ALICE, keys=(Key(ALICE, "note", "n2"),))).hits] == ["n2"]
    assert len(store.check()) > 0
    store.close()


def test_damage_of_a_stored_index_is_noticed_and_answers_stay_right(tmp_path):
    """Rows are the truth: an index whose bytes were changed is made again from them."""
    path = filled(tmp_path / "agent.db", 500)
    raw(path, "UPDATE posting SET data = zeroblob(length(data))")
    store = SQLiteStore(path)
    assert len(said(store, "green tea")) == 100
    assert said(store, "number 7")[0] == "n7"
    store.rebuild()
    assert store.check() == []
    store.close()


def test_a_full_disk_is_said_and_nothing_is_half_written(small_disk):
    """The batch that did not fit is not there, what was there is readable, and with space it goes on."""
    place, remount = small_disk
    store = SQLiteStore(place / "agent.db")
    written = 0
    with pytest.raises(StoreFull):  # noqa: PT012  # some batch is the first that does not fit
        while True:
            store.apply([Put(note(f"n{written}-{part}", "green tea " * 2000)) for part in range(3)])
            written += 1
    whole = [f"n{number}-{part}" for number in range(written) for part in range(3)]
    assert written > 0
    assert listed(store) == whole
    assert len(said(store, "green tea")) == min(100, len(whole))
    with pytest.raises(StoreFull):
        store.apply([Put(note("large", "x" * 2_000_000))])
    remount("size=8m")
    store.apply([Put(note("after", "space again"))])
    assert listed(store) == [*whole, "after"]
    assert said(store, "space") == ["after"]
    assert store.check() == []
    store.close()
    assert listed_of(place / "agent.db") == [*whole, "after"]


def test_a_disk_that_is_full_from_the_start_is_said(small_disk):
    """No store can be made there, and once there is space one can."""
    place, remount = small_disk
    (place / "filler").write_bytes(b"x" * 1_020_000)
    with pytest.raises(StoreFull):
        SQLiteStore(place / "agent.db")
    remount("size=8m")
    assert listed_of(filled(place / "agent.db", 2)) == ["n0", "n1"]


def test_a_read_only_disk_can_be_read_and_not_written(small_disk):
    """Every way of reading works, and every write says why it does not."""
    place, remount = small_disk
    path = filled(place / "agent.db")
    remount("ro")
    store = SQLiteStore(path)
    assert listed(store) == [f"n{number}" for number in range(50)]
    assert said(store, "number 7")[0] == "n7"
    assert store.find(Query(scope=ALICE, count=True)).count == 50
    assert store.check() == []
    key = Key(ALICE, "note", "n1")
    for change in (Put(note("new")), Credit(key, "worth", 1.0, "x"), Remove(key)):
        with pytest.raises(StoreReadOnly):
            store.apply([change])
    with pytest.raises(StoreReadOnly):
        store.purge([key])
    with pytest.raises(StoreReadOnly):
        SQLiteStore(place / "another.db")
    store.close()
    remount("rw")
    assert listed_of(path) == [f"n{number}" for number in range(50)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file, whatever its mode")
def test_a_read_only_file_can_be_read_and_not_written(tmp_path):
    """In a folder that can be written and in one that cannot."""
    path = filled(tmp_path / "agent.db")
    path.chmod(0o400)
    for mode in (0o700, 0o500):
        tmp_path.chmod(mode)
        store = SQLiteStore(path)
        assert len(listed(store)) == 50
        with pytest.raises(StoreReadOnly):
            store.apply([Put(note("new"))])
        store.close()
        tmp_path.chmod(0o700)


def test_what_was_removed_or_overwritten_leaves_no_byte(tmp_path):
    """`secure_delete` is on for every connection: the closed file holds neither the old text nor the removed one."""
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    store.apply(
        [Put(note("n1", "the vault code is 4711-XQ", data={"pin": "pin-8842"})), Put(note("n2", "formerly-blue"))]
    )
    store.apply([Put(note(f"n{number}", "x" * 3000)) for number in range(3, 60)])
    assert b"4711-XQ" in bytes_beside(path)
    store.apply([Remove(Key(ALICE, "note", "n1")), Put(note("n2", "now green"))])
    store.close()
    left = bytes_beside(path)
    assert (b"4711-XQ" in left, b"pin-8842" in left, b"formerly-blue" in left) == (False, False, False)
    assert b"now green" in left


def test_what_was_purged_is_in_no_file_while_the_store_is_open(tmp_path):
    """Rows, log and stored index alike, at once; the count says so."""
    path = tmp_path / "agent.db"
    filled(path, 500)
    store = SQLiteStore(path)
    store.apply([Put(note("secret", "the vault opens with xylophonic zebrafish"))])
    assert said(store, "zebrafish") == ["secret"]
    counts = store.purge([Key(ALICE, "note", "secret")])
    assert (counts.rows, counts.pending, counts.left) == (1, (), ())
    left = bytes_beside(path)
    assert (b"xylophon" in left, b"zebrafish" in left) == (False, False)
    assert said(store, "zebrafish") == []
    store.close()


def test_a_reader_that_is_done_holds_no_log_back(tmp_path):
    """After its answers, another store's purge empties the log at once."""
    path = filled(tmp_path / "agent.db")
    reader, writer = SQLiteStore(path), SQLiteStore(path)
    assert len(listed(reader)) == 50
    assert len(said(reader, "green tea")) == 50
    assert writer.purge([Key(ALICE, "note", "n1")]).pending == ()
    reader.close()
    writer.close()
