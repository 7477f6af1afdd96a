"""The PostgreSQL store shared by processes: adding, migrating and forking at once."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

import pytest

from seasoned.ports import Put
from seasoned.query import Query
from seasoned.stores.postgres import PostgresStore

from .conftest import ALICE, listed, note
from .pgserver import asked, new_schema, server

PRELUDE = """
import os, signal, sys, threading
from datetime import UTC, datetime
from seasoned.errors import *
from seasoned.ports import *
from seasoned.query import Query
from seasoned.records import *
from seasoned.stores.postgres import PostgresStore
url, schema, name = sys.argv[1:4]
alice = Scope(("acme", "alice"))
def note(id_, text=""):
    return Put(Record(key=Key(alice, "note", id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC)))
def listed(store):
    return [hit.id for hit in store.find(Query(scope=alice, k=10_000)).hits]
def said(store, words):
    return [hit.id for hit in store.find(Query(scope=alice, words=words)).hits]
"""

ADD = """
import numpy as np
store = PostgresStore(url, schema=schema)
space = Fingerprint("given", "1", 2)
for number in range(12):
    credit = Credit(Key(alice, "note", "shared"), "worth", 1.0, f"{name}/{number}")
    made = note(f"{name}/{number}", f"green tea {number}")
    store.apply([Put(made.record, Vectors(space, np.ones((1, 2), np.float32))), credit])
store.close()
"""

OPEN = """
store = PostgresStore(url, schema=schema)
store.apply([note(name)])
store.close()
"""

FORK = """
store = PostgresStore(url, schema=schema)
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

FORK_WHILE_OTHERS_READ = """
store = PostgresStore(url, schema=schema)
store.apply([note(f"n{number}", "green tea") for number in range(50)])
stop = threading.Event()
def read():
    while not stop.is_set():
        assert len(said(store, "tea")) == 50
threads = [threading.Thread(target=read) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(5):
    if os.fork() == 0:
        store.apply([note(f"child{number}", "milk")])
        os._exit(0 if len(said(store, "tea")) == 50 else 1)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
stop.set()
for thread in threads:
    thread.join()
assert len(said(store, "milk")) == 5
store.close()
"""


@pytest.fixture
def schema():
    """A schema that is dropped at the end."""
    name = new_schema()
    yield name
    asked(server().url, f"DROP SCHEMA IF EXISTS {name} CASCADE")


def at_once(code, schema, names):
    """Run the code in one process for each name, all at the same time; return what they complained of."""
    options = ["-W", "ignore::DeprecationWarning", "-c", PRELUDE + code, server().url, schema]
    with ExitStack() as running:
        processes = [
            running.enter_context(subprocess.Popen([sys.executable, *options, name], text=True, stderr=subprocess.PIPE))
            for name in names
        ]
        return [process.communicate(timeout=120)[1] for process in processes]


def test_eight_processes_add_a_hundred_records(schema):
    """Twelve from each stand with their vectors and credits, though the space was new to all of them."""
    store = PostgresStore(server().url, schema=schema)
    store.apply([Put(note("shared"))])
    assert at_once(ADD, schema, "01234567") == [""] * 8
    assert sorted(listed(store)) == sorted(["shared", *(f"{name}/{n}" for name in range(8) for n in range(12))])
    hits = store.find(Query(scope=ALICE, k=1000)).hits
    assert hits[0].record.worth == 96.0
    assert len({hit.seq for hit in hits}) == 97
    assert store.stats()["vectors"] == {"given/1/2": 96}
    assert store.check() == []
    store.close()


def test_processes_that_open_a_new_schema_at_once_make_it_once(schema):
    """All of them are let in, and none finds half a schema."""
    assert at_once(OPEN, schema, "0123") == [""] * 4
    store = PostgresStore(server().url, schema=schema)
    assert sorted(listed(store)) == ["0", "1", "2", "3"]
    store.close()


@pytest.mark.parametrize("script", [FORK, FORK_WHILE_OTHERS_READ], ids=["alone", "while others read"])
def test_a_fork_may_go_on_with_the_store(schema, script):
    """Parent and child read and write, each on connections of its own; closing in one leaves the other open."""
    assert at_once(script, schema, "x") == [""]
