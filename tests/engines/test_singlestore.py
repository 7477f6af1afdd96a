"""The SingleStore store keeps the contract, on a loopback server, and on a real one where SINGLESTORE_URL is set."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("singlestoredb")
pytest.importorskip("mysql_mimic")

import singlestoredb

from seasoned import Memory
from seasoned.errors import InvalidInput, StoreBusy, StoreError, StoreReadOnly
from seasoned.filters import parse_filter
from seasoned.ports import Clock, Put, Remove, Store
from seasoned.query import Query
from seasoned.records import Key
from seasoned.stores.documents import Document, Sort, document_id
from seasoned.stores.singlestore import SingleStoreStore, open_url
from seasoned.stores.singlestore.client import Connections, connecting
from seasoned.stores.singlestore.table import SingleStoreTable
from seasoned.testing import StoreContract

from .engine_rules import ALICE, EngineRules, listed, note, said
from .singlestore_server import SingleStoreServer, serving


def open_at(server: SingleStoreServer, table: str = "seasoned", **fields: object) -> SingleStoreStore:
    """Open a table of the loopback server."""
    return SingleStoreStore(**{**server.address, "table": table, **fields})


@pytest.fixture(scope="module")
def shared() -> Iterator[SingleStoreServer]:
    """A server for the contract's tests, each at a table of its own."""
    yield from serving()


@pytest.fixture
def server() -> Iterator[SingleStoreServer]:
    """A server of a test's own."""
    yield from serving()


def table_of(place: Path) -> str:
    """A table for a test's place."""
    return "t" + sha256(str(place).encode()).hexdigest()[:40]


class TestSingleStoreStore(EngineRules, StoreContract):
    """Every rule, on the loopback server."""

    @pytest.fixture(autouse=True)
    def _served(self, shared: SingleStoreServer) -> None:
        self.shared = shared

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each place is a table of its own."""
        return open_at(self.shared, table_of(place), clock=clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A table of that name; the plain one is this test's own."""
        own = f"{name}_" if name.isupper() else name  # the file below the loopback server folds case, as no server does
        return open_at(self.shared, table_of(place) if name == "plain" else own, clock=clock)


if os.environ.get("SINGLESTORE_URL"):

    class TestSingleStoreStoreOnAServer(EngineRules, StoreContract):
        """Every rule, on a real server; its database keeps a table for each test."""

        def make_store(self, place: Path, clock: Clock) -> Store:
            """Each place is a table of its own."""
            url = os.environ["SINGLESTORE_URL"]
            return open_url(f"{url}{'&' if '?' in url else '?'}table={table_of(place)}", clock=clock)


def head(seq: int, was: int) -> Document:
    """Alice's head at some sequence, as one that read it at another would write it."""
    partition = ALICE.encode()
    name = document_id(partition, Sort.HEAD)
    return Document(id=name, partition=partition, sort=Sort.HEAD, seq=seq, order=seq, version=0, was=was)


def test_a_write_over_what_another_process_wrote_meanwhile_is_refused_whole(server):
    """The head is moved from what the writer read, or nothing of its batch stands; at a scope's first write too."""
    documents = [SingleStoreTable(Connections(connecting(server.address, {})), "seasoned", "here") for _ in range(2)]
    one, other = documents
    one.put([head(1, was=0)])
    other.put([head(2, was=1)])
    lost = replace(head(3, was=0), id=document_id(ALICE.encode(), Sort.RECORD, "note", "a"), sort=Sort.RECORD)
    for stale in (head(3, was=1), head(3, was=0)):
        with pytest.raises(StoreBusy):
            one.put([lost, stale])
    assert [(found.sort, found.seq) for found in one.scan(ALICE.encode())] == [(Sort.HEAD, 2)]
    one.put([lost, head(3, was=2)])
    assert {found.sort for found in other.scan(ALICE.encode())} == {Sort.HEAD, Sort.RECORD}
    for each in documents:
        each.close()


WRITER = """
import sys
from seasoned.errors import StoreBusy
from seasoned.ports import Put
from seasoned.records import Key, Record
from seasoned.stores.singlestore import open_url
store = open_url(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    key = Key(("acme", "alice"), "note", f"{sys.argv[2]}/{number}")
    while True:
        try:
            store.apply([Put(Record(key=key, text="tea", at="2026-01-31T00:00:00Z"))])
            break
        except StoreBusy:
            continue
store.close()
print("written")
"""


def test_processes_that_write_one_scope_lose_nothing(server):
    """Each repeats what was refused; all that was acknowledged stands, with a sequence of its own."""
    commands = [[sys.executable, "-c", WRITER, server.url, str(number)] for number in range(3)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for command in commands]
    assert [one.stdout.readline() for one in running] == ["ready\n"] * 3
    for one in running:
        one.stdin.write("go\n")
        one.stdin.flush()
    assert [one.communicate(timeout=60)[0] for one in running] == ["written\n"] * 3
    store = open_at(server)
    hits = store.find(Query(scope=ALICE, k=100)).hits
    assert sorted(hit.id for hit in hits) == sorted(f"{writer}/{n}" for writer in range(3) for n in range(20))
    assert sorted(hit.seq for hit in hits) == list(range(1, 61))
    assert store.check() == []
    store.close()


FORKING = """
import os, sys
from seasoned.ports import Put
from seasoned.records import Key, Record
from seasoned.stores.singlestore import open_url
store = open_url(sys.argv[1])
def put(name):
    store.apply([Put(Record(key=Key(("acme", "alice"), "note", name), text="tea", at="2026-01-31T00:00:00Z"))])
put("before")
if os.fork() == 0:
    put("child")
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
put("parent")
store.close()
"""


def test_a_fork_takes_no_connection_along(server):
    """Child and parent write over connections of their own."""
    done = subprocess.run([sys.executable, "-c", FORKING, server.url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    store = open_at(server)
    assert listed(store) == ["before", "child", "parent"]
    store.close()


def test_a_server_that_is_stopped_is_an_error_and_loses_nothing_acknowledged(server):
    """While it is away every call says so, none answers empty; once it is back the store goes on by itself."""
    store = open_at(server)
    store.apply([Put(note(f"n{number}", "green tea")) for number in range(10)])
    server.stop()
    for query in (
        Query(scope=ALICE),
        Query(scope=ALICE, words="tea"),
        Query(scope=ALICE, keys=(Key(ALICE, "note", "n1"),)),
        Query(scope=ALICE, count=True),
        Query(scope=ALICE, subtree=True, scopes=True),
    ):
        with pytest.raises(StoreError, match="singlestore"):
            store.find(query)
    with pytest.raises(StoreError):
        store.apply([Put(note("n0", "lost"))])
    server.start()
    store.apply([Put(note("n0", "black tea"))])
    assert [hit.text for hit in store.find(Query(scope=ALICE)).hits] == ["black tea"] + ["green tea"] * 9
    store.close()


def test_connections_that_were_closed_while_idle_are_replaced_without_a_word(server):
    """A server that started anew between two calls is no error, for reading or writing."""
    store = open_at(server)
    store.apply([Put(note("a", "green tea"))])
    for number in range(2):
        server.stop()
        server.start()
        assert said(store, "tea") == ["a"]
        server.stop()
        server.start()
        store.apply([Put(note("a", "green tea", data={"x": number}))])
    store.close()


def test_a_server_that_takes_no_writes_says_so(server):
    """Reading goes on; the copy in this process shows nothing that was refused."""
    store = open_at(server)
    store.apply([Put(note("a", "green tea"))])
    server.read_only = True
    with pytest.raises(StoreReadOnly):
        store.apply([Put(note("b", "green tea"))])
    assert (listed(store), said(store, "tea")) == (["a"], ["a"])
    server.read_only = False
    store.apply([Put(note("b", "green tea"))])
    assert listed(store) == ["a", "b"]
    store.close()


@pytest.mark.parametrize(
    "fields", [{"password": "wrong"}, {"user": "nobody"}, {"database": "a`b"}, {"database": "'; DROP TABLE x; --"}]
)
def test_who_and_where_that_the_server_refuses_is_an_error(server, fields):
    """It names neither the password given nor the right one."""
    with pytest.raises(StoreError) as caught:
        open_at(server, **fields)
    assert "wrong" not in str(caught.value)
    assert "pass/word" not in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"table": ""}, {"table": "a b"}, {"table": "a`b"}, {"table": "seasoned; DROP TABLE x"}, {"table": "memories.x"},
        {"table": "x" * 65}, {"table": "é"}, {"table": "1x"}, {"table": "x\n"}, {"vector_size": 0},
        {"vector_size": True}, {"distance": "manhattan"}, {"host": "mysql://root@127.0.0.1/other"}, {"host": "a/b"},
        {"host": ""}, {"port": 0}, {"port": "3306"}, {"database": ""}, {"user": "a\x00b"},
    ],
    ids=repr,
)  # fmt: skip
def test_what_cannot_be_opened_is_refused(server, fields):
    """Names that would be more than names, a URL for a host, impossible sizes and ports."""
    before = len(server.said)
    with pytest.raises(InvalidInput):
        open_at(server, **fields)
    assert len(server.said) == before


def test_values_are_bound_and_never_part_of_a_statement(server):
    """Whatever is stored and asked, the server sees the same few statements."""
    statements = []
    for text in ("plain", "' OR 1=1 --", "\\'; DROP TABLE seasoned; --", "%s %(x)s", "`", "\x1a\r\n"):
        store = open_at(server, vector_size=8, read_whole=0)
        server.said.clear()
        store.apply([Put(note("id" + text.strip("\x1a\r\n"), text, data={"x": text}))])
        said(store, text + " tea")
        listed(store, where=parse_filter({"data.x": text}))
        store.apply([Remove(Key(ALICE, "note", "id" + text.strip("\x1a\r\n")))])
        statements.append({form for form in server.said if not form.startswith("SELECT column_name")})
        store.close()
    assert len(set().union(*statements)) == len(statements[0])


def test_a_memory_lives_at_a_url(server):
    """Two memories at one URL are one; another table is another."""
    url = server.url
    stores = [open_url(url), open_url(f"{url}?table=seasoned"), open_url(f"{url}?table=other&vector_size=8")]
    one, same, other = (Memory(store, scope=ALICE, embedder="hashing") for store in stores)
    one.remember("green tea in the morning")
    assert [hit.text for hit in same.recall("tea")] == ["green tea in the morning"]
    assert other.recall("tea") == []
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    "url",
    ["mysql://a@b/c", "singlestore://host", "singlestore:///database", "singlestore://h/d?x=1", "singlestore://h/d?table=a`b",
     "singlestore://h:99999/d", "singlestore://h/d?vector_size=many", "singlestore://h/d?vector_size=8&distance=far"],
)  # fmt: skip
def test_a_url_of_another_form_is_refused(url):
    """Nothing is opened, and nothing in it is passed over."""
    with pytest.raises(InvalidInput):
        open_url(url)


def test_what_it_can_do_is_declared(server):
    """Versions are compared in one transaction with the write; a batch of many changes is several of those."""
    store = open_at(server)
    can = store.can
    assert (can.atomic, can.compare, can.ordered, can.lexical, can.dense, can.fresh, can.durable) == (
        False,
        *[True] * 6,
    )
    assert store.stats()["degraded"] == ["atomic"]
    store.close()


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1", "DROP TABLE `seasoned`", "SELECT * FROM `seasoned`", "DELETE FROM `seasoned`",
     "CREATE TABLE IF NOT EXISTS `x` (a BIGINT,\nb BIGINT,\nSHARD KEY (a),\nPRIMARY KEY (b))"
     " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"],
)  # fmt: skip
def test_the_server_of_these_tests_refuses_what_is_not_ours(server, statement):
    """A statement of another form, or a key that SingleStore cannot have, is an error there as well."""
    with (
        singlestoredb.connect(**server.address) as connection,
        connection.cursor() as cursor,
        pytest.raises(singlestoredb.Error),
    ):
        cursor.execute(statement)


def test_without_the_client_the_error_names_the_extra():
    """Importing the engine where singlestoredb is not installed says what to install."""
    program = "import sys; sys.modules['singlestoredb'] = None\nimport seasoned.stores.singlestore"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "seasoned[singlestore]" in done.stderr.splitlines()[-1]
