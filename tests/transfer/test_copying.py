"""A memory moves to another engine whole, goes on after it broke off, and is compared at the end."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest

from seasoned import Memory
from seasoned.errors import InvalidInput, StoreError
from seasoned.testing import FakeClock

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SCOPE = ("acme", "älice/太郎")


def filled(location):
    """Return a memory with something of each kind, in its scope and one below."""
    memory = Memory(location, scope=SCOPE, embedder="hashing", clock=FakeClock(NOON))
    memory.conversation.add([{"role": "user", "content": f"乌龙茶 number {n}"} for n in range(600)], session="tea")
    memory.remember("Alice likes oolong.", id="n1", tags=["tea"], worth=0.5)
    memory.update("n1", text="Alice likes green oolong.")
    memory.experience.record("rain", "take the tram", 0.8, id="d1")
    memory.playbook.add("Ask before you book.", section="booking", outcome="success")
    memory.within("below").remember("a note below", id="n2")
    return memory


def lines(memory, path):
    """Return what an export holds, but its first line, which has the time, in any order."""
    memory.export(path)
    return sorted(path.read_text(encoding="utf-8").splitlines()[1:-1])


@pytest.mark.parametrize("place", ["copy.db", None, "qdrant://", "chroma://"])
def test_an_export_is_the_same_before_and_after(tmp_path, place):
    """Every record of the scope and those below it arrives, with words, data, sources, worth and times."""
    location = str(tmp_path / place) if place == "copy.db" else place
    with filled(tmp_path / "old.db") as old, Memory(location, scope=SCOPE, embedder="hashing") as new:
        done = old.copy_to(new)
        assert (done.written, done.duplicate, done.degraded) == (done.read, 0, ())
        assert lines(new, tmp_path / "new.jsonl") == lines(old, tmp_path / "old.jsonl")
        assert new.recall("乌龙茶 number 17", k=1)[0].text == "乌龙茶 number 17"
        assert [turn["content"] for turn in new.conversation.messages("tea")[:2]] == [
            "乌龙茶 number 0",
            "乌龙茶 number 1",
        ]


def test_a_copy_that_broke_off_goes_on_where_it_was(tmp_path):
    """What is there already is not written again, and the end is the same."""

    class Stopped(Exception):
        """The user stops it."""

    calls = itertools.count()

    def stop(done, total):
        if next(calls) == 1:
            raise Stopped

    with filled(tmp_path / "old.db") as old, Memory(tmp_path / "new.db", scope=SCOPE, embedder="hashing") as new:
        with pytest.raises(Stopped):
            old.copy_to(new, stop)
        done = old.copy_to(new)
        assert done.duplicate == 512
        assert done.written == done.read - 512
        assert lines(new, tmp_path / "new.jsonl") == lines(old, tmp_path / "old.jsonl")


def test_a_target_that_holds_something_else_is_told(tmp_path):
    """Another record under the same id, or one more than the source has, is an error that says so."""
    with filled(tmp_path / "old.db") as old, Memory(scope=SCOPE, embedder="hashing") as new:
        new.remember("Bob's note", id="n1")
        with pytest.raises(StoreError, match="n1"):
            old.copy_to(new)
    with filled(tmp_path / "other.db") as old, Memory(scope=SCOPE, embedder="hashing") as new:
        new.remember("one more", id="n9")
        with pytest.raises(StoreError, match="differ"):
            old.copy_to(new)


def test_a_memory_is_not_copied_to_itself_or_to_another_scope(tmp_path):
    """Both are refused before anything is written."""
    with filled(tmp_path / "old.db") as old, Memory(scope=("acme",), embedder="hashing") as new:
        with pytest.raises(InvalidInput):
            old.copy_to(old)
        with pytest.raises(InvalidInput):
            old.copy_to(new)
        assert new.count(subtree=True) == 0
