"""Pruning: what does harm and what there is no room for is retired, can come back, and what is proven goes last."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook import Add, Counts, Outcome, Playbook
from seasoned.playbook.pruning import prune
from seasoned.stores.memory import MemoryStore


def test_five_harmful_marks_retire_an_entry(p):
    """It is no longer shown, the history has it, and it resolves still."""
    p.apply([Add(id="a", content="Pay twice to be sure."), Add(id="b", content="Ask before paying.")])
    p.tag("a", "harmful", 4)
    assert p.prune().effects == ()
    p.tag("a", "harmful")
    assert [effect.id for effect in p.prune().effects] == ["a"]
    assert [entry.id for entry in p.entries()] == ["b"]
    assert p.get("a").retired == "harmful: 5 marks against it, 0 for it"
    assert p.history("a")[-1].reason == "pruned"


@pytest.mark.parametrize(
    ("helpful", "harmful", "outcome", "gone"),
    [
        (2, 5, "neutral", True),
        (3, 5, "neutral", False),
        (2, 5, "success", False),
        (2, 6, "success", True),
        (9, 17, "neutral", False),
        (9, 18, "neutral", True),
        (0, 4, "neutral", False),
        (0, 5, "failure", True),
    ],
)
def test_harm_must_be_clear(p, helpful, harmful, outcome, gone):
    """At most half as many marks for it as against it; a success is one."""
    p.apply([Add(id="a", content="Advice.", outcome=outcome, counts=Counts(helpful=helpful, harmful=harmful))])
    p.prune()
    assert (p.get("a").retired is not None) is gone


def test_what_was_brought_back_is_judged_by_what_came_after(p):
    """Old marks do not retire it a second time."""
    p.apply([Add(id="a", content="Advice.", counts=Counts(harmful=7))])
    p.prune()
    p.update("a", retired="")
    assert p.prune().effects == ()
    p.tag("a", "harmful", 5)
    p.prune()
    assert p.get("a").retired == "harmful: 5 marks against it, 0 for it"


def test_a_rollback_brings_everything_back(p):
    """A prune is one change."""
    p.apply([Add(content=f"Advice number {n}.") for n in range(9)])
    changed = p.prune(keep=2)
    assert len(p) == 2
    p.rollback(changed.number - 1)
    assert len(p) == 9


def test_the_least_useful_go_first(p):
    """Harmful ones, then those of which nothing is known, older before newer, then the less useful of the proven."""
    counts = {"a": Counts(helpful=1), "b": Counts(), "c": Counts(harmful=1), "d": Counts(), "e": Counts(helpful=4)}
    p.apply([Add(id=name, content=f"Advice {name}.", counts=each) for name, each in counts.items()])
    order = []
    for keep in (4, 3, 2, 1, 0):
        order += [effect.id for effect in p.prune(keep).effects]
    assert order == ["c", "b", "d", "a", "e"]
    assert p.get("c").retired == "pruned: no room among the 4 most useful"


def test_a_bad_number_is_refused(p):
    """And nothing is changed."""
    p.add("Advice.")
    for wrong, error in ((-1, InvalidInput), (True, WrongType), (1.5, WrongType)):
        with pytest.raises(error):
            p.prune(wrong)
    with pytest.raises(InvalidInput):
        prune(p, harmful=0)
    assert len(p) == 1


counts = st.builds(Counts, helpful=st.integers(0, 9), harmful=st.integers(0, 9), neutral=st.integers(0, 9))


@given(st.lists(st.tuples(counts, st.sampled_from(Outcome)), max_size=9), st.integers(0, 9))
def test_a_proven_entry_never_goes_before_an_unproven_one(said, keep):
    """At most `keep` stay, no count is lost, and a second time changes nothing."""
    with Playbook(MemoryStore(), embedder="hashing") as p:
        p.apply([Add(content=f"Advice {n}.", counts=each, outcome=outcome) for n, (each, outcome) in enumerate(said)])
        total = sum((entry.counts for entry in p.entries()), Counts())
        p.prune(keep)
        shown, everything = p.entries(), p.entries(retired=True)
        assert len(shown) <= keep
        assert sum((entry.counts for entry in everything), Counts()) == total
        for_room = [entry for entry in everything if (entry.retired or "").startswith("pruned")]
        assert not any(entry.proven for entry in for_room) or all(entry.proven for entry in shown)
        assert p.prune(keep).effects == ()
