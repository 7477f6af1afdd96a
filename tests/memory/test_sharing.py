"""One memory for many: threads, processes, other readers; caches that are small, stored indexes that are reused."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress

import pytest

from seasoned import Memory, MemoryStore, SQLiteStore, Status
from seasoned.errors import Conflict, InvalidInput, StoreClosed, WrongType

from .helping import ids, spelling, texts

PRELUDE = """
import sys
from seasoned import Memory
path, name = sys.argv[1:3]
memory = Memory(path, scope=("acme", "alice"), embedder="hashing", durability="normal")
"""


def run(code, path, name="x"):
    """Run the code in a process of its own, on a memory of Alice."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code + "\nmemory.close()", str(path), name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def at_once(work, count):
    """Run the work in so many threads that start together; raise what any of them raised."""
    start = threading.Barrier(count)

    def begun(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begun, range(count)))


def test_eight_threads_add_two_hundred_notes(place, opened):
    """Twenty-five each through one memory, while others read: all stand, each was found at once by its writer."""
    memory = opened(place, embedder=spelling())

    def work(number):
        for each in range(25):
            added = memory.remember(f"thread{number} wrote note{each}")
            assert added.status is Status.WRITTEN
            assert added.id in ids(memory.recall(f"thread{number} note{each}", k=5))

    at_once(work, 8)
    assert memory.count() == 200
    assert len(set(texts(memory.list(k=1000)))) == 200
    assert memory.check() == []


def test_six_processes_add_three_hundred_notes(tmp_path, opened):
    """Fifty each, into a file that none of them finds there."""
    path = tmp_path / "agent.db"
    code = (
        'for number in range(50):\n    memory.remember(f"{name} wrote {number}", id=f"{name}/{number}")\nmemory.close()'
    )
    with ExitStack() as running:
        processes = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PRELUDE + code, str(path), str(name)], stderr=subprocess.PIPE, text=True
                )
            )
            for name in range(6)
        ]
        assert [process.communicate()[1] for process in processes] == [""] * 6
    memory = opened(path)
    assert sorted(ids(memory.list(k=1000))) == sorted(f"{name}/{number}" for name in range(6) for number in range(50))
    assert ids(memory.recall("3 wrote 17", k=1)) == ["3/17"]
    assert memory.check() == []


def test_updates_at_the_same_time_all_stand_in_the_history(place, opened):
    """Four threads, five updates each: the history has every one, and none overwrote another."""
    memory = opened(place)
    memory.remember("start", id="x")

    def work(number):
        for each in range(5):
            while True:
                with suppress(Conflict):  # one that outlived its retries is tried again
                    memory.update("x", text=f"{number}/{each}")
                    break

    at_once(work, 4)
    told = [each.record.text for each in memory.history("x")]
    assert sorted(told) == sorted(["start", *(f"{number}/{each}" for number in range(4) for each in range(5))])
    numbers = [each.version for each in memory.history("x")]
    assert numbers == sorted(set(numbers))


def test_the_same_id_written_by_many_is_written_once(place, opened):
    """One is told written, all others duplicate."""
    memory = opened(place)
    statuses = at_once(lambda number: memory.remember(f"by {number}", id="x").status, 8)
    assert sorted(statuses) == [Status.DUPLICATE] * 7 + [Status.WRITTEN]
    assert memory.count() == 1


def test_forgetting_and_writing_at_the_same_time_leaves_a_sound_store(place, opened):
    """Hard and soft, with readers in between; what was not forgotten is there."""
    memory = opened(place)

    def work(number):
        for each in range(10):
            name = f"{number}/{each}"
            memory.remember(f"note {name}", id=name)
            memory.recall("note")
            if each % 2:
                memory.forget(name, hard=number % 2 == 0)

    at_once(work, 4)
    assert sorted(ids(memory.list())) == sorted(f"{n}/{each}" for n in range(4) for each in range(0, 10, 2))
    assert memory.check() == []


def test_a_long_lived_reader_sees_what_another_process_did(tmp_path, opened):
    """New, changed and removed notes, at the very next call of every verb."""
    memory = opened(tmp_path / "agent.db")
    memory.remember("green tea", id="mine")
    memory.remember("black coffee", id="old")
    assert ids(memory.recall("coffee")) == ["old"]
    run(
        'memory.remember("oolong tea", id="new"); memory.update("mine", text="milk"); memory.forget("old")',
        memory_path(memory),
    )
    assert (ids(memory.recall("tea")), ids(memory.recall("coffee")), ids(memory.recall("milk"))) == (
        ["new"],
        [],
        ["mine"],
    )
    assert ids(memory.list()) == ["mine", "new"]


def memory_path(memory):
    """Where a memory's file is."""
    return memory.store.path


@pytest.mark.parametrize("make", [SQLiteStore, MemoryStore])
def test_a_cache_too_small_for_one_index_changes_no_answer(tmp_path, opened, make):
    """Of one byte, over twenty scopes in turn, from threads as well; each finds its own and nothing else."""
    arguments = [tmp_path / "agent.db"] if make is SQLiteStore else []
    with closing(make(*arguments, cache_bytes=1)) as store:
        root = opened(store, ("acme",), embedder=spelling())
        scopes = [root.within(f"user{number}") for number in range(20)]
        for number, memory in enumerate(scopes):
            for each in range(5):
                memory.remember(f"tea {each} of user{number}", id=f"{number}-{each}")

        def work(shift):
            for step in range(20):
                number = (step + shift) % 20
                found = ids(scopes[number].recall(f"tea 3 of user{number}"))
                assert found[0] == f"{number}-3"
                assert sorted(found) == [f"{number}-{each}" for each in range(5)]

        at_once(work, 4)
        assert len(root.recall("tea", k=200, subtree=True)) == 100


def stored_indexes(path):
    """The blobs of stored indexes, as they are in the file."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT scope, name, part, data FROM posting ORDER BY 1, 2, 3").fetchall()


def test_a_stored_index_is_used_again_and_follows_what_came_after(tmp_path, opened):
    """Notes that another process wrote, changed and removed since it was stored are as they are now."""
    path = tmp_path / "agent.db"
    memory = opened(path)
    for number in range(500):
        memory.remember(f"tea number {number}", id=str(number), data={"session": f"s{number % 7}", "role": "user"})
    memory.recall("tea")
    memory.close()
    assert stored_indexes(path) != []
    run('memory.remember("oolong", id="new"); memory.update("7", text="cocoa"); memory.forget(["8", "9"])', path)
    memory = opened(path)
    assert ids(memory.recall("number 77"))[0] == "77"
    assert (ids(memory.recall("oolong")), ids(memory.recall("cocoa"))[0]) == (["new"], "7")
    assert not {"8", "9"} & set(ids(memory.recall("tea number 8 9", k=500)))
    assert memory.check() == []


def test_a_memory_answers_alike_from_a_stored_index_and_from_a_new_one(tmp_path, opened):
    """The same hits in the same order with the same scores."""
    path = tmp_path / "agent.db"
    memory = opened(path, embedder=spelling())
    for number in range(400):
        memory.remember(f"tea {number} " + "green " * (number % 4), id=str(number), worth=number % 5)
    for number in range(0, 400, 3):
        memory.update(str(number), text=f"coffee {number}")
    memory.forget([str(number) for number in range(0, 400, 7)])

    def answers(memory):
        found = [memory.recall(query, k=50) for query in ("green tea", "coffee 33", "tea 100 green green")]
        return [[(hit.id, pytest.approx(hit.score, abs=1e-6)) for hit in hits] for hits in found]

    before = answers(memory)
    memory.close()
    again = opened(path, embedder=spelling())
    assert answers(again) == before
    again.rebuild()
    assert answers(again) == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE posting SET data = zeroblob(length(data))",
        "UPDATE posting SET data = substr(data, 1, length(data) / 2) WHERE length(data) > 1",
        "DELETE FROM posting WHERE name <> 'head'",
        "DELETE FROM posting WHERE name = 'head'",
        "UPDATE posting SET data = CAST('1' AS BLOB) WHERE name = 'head'",
        "UPDATE posting SET data = x'ff' WHERE name = 'head'",
        "UPDATE posting SET name = name || 'x' WHERE name <> 'head'",
    ],
)
def test_a_damaged_index_is_made_anew_from_the_rows(tmp_path, opened, damage):
    """Opening and searching go on as if nothing were; the check names it, a rebuild repairs it."""
    path = tmp_path / "agent.db"
    memory = opened(path)
    for number in range(500):
        memory.remember(f"tea number {number}", id=str(number))
    memory.recall("tea")
    memory.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(damage)
        db.commit()
    memory = opened(path)
    assert len(memory.check()) == 1
    assert ids(memory.recall("number 77"))[0] == "77"
    assert memory.rebuild() == 500
    assert memory.check() == []
    assert ids(memory.recall("number 77"))[0] == "77"


def test_an_index_of_another_language_is_not_used(tmp_path, opened):
    """Opened with another stemmer, texts are indexed anew."""
    path = tmp_path / "agent.db"
    memory = opened(path)
    for number in range(300):
        memory.remember(f"Die Häuser am Fluss {number}", id=str(number))
    memory.recall("Haus")
    memory.close()
    assert len(opened(path, language="german").recall("Haus", k=500)) == 300


def test_a_file_follows_its_memory_through_a_change_of_folder(tmp_path, opened, monkeypatch):
    """A relative path is meant as of when it was opened."""
    monkeypatch.chdir(tmp_path)
    memory = opened("agent.db")
    memory.remember("tea", id="x")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    at_once(lambda number: (memory.recall("tea"), memory.list(), memory.remember(f"more {number}")), 4)
    assert (memory.count(), list((tmp_path / "elsewhere").iterdir())) == (5, [])


CALLS = {
    "remember": lambda memory: memory.remember("x"),
    "get": lambda memory: memory.get("x"),
    "list": lambda memory: memory.list(),
    "count": lambda memory: memory.count(),
    "update": lambda memory: memory.update("x", text="y"),
    "history": lambda memory: memory.history("x"),
    "recall": lambda memory: memory.recall("x"),
    "scopes": lambda memory: memory.scopes(),
    "forget": lambda memory: memory.forget(everything=True),
    "reembed": lambda memory: memory.reembed(),
    "stats": lambda memory: memory.stats(),
    "check": lambda memory: memory.check(),
    "rebuild": lambda memory: memory.rebuild(),
    "conversation": lambda memory: memory.conversation.add({"role": "user", "content": "x"}),
    "with": lambda memory: memory.__enter__(),
}


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("owned", [True, False], ids=["its own store", "a store that was given"])
def test_a_closed_memory_answers_nothing(place, opened, verb, owned):
    """Every verb says that it was closed, whoever owns the store; closing twice is harmless."""
    keeper = opened(place)
    memory = opened(place if owned else keeper.store, ("other",))
    memory.close()
    memory.close()
    with pytest.raises(StoreClosed, match="closed"):
        CALLS[verb](memory)
    assert keeper.remember("still open").status is Status.WRITTEN
    assert repr(memory).endswith(", closed)")


def test_a_memory_closes_with_its_block(tmp_path):
    """`with` closes it, after an error too."""
    with pytest.raises(ZeroDivisionError), Memory(tmp_path / "a.db", embedder="hashing") as memory:
        1 / 0  # noqa: B018
    with pytest.raises(StoreClosed):
        memory.count()


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("", InvalidInput),
        ("  ", InvalidInput),
        ("mysql://host/db", InvalidInput),
        ("a\0b", InvalidInput),
        (b"agent.db", WrongType),
        (5, WrongType),
        (object(), WrongType),
    ],
    ids=repr,
)
def test_a_place_that_is_none_is_refused(location, error):
    """With what is accepted in the message."""
    with pytest.raises(error):
        Memory(location, embedder="hashing")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"embedder": "bert-9000"}, InvalidInput),
        ({"embedder": 5}, WrongType),
        ({"durability": "sometimes"}, InvalidInput),
        ({"language": "klingon"}, InvalidInput),
        ({"policy": 5}, WrongType),
        ({"blend": 5}, WrongType),
        ({"embeder": "hashing"}, TypeError),
    ],
    ids=str,
)
def test_a_choice_that_is_none_is_refused_and_leaves_no_file(tmp_path, options, error):
    """Before anything is opened or created."""
    with pytest.raises(error):
        Memory(tmp_path / "agent.db", **({"embedder": "hashing"} | options))
    with pytest.raises(error):
        Memory(**({"embedder": "hashing"} | options))
    assert list(tmp_path.iterdir()) == []


def test_a_url_of_the_file_engine_is_a_path(tmp_path, opened):
    """`sqlite:///` and a path is that file."""
    opened(f"sqlite:///{tmp_path}/agent.db").remember("tea")
    assert opened(tmp_path / "agent.db").count() == 1


def test_counts_say_what_there_is(place, opened):
    """By kind, kinds of one's own together; scopes, sessions, engine."""
    memory = opened(place)
    memory.remember("a", id="x")
    memory.update("x", text="b")
    memory.remember("f", "fact")
    memory.within("below").remember("g", "rule")
    memory.conversation.add({"role": "user", "content": "hi"}, "s1")
    stats = memory.stats()
    assert stats["by_kind"] == {"message": 1, "note": 1, "other": 2, "superseded": 1}
    assert (stats["records"], stats["scopes_below"], stats["sessions"]) == (4, 2, 1)
    assert memory.store.stats()["records"] == 5
    assert "records" not in stats["engine"]
    assert str(place) not in str(stats)


def test_a_file_grows_with_what_is_new(tmp_path, opened):
    """The second thousand messages of a session take no more room than the first, and little more than their text."""
    path, sizes = tmp_path / "agent.db", [0]
    for part in range(3):
        memory = opened(path)
        for number in range(1000):
            said = f"turn {part}/{number}: " + "an ordinary sentence of some length " * 8
            memory.conversation.add({"role": "user", "content": said}, "s")
        memory.recall("sentence")
        memory.close()
        sizes.append(path.stat().st_size)
    grown = [after - before for before, after in itertools.pairwise(sizes)]
    assert max(grown[1:]) < 1.3 * grown[0]
    assert grown[0] < 1000 * 1500


def test_a_warmed_memory_stores_its_index_for_the_next_one(tmp_path, opened):
    """After a large import nobody waits for the index to be made: not this memory, and not the next that opens it."""
    memory = opened(tmp_path / "agent.db")
    memory.conversation.add([{"role": "user", "content": f"tea number {number}"} for number in range(2_500)])
    memory.warm()
    assert memory.store.stats()["index_bytes"] > 0
    assert opened(tmp_path / "agent.db").recall("number 77", k=1)[0].text == "tea number 77"
