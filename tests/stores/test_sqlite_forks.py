"""Forks: a child and its parent each keep what they acknowledge, whatever the other closes and whoever was at work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from seasoned.stores.sqlite import SQLiteStore

from .conftest import listed
from .test_sqlite_processes import PRELUDE

CLOSED_BY_THE_PARENT = """
store = SQLiteStore(path)
store.apply([note("parent")])
here, there = os.pipe()
back, forth = os.pipe()
if os.fork() == 0:
    store.apply([note("child1")])
    os.write(there, b"1")
    os.read(back, 1)
    store.apply([note("child2")])
    os.kill(os.getpid(), signal.SIGKILL)
os.read(here, 1)
store.close()
other = SQLiteStore(path)
assert sorted(listed(other)) == ["child1", "parent"]
other.close()
os.write(forth, b"1")
os.wait()
"""

WHILE_OTHERS_READ = """
import threading
store = SQLiteStore(path)
store.apply([note(f"n{number}", "green tea") for number in range(300)])
stop = threading.Event()
def read():
    while not stop.is_set():
        assert len(said(store, "tea")) == 100
threads = [threading.Thread(target=read) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(15):
    if os.fork() == 0:
        store.stats()
        said(store, "tea")
        store.apply([note(f"child{number}", "milk")])
        os._exit(0 if len(said(store, "tea")) == 100 else 1)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
stop.set()
for thread in threads:
    thread.join()
assert len(said(store, "milk")) == 15
store.close()
"""


@pytest.mark.parametrize("script", [CLOSED_BY_THE_PARENT, WHILE_OTHERS_READ])
def test_a_fork_loses_and_blocks_nothing(tmp_path, script):
    """Every acknowledged write is there afterwards, nobody waits for a lock of the other, and the file is well."""
    path = tmp_path / "agent.db"
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + script, str(path), "-"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    store = SQLiteStore(path)
    children = {"parent", "child1", "child2"} if script is CLOSED_BY_THE_PARENT else {f"child{n}" for n in range(15)}
    assert set(listed(store)) >= children
    assert store.check() == []
    store.close()
