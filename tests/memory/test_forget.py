"""Forgetting: which records go, what goes with them, and what the receipt says."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from seasoned import Key, Receipt
from seasoned.errors import InvalidInput, NotFound, WrongType

from .helping import ids, texts


def test_a_forgotten_note_is_gone_at_once_from_every_read(alice):
    """Get, list, count, recall, history; a second time it is not found."""
    alice.remember("The door code is 4711", id="x")
    alice.remember("other", id="y")
    assert alice.forget("x").ids == ("x",)
    assert (ids(alice.recall("door code")), ids(alice.list()), alice.count()) == ([], ["y"], 1)
    for verb in (alice.get, alice.history, alice.forget):
        with pytest.raises(NotFound):
            verb("x")


def test_one_unknown_id_among_many_removes_nothing(alice):
    """The error names it."""
    for name in "ab":
        alice.remember(name, id=name)
    for hard in (False, True):
        with pytest.raises(NotFound, match="'nobody'"):
            alice.forget(["a", "nobody", "b"], hard=hard)
    assert ids(alice.list()) == ["a", "b"]


def test_a_dry_run_says_what_would_go_and_changes_nothing(alice):
    """The same receipt but for the counts of what was removed."""
    alice.remember("one", id="x")
    alice.update("x", text="two")
    expected = {"ids": ("x",), "derived": ("1:note:x",), "by_kind": {"note": 1, "superseded": 1}}
    assert alice.forget("x", dry_run=True) == Receipt(**expected, dry_run=True)
    assert alice.forget("x", dry_run=True, hard=True) == Receipt(**expected, dry_run=True, hard=True)
    assert len(alice.history("x")) == 2
    done = alice.forget("x")
    assert done == Receipt(**expected, rows=2)
    assert done.total == 2


@pytest.fixture
def filled(alice):
    """Notes of three times and two kinds, two sessions, and something below."""
    for number, month in enumerate(["01", "06", "12"]):
        alice.remember(f"note {number}", id=f"n{number}", at=f"2025-{month}-01", tags=[month], worth=number)
    alice.remember("fact", "fact", id="f", at="2025-12-01", sources=[Key(alice.scope, "note", "n0")])
    for session in ("s1", "s2"):
        alice.conversation.add(
            {"role": "user", "content": f"said in {session}"}, session, at="2025-12-01", ids=f"m-{session}"
        )
    alice.within("below").remember("deep", id="d", at="2025-01-01")
    return alice


@pytest.mark.parametrize(
    ("condition", "gone", "along"),
    [
        ({"id": "n1"}, ["n1"], []),
        ({"id": ["n1", "n2"]}, ["n1", "n2"], []),
        ({"id": "n0"}, ["n0"], ["f"]),
        ({"session": "s1"}, ["m-s1"], []),
        ({"before": "2025-06-01"}, ["n0"], ["f"]),
        ({"before": "2025-06-01", "subtree": True}, ["n0", "d"], ["f"]),
        ({"older_than": timedelta(days=100)}, ["n0", "n1"], ["f"]),
        ({"older_than": 100}, ["n0", "n1"], ["f"]),
        ({"source": ("note", "n0")}, ["f"], []),
        ({"source": Key(("acme", "alice"), "note", "n0")}, ["f"], []),
        ({"kinds": "fact"}, ["f"], []),
        ({"kinds": ["message"]}, ["m-s1", "m-s2"], []),
        ({"kinds": ["note"], "before": "2025-07-01"}, ["n0", "n1"], ["f"]),
        ({"where": {"data.tags": "12"}}, ["n2"], []),
        ({"where": {"worth": {"ge": 1}}, "before": "2025-07-01"}, ["n1"], []),
        ({"id": []}, [], []),
        ({"session": "unheard-of"}, [], []),
        ({"everything": True}, ["n0", "n1", "n2", "f", "m-s1", "m-s2"], []),
        ({"everything": True, "subtree": True}, ["n0", "n1", "n2", "f", "m-s1", "m-s2", "d"], []),
    ],
    ids=str,
)
@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
def test_what_passes_every_condition_goes_and_nothing_else(filled, condition, gone, along, hard):
    """By id, session, age, time, source, kind, filter or all; with what was derived from it."""
    before = ids(filled.list(subtree=True))
    receipt = filled.forget(**condition, hard=hard)
    assert (list(receipt.ids), list(receipt.derived)) == (gone, along)
    assert (receipt.rows, receipt.pending, receipt.left) == (len(gone + along), (), ())
    assert ids(filled.list(subtree=True)) == [name for name in before if name not in gone + along]
    assert filled.check() == []


@pytest.mark.parametrize(
    "condition", [{}, {"where": {}}, {"where": {"and": [{}, {}]}}, {"kinds": ()}, {"subtree": True}]
)
def test_nothing_is_forgotten_where_nothing_narrows(filled, condition):
    """No condition, or one that holds for all, must be said: `everything=True`."""
    with pytest.raises(InvalidInput, match="everything"):
        filled.forget(**condition)
    assert filled.count(subtree=True) == 7


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ({"older_than": -1}, InvalidInput),
        ({"older_than": timedelta(days=-1)}, InvalidInput),
        ({"older_than": float("nan")}, InvalidInput),
        ({"older_than": 1e12}, InvalidInput),
        ({"older_than": "x"}, WrongType),
        ({"older_than": True}, WrongType),
        ({"older_than": 1, "before": "2025-01-01"}, InvalidInput),
        ({"before": "yesterday"}, InvalidInput),
        ({"id": 5}, WrongType),
        ({"id": [5]}, WrongType),
        ({"id": " "}, InvalidInput),
        ({"kinds": 5}, WrongType),
        ({"kinds": [""]}, InvalidInput),
        ({"session": ""}, InvalidInput),
        ({"source": "n0"}, WrongType),
        ({"source": ("note", "")}, InvalidInput),
    ],
    ids=str,
)
def test_a_condition_that_means_nothing_is_refused(filled, condition, error):
    """An age before now, no number, no id: typed errors, and nothing goes."""
    with pytest.raises(error):
        filled.forget(**condition)
    assert filled.count(subtree=True) == 7


def test_fifteen_hundred_records_go_in_one_call(alice):
    """No page is the last by mistake; by condition and by id."""
    for number in range(1500):
        alice.remember(f"note {number}", "fact" if number % 2 else "note", id=str(number))
    assert alice.forget(kinds="fact").total == 750
    assert alice.forget([str(number) for number in range(0, 1500, 2)]).total == 750
    assert (alice.count(), ids(alice.recall("note"))) == (0, [])


def test_what_was_derived_goes_with_its_source_at_any_depth(alice):
    """A lesson from an episode from a turn, old versions of each, and what lies in scopes below."""
    below = alice.within("project")
    alice.remember("turn", id="t")
    alice.remember("episode", id="e", sources=[Key(alice.scope, "note", "t")])
    below.remember("lesson", id="l", sources=[Key(alice.scope, "note", "e")])
    below.update("l", text="lesson, better")
    alice.remember("kept", id="k")
    receipt = alice.forget("t")
    assert (receipt.ids, sorted(receipt.derived)) == (("t",), ["1:note:l", "e", "l"])
    assert ids(alice.list(subtree=True, kinds=("note", "superseded"))) == ["k"]


def test_records_that_name_each_other_as_source_end_the_walk(alice):
    """A circle is forgotten once."""
    alice.remember("a", id="a", sources=[Key(alice.scope, "note", "b")])
    alice.remember("b", id="b", sources=[Key(alice.scope, "note", "a")])
    receipt = alice.forget("a")
    assert (receipt.ids, receipt.derived, receipt.rows) == (("a",), ("b",), 2)


def test_a_summary_goes_with_a_message_it_was_made_from(alice):
    """What came from a forgotten message does not stay behind in other words."""
    say = alice.conversation.add
    say([{"role": role, "content": f"{role} talks of number {n} " * 30} for n in range(20) for role in ("user",)], "s")
    assert alice.conversation.summarise("s", budget=400).covered > 0
    first = alice.conversation.turns("s")[0].id
    receipt = alice.forget(first)
    assert (receipt.ids, receipt.by_kind) == ((first,), {"message": 1, "summary": 1})


def test_an_ended_note_can_still_be_forgotten(alice, clock):
    """It is not returned any more, but it is there until it is removed."""
    alice.remember("short-lived", until=clock.now() + timedelta(hours=1), id="x")
    alice.update("x", text="still short-lived")
    clock.advance(timedelta(hours=2))
    receipt = alice.forget(where={"until": {"le": clock.now()}}, hard=True)
    assert (receipt.ids, receipt.derived) == (("x",), ("1:note:x",))


def test_old_versions_can_be_forgotten_by_themselves(alice):
    """`kinds="superseded"` prunes histories; the present versions stay, and go on."""
    alice.remember("one", id="x")
    alice.update("x", text="two")
    alice.update("x", text="three")
    assert alice.forget(kinds="superseded").total == 2
    assert [each.record.text for each in alice.history("x")] == ["three"]
    alice.update("x", text="four")
    assert [each.record.text for each in alice.history("x")] == ["three", "four"]
    assert texts(alice.list()) == ["four"]


def test_an_update_after_the_newest_old_version_went_overwrites_none(alice):
    """Numbers go on from the last one that is kept."""
    alice.remember("v1", id="x", at="2026-01-01")
    alice.update("x", text="v2", at="2025-01-01")
    alice.update("x", text="v3", at="2026-01-03")
    alice.forget(kinds="superseded", before="2025-06-01")
    assert [each.record.text for each in alice.history("x")] == ["v1", "v3"]
    alice.update("x", text="v4")
    assert [each.record.text for each in alice.history("x")] == ["v1", "v3", "v4"]


@pytest.mark.parametrize("by", [{"everything": True}, {"id": ["a", "b", "c"]}])
def test_a_damaged_record_is_forgotten_like_any_other(tmp_path, opened, by):
    """What cannot be read can still be removed, and nothing is wrong with the file after it."""
    memory = opened(tmp_path / "agent.db")
    for name in "abc":
        memory.remember(name, id=name)
    memory.close()
    with closing(sqlite3.connect(tmp_path / "agent.db")) as db:
        db.execute("UPDATE record SET data = '[broken' WHERE id = 'b'")
        db.commit()
    memory = opened(tmp_path / "agent.db")
    assert len(memory.check()) == 1
    assert memory.rebuild() == 3
    assert sorted(memory.forget(**by, hard=True).ids) == ["a", "b", "c"]
    assert memory.check() == []


def test_many_records_with_all_that_hangs_on_them_go_as_few_do(alice):
    """Five hundred sources at once, each with an old version and a chain below; what hangs on others stays."""
    below = alice.within("below")
    for number in range(600):
        alice.remember("source", id=f"s{number}")
        if number % 50 == 0:
            alice.update(f"s{number}", text="source, changed")
            below.remember("derived", id=f"d{number}", sources=[Key(alice.scope, "note", f"s{number}")])
            below.remember("further", id=f"f{number}", sources=[Key(below.scope, "note", f"d{number}")])
    receipt = alice.forget([f"s{number}" for number in range(500)])
    assert receipt.by_kind == {"note": 520, "superseded": 10}
    assert sorted(ids(below.list())) == ["d500", "d550", "f500", "f550"]
    assert (alice.count(), alice.count(kinds="superseded")) == (100, 2)
