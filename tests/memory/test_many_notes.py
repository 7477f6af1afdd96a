"""Many notes in one write: the same as one after the other, with one embedding call, all or none."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import CallableEmbedder, HashingEmbedder, Memory, Note, Origin, Status
from seasoned.errors import InvalidInput, WrongType


def test_notes_are_written_in_their_order_and_found_at_once(opened):
    """Strings and notes with every field."""
    memory = opened(None)
    done = memory.remember_all(
        ["tea is green", Note(text="milk is white", id="m", tags=["drink"], worth=2.0, origin=Origin.USER)]
    )
    assert [added.status for added in done] == [Status.WRITTEN, Status.WRITTEN]
    assert [hit.text for hit in memory.list().hits] == ["tea is green", "milk is white"]
    found = memory.get("m").record
    assert (found.data, found.worth) == ({"tags": ["drink"], "origin": "user"}, 2.0)
    assert memory.recall("milk", k=1)[0].id == "m"


def test_an_id_that_is_there_or_stands_twice_is_a_duplicate(opened):
    """The first stays, and the others are written."""
    memory = opened(None)
    memory.remember("tea", id="a")
    done = memory.remember_all([Note(text="x", id="a"), Note(text="b", id="b"), Note(text="again", id="b"), "c"])
    assert [added.status.value for added in done] == ["duplicate", "written", "duplicate", "written"]
    assert [hit.text for hit in memory.list().hits] == ["tea", "b", "c"]


@pytest.mark.parametrize(
    ("bad", "error"),
    [(" ", InvalidInput), (Note(text="x", kind="message"), InvalidInput), (5, WrongType), (Note(text=5), WrongType)],
)
def test_a_note_that_breaks_a_rule_leaves_nothing_written(opened, bad, error):
    """Whichever it is."""
    memory = opened(None)
    with pytest.raises(error):
        memory.remember_all(["good", bad])
    assert memory.count() == 0
    with pytest.raises(WrongType, match="list"):
        memory.remember_all("one string")


def test_many_notes_are_embedded_together(opened):
    """In as few calls as one text would take."""
    calls = []

    def embed(texts):
        calls.append(len(texts))
        return HashingEmbedder(64).embed(texts)

    memory = opened(None, embedder=CallableEmbedder(embed, "mine", dimension=64))
    memory.remember_all([f"note {number}" for number in range(50)])
    assert sum(calls) == 50
    assert len(calls) < 5
    assert memory.stats()["without_vector"] == 0


def test_threads_that_write_the_same_ids_write_each_once(tmp_path):
    """And each note is written by one of them alone."""
    with Memory(tmp_path / "a.db", embedder="hashing") as memory:
        written = []

        def write():
            notes = [Note(text=f"note {number}", id=str(number)) for number in range(20)]
            written.extend(added.id for added in memory.remember_all(notes) if added.status is Status.WRITTEN)

        threads = [threading.Thread(target=write) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(written, key=int) == [str(number) for number in range(20)]


def test_notes_for_several_users_are_one_write(opened):
    """Each in its scope below, where the same id is another note."""
    memory = opened(None)
    done = memory.remember_all(
        [Note(text=f"{name} likes tea", id="tea", below=(name,)) for name in ("ada", "bo", "ada")]
    )
    assert [added.status.value for added in done] == ["written", "written", "duplicate"]
    assert memory.within("bo").get("tea").text == "bo likes tea"
    assert memory.count() == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text(min_size=1, max_size=9).filter(str.strip)), max_size=8))
def test_at_once_is_as_one_after_the_other(pairs):
    """The same records, and the same said of each."""
    with Memory(embedder="hashing") as one, Memory(embedder="hashing") as many:
        notes = [Note(text=text, id=name) for name, text in pairs]
        each = [one.remember(note.text, id=note.id).status for note in notes]
        assert [added.status for added in many.remember_all(notes)] == each
        assert [(hit.id, hit.text) for hit in many.list().hits] == [(hit.id, hit.text) for hit in one.list().hits]
