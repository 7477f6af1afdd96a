"""The ten faults that run memories before this one had, each with the right outcome."""

from __future__ import annotations

import math

import pytest

from seasoned.errors import InvalidInput, WrongType
from seasoned.runs import L1Atom, Streak, TurnRecord, load_prior_run_notes
from seasoned.runs.policy import RunPolicy
from seasoned.testing import ScriptedModel

from .domain import Losses, Outcome, Phases, ids, loss, play, turn

LOSSES = [11, 21, 31, 41, 51, 61, 71, 81, 91]


def test_1_a_loss_on_the_first_turn_of_a_window_is_seen(runs):
    """Losses that begin at turns 11, 21 … 91 give nine atoms of nine."""
    found = play(runs, range(1, 101), losses=LOSSES)
    assert ids(found) == [f"loss-start-{number}" for number in LOSSES]
    assert ids(runs.atoms()) == ids(found)


def test_1_windows_overlap_by_one_turn(make):
    """Each window begins with the last turn of the one before."""
    losses = Losses()
    play(make(atom_extractor=losses), range(1, 31))
    assert losses.windows == [[*range(1, 11)], [*range(10, 21)], [*range(20, 31)]]


def test_2_what_a_failed_model_was_to_read_is_read_by_the_next_episode(make):
    """It fails at turn 25 and works at 50: that episode has read turns 1 to 50."""
    phases = Phases()
    runs, model = (
        make(episode_classifier=phases),
        ScriptedModel([RuntimeError("down"), "[GROWTH | T1-T50]\nSteady gains."]),
    )
    play(runs, range(1, 26), model=model)
    assert "down" in runs.last_error
    assert runs.memory_block() is None
    play(runs, range(26, 51), model=model)
    assert runs.last_error is None
    assert phases.asked == [([*range(1, 26)], 0), ([*range(1, 51)], 0)]
    [episode] = runs.episodes()
    assert (episode.name, episode.turn_start, episode.turn_end) == ("GROWTH", 1, 50)
    assert len(model.calls) == 2


class Breaking:
    """Fails at its first calls."""

    def __init__(self, inner, times: int) -> None:
        self.inner, self.left = inner, times

    def _check(self) -> None:
        self.left -= 1
        if self.left >= 0:
            raise KeyError("no such column")

    def extract(self, window, existing_atoms):
        self._check()
        return self.inner.extract(window, existing_atoms)

    def build_context(self, turns, more):
        self._check()
        return self.inner.build_context(turns, more)


def test_2_a_window_at_which_the_extractor_failed_is_tried_again(make):
    """Its error raises nothing, is told, and costs no atom."""
    runs = make(atom_extractor=Breaking(Losses(), 1))
    assert play(runs, range(1, 11), losses=[5]) == []
    assert "KeyError" in runs.last_error
    assert runs.state().failed_windows == ((1, 10),)
    assert ids(play(runs, range(11, 21), losses=[12])) == ["loss-start-5", "loss-start-12"]
    assert runs.last_error is None
    assert runs.state().failed_windows == ()


def test_2_a_classifier_that_fails_loses_no_turn(make):
    """The next episode reads what it was to read."""
    inner = Phases()
    runs = make(episode_classifier=Breaking(inner, 1))
    play(runs, range(1, 51))
    assert inner.asked == [([*range(1, 51)], 0)]
    assert [(each.turn_start, each.turn_end) for each in runs.episodes()] == [(1, 50)]


def test_2_a_window_of_one_turn_is_not_dropped(make):
    """A loss right after it is seen, with that turn before it."""
    runs = make(policy=RunPolicy(extract_every=1))
    assert ids(play(runs, range(1, 4), losses=[2])) == ["loss-start-2"]


@pytest.mark.parametrize(
    ("reply", "name", "start", "end"),
    [
        ("[GROWTH | T1–T25]\nIt grew.", "GROWTH", 1, 25),
        ("[GROWTH | T1-T25]\nIt grew.", "GROWTH", 1, 25),
        ("[GROWTH|T1—T25] It grew.", "GROWTH", 1, 25),
        ("[growth | T1 to T25]\nIt grew.", "GROWTH", 1, 25),
        ("```\n[Recovery | T3−T25]\nIt came back.\n```", "Recovery", 3, 25),
        ("Sure! Here it is:\n\n**[DECLINE | T1‑T25]**\nIt fell.", "DECLINE", 1, 25),
        ("<think>GROWTH? no</think>[DECLINE | T1-T25]\nIt fell.", "DECLINE", 1, 25),
        ("Phase: Recovery\nIt came back.", "Recovery", 1, 25),
        ("GROWTH: it grew.", "GROWTH", 1, 25),
        ('{"phase": "growth", "narrative": "It grew."}', "GROWTH", 1, 25),
    ],
)
def test_3_a_reply_is_read_with_any_dash_fence_and_preface(make, reply, name, start, end):
    """The phase is one of those named, in their case, and the range is the right one."""
    runs = make(policy=RunPolicy(retries=0))
    play(runs, range(1, 26), model=ScriptedModel([reply]))
    [episode] = runs.episodes()
    assert (episode.name, episode.turn_start, episode.turn_end) == (name, start, end)
    assert episode.narrative.lower().startswith("it ")


@pytest.mark.parametrize(
    "reply",
    [
        "[NOT_GROWTH | T1-T25]\nIt fell.",
        "[SLOW_GROWTH_PHASE | T1-T25]\nIt crept.",
        "I'm sorry, I cannot help with GROWTH.",
        "[GROWTH | T1-T25]",
        "",
        "   \n",
        "NOT GROWTH: it fell.",
    ],
)
def test_3_no_phase_is_made_of_a_part_of_a_word_or_a_refusal(make, reply):
    """Such a reply is asked for again once, then the turns wait; no phase is invented."""
    runs, model = make(), ScriptedModel([reply, reply])
    play(runs, range(1, 26), model=model)
    assert runs.episodes() == []
    assert runs.last_error.startswith("model: ")
    assert len(model.calls) == 2
    assert (runs.state().model_calls, runs.state().retries) == (2, 1)
    assert runs.state().waiting_for_episode == 25


def test_3_the_second_question_says_what_was_wrong_with_the_reply(make):
    """And its reply is taken."""
    runs, model = make(), ScriptedModel(["[NOT_GROWTH | T1-T25]\nNo.", "[GROWTH | T1-T25]\nYes."])
    play(runs, range(1, 26), model=model)
    assert "'NOT_GROWTH' is none of GROWTH, DECLINE, Recovery" in model.calls[1].text
    assert [each.narrative for each in runs.episodes()] == ["Yes."]


def test_4_of_equal_priorities_the_newest_is_shown_first(runs):
    """The five observations are the newest five."""
    play(runs, range(1, 101), losses=LOSSES)
    block = runs.memory_block()
    assert block["key_observations"] == [loss(number).content for number in (91, 81, 71, 61, 51)]


def test_5_the_retrospective_sees_every_phase(make):
    """Seven phases, though five stay at hand."""
    names = ["GROWTH", "DECLINE"] * 3 + ["Recovery"]
    replies = [f"[{name} | T1-T1]\nPhase number {place}." for place, name in enumerate(names)]
    outcome = Outcome()
    runs, model = make(retro_classifier=outcome), ScriptedModel([*replies, "- Wait for the recovery."])
    play(runs, range(1, 176), model=model)
    assert runs.summarise_run(model) is not None
    assert outcome.asked == [(175, names)]
    assert [f"Phase number {place}." in model.calls[-1].text for place in range(7)] == [True] * 7


def test_6_lessons_accumulate_and_the_versions_before_are_kept(make, tmp_path):
    """The second run adds its lesson to that of the first."""
    runs = make()
    for place, text in enumerate(["Sell at the peak of winter.", "Build storage before the shortage."]):
        play(runs, range(1, 4))
        runs.summarise_run(ScriptedModel([f"Run {place}.\n\n## Lessons\n- {text}"]), "bot", tmp_path)
    profile = (tmp_path / "bot.md").read_text()
    assert "- Sell at the peak of winter. (1 run)" in profile
    assert "- Build storage before the shortage. (1 run)" in profile
    assert "Run 1." in profile
    assert "Run 0." in (tmp_path / "bot.1.md").read_text()


def test_6_an_empty_reply_never_replaces_a_profile(make, tmp_path):
    """The file stays as it was, and the next summary reads the run too."""
    runs = make()
    play(runs, range(1, 4))
    runs.summarise_run(ScriptedModel(["- Sell early."]), "bot", tmp_path)
    before = (tmp_path / "bot.md").read_bytes()
    play(runs, range(1, 4))
    assert runs.summarise_run(ScriptedModel(["", " \n"]), "bot", tmp_path) is None
    assert "empty" in runs.last_error
    assert (tmp_path / "bot.md").read_bytes() == before


@pytest.mark.parametrize(
    "bad", ["../x", "a/b", "a\\b", "..", ".", ".hidden", "a..b", "", "  ", "x\0", "a\n", "con", "bot.1", "x" * 101]
)
def test_6_an_unsafe_profile_id_is_refused_before_anything_is_written(make, tmp_path, bad):
    """In every verb that takes one; the run stays open."""
    runs = make()
    play(runs, range(1, 4))
    for call in (
        lambda: runs.summarise_run(None, bad, tmp_path / "p"),
        lambda: runs.load_prior_run_notes(bad),
        lambda: load_prior_run_notes(bad, tmp_path),
    ):
        with pytest.raises(InvalidInput):
            call()
    assert list(tmp_path.glob("**/*.md")) == []
    assert runs.state().open


def test_7_the_unit_and_the_metric_stand_in_the_prompts(make):
    """Of the reward in an episode's, of the outcome in a retrospective's."""
    runs, model = make(), ScriptedModel(["[GROWTH | T1-T25]\nIt grew.", "- Go on."])
    play(runs, range(1, 26), model=model)
    runs.summarise_run(model)
    assert "Reward a turn in EUR: 1 on average" in model.calls[0].text
    assert "What counts is net profit." in model.calls[1].text


def test_7_heat_counts_how_often_an_episode_was_shown_and_nothing_else(make):
    """Extending it adds none."""
    runs, model = make(), ScriptedModel(["[GROWTH | T1-T25]\nIt grew.", "[GROWTH | T1-T50]\nIt grew on."])
    play(runs, range(1, 26), model=model)
    for _ in range(3):
        assert runs.memory_block() is not None
    play(runs, range(26, 51), model=model)
    [episode] = runs.episodes()
    assert (episode.heat, episode.turn_end, episode.narrative) == (3, 50, "It grew on.")


def test_8_the_turn_after_a_summary_begins_the_next_run(make, tmp_path):
    """It has its own atoms and episodes, though its turns begin at 1 again."""
    runs = make()
    play(runs, range(1, 31), losses=[11])
    runs.summarise_run(None, "bot", tmp_path)
    found = play(runs, range(1, 31), losses=[11, 21])
    assert ids(found) == ["loss-start-11", "loss-start-21"]
    assert [(each.id, each.status, each.turns) for each in runs.list_runs()] == [
        ("run-2", "open", 30),
        ("run-1", "closed", 30),
    ]
    assert len(runs.atoms("run-1")) == 1


def test_8_a_short_run_writes_a_profile(make, tmp_path):
    """Three turns are a run."""
    runs = make()
    play(runs, range(1, 4), losses=[2])
    summary = runs.summarise_run(ScriptedModel(["- Do not lose at once."]), "bot", tmp_path)
    assert summary.path == tmp_path / "bot.md"
    assert "Do not lose at once. (1 run)" in summary.path.read_text()
    assert ids(runs.atoms("run-1")) == ["loss-start-2"]
    assert len(runs.episodes("run-1")) == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "much", None, True])
def test_9_a_reward_that_is_no_finite_number_is_refused(bad):
    """When the turn is made."""
    with pytest.raises((InvalidInput, WrongType), match="reward"):
        TurnRecord(1, bad, "EUR", [], [])


@pytest.mark.parametrize("bad", ["high", 101, -1, 50.5, None, True])
def test_9_a_priority_out_of_range_is_refused(bad):
    """When the atom is made."""
    with pytest.raises((InvalidInput, WrongType), match="priority"):
        L1Atom("a", 1, "market_event", "Something.", bad)


def test_9_a_turn_that_is_there_or_lies_before_is_refused(runs):
    """The same record again is a duplicate; nothing else changes what is stored."""
    play(runs, [1, 2, 5])
    again = runs.record_turn(turn(5))
    assert (again.status, again.id) == ("duplicate", "run-1/turn/5")
    with pytest.raises(InvalidInput, match="turn 5 of run-1 is recorded already"):
        runs.record_turn(turn(5, 7.0))
    with pytest.raises(InvalidInput, match="turn 3 is not after turn 5"):
        runs.record_turn(turn(3))
    play(runs, [6])
    assert [each.turn for each in runs.turns()] == [1, 2, 5, 6]


def test_10_a_streak_is_of_consecutive_turns(make):
    """Three losses scattered over a window are none; three in a row are one, across windows too."""
    runs = make(atom_extractor=Streak(3))
    assert play(runs, range(1, 11), losses=[2, 5, 8]) == []
    [atom] = play(runs, range(11, 31), losses=[19, 20, 21, 22])
    assert (atom.turn, atom.turns) == (21, [19, 20, 21])
