"""SQLite files of other programs: told by their tables, and read from a copy, so that nothing beside them changes.

The file may be open elsewhere, in this process too. So only SQLite opens it: any other handle on it, once closed, would
drop the locks that SQLite holds on it. What a write-ahead log holds is read, and no `-wal` or `-shm` is made.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from seasoned.errors import BundleError

Tables: TypeAlias = Mapping[str, frozenset[str]]
"""The tables of a database, each with the names of its columns."""

SUFFIXES: Final = (".sqlite3", ".sqlite", ".db")
"""What the name of a database in a folder ends in."""

_LOGS: Final = ("-wal", "-journal")
_INDEX_ONLY: Final = "malformed inverted index"
_TRIES: Final = 5


def is_database(path: Path) -> bool:
    """Tell whether a file is a SQLite database, whole or damaged; an empty file is none, nor what cannot be opened."""
    try:
        if not path.stat().st_size:
            return False
        with closing(_connected(path, "mode=ro&immutable=1")) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except OSError:
        return False
    except sqlite3.DatabaseError as error:
        return _code(error) not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN)
    except UnicodeDecodeError:  # its schema is damaged
        return True
    return True


def tables_of(path: Path) -> Tables:
    """Return the tables of a database with their columns; the virtual ones are left out.

    Raises:
        BundleError: it is damaged or cannot be read.
    """
    with _translated(path), _in_place(path) as connection:
        return tables_in(connection)


def tables_in(connection: sqlite3.Connection) -> Tables:
    """Return the tables of an open database with their columns; the virtual ones are left out."""
    listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY 1")
    names = [str(name) for (name,) in listed]
    return {name: _columns(connection, name) for name in names if not name.startswith("sqlite_")}


def check(path: Path, more: Callable[[sqlite3.Connection], None] | None = None) -> None:
    """Check that a database is whole; only its full-text indexes may be damaged, which nothing is read from.

    `more` is what its format checks.

    Raises:
        BundleError: it is damaged, cut short, or cannot be read.
    """
    with _translated(path), _in_place(path) as connection:
        found = [str(what) for (what,) in connection.execute("PRAGMA quick_check")]
        wrong = [what for what in found if what != "ok" and _INDEX_ONLY not in what]
        if wrong:
            raise BundleError(f"the database {path.name!r} is damaged or cut short: {' '.join(wrong[0].split()):.200}")
        if more is not None:
            more(connection)


@contextmanager
def copies(paths: Iterable[Path]) -> Iterator[Mapping[Path, Path]]:
    """Copy databases as they stand now, and give the copies by what they are of; they are gone at the end.

    Raises:
        BundleError: one is damaged, cannot be read, or is being written to all the time.
    """
    made: dict[Path, Path] = {}
    with ExitStack() as stack:
        folder = ""
        for path in dict.fromkeys(paths):
            with _translated(path):
                folder = folder or stack.enter_context(_folder())
                made[path] = Path(folder) / f"copy-{len(made)}.db"
                _copy(path, made[path])
        yield made


@contextmanager
def opened(copy: Path, path: Path) -> Iterator[sqlite3.Connection]:
    """Open the copy of a database, which is called by its own path in errors.

    Rows are `sqlite3.Row`. Bytes of a text that are not UTF-8 come as U+FFFD.

    Raises:
        BundleError: it is damaged or cannot be read.
    """
    with _translated(path), closing(_connected(copy, "mode=ro&immutable=1")) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def quoted(name: str) -> str:
    """Return the name of a table or column as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(str(row[1]) for row in connection.execute(f"PRAGMA table_info({quoted(table)})"))


def _connected(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)
    connection.text_factory = lambda value: value.decode("utf-8", "replace")
    return connection


def _code(error: sqlite3.Error) -> int:
    """Return the primary code of an error; 0 for one that is Python's own."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _copy(path: Path, copy: Path) -> None:
    """Copy a database; one that nobody works with is read without locks, and again where it changed meanwhile."""
    for _ in range(_TRIES):
        before = _state(path)
        with _in_place(path) as source, closing(sqlite3.connect(copy)) as target:
            source.execute("BEGIN")
            source.execute("SELECT 1 FROM sqlite_master").fetchone()
            source.backup(target)
        if not _is_quiet(before) or before == _state(path):
            return
    raise BundleError(f"the database {path.name!r} is being written to all the time; import it when it rests")


@contextmanager
def _in_place(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database where it lies, without making a file beside it.

    One without a log is opened as one that does not change, since SQLite would make a log else. A log without the
    `-shm` of a living writer, or one that has to be rolled back, was left behind: SQLite would have to write to read
    it, so it does in a copy.
    """
    state = _state(path)
    if _is_quiet(state):
        with closing(_connected(path, "mode=ro&immutable=1")) as connection:
            yield connection
    elif not _is_left_behind(path, state):
        with closing(_connected(path, "mode=ro")) as connection:
            yield connection
    else:
        with _folder() as folder:
            copy = Path(folder) / "left.db"
            for end in ("", *_LOGS):
                if state.get(end):
                    shutil.copyfile(_beside(path, end), _beside(copy, end))
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                yield connection


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="seasoned-", ignore_cleanup_errors=True)


def _is_left_behind(path: Path, state: Mapping[str, tuple[int, int]]) -> bool:
    if state.get("-wal"):
        return "-shm" not in state
    try:
        with closing(_connected(path, "mode=ro")) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        return _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
    return False


def _is_quiet(state: Mapping[str, tuple[int, int]]) -> bool:
    return not any(state.get(end) for end in _LOGS)


def _state(path: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of the file and of each that stands beside it; a log that is empty counts as none."""
    found: dict[str, tuple[int, int]] = {}
    for end in ("", *_LOGS, "-shm"):
        try:
            stat = _beside(path, end).stat()
        except FileNotFoundError:
            continue
        if stat.st_size:
            found[end] = (stat.st_size, stat.st_mtime_ns)
    return found


def _beside(path: Path, end: str) -> Path:
    """Return what stands beside a file; beside what a link leads to, as SQLite has it."""
    found = path.resolve()
    return found.with_name(found.name + end)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise BundleError(f"the database {path.name!r} is damaged or cut short: {error}") from error
        raise BundleError(f"cannot read the database {path.name!r}: {error}") from error
    except UnicodeDecodeError as error:  # what SQLite says of a damaged schema quotes it
        raise BundleError(f"the database {path.name!r} is damaged or cut short: its schema is no text") from error
    except OSError as error:
        raise BundleError(f"cannot read the database {path.name!r}: {error.strerror or error}") from error
