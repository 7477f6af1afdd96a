"""Hard forgetting across all memories: no byte of a person's secret stays in the store or in files made from it."""

from __future__ import annotations

import pytest

from seasoned import Key
from seasoned.playbook import Trace
from seasoned.runs import EpisodePromptContext, L1Atom, RunPolicy, TurnRecord
from seasoned.testing import ScriptedModel

from .helping import ids, stored_bytes

SECRET = "the vault code is 4711-XQ, says the xylophonic zebrafish"
PIECES = [b"4711-XQ", b"xylophon", b"zebrafish"]


class Spoken:
    """An atom for what was said in even turns."""

    def extract(self, window, existing_atoms):
        told = [turn for turn in window if turn.extra.get("said") and turn.turn % 2 == 0]
        return [L1Atom(f"said-{each.turn}", each.turn, "MARKET_EVENT", str(each.extra["said"]), 80) for each in told]


class Quoting:
    """Shows a model what was said in a phase."""

    def build_context(self, recent_turns, prev_episode_end_turn):
        said = " ".join(str(turn.extra.get("said", "")) for turn in recent_turns)
        return EpisodePromptContext(
            phase_names=["EARLY", "LATE"], domain_preamble="A shop.", context_summary=said, phase_guidance="One phase."
        )


def converse(memory, said):
    """Two messages of a person among others, and a summary that quotes the first."""
    filler = [{"role": "user", "content": f"Talk number {n} of rain and tea. " * 12} for n in range(20)]
    memory.conversation.add(
        [{"role": "user", "content": f"{said}. " * 9}, *filler], "s", ids=["m1", *(f"f{n}" for n in range(20))]
    )
    assert memory.conversation.summarise("s", ScriptedModel([f"They said: {said}"] * 20), budget=600).covered > 0


def run_through(memory, said, folder):
    """Two runs that left the same lesson; the first heard it in a turn with an atom and in one without."""
    runs = memory.runs.configure(Spoken(), Quoting(), policy=RunPolicy(extract_every=4, episode_every=4))
    for name, heard in (("first", {2: said, 6: "nothing", 7: said}), ("second", {2: "nothing"})):
        told = said if name == "first" else "nothing"
        runs.start_run(name)
        for turn in range(1, 9):
            runs.record_turn(TurnRecord(turn, 1.0, "EUR", [], [], {"said": heard[turn]} if turn in heard else {}))
            runs.extract_atoms(turn)
            name_of_phase = "EARLY" if turn < 5 else "LATE"
            runs.update_episode(ScriptedModel([f"[{name_of_phase} | T1-T{turn}]\nOf note: {told}"]), turn)
        runs.summarise_run(ScriptedModel([f"All was {told}.\n\n## Lessons\n- Mind that {said}."]), "trader", folder)


def learn(memory, said, source):
    """A decision with feedback, entries with a history and a block, a note with an old version; all from one record."""
    e, p = memory.experience, memory.playbook
    e.record(f"a guest: {said}", f"answer {said}", 0.5, reasoning=said, id="d1", sources=[source])
    e.rate(2, decision="d1", note=f"wrong, {said}")
    p.learn(Trace(id="t1", task=said, answer=f"I say {said}", reward=1.0, sources=(source,)))
    p.add(f"Never repeat that {said}", id="e1", sources=[source])
    p.add("Be polite.", id="e2")
    p.update("e1", content="Never repeat it.")
    p.add(f"Once it was that {said}", id="e3", sources=[source])
    p.remove("e3")
    assert p.block("r1", None, 4_000).ids
    memory.remember("an ordinary note", id="n0")
    memory.remember(f"noted: {said}", id="n1", sources=[source, Key(memory.scope, "note", "n0")])
    memory.update("n1", text=f"noted again: {said}")
    memory.remember("what follows from it", id="n2", data={"why": said}, sources=[Key(memory.scope, "note", "n1")])


def show(memory, said):
    """What a context leaves: the system part of a run, the log of what it showed, and what a person said of it."""
    memory.pin("n1")
    shown = memory.context(f"what of it: {said}", session="s", run="r1", profile="trader")
    assert {used.key.kind for used in shown.used} >= {"note", "lesson", "entry", "decision"}
    memory.outcome(shown.trace, rating=3, note=f"not good, {said}")
    return shown.trace


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "profiles"


@pytest.fixture
def full(opened, tmp_path, folder):
    """Alice's memory, in which everything tells of her secret, and the same of Bob with a harmless text."""
    path = tmp_path / "agent.db"
    alice = opened(path)
    bob = opened(alice.store, ("acme", "bob"))
    for memory, said in ((alice, SECRET), (bob, "the weather is mild")):
        converse(memory, said)
        run_through(memory, said, folder / memory.scope[-1])
        source = Key(memory.scope, "message", "m1")
        learn(memory, said, source)
        show(memory, said)
    alice.recall("zebrafish")
    return alice, bob


def left(tmp_path):
    """Which pieces of the secret are in the store's files and in the profiles."""
    found = stored_bytes(tmp_path / "agent.db")
    found += b"".join(path.read_bytes() for path in (tmp_path / "profiles").rglob("*") if path.is_file())
    return [piece for piece in PIECES if piece in found]


def test_forgetting_everything_leaves_no_byte_and_the_other_tenant_as_it_was(full, tmp_path, folder):
    """Every memory, history, snapshot, log and profile; the other's export is the same byte for byte."""
    alice, bob = full
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    bob.export(before)
    assert left(tmp_path) == PIECES
    receipt = alice.forget(everything=True, hard=True)
    assert left(tmp_path) == []
    assert (receipt.pending, receipt.left, receipt.stale) == ((), (), ())
    assert receipt.files == {
        str(folder / "alice" / "trader.md"): "removed",
        str(folder / "alice" / "trader.1.md"): "removed",
    }
    assert set(receipt.by_kind) >= {
        *("message", "summary", "turn", "atom", "episode", "lesson", "run", "profile"),
        *("decision", "feedback", "entry", "playbook-step", "playbook-layout", "note", "superseded"),
        *("context-snapshot", "context-trace", "context-outcome"),
    }
    bob.export(after)
    assert after.read_bytes() == before.read_bytes()
    assert (alice.check(), bob.check()) == ([], [])


def test_forgetting_a_message_leaves_no_byte_of_what_was_made_from_it(full, tmp_path):
    """Summary, decision and feedback, entries with their history, notes with their versions; turns are apart."""
    alice, _ = full
    receipt = alice.forget("m1", hard=True)
    assert {"message", "summary", "decision", "feedback", "entry", "note", "superseded"} <= set(receipt.by_kind)
    [trace] = alice.list(kinds=("context-trace",)).hits
    assert receipt.rewritten == (trace.id,)
    named = {name for _, name, *_ in trace.record.data["used"]}
    assert named
    assert named.isdisjoint(["m1", "d1", "e1", "n1", "n2"])
    alice.forget(["first/turn/2", "first/turn/7"], hard=True)
    assert left(tmp_path) == []
    assert ids(alice.list(kinds=("note",))) == ["n0"]
    assert [entry.content for entry in alice.playbook.entries()] == ["Be polite."]
    assert len(alice.conversation.messages("s")) == 20
    assert alice.check() == []


def test_forgetting_turns_leaves_no_byte_of_what_was_made_from_them(full, tmp_path, folder):
    """Atoms, episodes with or without an atom between, lessons that another run confirmed, retrospective, profile."""
    alice, _ = full
    alice.forget("m1", hard=True)
    assert left(tmp_path) == PIECES
    receipt = alice.forget(["first/turn/2", "first/turn/7"], hard=True)
    assert receipt.by_kind == {"turn": 2, "atom": 1, "episode": 2, "lesson": 1}
    [trace] = alice.list(kinds=("context-trace",)).hits
    assert sorted(receipt.rewritten) == sorted(["first", "second", "trader", trace.id])
    assert left(tmp_path) == []
    assert len(alice.runs.turns("first")) == 6
    assert len(alice.runs.turns("second")) == 8
    assert alice.check() == []


def test_what_another_source_bears_stays_after_a_soft_forget_and_is_named_in_the_receipt(full):
    """Notes, and the lesson that another run found as well; with them forgotten, too, nothing tells of it."""
    alice, _ = full
    receipt = alice.forget(["m1", "first/turn/2", "first/turn/7"])
    [lesson] = alice.runs.lessons("trader")
    assert sorted(receipt.stale) == ["n1", "n2", lesson.id]
    assert set(ids(alice.recall("xylophonic zebrafish", k=50))) == {"n1", lesson.id, "second"}
    assert "zebrafish" not in alice.playbook.block("r1", None, 4_000).text
    assert "zebrafish" not in str(alice.conversation.context(4_000, session="s").messages)
    alice.forget(receipt.stale)
    assert alice.recall("xylophonic zebrafish", k=50) == []
    assert alice.runs.load_prior_run_notes("trader") is not None
    assert "zebrafish" not in str(alice.runs.load_prior_run_notes("trader"))
