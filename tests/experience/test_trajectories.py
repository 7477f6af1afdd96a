"""Whole episodes: stored, found by situation and world, and told apart from decisions."""

from __future__ import annotations

import math

import pytest

from seasoned.errors import InvalidInput

WORLD = {"lounge_access": True, "rebooked": False, "cash": 310.0, "gate": None, "city": "Lisbon"}


def test_a_trajectory_comes_back_as_it_was(e):
    """With its task, route, reward, summary and world of any plain values."""
    e.record_trajectory("flight crisis", "rebook_premium", 2.5, task="t1", summary={"steps": 8}, world=WORLD)
    match = e.similar_trajectories("flight crisis", WORLD)[0]
    assert (match.task, match.action, match.reward, match.summary) == ("t1", "rebook_premium", 2.5, {"steps": 8})
    assert match.metrics == WORLD
    assert match.why["metrics"].value == pytest.approx(1.0)


def test_worlds_of_mixed_values_are_compared(e):
    """Booleans, texts and None by equality, numbers by distance."""
    e.record_trajectory("flight crisis", "same", 1.0, world=WORLD)
    e.record_trajectory("flight crisis", "other", 1.0, world={**WORLD, "gate": "A1"})
    e.record_trajectory("flight crisis", "silent", 1.0, world={"cash": None, "lounge_access": 1})
    alike = {match.action: match.why["metrics"].value for match in e.similar_trajectories("flight crisis", WORLD)}
    weights = {"lounge_access": 0.25, "rebooked": 1.25, "cash": 0.25, "gate": 0.75, "city": 0.75}
    assert alike["same"] == pytest.approx(1.0)
    assert alike["other"] == pytest.approx(math.exp(-0.75 / sum(weights.values()) / 0.15), rel=1e-3)
    assert alike["silent"] == pytest.approx(0.2 * 3.0 / 3.25, abs=0.02)


def test_trajectories_are_no_decisions(e):
    """Neither verb finds the other's records."""
    e.record("flight crisis", "call", 0.5)
    e.record_trajectory("flight crisis", "rebook", 1.0)
    assert [match.action for match in e.similar("flight crisis")] == ["call"]
    assert [match.action for match in e.similar_trajectories("flight crisis")] == ["rebook"]
    assert e.stats()["total_memories"] == 1


def test_a_trajectory_that_failed_is_below_the_floor(e):
    """As with decisions, and None lifts it."""
    e.record_trajectory("flight crisis", "wait", -1.0)
    assert e.similar_trajectories("flight crisis") == []
    assert len(e.similar_trajectories("flight crisis", min_reward=None)) == 1


def test_the_seeds_verbs_take_and_give_what_they_did(e):
    """A trajectory with or without a task; result keys as documented; its task links it to the episode of that name."""
    e.store_decision("Friday", "call", "career", 0.5, {"career.workload": 9}, "why", episode_id="t1")
    e.store_trajectory(task_id="t1", route_taken="rebook", total_reward=2.0, trajectory_summary={"steps": 8})
    e.store_trajectory(conflict_title="Friday", route_taken="rest", total_reward=1.0, metrics_diff_str="+2")
    found = e.retrieve_similar_trajectories("t1", {"x": False}, n=2)
    assert found[0].keys() >= {"task_id", "route_taken", "reward", "summary", "similarity_score", "why"}
    assert [one["route_taken"] for one in found] == ["rebook", "rest"]
    assert found[1]["task_id"] is None
    assert e.similar("Friday")[0].value == pytest.approx((0.5 + 2.0) / 2)
    with pytest.raises(InvalidInput):
        e.store_trajectory(total_reward=1.0)


def test_stats_count_decisions(e):
    """total_memories, average_reward and by_action_type, and the others beside them."""
    assert e.get_stats()["average_reward"] == 0.0
    e.record("a", "call", 0.72)
    e.record("b", "call", 0.5)
    e.record("c", "rest", None)
    assert e.get_stats() == {
        "total_memories": 3,
        "average_reward": 0.61,
        "by_action_type": {"call": 2, "rest": 1},
        "trajectories": 0,
        "feedback": 0,
    }
