"""Explaining: what a record was made from, what came of it, and which contexts showed it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from seasoned import Key
from seasoned.errors import InvalidInput, WrongType
from seasoned.explain import described, recalled_in
from seasoned.ports import Put
from seasoned.records import Record


def key(memory, name, kind="note"):
    return Key(memory.scope, kind, name)


def names(explanations):
    return [one.key.id for one in explanations]


@pytest.fixture
def chain(alice):
    """A message, two notes made from it, one made from both, and one in a scope below made from that."""
    alice.conversation.add({"role": "user", "content": "I like tea"}, ids="m")
    for name in "ab":
        alice.remember(f"note {name}", id=name, sources=[key(alice, "m", "message")])
    alice.remember("of both", id="both", sources=[key(alice, "a"), key(alice, "b")])
    alice.within("below").remember("deep", id="deep", sources=[key(alice, "both")])
    return alice


def show(memory, clock, name, *sources, until=None):
    """What a context leaves that showed these records."""
    data = {"used": [[each.kind, each.id] for each in sources], "at": clock.now().isoformat()}
    trace = Record(
        key=key(memory, name, "context-trace"), text="", at=clock.now(), data=data, sources=sources, until=until
    )
    memory.store.apply([Put(trace)])


def test_a_record_tells_what_it_was_made_from_and_what_came_of_it(chain):
    """In both directions, at any depth; what several share stands whole under each."""
    middle = chain.explain("a")
    assert names(middle.walk()) == ["a", "m"]
    assert names(middle.walk_uses()) == ["both", "deep"]
    start = chain.explain("m")
    assert names(start.uses) == ["a", "b"]
    assert [names(use.uses) for use in start.uses] == [["both"], ["both"]]
    assert names(start.walk_uses()) == ["a", "both", "deep", "b"]
    assert (start.uses_cut, [use.hit.text for use in start.uses]) == (False, ["note a", "note b"])
    assert chain.within("below").explain("deep").uses == ()


def test_a_scope_sees_no_use_outside_of_it(alice, bob):
    """A neighbour that names the record as its source is not told of."""
    alice.remember("note", id="a")
    bob.remember("derived", id="d", sources=[key(alice, "a")])
    assert alice.explain("a").uses == ()
    assert bob.explain("d").sources[0].hit is None


def test_records_that_name_each_other_end_the_walk_upwards(alice):
    """Each is told once."""
    alice.remember("a", id="a", sources=[key(alice, "b")])
    alice.remember("b", id="b", sources=[key(alice, "a")])
    assert names(alice.explain("a").walk_uses()) == ["b"]
    assert names(alice.explain("a").walk()) == ["a", "b"]


def test_what_a_memory_keeps_for_itself_is_no_use(alice):
    """Old versions, the playbook's history and its blocks are not told; the entry is."""
    alice.remember("a note", id="n")
    alice.update("n", text="a better note")
    alice.playbook.add("Read it first.", sources=[key(alice, "n")])
    alice.playbook.block("r1", None, 500)
    assert [one.key.kind for one in alice.explain("n").walk_uses()] == ["entry"]


def test_the_uses_of_a_record_are_bounded(alice):
    """More than the bound are not read, and the explanation says so."""
    alice.remember("start", id="start")
    sources = (key(alice, "start"),)
    at = alice.get("start").record.at
    most = 1_000
    alice.store.apply(
        [Put(Record(key=key(alice, f"n{n}"), text="derived", at=at, sources=sources)) for n in range(most)]
    )
    whole = alice.explain("start")
    assert (len(whole.uses), whole.uses_cut) == (most, False)
    alice.remember("one more", id="more", sources=sources)
    cut = alice.explain("start")
    assert (len(cut.uses), cut.uses_cut) == (most, True)


def test_the_contexts_that_showed_a_record_are_told_newest_first(alice, clock):
    """From the log of contexts; one past its time is told no more."""
    for name in "ab":
        alice.remember(f"note {name}", id=name)
    show(alice, clock, "t1", key(alice, "a"), until=clock.now() + timedelta(days=1))
    for number, shown in ((2, "ab"), (3, "b"), (4, "a")):
        clock.advance(timedelta(hours=1))
        show(alice, clock, f"t{number}", *(key(alice, each) for each in shown))
    assert [hit.id for hit in alice.explain("a").recalled] == ["t4", "t2", "t1"]
    assert alice.explain("a").uses == ()
    newest = recalled_in(alice.store, alice.scope, key(alice, "a"), k=1)
    assert [hit.record.data["used"] for hit in newest] == [[["note", "a"]]]
    clock.advance(timedelta(days=2))
    assert [hit.id for hit in recalled_in(alice.store, alice.scope, key(alice, "a"))] == ["t4", "t2"]


@pytest.mark.parametrize(("k", "error"), [(0, InvalidInput), ("x", WrongType)])
def test_a_number_of_contexts_that_is_none_is_refused(alice, k, error):
    """As everywhere."""
    with pytest.raises(error):
        recalled_in(alice.store, alice.scope, key(alice, "a"), k)


def test_an_explanation_reads_as_a_text(chain, clock):
    """What it was made from, what came of it, and which contexts showed it; the rest is cut with a mark."""
    show(chain, clock, "t1", key(chain, "a"))
    text = described(chain.explain("a"))
    assert text.splitlines() == [
        "note a: note a",
        "  message m: I like tea",
        "from it came:",
        "  note both: of both",
        "    note deep: deep",
        f"shown in context t1, {clock.now().date().isoformat()}",
    ]
    assert described(chain.explain("a"), 3).splitlines() == [*text.splitlines()[:3], "…"]
    assert described(chain.explain("a"), 6) == text
