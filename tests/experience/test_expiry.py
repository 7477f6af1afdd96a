"""Experience that has ended: neither it nor what it gave to others counts any more."""

from __future__ import annotations

from datetime import timedelta

import pytest

DAY = timedelta(days=1)


def values(e):
    return {match.id: match.value for match in e.similar("oven", n=9, min_reward=None)}


def test_the_rating_of_an_episode_ends_with_its_feedback(memory, e, clock):
    """The decision is found as if it had never been rated."""
    e.record("oven", "wait", 0.5, episode="e1", id="d1")
    e.rate(10, episode="e1")
    (feedback,) = memory.list(kinds=["feedback"]).hits
    memory.update(feedback.id, kind="feedback", until=clock.now() + DAY)
    assert [match.feedback is not None for match in e.similar("oven")] == [True]
    clock.advance(DAY)
    assert [match.feedback is not None for match in e.similar("oven")] == [False]


def test_what_a_trajectory_earned_ends_with_it(memory, e, clock):
    """Nothing flows back from it to the decisions of its episode."""
    e.record("oven", "wait", episode="e1", id="d1")
    e.record_trajectory("oven", "wait and look", 0.9, episode="e1", until=clock.now() + DAY)
    assert values(e)["d1"] == pytest.approx(0.9)
    clock.advance(DAY)
    assert values(e)["d1"] is None


def test_a_decision_that_has_ended_stands_in_no_statistics(e, clock, make):
    """As in a memory that never saw it."""
    e.record("oven", "wait", 0.5, episode="e1", id="d1", until=clock.now() + DAY)
    e.record("oven", "open", 0.4, episode="e1", id="d2")
    assert sorted(values(e)) == ["d1", "d2"]
    clock.advance(DAY)
    fresh = make().experience
    assert (values(e), e.stats()) == (values(fresh), fresh.stats())
    assert sorted(values(e)) == ["d2"]
