"""Forgetting across the layers: what a run, its lessons and profile files, and a playbook are left without."""

from __future__ import annotations

import pytest

from seasoned import Key
from seasoned.playbook import Trace
from seasoned.query import Query
from seasoned.runs import L1Atom, RunPolicy, TurnRecord
from seasoned.testing import ScriptedModel

from .helping import ids

SECRET = "zebrafish"


class Spoken:
    """An atom for each turn in which something was said."""

    def extract(self, window, existing_atoms):
        told = [turn for turn in window if turn.extra.get("said")]
        return [L1Atom(f"said-{each.turn}", each.turn, "MARKET_EVENT", str(each.extra["said"]), 80) for each in told]


def turn_of(number, said=None):
    return TurnRecord(number, 1.0, "EUR", [], [{"type": "hold"}], {} if said is None else {"said": said})


def play(memory, name, said, lessons, folder=None):
    """A run of ten turns in which something is said, and the lessons that a model takes from it."""
    runs = memory.runs.configure(Spoken(), policy=RunPolicy(extract_every=5, episode_every=10))
    runs.start_run(name)
    for turn in range(1, 11):
        runs.record_turn(turn_of(turn, said.get(turn)))
        runs.extract_atoms(turn)
        runs.update_episode(None, turn)
    reply = f"It went on and on, {'; '.join(said.values())}.\n\n## Lessons\n" + "\n".join(
        f"- {each}" for each in lessons
    )
    return runs.summarise_run(ScriptedModel([reply]), "trader", folder)


def stored(memory, *kinds):
    return memory.store.find(Query(scope=memory.scope, kinds=kinds, k=1000)).hits


def test_a_run_stays_a_run_when_a_turn_is_forgotten(alice):
    """Its head keeps its place without outcome and retrospective; the other turns are read as before."""
    play(alice, "first", {3: SECRET}, ["Feed the fish early."])
    receipt = alice.forget("first/turn/3")
    assert receipt.by_kind == {"turn": 1, "atom": 1, "episode": 1, "lesson": 1}
    assert sorted(receipt.rewritten) == ["first"]
    assert [turn.turn for turn in alice.runs.turns("first")] == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert [run.id for run in alice.runs.list_runs()] == ["first"]
    assert alice.runs.load_prior_run_notes("trader") is None
    assert alice.recall(SECRET) == []


def test_an_episode_goes_with_a_turn_that_no_atom_speaks_of(alice):
    """It was written from all turns of its phase."""
    play(alice, "first", {3: "calm"}, [])
    assert alice.forget("first/turn/7").by_kind == {"turn": 1, "episode": 1}


def test_a_run_under_way_goes_on_after_a_turn_of_it_was_forgotten(alice):
    """The process that writes it is not disturbed."""
    runs = alice.runs.configure(Spoken())
    for turn in range(1, 16):
        runs.record_turn(turn_of(turn, SECRET if turn == 3 else None))
        runs.extract_atoms(turn)
    alice.forget("run-1/turn/3")
    for turn in range(16, 31):
        runs.record_turn(turn_of(turn))
        runs.extract_atoms(turn)
        runs.update_episode(None, turn)
    assert runs.state().last_error is None
    assert len(runs.turns()) == 29


def test_a_lesson_of_two_runs_outlives_one_of_them(alice):
    """It is marked until a later run confirms it again."""
    play(alice, "first", {3: "calm"}, ["Feed the fish early."])
    play(alice, "second", {4: "calm"}, ["Feed the fish early.", "Buy a net."])
    receipt = alice.forget(where={"data.run": "second"})
    assert receipt.by_kind == {"turn": 10, "atom": 1, "episode": 1, "run": 1, "profile": 1, "lesson": 1}
    [lesson] = alice.runs.lessons("trader")
    assert (lesson.text, receipt.stale) == ("Feed the fish early.", (lesson.id,))
    assert [key.id for key in lesson.sources] == ["first/episode/1"]
    play(alice, "third", {4: "calm"}, ["Feed the fish early."])
    assert [hit.record.data.get("stale") for hit in stored(alice, "lesson")] == [None]


def test_a_forgotten_lesson_leaves_the_profile_file_at_once(alice, tmp_path):
    """The file is written anew from what is left, the version before it is kept and named in the receipt."""
    play(alice, "first", {3: "calm"}, ["Feed the fish early.", f"Sell the {SECRET}."], tmp_path)
    path, before = tmp_path / "trader.md", tmp_path / "trader.1.md"
    assert SECRET in path.read_text()
    lesson = next(each for each in alice.runs.lessons("trader") if SECRET in each.text)
    assert alice.forget(lesson.id, dry_run=True).files == {str(path): "rewritten"}
    assert SECRET in path.read_text()
    receipt = alice.forget(lesson.id)
    assert (receipt.rewritten, receipt.files) == (("first", "trader"), {str(path): "rewritten"})
    assert SECRET not in path.read_text()
    assert "- Feed the fish early. (1 run)" in path.read_text()
    assert SECRET in before.read_text()
    assert ids(alice.recall(SECRET)) == []
    assert [run.retrospective for run in alice.runs.list_runs()] == ["It went on and on, calm."]
    play(alice, "second", {3: "calm"}, ["Buy a net."], tmp_path)
    assert sorted(each.text for each in alice.runs.lessons("trader")) == ["Buy a net.", "Feed the fish early."]


def test_a_hard_forget_leaves_no_version_of_a_profile_that_tells_of_it(alice, tmp_path):
    """The file is rewritten, or removed where nothing is left; the versions before it are removed."""
    play(alice, "first", {3: SECRET}, [f"Sell the {SECRET}."], tmp_path)
    play(alice, "second", {3: "calm"}, ["Buy a net."], tmp_path)
    path, before = tmp_path / "trader.md", tmp_path / "trader.1.md"
    receipt = alice.forget("first/turn/3", hard=True)
    assert receipt.files == {str(path): "rewritten", str(before): "removed"}
    assert not before.exists()
    assert SECRET not in path.read_text()
    assert "It went on and on, calm." in path.read_text()
    receipt = alice.forget(everything=True, hard=True)
    assert receipt.files == {str(path): "removed"}
    assert list(tmp_path.glob("trader*")) == []


def test_lines_that_others_wrote_to_a_profile_stay(alice, tmp_path):
    """Even where nothing of our own is left."""
    play(alice, "first", {3: SECRET}, [f"Sell the {SECRET}."], tmp_path)
    path = tmp_path / "trader.md"
    path.write_text(path.read_text().replace("## The last run", "- Ask the keeper. (2 runs)\n\n## The last run"))
    assert alice.forget(everything=True, hard=True).files == {str(path): "rewritten"}
    assert "- Ask the keeper. (2 runs)" in path.read_text()
    assert SECRET not in path.read_text()


def test_a_file_that_is_no_profile_is_left_alone(alice, tmp_path):
    """Whatever a record says of its place."""
    play(alice, "first", {3: SECRET}, [f"Sell the {SECRET}."], tmp_path)
    path = tmp_path / "trader.md"
    path.write_text("my own diary")
    assert alice.forget(everything=True, hard=True).files == {}
    assert path.read_text() == "my own diary"


def test_an_entry_that_two_runs_taught_outlives_one_of_them(alice):
    """The playbook goes on: it is shown, changed and rolled back as before."""
    for name in "ab":
        alice.remember(f"run {name}", id=name)
        alice.playbook.add("Read the manual first.", sources=[Key(alice.scope, "note", name)])
    [entry] = alice.playbook.entries()
    receipt = alice.forget("a")
    assert (receipt.derived, receipt.stale) == ((), (entry.id,))
    assert alice.playbook.get(entry.id).sources == (Key(alice.scope, "note", "b"),)
    assert alice.playbook.block("r1", None, 500).ids == (entry.id,)
    alice.playbook.tag(entry.id, "helpful")
    assert alice.playbook.get(entry.id).counts.helpful == 1
    assert len(alice.playbook.history(entry.id)) == 3
    receipt = alice.forget("b")
    assert receipt.by_kind["entry"] == 1
    assert alice.playbook.entries() == alice.playbook.history() == []
    assert stored(alice, "playbook-id", "playbook-step", "playbook-layout") == []


def test_an_entry_that_a_trace_taught_goes_with_the_run_that_the_trace_names(alice):
    """Hard: with any turn of the run."""
    play(alice, "first", {3: SECRET}, [])
    trace = Trace(
        id="t1", task="fish", answer=f"sell the {SECRET}", reward=1.0, sources=(Key(alice.scope, "run", "first"),)
    )
    alice.playbook.learn(trace)
    assert any(SECRET in entry.content for entry in alice.playbook.entries())
    assert alice.forget("first/turn/3", dry_run=True, hard=True).by_kind["entry"] > 0
    alice.forget("first/turn/3", hard=True)
    assert alice.playbook.entries() == []


@pytest.mark.parametrize("hard", [False, True])
def test_forgetting_in_a_conversation_reaches_what_was_made_of_a_message(alice, hard):
    """`conversation.forget` follows the same rules."""
    alice.conversation.add([{"role": "user", "content": f"I keep {SECRET}"}], "s", ids=["m1"])
    alice.remember("a keeper of fish", id="n", sources=[Key(alice.scope, "message", "m1")])
    receipt = alice.conversation.forget("m1", hard=hard)
    assert (receipt.ids, receipt.derived) == (("m1",), ("n",))
