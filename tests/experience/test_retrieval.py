"""Finding similar decisions: filters, states, diversity, and why."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.experience import ExperiencePolicy, MetricRules, most_stressed
from seasoned.ports import Fingerprint

FRIDAY = "Friday 6PM"


def actions(found):
    return [match.action for match in found]


def test_n_come_back_when_n_are_eligible(e):
    """Decisions without an episode are no duplicates of each other (the seed returned one of three)."""
    for number in range(5):
        e.record(FRIDAY, f"act {number}", 0.5, metrics={"career.workload": 10 * number})
    assert len(e.similar(FRIDAY, {"career.workload": 20}, n=3)) == 3
    assert len(e.similar("something else entirely", n=5)) == 5


def test_the_reward_filter_runs_before_the_top_k(e):
    """Twelve near failures do not crowd out the one success (the seed returned nothing)."""
    for number in range(12):
        e.record(FRIDAY, "ignore", -0.5, metrics={"career.workload": 80}, reasoning=f"no {number}")
    e.record("Saturday errands", "delegate", 0.6, metrics={"career.workload": 10})
    found = e.similar(FRIDAY, {"career.workload": 80}, n=3)
    assert actions(found) == ["delegate"]


def test_every_filter_narrows_before_anything_is_ranked(e, clock):
    """Tag, personality, action, domain, episode, time and reward, alone and together."""
    e.record(FRIDAY, "call", 0.9, domain="relationships", tags=["a", "b"], personality="Driver", episode="one")
    clock.advance(timedelta(days=1))
    e.record(FRIDAY, "rest", 0.4, domain="physical_health", tags=["b"], personality="Amiable", episode="two")
    clock.advance(timedelta(days=1))
    e.record(FRIDAY, "pay", 0.1, domain="finances", episode="two")
    assert set(actions(e.similar(FRIDAY, n=9))) == {"call", "rest", "pay"}
    assert set(actions(e.similar(FRIDAY, n=9, tags=["b"]))) == {"call", "rest"}
    assert actions(e.similar(FRIDAY, n=9, tags=["a", "b"])) == ["call"]
    assert actions(e.similar(FRIDAY, n=9, personality="Amiable")) == ["rest"]
    assert set(actions(e.similar(FRIDAY, n=9, actions=["pay", "rest"]))) == {"pay", "rest"}
    assert actions(e.similar(FRIDAY, n=9, domains=["finances"])) == ["pay"]
    assert set(actions(e.similar(FRIDAY, n=9, episode="two"))) == {"rest", "pay"}
    assert set(actions(e.similar(FRIDAY, n=9, since="2026-01-02"))) == {"rest", "pay"}
    assert actions(e.similar(FRIDAY, n=9, until="2026-01-02")) == ["call"]
    assert actions(e.similar(FRIDAY, n=9, min_reward=0.5)) == ["call"]
    assert actions(e.similar(FRIDAY, n=9, max_reward=0.2)) == ["pay"]
    assert e.similar(FRIDAY, n=9, personality="Driver", episode="two") == []


def test_the_floor_is_inclusive_and_can_be_lifted(e):
    """0.05 is enough, a little less is not, and None asks for all."""
    e.record(FRIDAY, "enough", 0.05)
    e.record(FRIDAY, "short", 0.049)
    assert actions(e.similar(FRIDAY)) == ["enough"]
    assert set(actions(e.similar(FRIDAY, min_reward=None))) == {"enough", "short"}


def test_the_situation_decides_by_its_words(e):
    """The same words stand first, with a score near 1 and their reasons, which add up to it."""
    e.record("The flight home is cancelled", "rebook", 0.5)
    e.record("The rent is due and the account is empty", "borrow", 0.5)
    found = e.similar("The rent is due and the account is empty", n=2)
    assert actions(found) == ["borrow", "rebook"]
    assert found[0].score > 0.95
    for match in found:
        assert match.score == pytest.approx(sum(part.share for part in match.why.values()), abs=1e-6)


def test_the_state_decides_where_the_words_are_equal(e):
    """The nearer metrics win, whatever was stored last."""
    e.record(FRIDAY, "near", 0.5, metrics={"career.workload": 90, "time.free": 10})
    e.record(FRIDAY, "far", 0.5, metrics={"career.workload": 10, "time.free": 90})
    found = e.similar(FRIDAY, {"career.workload": 88, "time.free": 12}, n=2)
    assert actions(found) == ["near", "far"]
    assert found[0].why["metrics"].value > 0.8 > 0.2 > found[1].why["metrics"].value


def test_an_equal_state_is_wholly_alike_and_one_without_metrics_unknown(e):
    """1 for the same state, the policy's `unknown` for a decision that says nothing of it."""
    e.record(FRIDAY, "same", 0.5, metrics={"a.level": 40, "b.level": 60})
    e.record(FRIDAY, "silent", 0.5)
    alike = {
        match.action: match.why["metrics"].value for match in e.similar(FRIDAY, {"a.level": 40, "b.level": 60}, n=2)
    }
    assert alike["same"] == pytest.approx(1.0)
    assert alike["silent"] == pytest.approx(0.2)


def test_a_range_that_is_named_sets_the_distance(e):
    """Half of a range of 2 is as far as half of a range of 100: exp(-.5 / .15)."""
    rules = MetricRules(ranges={"angle": (-1, 1)})
    policied = e.with_policy(ExperiencePolicy(metrics=rules))
    policied.record("pole", "left", 0.5, metrics={"angle": 0.5})
    found = policied.similar("pole", {"angle": -0.5})
    assert found[0].why["metrics"].value == pytest.approx(math.exp(-0.5 / 0.15), rel=1e-3)


def test_stress_knows_its_direction():
    """Stress 97 and workload 98 are stressed, and so is money at 5 (the seed took the three lowest)."""
    state = {
        "mental_wellbeing.stress_level": 97,
        "career.workload": 98,
        "finances.liquidity": 5,
        "relationships.romantic": 80,
        "finances.debt_pressure": 3,
    }
    assert most_stressed(state) == ["career.workload", "mental_wellbeing.stress_level", "finances.liquidity"]


def test_the_caller_says_which_metrics_are_inverted():
    """Latency is bad when it is high in its range; stress is then no word of its own."""
    rules = MetricRules(inverted=("latency_ms",), ranges={"latency_ms": (0, 2_000)})
    assert most_stressed({"latency_ms": 1_900, "quality": 40, "stress": 90}, rules, n=3) == [
        "latency_ms",
        "quality",
        "stress",
    ]


def test_the_state_is_part_of_what_is_compared_by_vector(make):
    """The names of the three most stressed metrics follow the situation in the query."""
    asked: list[str] = []

    def embed(texts):
        asked.extend(texts)
        return np.ones((len(texts), 8), np.float32)

    e = make(embedder=embed).experience
    e.record(FRIDAY, "call", 0.5)
    asked.clear()
    e.similar(FRIDAY, {"x.stress": 97, "x.workload": 98, "x.rest": 4, "x.joy": 90})
    assert asked[0] == "Friday 6PM x.workload x.stress x.rest"


def test_ten_copies_do_not_crowd_out_the_rest(e):
    """Of three, at most one is a copy; with diverse=False the copies come."""
    for _ in range(10):
        e.record(FRIDAY, "call", 0.9, domain="relationships", metrics={"a.level": 50}, reasoning="A quick call.")
    e.record(FRIDAY, "delegate", 0.5, domain="career", metrics={"a.level": 50})
    e.record(FRIDAY, "rest", 0.5, domain="physical_health", metrics={"a.level": 50})
    assert set(actions(e.similar(FRIDAY, {"a.level": 50}, n=3))) == {"call", "delegate", "rest"}
    assert actions(e.similar(FRIDAY, {"a.level": 50}, n=3, diverse=False)) == ["call", "call", "call"]
    assert len(e.similar(FRIDAY, {"a.level": 50}, n=12)) == 12


def test_a_thousand_copies_do_not_either(e):
    """However many candidates are copies, others are looked for."""
    for number in range(1_000):
        e.record(FRIDAY, "call", 0.9, id=f"c{number}")
    e.record("Friday at 6", "delegate", 0.2)
    assert set(actions(e.similar(FRIDAY, n=2))) == {"call", "delegate"}


def test_an_action_that_proved_itself_here_ranks_higher(e):
    """Equal rewards and words: the one that was taken often with the same result comes first."""
    for number in range(8):
        e.record(FRIDAY, "steady", 0.5, metrics={"a.level": number})
    e.record(FRIDAY, "once", 0.5, metrics={"a.level": 50})
    found = e.similar(FRIDAY, n=9)
    sure = {match.action: (match.count, match.confidence) for match in found}
    assert sure["steady"] == (8, pytest.approx(0.8))
    assert sure["once"] == (1, pytest.approx(1 / 3))
    assert found[-1].action == "once"


def test_confidence_is_less_where_rewards_differ(e):
    """Two groups of equal size: the one whose rewards agree can be relied on more."""
    for number in range(6):
        e.record(FRIDAY, "steady", 0.5, metrics={"a.level": number})
        e.record(FRIDAY, "wild", 0.1 if number % 2 else 0.9, metrics={"a.level": number})
    sure = {match.action: match.confidence for match in e.similar(FRIDAY, n=12)}
    assert sure["steady"] == pytest.approx(6 / 8)
    assert sure["wild"] < 0.5


def test_the_similarity_is_a_cosine(make):
    """Opposite vectors have -1, equal ones 1; it is not 1 / (1 + distance), and not the score."""
    vectors = {"up": [1, 0], "down": [-1, 0], "side": [0, 1]}

    class Known:
        fingerprint = Fingerprint("known", "1", 2)
        weight = 0.6

        def embed(self, texts):
            return np.array([vectors[text.split()[0]] for text in texts], np.float32)

    e = make(embedder=Known()).experience
    for name in ("up", "down", "side"):
        e.record(name, "act", 0.5, id=name)
    found = {match.id: match.similarity for match in e.similar("up", n=3)}
    assert found == {"up": pytest.approx(1.0), "down": pytest.approx(-1.0), "side": pytest.approx(0.0)}


def test_without_a_model_the_similarity_is_that_of_hashed_words(e):
    """The same text has 1, and every similarity lies in [-1, 1]."""
    e.record("rent due", "pay", None, id="a")
    e.record_trajectory("none", "none", 1.0, episode="x")
    e.record("flight lost", "wait", 0.5, id="b")
    found = e.similar("flight lost Action: wait Reward: 0.50", min_reward=None, n=2)
    assert next(match.similarity for match in found if match.id == "b") == pytest.approx(1.0)
    assert all(-1 <= match.similarity <= 1 for match in found)


def test_an_embedder_that_is_down_leaves_words_and_says_so(make):
    """The decision is stored and found; the results say what was missing."""

    def down(texts):
        raise OSError("no route")

    e = make(embedder=down).experience
    added = e.record(FRIDAY, "call", 0.5)
    assert added.reason is not None
    assert added.reason.startswith("degraded: dense")
    found = e.similar(FRIDAY)
    assert actions(found) == ["call"]
    assert found.degraded
    assert found[0].similarity is None


def test_an_expired_or_forgotten_decision_is_found_no_more(memory, e, clock):
    """Namespaces, deletion, expiry and update: what the seed had none of."""
    e.record(FRIDAY, "brief", 0.5, until="2026-01-02", id="brief")
    e.record(FRIDAY, "lasting", 0.5, id="lasting")
    assert len(e.similar(FRIDAY)) == 2
    clock.advance(timedelta(days=2))
    assert actions(e.similar(FRIDAY)) == ["lasting"]
    memory.forget("lasting")
    assert e.similar(FRIDAY) == []
    assert e.stats()["total_memories"] == 0


def test_scopes_and_instances_are_apart(make):
    """Another scope sees nothing, and neither does another memory in this process."""
    make().experience.record(FRIDAY, "call", 0.5)
    assert make(("acme", "bob")).experience.similar(FRIDAY) == []
    with Memory(embedder="hashing") as other:
        assert other.experience.similar(FRIDAY) == []
    assert actions(make().experience.similar(FRIDAY)) == ["call"]


def test_what_another_memory_writes_is_seen_at_the_next_look(make):
    """Two memories over one store, as two processes have them."""
    one, two = make().experience, make().experience
    assert two.similar(FRIDAY) == []
    one.record(FRIDAY, "call", 0.5, id="x", episode="ep")
    assert actions(two.similar(FRIDAY)) == ["call"]
    two.rate(9, episode="ep")
    assert one.similar(FRIDAY)[0].feedback.overall_effectiveness == 9


def test_a_given_id_is_stored_once(e):
    """The second time nothing changes, and the answer says so."""
    assert e.record(FRIDAY, "call", 0.5, id="x").status == "written"
    assert e.record(FRIDAY, "other", 0.9, id="x").status == "duplicate"
    assert actions(e.similar(FRIDAY)) == ["call"]


def test_everything_given_is_kept(e):
    """Metrics, reasoning, tags, personality and data come back as they were (the seed dropped the snapshot)."""
    e.record(
        FRIDAY,
        "call",
        0.72,
        domain="relationships",
        reasoning="It keeps the evening.",
        metrics={"relationships.romantic": 55, "x": 0.5},
        tags=["evening"],
        episode="ep",
        personality="Driver",
        data={"mine": [1, 2]},
    )
    match = e.similar(FRIDAY)[0]
    assert match.metrics == {"relationships.romantic": 55, "x": 0.5}
    assert (match.situation, match.action, match.domain, match.reward) == (FRIDAY, "call", "relationships", 0.72)
    assert (match.reasoning, match.tags, match.episode) == ("It keeps the evening.", ("evening",), "ep")
    assert (match.personality, match.record.data["mine"]) == ("Driver", [1, 2])
    assert match.record.text == f"{FRIDAY} Action: call Domain: relationships Reward: 0.72 It keeps the evening."


@given(
    rewards=st.lists(st.floats(-1, 1), min_size=1, max_size=30),
    floor=st.floats(-1, 1),
    n=st.integers(1, 12),
    states=st.lists(st.integers(0, 100), min_size=30, max_size=30),
)
def test_exactly_as_many_as_are_eligible_and_never_one_below_the_floor(rewards, floor, n, states):
    """Whatever is stored: min(n, eligible) results, all above the floor, scores falling and in [0, 1]."""
    with Memory(embedder="hashing") as memory:
        for place, reward in enumerate(rewards):
            memory.experience.record(FRIDAY, f"act {place % 4}", reward, metrics={"m": states[place]})
        found = memory.experience.similar(FRIDAY, {"m": 40}, n=n, min_reward=floor)
        assert len(found) == min(n, sum(reward >= floor for reward in rewards))
        assert all(match.reward >= floor for match in found)
        scores = [match.score for match in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_spaces_never_mix(make):
    """Vectors of another embedder are not compared (the seed mixed hash and MiniLM vectors)."""

    def one(texts):
        return np.tile(np.array([1, 0, 0, 0], np.float32), (len(texts), 1))

    def two(texts):
        return np.tile(np.array([1, 0, 0, 0], np.float32), (len(texts), 1))

    make(embedder=one).experience.record(FRIDAY, "call", 0.5)
    found = make(embedder=two).experience.similar("unrelated words")
    assert actions(found) == ["call"]
    assert found[0].similarity is None
    assert "dense" not in found[0].why


def test_rewards_of_any_size_rank(e):
    """Beyond what a 32-bit float holds the greater still comes first, or at least none is lost."""
    for name, reward in (("vast", 1e300), ("small", 0.5), ("low", -1e300)):
        e.record(FRIDAY, name, reward)
    assert actions(e.similar(FRIDAY, min_reward=None))[0] == "vast"
    assert len(e.similar(FRIDAY, min_reward=None)) == 3
