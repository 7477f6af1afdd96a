"""The SingleStore store over a table with vectors and full text: the engine names candidates of a large scope."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("singlestoredb")
pytest.importorskip("mysql_mimic")

from seasoned.errors import InvalidInput
from seasoned.filters import parse_filter
from seasoned.ports import Clock, Fingerprint, Put, Store, Vectors
from seasoned.query import Query
from seasoned.records import Key, Scope
from seasoned.stores.documents import Sort, document_id
from seasoned.stores.singlestore import SingleStoreStore
from seasoned.stores.singlestore.client import Connections, connecting
from seasoned.stores.singlestore.table import digest
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock

from .engine_rules import ALICE, EngineRules, listed, note
from .singlestore_server import SingleStoreServer, serving

SPACE = Fingerprint("test", "1", 8)


@pytest.fixture(scope="module")
def shared() -> Iterator[SingleStoreServer]:
    """A server for the rules, each at a table of its own."""
    yield from serving()


@pytest.fixture
def server() -> Iterator[SingleStoreServer]:
    """A server of a test's own."""
    yield from serving()


def open_at(server: SingleStoreServer, table: str = "seasoned", **fields: object) -> SingleStoreStore:
    """Open a table of the loopback server."""
    return SingleStoreStore(**{**server.address, "table": table, **fields})


def rows(number: int) -> Vectors:
    """A vector of unit length, the same for the same number."""
    found = np.random.default_rng(number).normal(size=(1, 8)).astype(np.float32)
    return Vectors(SPACE, found / np.linalg.norm(found))


class TestSingleStoreStoreWithVectors(EngineRules):
    """The rules of engines that others serve, where the engine names the candidates of every search."""

    @pytest.fixture(autouse=True)
    def _served(self, shared: SingleStoreServer) -> None:
        self.shared = shared

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Every scope is a large one here."""
        return open_at(
            self.shared, "t" + sha256(str(place).encode()).hexdigest()[:40], clock=clock, vector_size=4, read_whole=0
        )


def test_a_large_scope_is_searched_by_candidates_and_says_so(server):
    """Beyond `read_whole` the engine names what is ranked, within the scope and the kinds; nothing else is read."""
    store = open_at(server, vector_size=8, read_whole=5, clock=FakeClock())
    store.apply([Put(note(f"n{number}", f"green tea {number}"), rows(number)) for number in range(20)])
    other = replace(note("m", "green tea"), key=Key(ALICE, "message", "m"))
    store.apply([Put(note("dense", "nothing of the sort"), rows(99)), Put(other)])
    bob = Scope(("acme", "bob"))
    store.apply([Put(replace(note("b"), key=Key(bob, "note", f"b{n}"), text="green tea"), rows(99)) for n in range(20)])
    page = store.find(Query(scope=ALICE, words="tea", vector=rows(99), kinds=("note",), k=30))
    assert {hit.record.key.scope for hit in page.hits} == {ALICE}
    assert {hit.id for hit in page.hits} == {"dense", *(f"n{number}" for number in range(20))}
    assert [reason.partition(":")[0] for reason in page.degraded] == ["candidates"]
    by_vector = store.find(Query(scope=ALICE, vector=rows(99), k=1))
    assert [(hit.id, round(hit.score, 5)) for hit in by_vector.hits] == [("dense", 1.0)]
    whole = store.find(Query(scope=ALICE, words="tea", where=parse_filter({"id": "n7"})))
    assert ([hit.id for hit in whole.hits], whole.degraded) == (["n7"], ())
    store.close()


@pytest.mark.parametrize("distance", ["cosine", "dot", "euclid"])
def test_candidates_are_mostly_those_of_sqlite(server, tmp_path, distance):
    """Of the first ten at least nine are the same as where the whole scope is ranked."""
    random = np.random.default_rng(7)
    words = [f"word{number}" for number in range(400)]
    texts = [" ".join(words[int(at)] for at in random.zipf(1.3, 12) % 400) for _ in range(600)]
    changes = [Put(note(f"n{number}", text), rows(number)) for number, text in enumerate(texts)]
    store = open_at(server, vector_size=8, distance=distance, read_whole=0, clock=FakeClock())
    sqlite = SQLiteStore(tmp_path / "agent.db", clock=FakeClock())
    for each in (store, sqlite):
        each.apply(changes)
    shared = []
    for number in range(20):
        query = Query(scope=ALICE, words=" ".join(texts[number].split()[:4]), vector=rows(number + 1000), k=10)
        found, expected = ({hit.id for hit in each.find(query).hits} for each in (store, sqlite))
        shared.append(len(found & expected) / len(expected))
    store.close()
    sqlite.close()
    assert sum(shared) / len(shared) >= 0.9


def test_a_table_made_for_other_vectors_is_refused(server):
    """Of another size, or of none; opened without vectors it is read as any other."""
    store = open_at(server, vector_size=8)
    store.apply([Put(note("a"), rows(1))])
    open_at(server, "plain").close()
    for table, size in (("seasoned", 9), ("plain", 8)):
        with pytest.raises(InvalidInput, match="vector_size"):
            open_at(server, table, vector_size=size)
    again = open_at(server)
    assert listed(again) == ["a"]
    store.close()
    again.close()


def test_nothing_of_a_removed_record_stays_in_its_row(server):
    """What stands in its place names it, and holds neither text, vector nor terms."""
    store = open_at(server, vector_size=8)
    store.apply([Put(note("a", "the vault code is 4711", data={"x": "4711"}), rows(1))])
    store.purge([Key(ALICE, "note", "a")])
    connections = Connections(connecting(server.address, {}))
    found = connections.ask(
        "SELECT body, vectors, words, space, vector_8, sort, name FROM `seasoned` WHERE scope IN (%s) AND id IN (%s)",
        (digest(ALICE.encode()), document_id(ALICE.encode(), Sort.RECORD, "note", "a")),
    )
    assert [tuple(row) for row in found] == [("", "", None, None, None, "gone", "a")]
    connections.close()
    store.close()
