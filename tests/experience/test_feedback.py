"""What people say, what flows back to decisions, and the rewards made of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from seasoned.errors import InvalidInput, NotFound, WrongType
from seasoned.experience import ExperiencePolicy, OutcomeFeedback, compute_human_feedback_reward

FRIDAY = "Friday 6PM"


def test_the_newest_feedback_stands_and_all_is_kept(e, clock):
    """A second word on an episode replaces the first (the seed dropped it), and the first is history."""
    e.record(FRIDAY, "call", 0.5, episode="ep", id="d")
    assert e.rate(3, episode="ep", note="bad").id == "fb_ep"
    clock.advance(seconds=1)
    assert e.rate(9, episode="ep", note="better").id == "fb_ep#2"
    assert e.feedback(episode="ep").overall_effectiveness == 9
    assert [one.overall_effectiveness for one in e.feedback_history(episode="ep")] == [3, 9]
    assert e.similar(FRIDAY)[0].feedback.unexpected_effects == "better"
    assert e.feedback(decision="d").overall_effectiveness == 9


def test_feedback_that_was_given_earlier_is_history_even_if_it_comes_late(e, clock):
    """Time decides which stands, then the order of writing; a time ahead of the clock counts as now."""
    e.record(FRIDAY, "call", 0.5, episode="ep")
    e.rate(7, episode="ep")
    e.rate(2, episode="ep", at=clock.now() - timedelta(days=1))
    assert e.feedback(episode="ep").overall_effectiveness == 7
    e.rate(4, episode="ep", at=clock.now() + timedelta(days=999))
    e.rate(5, episode="ep")
    assert e.feedback(episode="ep").overall_effectiveness == 5


def test_feedback_on_one_decision_is_about_that_one(e):
    """Its neighbour in the episode keeps the word on the episode."""
    e.record(FRIDAY, "call", 0.5, episode="ep", id="a")
    e.record(FRIDAY, "rest", 0.5, episode="ep", id="b")
    e.rate(6, episode="ep")
    e.rate(1, decision="a")
    rated = {match.id: match.feedback.overall_effectiveness for match in e.similar(FRIDAY)}
    assert rated == {"a": 1, "b": 6}


def test_late_feedback_ranks_from_the_next_call(e):
    """Equal in all else: praised before unrated before blamed, at once and after each change."""
    for name in ("a", "b", "c"):
        e.record(FRIDAY, f"act {name}", 0.5, id=name, episode=f"ep {name}")
    e.rate(0, episode="ep c")
    e.rate(10, episode="ep a")
    assert [match.id for match in e.similar(FRIDAY)] == ["a", "b", "c"]
    e.rate(10, episode="ep c")
    e.rate(0, episode="ep a")
    assert [match.id for match in e.similar(FRIDAY)] == ["c", "b", "a"]


def test_forgotten_feedback_counts_no_more(memory, e):
    """The one before it stands again."""
    e.record(FRIDAY, "call", 0.5, episode="ep")
    e.rate(3, episode="ep")
    late = e.rate(9, episode="ep")
    memory.forget(late.id)
    assert e.feedback(episode="ep").overall_effectiveness == 3
    assert e.similar(FRIDAY)[0].feedback.overall_effectiveness == 3


def test_feedback_names_its_sources(memory, e):
    """A decision; or the episode's trajectory; or its decisions where it has none. They go together."""
    e.record(FRIDAY, "call", 0.5, episode="ep", id="d")
    by_decision, by_episode = e.rate(5, decision="d"), e.rate(5, episode="ep")
    e.record_trajectory(FRIDAY, "call", 1.0, episode="ep", id="t")
    by_trajectory = e.rate(5, episode="ep")
    sources = {
        name: [key.id for key in memory.get(name).record.sources] for name in ("fb_d", "fb_ep", by_trajectory.id)
    }
    assert sources == {"fb_d": ["d"], "fb_ep": ["d"], "fb_ep#2": ["t"]}
    receipt = memory.forget("d", kinds=["decision"])
    assert set(receipt.derived) == {by_decision.id, by_episode.id}


def test_feedback_on_what_nobody_stored_is_refused(e):
    """An unknown episode or decision is NotFound and nothing is written; early=True accepts the episode."""
    with pytest.raises(NotFound, match="nobody"):
        e.rate(5, episode="nobody")
    with pytest.raises(NotFound, match="nothing was stored"):
        e.rate(5, decision="nobody")
    assert e.stats()["feedback"] == 0
    e.rate(5, episode="early bird", early=True)
    e.record(FRIDAY, "call", 0.5, episode="early bird")
    assert e.similar(FRIDAY)[0].feedback.overall_effectiveness == 5


@pytest.mark.parametrize("rating", [11, -1, 10.01, float("nan"), float("inf")])
def test_a_rating_outside_its_range_is_refused(e, rating):
    """By either way of giving it, and nothing is stored."""
    e.record(FRIDAY, "call", 0.5, episode="ep")
    with pytest.raises(InvalidInput):
        e.rate(rating, episode="ep")
    with pytest.raises(ValueError, match="rating"):
        OutcomeFeedback("ep", overall_effectiveness=rating)
    assert e.feedback(episode="ep") is None


@pytest.mark.parametrize(
    "given",
    [
        {"overall_effectiveness": "8"},
        {"overall_effectiveness": None},
        {"overall_effectiveness": True},
        {"domains_improved": "career"},
        {"domains_worsened": [3]},
        {"unexpected_effects": None},
        {"resolution_time_hours": "2"},
        {"episode_id": 7},
    ],
)
def test_feedback_of_other_types_is_refused(given):
    """Each field is checked when the feedback is made."""
    with pytest.raises(WrongType):
        OutcomeFeedback(**({"episode_id": "ep"} | given))


def test_feedback_reads_as_a_mapping_too():
    """As what the seed stored did; times without a zone are UTC."""
    feedback = OutcomeFeedback("ep", datetime(2026, 1, 2), 8, ["career"])
    assert feedback["overall_effectiveness"] == 8
    assert dict(feedback)["submitted_at"] == datetime(2026, 1, 2, tzinfo=UTC)
    with pytest.raises(KeyError):
        feedback["rating"]


def test_a_trajectorys_reward_flows_back_to_its_decisions(e):
    """Of 2.0 the last has 2.0, the one before 1.8, the first 1.62, mixed half and half with their own rewards."""
    for name in ("first", "second", "third"):
        e.record(FRIDAY, name, 0.5, episode="ep")
    e.record_trajectory(FRIDAY, "route", 2.0, episode="ep")
    values = {match.action: match.value for match in e.similar(FRIDAY)}
    assert values == {
        "first": pytest.approx((0.5 + 1.62) / 2),
        "second": pytest.approx((0.5 + 1.8) / 2),
        "third": pytest.approx((0.5 + 2.0) / 2),
    }
    assert {match.reward for match in e.similar(FRIDAY)} == {0.5}


def test_credit_follows_what_comes_late(memory, e):
    """A decision more, another trajectory, a forgotten one: the value is what the records say now."""
    e.record(FRIDAY, "first", None, episode="ep")
    assert e.similar(FRIDAY) == []
    e.record_trajectory(FRIDAY, "route", 1.0, episode="ep", id="t")
    assert e.similar(FRIDAY)[0].value == pytest.approx(1.0)
    e.record(FRIDAY, "second", None, episode="ep")
    values = {match.action: match.value for match in e.similar(FRIDAY)}
    assert values == {"first": pytest.approx(0.9), "second": pytest.approx(1.0)}
    e.record_trajectory(FRIDAY, "route", -1.0, episode="ep", id="t2")
    assert e.similar(FRIDAY) == []
    memory.forget("t2")
    assert len(e.similar(FRIDAY)) == 2
    memory.forget("t")
    assert e.similar(FRIDAY) == []
    assert [match.value for match in e.similar(FRIDAY, min_reward=None)] == [None, None]


def test_an_episodes_rating_counts_less_for_its_early_decisions(e):
    """0.9 of it for the one before the last: the last of two equal decisions gains more."""
    e.record(FRIDAY, "first", 0.5, episode="ep")
    e.record(FRIDAY, "last", 0.5, episode="ep")
    e.rate(10, episode="ep")
    shares = {match.action: match.why["feedback"].share for match in e.similar(FRIDAY)}
    assert shares["first"] == pytest.approx(0.9 * shares["last"], rel=1e-3)


def test_the_discount_is_the_policys(e):
    """With a discount of 0.5 the decision before the last has half."""
    halved = e.with_policy(ExperiencePolicy(discount=0.5))
    halved.record(FRIDAY, "first", None, episode="ep")
    halved.record(FRIDAY, "last", None, episode="ep")
    halved.record_trajectory(FRIDAY, "route", 1.0, episode="ep")
    assert {match.action: match.value for match in halved.similar(FRIDAY)} == {
        "first": pytest.approx(0.5),
        "last": pytest.approx(1.0),
    }


BEFORE = {"career.workload": 90, "relationships.romantic": 50, "finances.debt": 40, "time.free": 20}


@pytest.mark.parametrize(
    ("after", "improved", "rating", "reward"),
    [
        ({"career.workload": 80, "relationships.romantic": 60}, ["career", "relationships"], 8, 0.5 + 0.4),
        ({"career.workload": 80, "relationships.romantic": 60}, ["career"], 10, 0.25 + 0.5),
        ({"career.workload": 99}, ["career"], 4, 0.0 + 0.2),
        ({"career.workload": 89}, [], 0, 0.5 + 0.0),
        ({"career.workload": 88.9}, [], 0, 0.0),
        ({"finances.debt": 50, "time.free": 20}, [], 6, 0.5 + 0.3),
        ({}, [], 10, 1.0),
    ],
)
def test_the_reward_of_a_prediction_is_overlap_and_rating(after, improved, rating, reward):
    """A metric improves by more than 1 in its good direction; two empty sets agree."""
    feedback = OutcomeFeedback("ep", overall_effectiveness=rating, domains_improved=improved)
    assert compute_human_feedback_reward(BEFORE, after, feedback) == pytest.approx(reward)


def test_an_observation_may_be_nested_or_an_object():
    """Metrics by domain, under "metrics", or as an attribute."""

    class Observation:
        def __init__(self):
            self.metrics = {"career.workload": 80}

    feedback = OutcomeFeedback("ep", overall_effectiveness=10, domains_improved=["career"])
    for after in (Observation(), {"metrics": {"career.workload": 80}, "reward": "x"}, {"career": {"workload": 80}}):
        assert compute_human_feedback_reward(BEFORE, after, feedback) == pytest.approx(1.0)
    with pytest.raises(WrongType):
        compute_human_feedback_reward(BEFORE, 7, feedback)
    with pytest.raises(WrongType):
        compute_human_feedback_reward({"a": None}, {}, feedback)


def test_completions_are_rewarded_by_what_people_said_of_their_actions(e):
    """From -1 to 1 by the rating of the action named; 0 where nothing similar was rated (the seed always had some)."""
    e.record("Friday evening: boss wants overtime, partner waits", "communicate", 0.5, episode="good")
    e.record("Friday evening: boss wants overtime, partner waits", "ignore", 0.5, episode="bad")
    e.record("The flight home is cancelled", "rebook", 0.5)
    e.rate(9, episode="good")
    e.rate(1, episode="bad")
    prompt = "Friday evening: boss wants overtime, partner waits"
    chat = [{"role": "user", "content": prompt}]
    rewards = e.reward_human_feedback(
        [prompt, prompt, chat, "The flight home is cancelled", "Quarterly tax declaration", prompt],
        [
            "I communicate early",
            "Ignore it!",
            [{"role": "assistant", "content": "communicate"}],
            "rebook",
            "pay",
            "rebook",
        ],
        task=["a"] * 6,
    )
    assert rewards == [pytest.approx(0.8), pytest.approx(-0.8), pytest.approx(0.8), 0.0, 0.0, 0.0]


def test_rewards_need_as_many_completions_as_prompts(e):
    """Anything else is a clear error."""
    with pytest.raises(InvalidInput):
        e.reward_human_feedback(["a"], [])
    with pytest.raises(WrongType):
        e.reward_human_feedback([3], ["a"])
    assert e.reward_human_feedback([], []) == []
