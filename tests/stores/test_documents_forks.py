"""Forks: a child waits for no lock of a thread that is not there, and shares no connection with its parent."""

from __future__ import annotations

import subprocess
import sys

import pytest

PRELUDE = """
import os, sys, threading
from datetime import UTC, datetime
from seasoned.errors import StoreError
from seasoned.ports import Put
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
ALICE = Scope(("acme", "alice"))
def note(name):
    return Put(Record(key=Key(ALICE, "note", name), text="green tea", at=datetime(2026, 1, 31, tzinfo=UTC)))
def listed(store):
    return [hit.id for hit in store.find(Query(scope=ALICE)).hits]
def refused(store):
    for call in (lambda: listed(store), lambda: store.apply([note("child")])):
        try:
            call()
        except StoreError as error:
            assert "fork" in str(error), error
        else:
            return False
    return True
def forked(work):
    if os.fork() == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
"""

WHILE_OTHERS_READ = """
from seasoned.stores.documents import DocumentStore, Sort, Traits
class Late:
    "The least that an engine is; it may show writes late, so they are overlaid."
    traits = Traits(engine="late", place="here", batch=100, durable=True, fresh=False, chars=200)
    def __init__(self): self.rows = {}
    def put(self, documents): self.rows.update({(one.partition, one.id): one for one in documents})
    def get(self, places): return [self.rows[place] for place in places if place in self.rows]
    def delete(self, places):
        for place in places: self.rows.pop(place, None)
    def scan(self, partition, after=0): return [one for one in list(self.rows.values()) if one.seq > after]
    def partitions(self, prefix): return [one.partition for one in list(self.rows.values()) if one.sort is Sort.HEAD]
    def close(self): pass
store = DocumentStore(Late())
store.apply([note(f"n{number}") for number in range(200)])
stop = threading.Event()
def read():
    while not stop.is_set():
        assert len(listed(store)) == 100
def write():
    while not stop.is_set():
        store.apply([note("n0")])
threads = [threading.Thread(target=work) for work in (read, read, write)]
for thread in threads:
    thread.start()
def work():
    store.apply([note("n1")])
    return len(listed(store)) == 100 and store.stats()["records"] == 200
for number in range(15):
    forked(work)
stop.set()
for thread in threads:
    thread.join()
store.close()
"""

CLIENTS = """
from seasoned.stores.documents import ForkLock, PerProcess
made = []
lock, taken, stop = ForkLock(), threading.Event(), threading.Event()
def hold():
    with lock:
        taken.set()
        stop.wait()
holder = threading.Thread(target=hold)
holder.start()
taken.wait()
def connect():
    made.append(object())
    return made[-1]
here, only = PerProcess(connect(), connect), PerProcess("file")
mine = here.client
def work():
    if here.own() is not None or here.client is mine or here.client is not here.own() or len(made) != 2:
        return False
    with lock:
        pass
    try:
        return only.client and False
    except StoreError:
        return only.own() is None
forked(work)
stop.set()
holder.join()
assert here.client is mine and here.own() is mine and only.client == "file"
"""

QDRANT = """
from seasoned.stores.qdrant import QdrantStore
folder, memory = QdrantStore(path=sys.argv[1]), QdrantStore()
for store in (folder, memory):
    store.apply([note("parent")])
def work():
    memory.apply([note("child")])
    refusals = refused(folder)
    folder.close()
    try:
        QdrantStore(path=sys.argv[1])
    except StoreError:
        return refusals and listed(memory) == ["parent", "child"]
forked(work)
for store in (folder, memory):
    store.apply([note("after")])
    assert listed(store) == ["parent", "after"]
    store.close()
"""

CHROMA = """
from seasoned.stores.chroma import ChromaStore
stores = ChromaStore(sys.argv[1]), ChromaStore()
for store in stores:
    store.apply([note("parent")])
def work():
    refusals = [refused(store) for store in stores]
    for store in stores:
        store.close()
    return all(refusals)
forked(work)
for store in stores:
    store.apply([note("after")])
    assert listed(store) == ["parent", "after"]
    store.close()
"""


@pytest.mark.parametrize(
    ("script", "needs"),
    [(WHILE_OTHERS_READ, "seasoned"), (CLIENTS, "seasoned"), (QDRANT, "qdrant_client"), (CHROMA, "chromadb")],
    ids=["documents", "clients", "qdrant", "chroma"],
)
def test_a_fork_blocks_nobody_and_shares_no_connection(tmp_path, script, needs):
    """What is in memory is copied, a server is called over a connection of the child's own, and a folder stays."""
    pytest.importorskip(needs)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + script, str(tmp_path / "folder")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
