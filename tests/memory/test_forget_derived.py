"""What becomes of derived records when some of their sources are forgotten: they stay marked, or they go."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Key, Memory
from seasoned.ports import Put
from seasoned.query import Query
from seasoned.records import Record

from .helping import ids


def key(memory, name, kind="note"):
    return Key(memory.scope, kind, name)


@pytest.fixture
def derived(alice):
    """Two notes, what was made from both, and what was made from that."""
    for name in "ab":
        alice.remember(f"note {name}", id=name)
    alice.remember("of both", id="both", sources=[key(alice, "a"), key(alice, "b")])
    alice.remember("of that", id="further", sources=[key(alice, "both")])
    return alice


def test_what_has_another_source_left_stays_and_is_marked_for_rewriting(derived):
    """At any depth; it no longer names what is gone, and goes with the last of its sources."""
    receipt = derived.forget("a")
    assert (receipt.ids, receipt.derived, sorted(receipt.stale)) == (("a",), (), ["both", "further"])
    assert (receipt.rows, receipt.by_kind) == (1, {"note": 1})
    assert derived.get("both").record.sources == (key(derived, "b"),)
    assert ids(derived.list({"data.stale": True})) == ["both", "further"]
    assert sorted(ids(derived.recall("both that"))) == ["both", "further"]
    receipt = derived.forget("b")
    assert (sorted(receipt.derived), receipt.stale) == (["both", "further"], ())
    assert derived.count() == 0


def test_a_dry_run_says_what_would_stay_and_marks_nothing(derived):
    """The receipt names it; the records are as they were."""
    before = [hit.record for hit in derived.list().hits]
    receipt = derived.forget("a", dry_run=True)
    assert (receipt.ids, receipt.derived, sorted(receipt.stale), receipt.rows) == (("a",), (), ["both", "further"], 0)
    assert [hit.record for hit in derived.list().hits] == before


def test_a_hard_forget_takes_along_what_has_another_source(derived):
    """Its text may repeat what is erased, and nobody can tell."""
    receipt = derived.forget("a", hard=True)
    assert (sorted(receipt.derived), receipt.stale) == (["both", "further"], ())
    assert ids(derived.list()) == ["b"]


def test_a_marked_note_that_is_written_anew_is_marked_no_more(derived):
    """A new text takes the mark away; any other change keeps it."""
    derived.forget("a")
    derived.update("both", worth=2)
    assert derived.get("both").record.data == {"stale": True}
    derived.update("both", text="of b alone")
    assert derived.get("both").record.data == {}
    assert ids(derived.list({"data.stale": True})) == ["further"]


def test_records_that_only_hang_on_each_other_go(alice):
    """Two that name each other, and were both derived from what is gone."""
    alice.remember("start", id="start")
    alice.remember("one", id="one", sources=[key(alice, "start"), key(alice, "two")])
    alice.remember("two", id="two", sources=[key(alice, "one")])
    assert sorted(alice.forget("start").derived) == ["one", "two"]
    assert alice.count() == 0


def test_only_a_source_that_is_there_keeps_a_record(alice, clock):
    """Not one that never was, nor one past its time, nor the record itself."""
    alice.remember("start", id="start")
    alice.remember("brief", id="brief", until=clock.now() + timedelta(hours=1))
    for name, other in (("x", "nowhere"), ("y", "brief"), ("z", "z")):
        alice.remember("derived", id=name, sources=[key(alice, "start"), key(alice, other)])
    clock.advance(timedelta(hours=2))
    receipt = alice.forget("start")
    assert (sorted(receipt.derived), receipt.stale) == (["x", "y", "z"], ())


def test_a_source_in_another_scope_counts_as_there(alice, bob):
    """Nothing is read outside of the scope, so nobody there can make a record of this one go or stay."""
    alice.remember("start", id="start")
    alice.remember("derived", id="d", sources=[key(alice, "start"), key(bob, "unheard-of")])
    receipt = alice.forget("start")
    assert (receipt.derived, receipt.stale) == ((), ("d",))
    assert alice.get("d").record.sources == (key(bob, "unheard-of"),)


def test_an_old_version_goes_with_its_record_and_stays_with_it(derived):
    """The history of what stays is whole; that of what goes is gone."""
    derived.update("both", text="of both, better")
    derived.forget("a")
    assert [each.record.text for each in derived.history("both")] == ["of both", "of both, better"]
    receipt = derived.forget("b")
    assert "1:note:both" in receipt.derived
    assert derived.count(kinds="superseded") == 0


def test_what_is_derived_while_it_is_forgotten_follows_the_same_rule(opened, place):
    """A record that another writer derives between the look and the removal stays marked, or goes."""
    memory = opened(place)
    memory.remember("start", id="start")
    memory.remember("other", id="other")
    inner, done = memory.store, []

    class Meanwhile:
        """The store, behind which a writer derives two records just before the first removal."""

        def __getattr__(self, name):
            return getattr(inner, name)

        def apply(self, changes):
            if not done:
                done.append(True)
                memory.remember("alone", id="alone", sources=[key(memory, "start")])
                memory.remember("both", id="both", sources=[key(memory, "start"), key(memory, "other")])
            return inner.apply(changes)

    receipt = opened(Meanwhile()).forget("start")
    assert (receipt.ids, receipt.derived, receipt.stale, receipt.rows) == (("start",), ("alone",), ("both",), 2)
    assert ids(memory.list()) == ["other", "both"]


def test_feedback_stays_while_one_of_the_decisions_it_is_about_is_left(alice):
    """A person's words are not rewritten, so they are not marked."""
    for name in "xy":
        alice.experience.record("a late guest", f"wait {name}", 0.5, episode="ep", id=name)
    rated = alice.experience.rate(9, episode="ep")
    receipt = alice.forget("x")
    assert (receipt.derived, receipt.stale) == ((), ())
    assert alice.experience.feedback(episode="ep").overall_effectiveness == 9
    assert alice.forget("y").derived == (rated.id,)


@pytest.mark.parametrize("hard", [False, True])
def test_a_trace_names_no_more_what_is_forgotten_and_goes_with_the_last(alice, clock, hard):
    """It holds ids alone: those that are left stay, so that what helped can still be credited."""
    for name in "ab":
        alice.remember(f"note {name}", id=name)
    trace = Record(
        key=key(alice, "t1", "context-trace"),
        text="",
        at=clock.now(),
        data={"used": [["note", "a"], ["note", "b"]], "at": clock.now().isoformat()},
        sources=(key(alice, "a"), key(alice, "b")),
    )
    alice.store.apply([Put(trace)])
    receipt = alice.forget("a", hard=hard)
    assert (receipt.derived, receipt.stale, receipt.rewritten) == ((), (), ("t1",))
    left = alice.get("t1", "context-trace").record
    assert (left.data["used"], left.sources) == ([["note", "b"]], (key(alice, "b"),))
    assert alice.forget("b", hard=hard).derived == ("t1",)


@pytest.mark.parametrize("kind", ["context-snapshot", "playbook-layout"])
def test_a_snapshot_goes_with_anything_that_it_shows(alice, clock, kind):
    """It is text made of all of them; the next context makes it anew. One of what only became stale stays."""
    for name in "ab":
        alice.remember(f"note {name}", id=name)
    alice.remember("of both", id="both", sources=[key(alice, "a"), key(alice, "b")])
    for name, shown in (("s1", "ab"), ("s2", ["both"]), ("s3", "b")):
        sources = tuple(key(alice, each) for each in shown)
        alice.store.apply([Put(Record(key=key(alice, name, kind), text="", at=clock.now(), sources=sources))])
    receipt = alice.forget("a")
    assert (receipt.derived, receipt.stale) == (("s1",), ("both",))


def test_the_receipt_lists_the_exports_that_hold_what_is_forgotten(opened, place, tmp_path):
    """Those written when it was there, of its scope or one above in which it is forgotten; no other."""
    above = opened(place, ("acme",))
    alice, bob = above.within("alice"), above.within("bob")
    alice.remember("early", id="early")
    paths = {name: tmp_path / f"{name}.jsonl" for name in ("all", "alice", "bob", "late")}
    above.export(paths["all"])
    alice.export(paths["alice"])
    bob.export(paths["bob"])
    alice.remember("late", id="late")
    alice.export(paths["late"])
    assert alice.forget("late").exports == (str(paths["late"]),)
    assert alice.forget("early", dry_run=True).exports == (str(paths["alice"]), str(paths["late"]))
    everything = above.forget(everything=True, subtree=True)
    assert sorted(everything.exports) == sorted(str(paths[name]) for name in ("all", "alice", "late"))
    assert above.store.find(Query(scope=above.scope, subtree=True, expired=True)).hits == []


GRAPHS = st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=8, max_size=8)


@given(graph=GRAPHS, chosen=st.sets(st.integers(0, 7), min_size=1, max_size=3))
def test_a_record_stays_exactly_while_something_it_was_made_from_does(graph, chosen):
    """Of any graph of sources, circles included: what is left is what hangs on a record that nothing made go."""
    with Memory(embedder="hashing") as memory:
        for number, sources in enumerate(graph):
            made_from = [key(memory, str(each)) for each in sorted(sources)]
            memory.remember(f"note {number}", id=str(number), sources=made_from)
        below = set(chosen)
        while more := {n for n, sources in enumerate(graph) if sources & below} - below:
            below |= more
        left = set(range(8)) - below
        while more := {n for n in below - chosen - left if graph[n] & left}:
            left |= more
        receipt = memory.forget([str(each) for each in chosen])
        assert {int(name) for name in ids(memory.list())} == left
        assert {int(name) for name in receipt.stale} == left & below
        assert {int(name) for name in receipt.derived} == below - left - chosen
        named = {source.id for hit in memory.list().hits for source in hit.record.sources}
        assert named <= {str(each) for each in left}
