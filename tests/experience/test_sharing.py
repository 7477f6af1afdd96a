"""Experience shared by threads and memories, and the code of its documentation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest


def test_eight_threads_lose_nothing(memory, e):
    """Recording, rating and asking at once: every decision and every rating stands."""

    def work(number):
        for place in range(10):
            e.record("Friday", f"act {number}", 0.5, metrics={"m": place}, episode=f"ep {number}")
            e.rate(place, episode="shared", early=True)
            assert e.similar("Friday", {"m": place}, n=1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert e.stats()["total_memories"] == 80
    assert len(e.feedback_history(episode="shared")) == 80


def test_two_memories_rating_one_episode_at_once_both_stand(make):
    """Ids are tried again where another process was first."""
    one, two = make().experience, make().experience
    one.record("Friday", "call", 0.5, episode="ep")
    assert [each.rate(5, episode="ep").id for each in (one, two, one)] == ["fb_ep", "fb_ep#2", "fb_ep#3"]


def test_columns_stay_right_however_often_a_decision_changes(memory, e):
    """After thousands of rewrites there is still one decision, in its last form."""
    e.record("Friday", "call", 0.5, id="d", metrics={"m": 1}, episode="ep")
    for number in range(1_200):
        memory.update("d", kind="decision", worth=number)
        if number % 100 == 0:
            assert [match.id for match in e.similar("Friday", {"m": 1}, n=5)] == ["d"]
    assert e.stats()["total_memories"] == 1


def test_a_bundle_brings_experience_along(make, tmp_path):
    """Export and import into another scope: found there, feedback and all."""
    memory = make()
    memory.experience.record("Friday", "call", 0.5, episode="ep", metrics={"m": 1})
    memory.experience.rate(8, episode="ep")
    memory.export(tmp_path / "all.jsonl")
    other = make(("acme", "bob"))
    other.import_(tmp_path / "all.jsonl")
    match = other.experience.similar("Friday", {"m": 1})[0]
    assert match.feedback.overall_effectiveness == 8
    assert match.why["metrics"].value == pytest.approx(1.0)
