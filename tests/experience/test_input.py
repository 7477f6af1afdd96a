"""What cannot be stored or asked: clear typed errors, and nothing is stored by halves."""

from __future__ import annotations

import pytest

from seasoned.errors import InvalidInput, SeasonedError, StoreClosed, WrongType
from seasoned.experience import ExperiencePolicy, MetricRules
from seasoned.ports import Put
from seasoned.records import Key, Record

FRIDAY = "Friday 6PM"
NAN = float("nan")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"situation": None}, WrongType),
        ({"situation": "  "}, InvalidInput),
        ({"action": None}, WrongType),
        ({"action": ""}, InvalidInput),
        ({"reward": NAN}, InvalidInput),
        ({"reward": float("inf")}, InvalidInput),
        ({"reward": "0.5"}, WrongType),
        ({"reward": True}, WrongType),
        ({"metrics": {"a": None}}, WrongType),
        ({"metrics": {"a": NAN}}, InvalidInput),
        ({"metrics": {"a": 1, "b": "high"}}, WrongType),
        ({"metrics": {"a": True}}, WrongType),
        ({"metrics": {1: 2}}, WrongType),
        ({"metrics": [1, 2]}, WrongType),
        ({"tags": "evening"}, WrongType),
        ({"tags": [""]}, InvalidInput),
        ({"reasoning": None}, WrongType),
        ({"episode": ""}, InvalidInput),
        ({"personality": 3}, WrongType),
        ({"domain": " "}, InvalidInput),
        ({"data": {"x": NAN}}, InvalidInput),
        ({"at": "yesterday"}, InvalidInput),
        ({"sources": ["d"]}, WrongType),
    ],
)
def test_a_decision_that_breaks_a_rule_is_refused_whole(memory, e, given, error):
    """The error names the rule; no row is written."""
    fields = {"situation": FRIDAY, "action": "call", "reward": 0.5} | given
    with pytest.raises(error):
        e.record(**fields)
    assert memory.count() == 0


@pytest.mark.parametrize("world", [{"a": NAN}, {"a": [1]}, {"a": {"b": 1}}, {1: True}, "text"])
def test_a_world_holds_only_plain_values(memory, e, world):
    """Booleans, finite numbers, texts and None; anything else is refused."""
    with pytest.raises(SeasonedError):
        e.record_trajectory("crisis", "route", 1.0, world=world)
    assert memory.count() == 0


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"n": 0}, InvalidInput),
        ({"n": -1}, InvalidInput),
        ({"n": 2.5}, WrongType),
        ({"n": True}, WrongType),
        ({"situation": ""}, InvalidInput),
        ({"situation": None}, WrongType),
        ({"metrics": {"a": None}}, WrongType),
        ({"metrics": {"a": NAN}}, InvalidInput),
        ({"min_reward": NAN}, InvalidInput),
        ({"min_reward": "0.1"}, WrongType),
        ({"tags": "a"}, WrongType),
        ({"actions": "call"}, WrongType),
        ({"personality": ""}, InvalidInput),
        ({"since": "soon"}, InvalidInput),
    ],
)
def test_a_question_that_breaks_a_rule_is_refused(e, given, error):
    """With and without anything stored."""
    fields = {"situation": FRIDAY} | given
    with pytest.raises(error):
        e.similar(**fields)
    e.record(FRIDAY, "call", 0.5, metrics={"a": 3})
    with pytest.raises(error):
        e.similar(**fields)


@pytest.mark.parametrize("budget", [0, -5, 2.5, "many"])
def test_a_budget_is_a_number_of_tokens(e, budget):
    """Not none, not a part, not a word."""
    with pytest.raises((InvalidInput, WrongType)):
        e.few_shot(FRIDAY, budget=budget)


def test_a_rating_is_of_one_thing(e):
    """An episode or a decision, not both and not neither."""
    with pytest.raises(InvalidInput):
        e.rate(5)
    with pytest.raises(InvalidInput):
        e.rate(5, episode="a", decision="b")
    with pytest.raises(InvalidInput):
        e.feedback()


def test_hostile_text_is_kept_and_found(e):
    """NUL and lone surrogates are replaced, query syntax is only words, every script and a megabyte are taken."""
    for text in ("a\0b \ud800", "' OR 1=1 -- \" * NEAR(", "周五晚上六点", "ศุกร์เย็น", "x " * 500_000):
        e.record(text, "act", 0.5)
        assert e.similar(text, n=1)[0].situation == text.replace("\0", "\ufffd").replace("\ud800", "\ufffd")


def test_metrics_of_any_size_are_compared(e):
    """Numbers near the limits of floats and thousands of names neither overflow nor warn."""
    e.record(FRIDAY, "huge", 0.5, metrics={"a": 1e308, "b": -1e308, "c": 5e-324, "d": 2**63 - 1})
    e.record(FRIDAY, "wide", 0.5, metrics={f"m{number}": number for number in range(2_000)})
    found = e.similar(FRIDAY, {"a": -1e308, "b": 1e308, "m7": 7, "none": 3}, n=2)
    assert {match.action for match in found} == {"huge", "wide"}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"situation": 7, "action": "call"},
        {"situation": FRIDAY, "action": None},
        {"rating": "8", "episode": "ep"},
        {"rating": 80, "episode": "ep"},
        {"rating": 8},
        {"rating": 8, "episode": "ep\x07", "improved": ["a\nb"]},
        {"rating": 8, "episode": "other", "hours": -3},
    ],
)
def test_records_that_others_wrote_under_our_kinds_do_no_harm(memory, e, store, clock, data):
    """What says nothing that can be read is passed over, and the rest is found."""
    e.record(FRIDAY, "call", 0.5, id="d", episode="ep")
    for kind in ("decision", "trajectory", "feedback"):
        store.apply([Put(Record(key=Key(memory.scope, kind, "odd"), text="odd", at=clock.now(), data=data))])
    assert [match.id for match in e.similar(FRIDAY)] == ["d"]
    assert e.similar_trajectories(FRIDAY) == []
    assert e.feedback(episode="ep") is None
    assert e.stats()["total_memories"] == 1


def test_a_closed_memory_says_so(make):
    """Every verb of a closed memory raises StoreClosed."""
    memory = make()
    memory.close()
    with pytest.raises(StoreClosed):
        memory.experience.similar(FRIDAY)


@pytest.mark.parametrize(
    "broken",
    [
        {"discount": 1.5},
        {"unknown": -0.1},
        {"metric_weight": -1},
        {"metric_scale": 0},
        {"reward": NAN},
    ],
)
def test_a_policy_is_checked_when_made(broken):
    """Each number has its range."""
    with pytest.raises(InvalidInput):
        ExperiencePolicy(**broken)


def test_metric_rules_are_checked_when_made():
    """A range rises and has two ends; names are strings."""
    with pytest.raises(InvalidInput):
        MetricRules(ranges={"a": (1, 1)})
    with pytest.raises(WrongType):
        MetricRules(ranges={"a": 3})
    with pytest.raises(WrongType):
        MetricRules(inverted="stress")
