"""The chain from a lesson down to turns, what forgetting does to it, scopes, threads and processes."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from seasoned import Memory
from seasoned.errors import Conflict, InvalidInput, NotFound, StoreClosed
from seasoned.explain import described, explain
from seasoned.ports import Put
from seasoned.records import Key, Record, Scope
from seasoned.runs import RunMemory
from seasoned.stores.memory import MemoryStore
from seasoned.testing import ScriptedModel

from .domain import Losses, Outcome, Phases, ids, play, turn

SCOPE = Scope(("acme", "bot"))


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m.db", scope=("acme", "bot"), embedder="hashing") as opened:
        opened.runs.configure(Losses(), Phases(), Outcome())
        yield opened


def test_a_lesson_is_followed_down_to_its_turns(memory):
    """Lesson, episode, atoms, turns: each names the one below."""
    play(memory.runs, range(1, 31), losses=[11, 21])
    [lesson] = memory.runs.summarise_run(ScriptedModel(["- Do not sell in spring."]), "bot").lessons
    chain = memory.runs.explain(lesson.id)
    assert [(one.key.kind, one.key.id) for one in chain.walk()] == [
        ("lesson", lesson.id),
        ("episode", "run-1/episode/1"),
        ("atom", "run-1/atom/loss-start-11"),
        ("turn", "run-1/turn/11"),
        ("atom", "run-1/atom/loss-start-21"),
        ("turn", "run-1/turn/21"),
    ]
    assert described(chain).splitlines()[0] == f"lesson {lesson.id}: Do not sell in spring."
    assert described(chain, 2).splitlines()[-1] == "…"


def test_what_was_forgotten_is_shown_nowhere(memory):
    """Forgetting a turn takes its atoms, its episode and its lesson along; the run goes on."""
    runs = memory.runs
    play(runs, range(1, 31), losses=[11, 21])
    assert len(runs.memory_block()["key_observations"]) == 2
    memory.forget("run-1/turn/11")
    assert runs.memory_block() == {"current_phase": "", "key_observations": ["T21: Turned unprofitable (reward -1.0)."]}
    play(runs, range(31, 51), losses=[41])
    assert [(each.turn_start, each.turn_end) for each in runs.episodes()] == [(26, 50)]
    memory.forget(everything=True)
    assert runs.memory_block() is None or runs.memory_block()["key_observations"] == []
    assert memory.count() == 0


def test_a_run_that_was_forgotten_whole_begins_anew(memory):
    """The next turn opens a run."""
    runs = memory.runs
    play(runs, range(1, 10))
    memory.forget(everything=True)
    runs.record_turn(turn(10))
    with pytest.raises(Conflict):
        runs.extract_atoms(10)
    assert runs.state().run_id is None
    runs.record_turn(turn(1))
    assert runs.state().run_id == "run-1"


def test_an_explanation_of_nothing_is_not_found(memory):
    """Nor of a blank id, nor of what lies in another scope."""
    play(memory.runs, range(1, 3))
    with pytest.raises(NotFound, match="nothing"):
        memory.runs.explain("nothing")
    with pytest.raises(InvalidInput):
        memory.runs.explain(" ")
    with pytest.raises(NotFound):
        memory.within("below").runs.explain("run-1/turn/1")
    with pytest.raises(NotFound, match="no run 'x'"):
        memory.runs.turns("x")


def test_a_circle_of_sources_and_one_that_is_gone_end_the_walk():
    """Each record is told once, and what is gone says so."""
    store, at = MemoryStore(), datetime(2026, 1, 1, tzinfo=UTC)
    a, b, gone = (Key(SCOPE, "note", name) for name in ("a", "b", "gone"))
    rows = [Record(key=a, text="A", at=at, sources=(b, gone)), Record(key=b, text="B", at=at, sources=(a, b))]
    store.apply([Put(row) for row in rows])
    chain = explain(store, SCOPE, "a")
    assert [one.key.id for one in chain.walk()] == ["a", "b", "gone"]
    assert [one.hit is None for one in chain.walk()] == [False, False, True]
    assert "note gone: gone" in described(chain)


def test_a_scope_sees_nothing_of_another(memory):
    """Runs of the same name lie side by side."""
    other = memory.within("other").runs
    play(memory.runs, range(1, 21), losses=[11])
    play(other, range(1, 4))
    assert len(memory.runs.turns("run-1")) == 20
    assert len(other.turns("run-1")) == 3
    assert ids(other.atoms("run-1")) == []
    assert other.lessons() == []


def test_search_finds_atoms_episodes_and_lessons_and_no_turn(memory):
    """Each with its kind."""
    play(memory.runs, range(1, 31), losses=[11])
    memory.runs.summarise_run(ScriptedModel(["- Unprofitable springs call for storage."]), "bot")
    kinds = {hit.record.key.kind for hit in memory.recall("unprofitable", k=50)}
    assert {"atom", "episode", "lesson"} <= kinds
    assert "turn" not in kinds


def test_a_closed_memory_says_so(tmp_path):
    """In every verb."""
    memory = Memory(tmp_path / "m.db", embedder="hashing")
    runs = memory.runs
    play(runs, range(1, 3))
    memory.close()
    with pytest.raises(StoreClosed):
        runs.record_turn(turn(3))
    with pytest.raises(StoreClosed):
        memory.runs  # noqa: B018  # asking for it is the test


def test_threads_share_a_run(store):
    """Each turn of eight threads is stored once; the others are refused or come too late."""
    runs = RunMemory(store, SCOPE, atom_extractor=Losses(), episode_classifier=Phases(), retro_classifier=Outcome())
    written, lock, numbers = [], threading.Lock(), iter(range(1, 201))

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
                if number is None:
                    return
                written.append(runs.record_turn(turn(number)).status)
            runs.extract_atoms(number)
            runs.update_episode(None, number)
            runs.memory_block()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written == ["written"] * 200
    assert [each.turn for each in runs.turns()] == [*range(1, 201)]
    spans = [(each.turn_start, each.turn_end) for each in runs.episodes()]
    assert spans[0][0] == 1
    assert runs.state().last_error is None


def test_two_processes_on_one_run_never_store_a_turn_twice(make):
    """The second to come is told what is there, and goes on behind it."""
    one, other = make(), make()
    one.record_turn(turn(1))
    other.record_turn(turn(2))
    with pytest.raises(InvalidInput, match="turn 2 of run-1 is recorded already"):
        one.record_turn(turn(2, 9.0))
    one.record_turn(turn(3))
    assert [each.turn for each in make().turns()] == [1, 2, 3]


def test_a_name_of_a_run_may_hold_a_slash_and_none_imitates_another(make):
    """Their turns stay apart."""
    runs = make()
    for name in ("a/turn/1", "a", "a%2Fturn"):
        runs.start_run(name)
        runs.record_turn(turn(1))
    assert [len(runs.turns(name)) for name in ("a/turn/1", "a", "a%2Fturn")] == [1, 1, 1]
    for bad in ("", " ", "x" * 201, "a\0"):
        with pytest.raises(InvalidInput):
            runs.start_run(bad)
    runs.start_run("a")
    runs.summarise_run(None)
    with pytest.raises(InvalidInput, match="the run 'a' is over"):
        runs.start_run("a")
