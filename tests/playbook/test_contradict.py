"""Contradictions: found among all entries and while refining, settled by evidence, and left where it is not clear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.playbook import Add, Counts, Outcome, Playbook
from seasoned.playbook.contradictions import among, evidence, opposed
from seasoned.playbook.entries import Entry
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock

NOW = FakeClock().now()
ALWAYS = "Always retry a payment after a timeout."
NEVER = "Never retry a payment after a timeout."


def entry(name: str, content: str, outcome: Outcome = Outcome.NEUTRAL, helpful: int = 0) -> Entry:
    return Entry(id=name, section="A", content=content, outcome=outcome, counts=Counts(helpful=helpful), created_at=NOW,
                 updated_at=NOW)  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((ALWAYS, "neutral"), (NEVER, "neutral")),
        ((ALWAYS, "success"), (NEVER, "success")),
        (("Retry a payment after a timeout.", "neutral"), ("Don't retry a payment after a timeout.", "neutral")),
        ((ALWAYS, "neutral"), ("Avoid retrying a payment after a timeout.", "success")),
        ((f"Ask first. {ALWAYS}", "neutral"), (f"{NEVER} It pays twice.", "neutral")),
        ((ALWAYS, "success"), (ALWAYS, "failure")),
        ((ALWAYS, "failure"), ("Always retry the payment after a timeout!", "success")),
        ((ALWAYS, "failure"), (NEVER, "failure")),
    ],
)
def test_advice_and_its_opposite_contradict_each_other(one, other):
    """Said by words or by outcomes, in whole entries or in one sentence of each."""
    left, right = entry("a", one[0], Outcome(one[1])), entry("b", other[0], Outcome(other[1]))
    assert opposed(left, right) is not None
    assert opposed(right, left) is not None
    assert [each.ids for each in among([left, right])] == [("a", "b")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((ALWAYS, "success"), (NEVER, "failure")),
        ((ALWAYS, "failure"), (NEVER, "neutral")),
        ((ALWAYS, "success"), (ALWAYS, "neutral")),
        ((ALWAYS, "neutral"), ("Never retry a login after a refusal.", "neutral")),
        (("Always call show_a for it.", "neutral"), ("Never call show_b for it.", "neutral")),
        (("Always wait 3 seconds for it.", "neutral"), ("Never wait 60 seconds for it.", "neutral")),
        ((ALWAYS, "neutral"), ("If the card expired, never retry a payment after a timeout.", "neutral")),
        (("Check the balance to pay on time.", "neutral"), ("Check the balance to avoid errors on time.", "neutral")),
    ],
)
def test_what_only_looks_opposite_does_not_contradict(one, other):
    """Two noes, another thing, another number, another condition, a purpose."""
    left, right = entry("a", one[0], Outcome(one[1])), entry("b", other[0], Outcome(other[1]))
    assert opposed(left, right) is None
    assert among([left, right]) == []


def test_contradictions_are_found_among_all_and_nothing_is_changed(p):
    """In order of first writing, each with what is said."""
    p.apply([Add(id="a", content=ALWAYS), Add(id="c", content="Log out at the end."), Add(id="b", content=NEVER)])
    [found] = p.contradictions()
    assert found.ids == ("a", "b")
    assert found.reason == f"one says {ALWAYS!r}, the other {NEVER!r}"
    assert (found.retired, len(p), p.number) == (None, 3, 1)


def test_the_side_with_clearly_more_evidence_stays(p):
    """The other one is retired with the reason, and can be brought back for good."""
    p.apply(
        [Add(id="a", content=ALWAYS, counts=Counts(helpful=1)), Add(id="b", content=NEVER, counts=Counts(helpful=5))]
    )
    [found] = p.refine().contradictions
    assert (found.ids, found.retired) == (("a", "b"), "a")
    assert [entry.id for entry in p.entries()] == ["b"]
    assert p.get("a").retired == f"contradicted by b, which has more evidence: {found.reason}"
    p.update("a", retired="")
    [again] = p.refine().contradictions
    assert (again.ids, again.retired) == (("a", "b"), None)
    assert len(p) == 2


def test_without_clear_evidence_both_stay_and_are_told_each_time(p):
    """Until there is evidence: marks are enough, nothing need be new."""
    p.apply(
        [Add(id="a", content=ALWAYS, counts=Counts(helpful=4)), Add(id="b", content=NEVER, counts=Counts(helpful=6))]
    )
    assert [(each.ids, each.retired) for each in p.refine().contradictions] == [(("a", "b"), None)]
    assert [(each.ids, each.retired) for each in p.refine().contradictions] == [(("a", "b"), None)]
    p.tag("b", "helpful", 4)
    assert [(each.ids, each.retired) for each in p.refine().contradictions] == [(("a", "b"), "a")]
    assert p.refine().contradictions == ()


def test_the_same_advice_that_works_and_fails_stays_two_until_it_is_clear(p):
    """Exact duplicates of opposite outcomes are no duplicates."""
    p.apply(
        [Add(id="a", content=ALWAYS, outcome=Outcome.SUCCESS), Add(id="b", content=ALWAYS, outcome=Outcome.FAILURE)]
    )
    [found] = p.refine().contradictions
    assert (found.reason, len(p)) == ("the same advice works in one and fails in the other", 2)
    p.tag("a", "helpful", 3)
    assert [each.retired for each in p.refine().contradictions] == ["b"]


def test_one_that_is_merged_takes_its_contradiction_along(p):
    """The old id resolves."""
    p.apply([Add(id="a", content=ALWAYS), Add(id="b", content=NEVER)])
    p.refine()
    p.apply([Add(id="c", content=NEVER.upper(), section="B", counts=Counts(helpful=9))])
    [found] = p.refine().contradictions
    assert (found.ids, found.retired) == (("a", "b"), "a")


WORDS = "always never retry pay the card after if only 3 show_a"
advice = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=5).map(" ".join)
entries = st.lists(st.tuples(advice, st.sampled_from(Outcome)), max_size=8)


@given(entries)
def test_finding_never_misses_what_comparing_all_with_all_finds(said):
    """Though it compares only those with a rare word in common."""
    all_of = [entry(f"e-{n}", content, outcome) for n, (content, outcome) in enumerate(said)]
    wanted = [
        (one.id, other.id)
        for n, one in enumerate(all_of)
        for other in all_of[n + 1 :]
        if opposed(one, other) is not None
    ]
    assert [each.ids for each in among(all_of)] == wanted


marks = st.builds(Counts, helpful=st.integers(0, 9), harmful=st.integers(0, 9))


@given(st.lists(st.builds(Add, content=advice, outcome=st.sampled_from(Outcome), counts=marks), max_size=8))
def test_settling_never_retires_the_side_with_more_evidence(deltas):
    """Of each pair that was settled, what is gone had less, by three marks or more and half as many at most."""
    with Playbook(MemoryStore(), embedder="hashing") as p:
        p.apply(deltas)
        for each in p.refine().contradictions:
            if each.retired is not None:
                [stays] = [name for name in each.ids if name != each.retired]
                low, high = evidence(p.get(each.retired)), evidence(p.get(stays))
                assert high - low >= 3
                assert high >= 2 * low
