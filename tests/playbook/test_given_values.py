"""What a caller's code hands in is checked when it is made or handed in, and stops nothing later."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook import Add, Applied, Counts, Entry, Playbook, Trace, Update
from seasoned.ports import Put
from seasoned.records import Key, Record

AT = datetime(2025, 5, 1, tzinfo=UTC)


def an_entry(**fields):
    return Entry(**{"id": "a-00001", "section": "S", "content": "x", "created_at": AT, "updated_at": AT, **fields})


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"counts": 5}, WrongType),
        ({"sources": ("run-1",)}, WrongType),
        ({"sources": 5}, WrongType),
        ({"sources": None}, WrongType),
        ({"at": object()}, WrongType),
        ({"at": "yesterday"}, InvalidInput),
    ],
)
def test_an_addition_is_checked_when_it_is_made(fields, error):
    """Counts, sources and time, as section, content, outcome and id are."""
    with pytest.raises(error):
        Add(content="x", **fields)


def test_an_addition_takes_a_time_as_callers_have_it():
    """A text or a date becomes an instant in UTC; sources may be a list."""
    source = Key(("a",), "run", "r")
    add = Add(content="x", at="2025-05-01", sources=[source])  # type: ignore[arg-type]
    assert (add.at, add.sources) == (AT, (source,))


def test_an_update_is_checked_when_it_is_made():
    """The reason for retiring is a text."""
    with pytest.raises(WrongType):
        Update(id="a", retired=5)  # type: ignore[arg-type]


def test_a_reflector_that_makes_a_wrong_delta_is_one_that_fails(p):
    """It is reported, and the run goes on."""
    learned = p.learn(Trace(id="r"), reflector=lambda trace, entries: [Add(content="x", counts=5)])
    assert "WrongType" in learned.degraded
    assert p.entries() == []


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"content": "  "}, InvalidInput),
        ({"content": "x" * 10_001}, InvalidInput),
        ({"section": "two\nlines"}, InvalidInput),
        ({"id": " "}, InvalidInput),
        ({"aliases": ("",)}, InvalidInput),
        ({"outcome": "perhaps"}, InvalidInput),
        ({"retired": 5}, WrongType),
        ({"created_at": "x"}, WrongType),
        ({"counts": {"helpful": 1}}, WrongType),
        ({"sources": ("run-1",)}, WrongType),
    ],
)
def test_a_whole_entry_is_checked_before_anything_is_written(p, fields, error):
    """What could not be read again is not written, by `bring` as by `merge`."""
    for act in (p.bring, p.merge):
        with pytest.raises(error):
            act([an_entry(id="b-00002", content="y"), an_entry(**fields)])
    assert (p.number, p.entries(retired=True)) == (0, [])


def test_a_record_that_is_no_entry_does_not_stop_one_of_its_id(p, store):
    """A foreign record without text stands where an entry is written: it is written over."""
    store.apply([Put(Record(key=Key(p.scope, "entry", "a-00001"), text=" ", at=AT))])
    assert p.entries() == []
    assert p.apply([Add(content="x", id="a-00001")]).effects[0].status is Applied.WRITTEN
    assert [(entry.id, entry.content) for entry in p.entries()] == [("a-00001", "x")]
    p.remove("a-00001")
    assert p.entries() == []


def test_a_reason_is_a_text(p):
    """Anything else is refused before anything is written."""
    for wrong in (None, 5):
        with pytest.raises(WrongType):
            p.apply([Add(content="x")], reason=wrong)
    assert p.number == 0


def test_a_merge_keeps_what_a_whole_entry_knows(make):
    """That it is retired, ids that were merged into it, its times; ids that are taken here lead where they led."""
    one, other = make(("one",)), make(("other",))
    one.apply([Add(content="x", id="x-00001", counts=Counts(helpful=2)), Add(content="y", id="y-00002")])
    one.merge_entries(["x-00001", "y-00002"])
    one.add("bad", id="z-00003")
    one.update("z-00003", retired="harmful")
    other.add("here", id="y-00002")
    other.merge(one.entries(retired=True))
    assert [entry.id for entry in other] == ["y-00002", "x-00001"]
    assert other.get("y-00002").content == "here"
    assert other.get("z-00003").retired == "harmful"
    third = make(("third",))
    third.merge(one)
    assert third.resolve("y-00002") == "x-00001"


def test_a_merged_entry_whose_id_is_taken_gets_a_new_one(make):
    """All else is as it was."""
    p = make()
    p.add("here", id="a-00001")
    p.merge([an_entry(content="there", counts=Counts(harmful=1), retired="old")])
    (found,) = [entry for entry in p.entries(retired=True) if entry.content == "there"]
    assert (found.id, found.counts, found.retired, found.created_at) == ("s-00002", Counts(harmful=1), "old", AT)


def test_entries_that_are_no_entries_are_refused():
    """At the start as well."""
    with pytest.raises(WrongType):
        Playbook(embedder="hashing", entries=["x"])  # type: ignore[list-item]
