"""Hard forgetting: no byte of the text stays in any file of the store, and what cannot be done yet is said."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from seasoned import Key, SQLiteStore
from seasoned.errors import StoreError
from seasoned.stores.memory import MemoryStore

from .helping import Switched, ids, stored_bytes

SECRET = "the vault code is 4711-XQ, says the xylophonic zebrafish"
PIECES = [b"4711-XQ", b"xylophon", b"zebrafish", b"vault"]
OLD = "formerly-blue-parakeet"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "agent.db"


@pytest.fixture
def full(opened, path):
    """A memory with a stored index, among whose records is a secret with an old version."""
    before = opened(path)
    for number in range(300):
        before.remember(f"an ordinary note on tea and rain, number {number}", id=str(number))
    before.remember(OLD, id="secret", data={"pin": "pin-88421-data"})
    before.update("secret", text=SECRET)
    before.recall("tea")
    before.close()
    return opened(path)


def left(path, pieces=PIECES):
    """Which pieces are in the files."""
    found = stored_bytes(path)
    return [piece for piece in [*pieces, OLD.encode(), b"pin-88421-data"] if piece in found]


def test_after_a_hard_forget_no_file_holds_a_byte_of_it(full, path):
    """Row, data, old version, vector, stored index, log and shared memory, while the store is open; the rest stays."""
    assert ids(full.recall("zebrafish")) == ["secret"]
    assert len(left(path)) == 6
    receipt = full.forget("secret", hard=True)
    assert (receipt.ids, receipt.derived, receipt.pending, receipt.left) == (("secret",), ("1:note:secret",), (), ())
    assert (receipt.rows, receipt.hard) == (2, True)
    assert receipt.postings > 0
    assert receipt.log_bytes > 0
    assert left(path) == []
    assert ids(full.recall("zebrafish")) == []
    assert full.count() == 300
    assert full.check() == []


def test_what_stays_after_an_erasure_holds_no_trace_of_the_text(full, path):
    """The tombstone has the id alone: no hash of the text, whatever its length."""
    full.forget("secret", hard=True)
    full.close()
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    told = {name: [row for row in found if "secret" in map(str, row)] for name, found in rows.items()}
    assert {name for name, found in told.items() if found} <= {"gone"}
    assert all(len(row) == 5 for row in told["gone"])
    assert left(path) == []


def test_the_vectors_go_too(opened, path):
    """As counted, and as bytes."""
    embed = Switched()
    memory = opened(path, embedder=embed)
    memory.remember(SECRET, id="x")
    vector = embed(SECRET.split("\0")).astype("<f4").tobytes()[:64]
    assert vector in stored_bytes(path)
    assert memory.forget("x", hard=True).vectors == 1
    assert vector not in stored_bytes(path)


def test_a_soft_forget_is_erased_when_the_store_is_closed(full, path):
    """`secure_delete` is on: without `hard` the log may hold it for a while, the closed file does not."""
    full.forget("secret")
    full.close()
    assert left(path, [b"4711-XQ"]) == []


def test_a_reader_that_holds_a_snapshot_leaves_the_erasure_pending(full, path):
    """The receipt says so, the check too, and after the reader is gone a rebuild finishes it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM record").fetchone()
        receipt = full.forget("secret", hard=True)
        assert (receipt.pending, receipt.rows) == (("wal",), 2)
        assert ids(full.recall("zebrafish")) == []
        assert full.count() == 300
        assert b"4711-XQ" in stored_bytes(path)
        assert [finding.where for finding in full.check()] == ["wal"]
        full.rebuild()
        assert [finding.where for finding in full.check()] == ["wal"]
    said: list[str] = []
    assert full.rebuild(said.append) == 300
    assert said == ["indexes", "erasures"]
    assert full.check() == []
    assert left(path) == []


def test_another_process_can_finish_a_pending_erasure(full, opened, path):
    """It is the file that is pending, not the memory that asked."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM record").fetchone()
        assert full.forget("secret", hard=True).pending == ("wal",)
    opened(path).rebuild()
    assert left(path) == []


def test_a_text_that_another_record_shares_stays_with_it(full, path):
    """Neither is the other touched, nor are its bytes reported as left."""
    full.remember(SECRET, id="copy")
    full.within("below").remember(SECRET, id="deep")
    receipt = full.forget("secret", hard=True)
    assert (receipt.pending, receipt.left) == ((), ())
    assert sorted(ids(full.recall("zebrafish", subtree=True))) == ["copy", "deep"]
    assert full.get("copy").text == SECRET
    assert SECRET.encode() in stored_bytes(path)


def test_an_index_in_another_store_does_not_bring_erased_terms_back(full, opened, path):
    """One that had the old index in memory stores its own later: without what was erased meanwhile."""
    other = opened(path)
    assert ids(other.recall("zebrafish")) == ["secret"]
    for number in range(300, 700):
        other.remember(f"more of the ordinary, number {number}", id=str(number))
    assert ids(other.recall("number 650"))[0] == "650"
    full.forget("secret", hard=True)
    assert left(path) == []
    other.close()
    assert left(path) == []
    third = opened(path)
    assert (ids(third.recall("zebrafish")), ids(third.recall("650"))) == ([], ["650"])
    for number in range(700, 1000):
        third.remember(f"still more, number {number}", id=str(number))
    third.recall("more")
    third.close()
    assert left(path) == []


def test_a_rebuild_after_an_erasure_stores_an_index_without_it(full, path):
    """The new blobs hold the words of what is left, and no other."""
    full.forget("secret", hard=True)
    assert full.rebuild() == 300
    assert full.store.stats()["index_bytes"] > 0
    assert left(path) == []
    assert b"ordinari" in stored_bytes(path)


class _ChangedMeanwhile(SQLiteStore):
    """A file in which another writer updates a record just before an erasure begins."""

    change = None

    def purge(self, keys):
        change, self.change = self.change, None
        if change is not None:
            change()
        return super().purge(keys)


def test_a_version_written_while_forgetting_is_erased_too(opened, path):
    """An update between the look and the erasure keeps the old text nowhere."""
    with closing(_ChangedMeanwhile(path)) as store:
        memory = opened(store)
        memory.remember(SECRET, id="x")
        store.change = lambda: memory.update("x", text="harmless")
        receipt = memory.forget("x", hard=True)
        assert (receipt.ids, receipt.derived, receipt.rows) == (("x",), ("1:note:x",), 2)
        assert memory.count(kinds=("note", "superseded")) == 0
        assert left(path) == []


def test_erasing_a_thousand_records_leaves_none_of_their_texts(opened, path):
    """All go in one call; each tenth text is looked for."""
    memory = opened(path)
    for number in range(1000):
        memory.remember(f"unrepeatable-{number:04d}-text of a person", id=str(number))
    memory.recall("person")
    receipt = memory.forget(everything=True, hard=True)
    assert (receipt.rows, receipt.left, receipt.pending) == (1000, (), ())
    found = stored_bytes(path)
    assert [number for number in range(0, 1000, 10) if f"unrepeatable-{number:04d}".encode() in found] == []


def test_short_and_large_texts_are_erased_alike(opened, path):
    """Three letters among others, and a text of many pages."""
    memory = opened(path)
    memory.remember("qzx", id="short")
    memory.remember("begin " + "jq0-large-body " * 20_000 + "end", id="large")
    memory.remember("other", id="other")
    assert memory.forget(["short", "large"], hard=True).left == ()
    found = stored_bytes(path)
    assert (b"qzx" in found, b"jq0-large-body" in found) == (False, False)


def test_ids_that_stay_among_the_removals_are_not_called_left(opened, path):
    """Records of the playbook's own name each other by ids, and these are no text of anybody."""
    memory = opened(path)
    memory.playbook.add("Pay the oldest bill first.", section="PAYMENTS")
    memory.playbook.tag("pay-00001", "helpful", by="run-1")
    receipt = memory.forget(everything=True, hard=True)
    assert (receipt.left, receipt.pending) == ((), ())
    assert left(path, [b"oldest bill"]) == []


def test_a_store_in_memory_erases_as_well(opened):
    """There are no files; the receipt counts the rows and vectors."""
    memory = opened(None, embedder=Switched())
    memory.remember("one", id="x")
    memory.update("x", text="two")
    receipt = memory.forget("x", hard=True)
    assert (receipt.rows, receipt.vectors, receipt.pending) == (2, 1, ())
    assert memory.rebuild() == 0


class _Engine:
    """An engine with the narrow seam alone."""

    def __init__(self):
        self._inner = MemoryStore()
        self.can, self.find, self.apply, self.close = (
            self._inner.can,
            self._inner.find,
            self._inner.apply,
            self._inner.close,
        )


def test_an_engine_that_cannot_erase_says_so_and_removes_nothing(opened):
    """`hard` is never quietly soft; check and rebuild say what they need."""
    memory = opened(_Engine())
    memory.remember("one", id="x")
    with pytest.raises(StoreError, match="erase"):
        memory.forget("x", hard=True)
    for verb in (memory.check, memory.rebuild):
        with pytest.raises(StoreError, match="_Engine"):
            verb()
    assert memory.forget("x").ids == ("x",)


def test_forgetting_by_a_source_that_was_erased_works(full):
    """What names it can be found by its key though it is gone: a note that came later, say."""
    full.forget("secret", hard=True)
    full.remember("told again", id="again", sources=[Key(full.scope, "note", "secret")])
    assert full.forget(source=("note", "secret"), hard=True).ids == ("again",)
