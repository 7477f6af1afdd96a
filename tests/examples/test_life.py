"""The life of conflicts: its rules, what the person says, and that the agent learns from nothing but its memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples.life.__main__ import PRESEED, main
from examples.life.agent import LifeStackAgent
from examples.life.catalogue import CHANCES, CONFLICTS, COSTS, USUAL, wellbeing
from examples.life.episode import Episode
from examples.life.export_preseed import main as export_main
from examples.life.figures import figures
from examples.life.lives import ARMS, FEEDBACK, WITH, WITHOUT, compare, live
from examples.life.person import asked
from examples.life.shapes import STEPS, Act, Action, Budget, Domain, Outcome, Seen
from examples.life.world import Life, Luck
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(embedder="hashing") as opened:
        yield opened


def friday(**changes: object) -> Seen:
    """Return how a Friday-evening pile-up begins."""
    given = {
        "title": "Friday-evening pile-up",
        "wording": "Six on Friday.",
        "open": {Domain.CAREER: 3, Domain.RELATIONSHIPS: 2},
        "metrics": dict(USUAL),
        "budget": Budget(6, 200),
        "left": STEPS,
    }
    return Seen(**{**given, **changes})


# the rules


def test_wellbeing_is_the_mean_goodness():
    """95 of workload is as good as 5 of standing: the mean of 60 and 5 is 32.5."""
    assert wellbeing({"career.standing": 60, "career.workload": 95}) == 32.5


def test_every_kind_makes_three_demands_in_three_wordings():
    """Severities are 3, 2 and 1, and no domain is named twice."""
    assert len(CONFLICTS) == 12
    for conflict in CONFLICTS:
        assert sorted(conflict.demands.values()) == [1, 2, 3]
        assert len(set(conflict.wordings)) == 3


def test_the_chances_are_those_of_the_rules():
    """Two corners and one cell of the table."""
    assert CHANCES[Act.COMMUNICATE][Domain.CAREER] == 0.35
    assert CHANCES[Act.ORGANISE][Domain.TIME] == 0.45
    assert CHANCES[Act.REST][Domain.PHYSICAL_HEALTH] == 0.55


def test_luck_does_not_depend_on_what_the_agent_does():
    """Whatever is done, the next episode of a life begins the same."""
    life = Life.of(2)
    busy = Episode(life, 1)
    busy.step(Action(Act.REST, busy.luck.conflict.domains[0]))
    assert Episode(life, 2).seen() == Episode(Life.of(2), 2).seen()
    assert Episode(life, 1).seen() != busy.seen()


def test_an_open_demand_costs_wellbeing():
    """A step without an action costs 2 x (3 + 2 + 1) on two metrics each: 24 / 12 = 2 points, so 0.2."""
    quiet = next(
        episode
        for episode in (Episode(Life.of(1), number) for number in range(1, 50))
        if all(36 < value < 64 for value in episode.seen().metrics.values())
    )
    assert quiet.step(None).reward == pytest.approx(-0.2)


def test_what_works_meets_the_demand_and_the_same_again_has_the_same_outcome():
    """A demand that is met is closed and its severity rewarded; one that is not stays open, however often tried."""
    life, met, failed = Life.of(1), 0, 0
    for number in range(1, 25):
        episode = Episode(life, number)
        domain = episode.luck.conflict.domains[0]
        works = life.works[episode.luck.conflict.title]
        action = next(one for one in (Action(act, domain) for act in Act) if (one in works) is bool(number % 2))
        outcome = episode.step(action)
        assert (domain in episode.seen().open) is not outcome.met
        if outcome.met:
            met += 1
            assert outcome.reward > 0.3
        else:
            failed += 1
            assert episode.step(action).met is False
    assert met
    assert failed


def test_what_the_budget_does_not_cover_is_not_done():
    """Of 350 EUR at most, 150 can be spent twice; the third time nothing is done."""
    episode = Episode(Life.of(1), 1)
    for domain in episode.luck.conflict.domains:
        episode.step(Action(Act.SPEND, domain))
    assert len(episode.taken) <= episode.luck.budget.money // COSTS[Act.SPEND].money


@given(st.integers(1, 10_000), st.integers(1, 50), st.lists(st.sampled_from(Act), min_size=STEPS, max_size=STEPS))
@settings(max_examples=40)
def test_metrics_never_leave_their_range(seed, number, acts):
    """Whatever is done, they stay within 0 to 100, the budget is never overdrawn, and an episode has five steps."""
    episode = Episode(Life.of(seed), number)
    for act in acts:
        episode.step(Action(act, next(iter(episode.seen().open), Domain.TIME)))
        seen = episode.seen()
        assert all(0 <= value <= 100 for value in seen.metrics.values())
        assert seen.budget.covers(Budget(0, 0))
    assert episode.over


@given(st.integers(1, 10_000))
@settings(max_examples=40)
def test_something_always_works(seed):
    """For each demand of each kind, a life has an action that works."""
    life = Life.of(seed)
    for conflict in CONFLICTS:
        assert set(conflict.domains) <= {action.domain for action in life.works[conflict.title]}


# the person


def test_the_person_speaks_of_what_came_after():
    """The domains that are named are those whose aftermaths sum to more than 0.1 either way; ratings are 0 to 10."""
    life = Life.of(1)
    spoken = 0
    for number in range(1, 20):
        episode = Episode(life, number)
        action = Action(Act.POSTPONE, episode.luck.conflict.domains[0])
        episode.step(action)
        said = asked(episode)
        assert (said is not None) is Luck.of(1, number).speaks
        if said is not None:
            spoken += 1
            after = life.aftermath[action]
            assert said.improved == ((action.domain,) if after > 0.1 else ())
            assert said.worsened == ((action.domain,) if after < -0.1 else ())
            assert 0 <= said.rating <= 10
    assert spoken


# the agent


def test_without_memory_the_agent_goes_by_what_everybody_is_told():
    """Delegating works most often of all for a career (45 %), and severity 3 is worth more than 2 at 55 %."""
    assert LifeStackAgent().plan(friday()).best(friday(), frozenset()) == Action(Act.DELEGATE, Domain.CAREER)


def test_an_empty_memory_changes_nothing(memory):
    """The agent with a memory that has nothing to say expects what the one without memory expects."""
    assert LifeStackAgent(memory.experience).plan(friday()) == LifeStackAgent().plan(friday())


def test_the_agent_repeats_what_worked_and_avoids_what_did_not(memory):
    """After delegating failed and resting worked, it rests, and reads of both in the block."""
    agent = LifeStackAgent(memory.experience)
    for number, (act, met, reward) in enumerate([(Act.DELEGATE, False, -0.2), (Act.REST, True, 0.8)] * 2):
        outcome = Outcome(action=Action(act, Domain.CAREER), met=met, reward=reward)
        agent.remember_step(f"e{number}", friday(), outcome)
        agent.remember_episode(f"e{number}", friday(), [outcome], None)
    plan = agent.plan(friday())
    assert plan.best(friday(), frozenset()) == Action(Act.REST, Domain.CAREER)
    assert "[REST] on CAREER" in plan.read
    assert "Avoid: [DELEGATE] on CAREER" in plan.read


def test_what_the_person_says_lowers_what_is_expected(memory):
    """The same decisions are worth less once the person says that the domain came out worse."""
    agent, action = LifeStackAgent(memory.experience), Action(Act.REST, Domain.CAREER)
    outcome = Outcome(action=action, met=True, reward=0.8)
    agent.remember_step("e1", friday(), outcome)
    agent.remember_episode("e1", friday(), [outcome], None)
    before = agent.plan(friday()).expected[action]
    memory.experience.rate(2, episode="e1", note="It came back.", worsened=["career"])
    plan = agent.plan(friday())
    assert plan.expected[action] < before
    assert "It came back." in plan.read


def test_the_agent_keeps_nothing_itself(memory):
    """A new agent with the same memory plans as the one that lived."""
    live(1, LifeStackAgent(memory.experience), range(1, 4))
    seen = Episode(Life.of(1), 4).seen()
    old, new = LifeStackAgent(memory.experience), LifeStackAgent(memory.within().experience)
    assert old.plan(seen) == new.plan(seen) != LifeStackAgent().plan(seen)


# lives


def test_the_arms_differ_by_memory_alone(memory):
    """The first episode is the same for all, as nothing is known yet; the rewards of one life can be lived again."""
    lived = compare([1], memory, 6)
    assert len({lived[0].rewards[arm][0] for arm in ARMS}) == 1
    with Memory(embedder="hashing") as other:
        assert compare([1], other, 6) == lived


def test_figures_are_paired_over_lives(memory):
    """The gain is the mean difference, and fewer than five lives give no interval."""
    found = figures(compare([1, 2], memory, 3))
    assert found.differences[WITH].mean == pytest.approx(found.means[WITH] - found.means[WITHOUT])
    assert found.differences[FEEDBACK].interval is None
    assert len(found.curves[WITH]) == 3


def test_the_files_to_start_with_are_those_that_the_exporter_writes(tmp_path, capsys):
    """Exporting twice gives the same bytes, and the shipped files have that name, form and first decision."""
    for name in ("one", "two"):
        assert export_main(["--out", str(tmp_path / name)]) == 0
    assert "preseeded_memory_3.json" in capsys.readouterr().out
    shipped = sorted(PRESEED.glob("*.json"))
    assert len(shipped) == 3
    for path in shipped:
        one, two = (tmp_path / name / path.name for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        old, new = (json.loads(each.read_text(encoding="utf-8")) for each in (path, one))
        assert (old.keys(), old["decisions"][0]) == (new.keys(), new["decisions"][0])


def test_the_files_to_start_with_are_read_whole(memory):
    """All records of the three files are written, none is refused, and they change the first plan."""
    report = memory.experience.preseed(sorted(PRESEED.glob("*.json")))
    assert (report.written, report.refused) == (report.read, ())
    seen = Episode(Life.of(1), 1).seen()
    assert LifeStackAgent(memory.experience).plan(seen) != LifeStackAgent().plan(seen)


def test_the_example_runs_from_the_command_line(tmp_path, capsys):
    """It prints JSON, and leaves the result and the database."""
    out, db = tmp_path / "out", tmp_path / "life.db"
    arguments = ["--seeds", "1", "--first", "1", "--episodes", "2", "--out", str(out), "--json", "--preseed"]
    assert main([*arguments, "--db", str(db)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(Path(out / "result.json").read_text(encoding="utf-8"))
    assert set(printed["means"]) == set(ARMS)
    assert main([*arguments, "--db", str(db)]) == 1
    assert "is there already" in capsys.readouterr().err


def test_the_table_names_the_arms(tmp_path, capsys, monkeypatch):
    """Three agents, and a word on the interval that two lives cannot give."""
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["--seeds", "2", "--first", "1", "--episodes", "2", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "with memory and feedback" in printed
    assert "An interval needs 5 lives" in printed
