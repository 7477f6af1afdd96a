"""The client: imported here alone, its connections kept and renewed, and its errors translated."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from seasoned.errors import MissingExtra, StoreBusy, StoreFull, StoreReadOnly
from seasoned.stores.documents import translating

try:
    from singlestoredb.connection import Connection, connect
    from singlestoredb.exceptions import Error, InterfaceError
except ImportError as error:
    raise MissingExtra("singlestore", "singlestoredb") from error

Value: TypeAlias = str | int | None
Row: TypeAlias = Sequence[object]

DUPLICATE: Final = 1062
"""The server's number for a key that is there already."""

_LOST: Final = (2002, 2003, 2006, 2013, 2055)
_BUSY: Final = (1205, 1213)
_FULL: Final = (1021, 1114)
_READ_ONLY: Final = (1142, 1290, 1792)
_KEPT: Final = 8


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave: its rows, or how many it changed."""

    rows: Sequence[Row]
    changed: int


Run: TypeAlias = Callable[[str, Sequence[Value]], Result]


class Connections:
    """Connections to one database, opened at need, kept for the next call, and not taken across a fork.

    One that the server closed while it lay idle is replaced without a word; one that is lost within a change is an
    error, since nobody can tell whether the change was made.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._idle: deque[Connection] = deque()
        self._inherited: list[Connection] = []
        self._process = os.getpid()

    def ask(self, statement: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        """Return the rows of one statement."""
        with _translated():
            connection, result = self._first(statement, values)
            self._keep(connection)
            return result.rows

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        """Give what runs statements that take effect together at the end, or not at all."""
        with _translated():
            connection, _ = self._first("BEGIN", ())
            try:
                yield lambda statement, values: _run(connection, statement, values)
                _run(connection, "COMMIT", ())
            except BaseException:
                self._undo(connection)
                raise
            self._keep(connection)

    def close(self) -> None:
        """Close those that lie idle."""
        if self._process == os.getpid():
            while self._idle:
                _close(self._idle.pop())

    def _first(self, statement: str, values: Sequence[Value]) -> tuple[Connection, Result]:
        """Run the first statement of a call, on a new connection where those that lay idle were lost."""
        while True:
            connection, idle = self._take()
            try:
                return connection, _run(connection, statement, values)
            except Error as error:
                if not _is_lost(error):
                    self._keep(connection)
                    raise
                _close(connection)
                if not idle:
                    raise

    def _take(self) -> tuple[Connection, bool]:
        """Return a connection, and whether it lay idle."""
        if self._process != os.getpid():
            self._inherited += self._idle
            self._idle, self._process = deque(), os.getpid()
        try:
            return self._idle.pop(), True
        except IndexError:
            return self._connect(), False

    def _keep(self, connection: Connection) -> None:
        if len(self._idle) < _KEPT:
            self._idle.append(connection)
        else:
            _close(connection)

    def _undo(self, connection: Connection) -> None:
        try:
            _run(connection, "ROLLBACK", ())
        except (Error, OSError):
            _close(connection)
        else:
            self._keep(connection)


def connecting(address: Mapping[str, object], options: Mapping[str, object]) -> Callable[[], Connection]:
    """Return what opens a connection; `options` are further arguments of `singlestoredb.connect`."""
    fixed = {"autocommit": True, "local_infile": False, "multi_statements": False, "results_type": "tuples"}
    given = {"connect_timeout": 10, "charset": "utf8mb4", **options, **address, **fixed}
    return lambda: connect(**given)  # type: ignore[arg-type]  # the server's own names and types


def _run(connection: Connection, statement: str, values: Sequence[Value]) -> Result:
    with closing(connection.cursor()) as cursor:
        changed = cursor.execute(statement, list(values) if values else None)
        rows = cast("Sequence[Row]", cursor.fetchall()) if cursor.description else []
        return Result(list(rows), int(changed or 0))


def _is_lost(error: Error) -> bool:
    return isinstance(error, InterfaceError) or error.errno in _LOST


def _close(connection: Connection) -> None:
    with suppress(Error, OSError):
        connection.close()


@contextmanager
def _translated() -> Iterator[None]:
    with translating("singlestore", Error, OSError, ValueError, TypeError):
        try:
            yield
        except Error as error:
            for kind, numbers in ((StoreBusy, (*_BUSY, DUPLICATE)), (StoreFull, _FULL), (StoreReadOnly, _READ_ONLY)):
                if error.errno in numbers:
                    raise kind(f"singlestore refused it: {error.errno}: {str(error)[:500]}") from error
            raise
