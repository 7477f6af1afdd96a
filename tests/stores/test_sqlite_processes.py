"""The SQLite store shared: by processes at once, by a long-lived reader, across a fork and a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest

from seasoned.ports import Put
from seasoned.query import Query
from seasoned.stores.sqlite import SQLiteStore

from .conftest import ALICE, listed, note, said

PRELUDE = """
import os, signal, sys
from datetime import UTC, datetime
from seasoned.errors import *
from seasoned.ports import *
from seasoned.query import Query
from seasoned.records import *
from seasoned.stores.sqlite import SQLiteStore
path, name = sys.argv[1:3]
alice = Scope(("acme", "alice"))
def note(id_, text=""):
    return Put(Record(key=Key(alice, "note", id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC)))
def listed(store):
    return [hit.id for hit in store.find(Query(scope=alice, k=10_000)).hits]
def said(store, words):
    return [hit.id for hit in store.find(Query(scope=alice, words=words)).hits]
"""

ADD_FIFTY = """
store = SQLiteStore(path)
for number in range(50):
    credit = Credit(Key(alice, "note", "shared"), "worth", 1.0, f"{name}/{number}")
    store.apply([note(f"{name}/{number}", f"green tea {number}"), credit])
store.close()
"""

WRITE_AND_DIE = """
store = SQLiteStore(path, durability=name)
for number in range(20):
    store.apply([note(f"n{number}", "green tea")])
    print(number, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

FORK = """
store = SQLiteStore(path)
store.apply([note("parent", "green tea")])
assert said(store, "tea") == ["parent"]
child = os.fork()
if child == 0:
    code = 1
    try:
        assert said(store, "tea") == ["parent"], "the child reads"
        store.apply([note("child", "green tea")])
        assert sorted(said(store, "tea")) == ["child", "parent"], "the child writes"
        store.close()
        try:
            store.find(Query(scope=alice))
        except StoreClosed:
            code = 0
        else:
            print("a store closed in the child still answers", file=sys.stderr)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
    os._exit(code)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert sorted(said(store, "tea")) == ["child", "parent"], "the parent sees it"
store.apply([note("again", "green tea")])
assert listed(store) == ["parent", "child", "again"]
assert store.check() == []
store.close()
"""

REWRITE = """
store = SQLiteStore(path)
store.apply([note("old", "milk"), Remove(Key(alice, "note", "mine"))])
store.close()
"""

ERASE = """
store = SQLiteStore(path)
store.apply([note("a", "green tea"), note("b", "black tea")])
store.purge([Key(alice, "note", "b")])
"""

ERASE_AND_CLOSE_ONE_OF_TWO = """
store, other = SQLiteStore(path), SQLiteStore(path)
store.apply([note("a", "green tea"), note("b", "black tea")])
other.purge([Key(alice, "note", "b")])
other.close()
"""

WRITE_LATE = """
print("ready", flush=True)
sys.stdin.readline()
store.apply([note("late", "green tea")])
print("written", flush=True)
sys.stdin.readline()
store.close()
"""


@contextmanager
def started(code, path, name="x"):
    """Start a process that runs this code on the store and is spoken to by lines; it ends with the block."""
    command = [sys.executable, "-c", PRELUDE + code, str(path), name]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process


def at_once(code, path, names):
    """Run the code in one process for each name, all at the same time; return what they complained of."""
    commands = [[sys.executable, "-c", PRELUDE + code, str(path), name] for name in names]
    with ExitStack() as running:
        processes = [
            running.enter_context(subprocess.Popen(command, text=True, stderr=subprocess.PIPE)) for command in commands
        ]
        return [process.communicate()[1] for process in processes]


def run(code, path, name="x"):
    """Run it to its end, which must be a good one."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, str(path), name], text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_six_processes_add_three_hundred_records(tmp_path):
    """Fifty from each stand, as does each credit to one record, though no file was there when they started."""
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    store.apply([Put(note("shared"))])
    assert at_once(ADD_FIFTY, path, "012345") == [""] * 6
    assert sorted(listed(store)) == sorted(["shared", *(f"{name}/{n}" for name in range(6) for n in range(50))])
    assert store.find(Query(scope=ALICE)).hits[0].record.worth == 300.0
    assert store.check() == []
    store.close()


def test_processes_that_open_a_new_file_at_once_make_it_once(tmp_path):
    """All of them are let in, and none finds half a schema."""
    code = "store = SQLiteStore(path)\nstore.apply([note(name)])\nstore.close()"
    assert at_once(code, tmp_path / "agent.db", "012345") == [""] * 6
    store = SQLiteStore(tmp_path / "agent.db")
    assert sorted(listed(store)) == ["0", "1", "2", "3", "4", "5"]
    store.close()


def test_a_long_lived_reader_sees_what_another_process_wrote(tmp_path):
    """At its very next call, in a listing and in its index; an update and a removal too."""
    path = tmp_path / "agent.db"
    store = SQLiteStore(path)
    store.apply([Put(note("mine", "green tea")), Put(note("old", "black coffee"))])
    assert (said(store, "tea"), said(store, "coffee")) == (["mine"], ["old"])
    run('store = SQLiteStore(path)\nstore.apply([note("theirs", "oolong tea")])\nstore.close()', path)
    assert sorted(said(store, "tea")) == ["mine", "theirs"]
    run(REWRITE, path)
    assert (said(store, "tea"), said(store, "coffee"), said(store, "milk")) == (["theirs"], [], ["old"])
    assert listed(store) == ["old", "theirs"]
    store.close()


def test_a_fork_may_go_on_with_the_store(tmp_path):
    """Parent and child read and write, each on connections of its own; closing in one leaves the other open."""
    run(FORK, tmp_path / "agent.db")


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_what_was_acknowledged_survives_a_kill(tmp_path, durability):
    """In both durabilities every write that returned is there, and nothing is wrong with the file."""
    with started(WRITE_AND_DIE, tmp_path / "agent.db", durability) as process:
        acknowledged = process.stdout.read().split()
    assert (process.returncode, len(acknowledged)) == (-signal.SIGKILL, 20)
    store = SQLiteStore(tmp_path / "agent.db")
    assert listed(store) == [f"n{number}" for number in acknowledged]
    assert len(said(store, "tea")) == 20
    assert store.check() == []
    store.close()


@pytest.mark.parametrize("erase", [ERASE, ERASE_AND_CLOSE_ONE_OF_TWO], ids=["one store", "one of two stores closed"])
def test_a_purge_keeps_the_locks_of_its_process(tmp_path, erase):
    """After it looked into its own files, another process that comes and goes takes no log away from it."""
    path = tmp_path / "agent.db"
    with started(erase + WRITE_LATE, path) as process:
        assert process.stdout.readline() == "ready\n"
        run('store = SQLiteStore(path)\nstore.apply([note("theirs", "green tea")])\nstore.close()', path)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "written\n"
        assert listed_of(path) == ["a", "theirs", "late"]
    assert listed_of(path) == ["a", "theirs", "late"]


def listed_of(path):
    """What a store opened now lists."""
    store = SQLiteStore(path)
    found, wrong = listed(store), store.check()
    store.close()
    assert wrong == []
    return found
