"""Vectors are held once, by the index; what an index that is made anew needs of them is read again."""

from __future__ import annotations

import numpy as np

from seasoned.ports import Fingerprint, Put, Remove, Vectors
from seasoned.query import Query
from seasoned.records import Key
from seasoned.stores.documents.mirror import Mirror, MirrorRows
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock
from seasoned.text import DEFAULT

from .plain_documents import ALICE, LateDocuments, PlainDocuments, note, opened

SPACE = Fingerprint("test", "1", 256)


def rows(seed: int, parts: int = 1) -> Vectors:
    """Unit vectors that a seed gives."""
    made = np.random.default_rng(seed).normal(size=(parts, SPACE.dimension)).astype(np.float32)
    return Vectors(SPACE, made / np.linalg.norm(made, axis=1, keepdims=True))


def test_the_nearest_are_those_of_the_store_in_memory_however_often_records_change(tmp_path):
    """Also after so many rewrites and removals that the index is made anew, and where writes are shown late."""
    with (
        opened(PlainDocuments(f"{tmp_path}/a")) as one,
        opened(LateDocuments(f"{tmp_path}/b", chars=4096)) as late,
    ):
        stores = one, late, MemoryStore(clock=FakeClock())
        changes = [Put(note(f"n{number}", f"tea {number}"), rows(number, 1 + number % 2)) for number in range(700)]
        for round_ in range(4):
            for store in stores:
                store.apply(changes)
            for asked in (rows(5), rows(699), rows(1234)):
                found = [
                    [(hit.id, round(hit.score, 5)) for hit in store.find(Query(scope=ALICE, vector=asked, k=20)).hits]
                    for store in stores
                ]
                assert found[0] == found[1] == found[2]
                assert len(found[0]) == 20
            changes = [
                *(
                    Put(note(f"n{number}", f"milk {round_} {number}"), rows(number + 10_000))
                    for number in range(100, 690)
                ),
                Remove(Key(ALICE, "note", f"n{round_}")),
                Put(note("n50", "tea 50", worth=float(round_))),
            ]
        lacking = [store.find(Query(scope=ALICE, lacking=str(SPACE), count=True)).count for store in stores]
        assert lacking == [0, 0, 0]
        stores[2].close()


def test_a_copy_holds_no_vectors_that_the_index_holds(tmp_path):
    """A kilobyte a record of 256 dimensions, which would be held twice."""
    engine = PlainDocuments(str(tmp_path))
    with opened(engine) as store:
        store.apply([Put(note(f"n{number}", "tea"), rows(number)) for number in range(100)])
    copy = Mirror(ALICE.encode())
    copy.follow(engine, 0)
    index = copy.index(DEFAULT)
    before = copy.size
    copy.held.follow_vectors(MirrorRows(copy), index, SPACE)
    assert len(index.dense(SPACE)) == 100
    held = sum(len(data) for one in copy.records.values() for data in one.vectors.values())
    assert (held, copy.size < before + 100_000) == (0, True)
