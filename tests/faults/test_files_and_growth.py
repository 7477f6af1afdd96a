"""What is reported of files: who may read them, how they grow, how long they take, and what is left after a reset."""

from __future__ import annotations

import os
import sqlite3
import stat
import statistics
import time
from contextlib import closing
from itertools import pairwise

import pytest

from seasoned import Memory
from seasoned.compat.lifestack import LifeStackMemory
from seasoned.ports import Put
from seasoned.records import Key, Record, Scope
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock

from .layers import say, turn

MANY = 20_000


def engine(name, folder):
    """A place that keeps what it holds, by the URL of its engine."""
    if name != "sqlite":
        pytest.importorskip({"qdrant": "qdrant_client", "chroma": "chromadb"}[name])
        return f"{name}://{folder / 'kept'}"
    return folder / "agent.db"


@pytest.mark.parametrize("name", ["sqlite", "qdrant", "chroma"])
def test_after_everything_is_forgotten_nothing_is_there_now_or_after_a_reopen(name, tmp_path):
    """No point, row or document is left behind, and what comes after is all there is."""
    with Memory(engine(name, tmp_path), embedder="hashing") as memory:
        for number in range(30):
            memory.remember(f"note {number} on tea")
        memory.conversation.add(say("tea, please"), "s")
        assert memory.forget(everything=True).total == 31
        assert (memory.count(), memory.recall("tea")) == (0, [])
    with Memory(engine(name, tmp_path), embedder="hashing") as memory:
        assert (memory.count(), memory.recall("tea"), memory.conversation.sessions()) == (0, [], [])
        memory.remember("tea again", id="only")
        assert [hit.id for hit in memory.recall("tea")] == ["only"]


DAMAGE = "UPDATE record SET data = '[broken' WHERE id LIKE '%-bad' AND kind NOT LIKE 'playbook%'"
BY_EVERY_READ = {
    "recall": lambda memory: {hit.id for hit in memory.recall("tea", k=20)},
    "list": lambda memory: {hit.id for hit in memory.list().hits},
    "search": lambda memory: {hit.id for hit in memory.conversation.search("tea", k=20)},
    "turns": lambda memory: {hit.id for hit in memory.conversation.turns("s")},
    "similar": lambda memory: {match.id for match in memory.experience.similar("tea", n=9)},
    "entries": lambda memory: {entry.id for entry in memory.playbook.entries()},
}


def test_a_row_that_cannot_be_read_breaks_no_read_of_the_others(tmp_path):
    """One of each kind is damaged: every read gives all others, the check names it, and it can be forgotten."""
    path = tmp_path / "agent.db"
    with Memory(path, embedder="hashing") as memory:
        for name in ("good", "bad"):
            memory.remember(f"tea {name}", id=f"n-{name}")
            memory.conversation.add(say(f"tea {name}"), "s", ids=f"m-{name}")
            memory.experience.record(f"tea {name}", "drink", 0.5, id=f"d-{name}")
            memory.playbook.add(f"Make tea, {name}.", id=f"e-{name}")
        whole = {name: read(memory) for name, read in BY_EVERY_READ.items()}
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(DAMAGE).rowcount == 4
        database.commit()
    with Memory(path, embedder="hashing") as memory:
        for name, read in BY_EVERY_READ.items():
            assert read(memory) == {each for each in whole[name] if each.endswith("-good")}, name
        assert memory.context("tea", session="s", trace=False).messages
        assert len(memory.check()) == 4
        assert memory.forget("n-bad", hard=True).ids == ("n-bad",)
        assert len(memory.check()) == 3


def write_all(folder):
    """Write what a memory can write to files, in every way."""
    with Memory(folder / "agent.db", embedder="hashing") as memory:
        memory.remember("tea")
        memory.experience.record("a situation", "an action", 0.5)
        memory.export(folder / "bundle.jsonl")
        memory.experience.export_preseed(folder / "preseed.json")
        memory.runs.start_run()
        for number in range(1, 4):
            memory.runs.record_turn(turn(number))
        for text in ("- Keep cash.", "- Keep more cash."):
            memory.runs.summarise_run(lambda _, text=text: f"## Lessons\n{text}", "trader", folder / "profiles")
            memory.runs.start_run()
            memory.runs.record_turn(turn(1))
    with Memory(engine("sqlite", folder), embedder="hashing") as memory:
        memory.remember("more tea")
    LifeStackMemory(path=folder / "lifestack", preseed=False, embedder="hashing").memory.close()


def modes(folder):
    """The modes of all files and folders below one, by name."""
    return {str(each.relative_to(folder)): stat.S_IMODE(each.stat().st_mode) for each in folder.rglob("*")}


@pytest.fixture
def open_umask():
    """A umask under which a new file is for all to read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.usefixtures("open_umask")
def test_every_file_and_folder_that_a_memory_makes_is_for_its_owner_alone(tmp_path):
    """Databases, bundles, files to start from, profiles and their versions, folders: 0600 and 0700."""
    write_all(tmp_path)
    found = modes(tmp_path)
    assert {"agent.db", "bundle.jsonl", "preseed.json", "profiles/trader.md", "profiles/trader.1.md"} <= set(found)
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("name", ["qdrant", "chroma"])
def test_the_folder_of_an_engine_lets_nobody_else_in(name, tmp_path):
    """Their clients write files for all to read: nobody but the owner gets into the folder that holds them."""
    with Memory(engine(name, tmp_path), embedder="hashing") as memory:
        memory.remember("tea")
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.usefixtures("open_umask")
def test_a_folder_that_was_there_keeps_its_mode(tmp_path):
    """Whoever made it decided who may read it."""
    shared = tmp_path / "profiles"
    shared.mkdir(0o755)
    with Memory(embedder="hashing") as memory:
        memory.runs.start_run()
        memory.runs.record_turn(turn(1))
        memory.runs.summarise_run(lambda _: "## Lessons\n- Keep cash.", "trader", shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755


def test_a_run_of_two_thousand_turns_grows_with_what_is_new(tmp_path, opened):
    """Each five hundred turns, their atoms and episodes take as much room as the five hundred before."""
    path, sizes = tmp_path / "agent.db", [0]
    for part in range(4):
        with Memory(path, embedder="hashing", durability="normal") as memory:
            memory.runs.start_run("long")
            for number in range(part * 500 + 1, part * 500 + 501):
                memory.runs.record_turn(turn(number, f"turn {number}: an ordinary sentence of some length"))
                memory.runs.extract_atoms(number)
                memory.runs.update_episode(None, number)
        sizes.append(path.stat().st_size)
    grown = [after - before for before, after in pairwise(sizes)]
    assert max(grown[1:]) < 1.5 * grown[0]
    assert sizes[-1] < 2_000 * 2_000


def filled(store, many):
    """Notes, written as any process could have."""
    scope = Scope(("default",))
    for start in range(0, many, 5_000):
        store.apply(
            [
                Put(Record(key=Key(scope, "note", f"n{number}"), text=f"fact {number} on {number % 97} rivers", at=0))
                for number in range(start, start + 5_000)
            ]
        )


def test_a_file_of_many_records_is_opened_at_once(tmp_path):
    """Opening reads no row: it works no longer than for an empty file, give or take a tenth of a second."""
    path = tmp_path / "agent.db"
    with closing(SQLiteStore(path, durability="normal", clock=FakeClock())) as store:
        filled(store, MANY)
    took = []
    for where in (tmp_path / "empty.db", path):
        began = time.thread_time()
        memory = Memory(where, embedder="hashing")
        took.append(time.thread_time() - began)
        if where == path:
            assert memory.count() == MANY
            assert memory.recall("fact 12345", k=1)[0].id == "n12345"
        memory.close()
    assert took[1] < took[0] + 0.1


def test_an_add_among_many_takes_as_long_as_among_few(place):
    """What the processor works for one note, at the median of a hundred, is the same after twenty thousand others."""
    with Memory(place, embedder="hashing", durability="normal") as memory:
        memory.remember("the first fact")
        memory.recall("fact")
        few = median_work(memory)
        filled(memory.store, MANY)
        memory.recall("fact")
        assert median_work(memory) < 2 * few + 0.000_2


def median_work(memory):
    """The median of a hundred adds, in seconds of this thread."""
    took = []
    for number in range(100):
        began = time.thread_time()
        memory.remember(f"one more fact, {number}")
        took.append(time.thread_time() - began)
    return statistics.median(took)


def test_a_thousand_records_are_forgotten_in_a_moment(place):
    """With what was made from each, in one call, of which the processor works for less than a second."""
    with Memory(place, embedder="hashing", durability="normal") as memory:
        memory.conversation.add([say(f"message {number} on tea") for number in range(1_000)], "s")
        memory.conversation.summarise("s", budget=500)
        began = time.thread_time()
        receipt = memory.forget(everything=True)
        assert time.thread_time() - began < 1
        assert receipt.by_kind == {"message": 1_000, "summary": 1}
        assert memory.count() == 0


def test_a_query_of_ten_thousand_characters_is_answered_in_a_moment(place):
    """Among twenty thousand records, by the word that is rare, in less than a second of the processor."""
    with Memory(place, embedder="hashing", durability="normal") as memory:
        filled(memory.store, MANY)
        memory.remember("a zeugma is a figure of speech", id="it")
        memory.warm()
        began = time.thread_time()
        found = memory.recall("fact on rivers " * 666 + "zeugma")
        assert time.thread_time() - began < 1
        assert found[0].id == "it"
