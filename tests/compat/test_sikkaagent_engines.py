"""`PineconeDB` and `SingleStore` keep a conversation's records, on loopback servers that speak their protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("pinecone")
pytest.importorskip("singlestoredb")
pytest.importorskip("mysql_mimic")

from seasoned.compat.sikkaagent.memories import Memory
from seasoned.compat.sikkaagent.storages import PineconeDB, RecordStorage, SingleStore
from seasoned.errors import InvalidInput, StoreError

from ..engines import pinecone_server, singlestore_server
from .test_sikkaagent_storages import TOLD, eight

Open = Callable[..., RecordStorage]


@pytest.fixture(params=["pinecone", "pinecone, late", "singlestore", "singlestore, vectors"])
def opening(request: pytest.FixtureRequest) -> Iterator[Open]:
    """What opens a storage on a server, each time over the same records."""
    if request.param.startswith("pinecone"):
        yield from pinecone(late=6 if request.param.endswith("late") else 0)
    else:
        yield from singlestore(8 if request.param.endswith("vectors") else None)


def pinecone(late: int) -> Iterator[Open]:
    """Over an index that shows its writes some requests later."""
    for server in pinecone_server.serving():
        index = pinecone_server.PineconeIndex(late=late)
        host = server.add("talks", index)

        def opened(index=index, host=host, **more) -> RecordStorage:
            index.settle()
            return PineconeDB("talks", host=host, api_key="secret", embedder="hashing", **more)

        yield opened


def singlestore(size: int | None) -> Iterator[Open]:
    """Over a table, with vectors or without."""
    for server in singlestore_server.serving():

        def opened(server=server, **more) -> RecordStorage:
            place = {"host": "127.0.0.1", "port": server.port, "user": "writer", "password": "pass/word"}
            return SingleStore(
                "talks", size, database="memories", embedder=eight() if size else "hashing", **place, **more
            )

        yield opened


def test_every_record_comes_back_as_it_was(opening):
    """Found by search, there again when it is opened again, apart from another session's, and gone after clear."""
    with opening() as storage, opening(session="other") as other:
        memory = Memory(storage)
        memory.add_records(TOLD)
        assert memory.records() == TOLD
        assert memory.search("what is this?", k=1)[0].memory_record == TOLD[1]
        assert Memory(other).records() == []
    with opening() as storage:
        assert Memory(storage).records() == TOLD
        assert [each.status for each in Memory(storage).add_records(TOLD)] == ["duplicate"] * len(TOLD)
        storage.clear()
        assert storage.load() == []


def test_what_cannot_be_is_refused(opening):
    """An unknown distance."""
    with pytest.raises(InvalidInput, match="cosine, dot, euclid"):
        opening(distance="manhattan")


def test_pinecone_wants_a_key(monkeypatch):
    """Given, or in the environment."""
    monkeypatch.delenv("PINECONE_API_KEY", raising=False)
    with pytest.raises(InvalidInput):
        PineconeDB("talks", host="http://127.0.0.1:1/talks")


def test_singlestore_refuses_a_wrong_password_and_a_size_that_is_not_the_embedders():
    """With an error of ours."""
    for server in singlestore_server.serving():
        place = {"host": "127.0.0.1", "port": server.port, "user": "writer", "database": "memories"}
        with pytest.raises(StoreError):
            SingleStore("talks", password="wrong", embedder="hashing", **place)
        with pytest.raises(InvalidInput, match=r"vector_size is 9.*8 places"):
            SingleStore("talks", 9, password="pass/word", embedder=eight(), **place)
