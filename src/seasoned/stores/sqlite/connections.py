"""Connections to one SQLite file: one that writes, idle ones that read, none shared across a fork."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from seasoned.errors import InvalidInput, StoreBusy, StoreClosed, StoreCorrupt, StoreError, StoreFull, StoreReadOnly

Durability = Literal["full", "normal"]
"""What an acknowledged write survives: `full` a power cut, `normal` a killed process."""

Inode: TypeAlias = tuple[int, int]

BUSY_TIMEOUT_S: Final = 30.0
"""How long a writer waits for another one before `StoreBusy`."""

FULL_BELOW_BYTES: Final = 64 << 10
"""With less space than this an I/O error is reported as a full disk."""

PIECE_BYTES: Final = 1 << 20
OVERLAP_BYTES: Final = 256
"""How the file is read when it is searched for erased bytes."""

FORK_TIMEOUT_S: Final = 5.0
"""How long a fork waits for reads under way."""

LOGS: Final = ("-wal", "-shm")
"""Ends of the names of the files that SQLite keeps beside a store."""

CACHE_PAGES: Final = 4_000
"""Pages of 4 KiB that each connection may keep."""


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise the driver's errors as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path) from error


def _translate(error: sqlite3.Error, path: str) -> StoreError:
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if code == sqlite3.SQLITE_IOERR and _disk_is_full(path):
        code = sqlite3.SQLITE_FULL
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{path} was held by another writer for over {BUSY_TIMEOUT_S:g} s; try again")
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"no space is left for {path}; the change was rolled back")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreReadOnly(f"{path} cannot be written: {error}")
    if code == sqlite3.SQLITE_NOTADB:
        return StoreCorrupt(f"{path} is not a seasoned store: {error}")
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreCorrupt(f"{path} is damaged: {error}; restore a copy, or run doctor on it")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(f"{path} cannot be opened: {error}; check that its folder exists and may be read")
    return StoreError(f"{path}: {error}")


@contextmanager
def _ended(db: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end, roll back on any error."""
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _begun_at_once(db: sqlite3.Connection) -> bool:
    """Begin a writing transaction unless another connection has one."""
    db.execute("PRAGMA busy_timeout=0")
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    finally:
        db.execute(f"PRAGMA busy_timeout={int(BUSY_TIMEOUT_S * 1000)}")
    return True


def _disk_is_full(path: str) -> bool:
    """Tell whether the device has no page left: SQLite reports a log that cannot grow as an I/O error."""
    try:
        free = os.statvfs(Path(path).absolute().parent)
    except (OSError, AttributeError):
        return False
    return free.f_bavail * free.f_frsize < FULL_BELOW_BYTES


class Connections:
    """All connections of one store.

    `write` gives the one that writes, inside `BEGIN IMMEDIATE` and under a lock. `read` gives an idle reading one:
    there are as many as reads at the same time. Before a fork all are closed: SQLite shares one table of locks among
    the connections of a process, and a child that inherited it would take none of its own.
    """

    def __init__(self, path: str, durability: Durability) -> None:
        if durability not in ("full", "normal"):
            raise InvalidInput(f"durability is 'full' or 'normal', not {durability!r}")
        self.path = path
        self._durability = durability
        self._closed = False
        self._inode = _HANDLES.enter(path)
        self._start()

    def _start(self) -> None:
        self.lock = threading.RLock()
        self._quiet = threading.Condition()
        self._forking = False
        self._reading = 0
        self._writer: sqlite3.Connection | None = None
        self._idle: list[sqlite3.Connection] = []

    def check_open(self) -> None:
        """Raise `StoreClosed` after `close`."""
        if self._closed:
            raise StoreClosed(f"the store {self.path} was closed")

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def before_fork(self) -> None:
        """Wait for readers and the writer to end, and close all connections."""
        self.lock.acquire()
        with self._quiet:
            self._forking = True
            self._quiet.wait_for(lambda: not self._reading, timeout=FORK_TIMEOUT_S)
            if self._writer is not None and not self._writer.in_transaction:
                self._idle.append(self._writer)
                self._writer = None
        self.drop_idle()

    def after_fork_in_parent(self) -> None:
        """Let readers and writers go on; connections are opened anew when they are asked for."""
        with self._quiet:
            self._forking = False
            self._quiet.notify_all()
        self.lock.release()

    def after_fork_in_child(self) -> None:
        """Start with new locks and no connection."""
        self._start()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give the writing connection inside a transaction: committed at the end, rolled back on any error."""
        with self.lock, translated(self.path):
            self.check_open()
            db = self._writing()
            db.execute("BEGIN IMMEDIATE")
            with _ended(db):
                yield db

    @contextmanager
    def write_if_free(self) -> Iterator[sqlite3.Connection | None]:
        """Give what `write` gives, or None at once where another writer is at work."""
        if not self.lock.acquire(blocking=False):
            yield None
            return
        try:
            self.check_open()
            with translated(self.path):
                db = self._writing()
                if not _begun_at_once(db):
                    yield None
                    return
                with _ended(db):
                    yield db
        finally:
            self.lock.release()

    @contextmanager
    def outside(self) -> Iterator[sqlite3.Connection]:
        """Give the writing connection outside a transaction, for pragmas and VACUUM."""
        with self.lock, translated(self.path):
            self.check_open()
            yield self._writing()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a reading connection inside one snapshot, which ends with the block."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._forking)
            self.check_open()
            self._reading += 1
            db = self._idle.pop() if self._idle else None
        try:
            with translated(self.path):
                db = db or self._open(query_only=True)
                db.execute("BEGIN")
                yield db
        finally:
            self._put_back(db)

    def _put_back(self, db: sqlite3.Connection | None) -> None:
        if db is not None and db.in_transaction:
            db.execute("ROLLBACK")
        with self._quiet:
            self._reading -= 1
            self._quiet.notify_all()
            if db is not None and not self._closed:
                self._idle.append(db)
                return
        if db is not None:
            db.close()

    def _writing(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = self._open(query_only=False)
        return self._writer

    def _open(self, *, query_only: bool) -> sqlite3.Connection:
        if os.access(self.path, os.W_OK):
            return self._connected("mode=rw", query_only=query_only)
        try:
            return self._connected("mode=ro", query_only=query_only)
        except sqlite3.OperationalError:
            log = Path(f"{self.path}-wal")
            if log.exists() and log.stat().st_size:
                raise
            return self._connected("mode=ro&immutable=1", query_only=query_only)

    def _connected(self, options: str, *, query_only: bool) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"{Path(self.path).absolute().as_uri()}?{options}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            self._settle(db, query_only=query_only)
        except BaseException:
            db.close()
            raise
        return db

    def _settle(self, db: sqlite3.Connection, *, query_only: bool) -> None:
        db.execute("PRAGMA secure_delete=ON")
        db.execute(f"PRAGMA synchronous={self._durability}")
        db.execute(f"PRAGMA cache_size={CACHE_PAGES}")
        db.execute("PRAGMA temp_store=MEMORY")
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA schema_version")
        if query_only:
            db.execute("PRAGMA query_only=ON")
        elif os.access(self.path, os.W_OK):
            db.execute("PRAGMA journal_mode=WAL")

    def bytes_of(self, end: str) -> Iterator[bytes]:
        """Yield the bytes of the file (`end` "") or its log ("-wal") in pieces that overlap by `OVERLAP_BYTES`."""
        handle, place = _HANDLES.of(self._inode, Path(f"{self.path}{end}")), 0
        while handle is not None and (piece := os.pread(handle, PIECE_BYTES + OVERLAP_BYTES, place)):
            yield piece
            place += PIECE_BYTES

    def drop_idle(self) -> None:
        """Close the idle reading connections, so that none of them holds the log back."""
        with self._quiet:
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def close(self) -> None:
        """Close every connection; closing twice is harmless."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            with self._quiet:
                mine = [*self._idle, *([self._writer] if self._writer else [])]
                self._idle, self._writer = [], None
            with translated(self.path):
                for db in mine:
                    db.close()
            _HANDLES.leave(self._inode)


class _Handles:
    """Raw handles of store files, kept open until the last store of this process on the file is closed.

    Closing any handle of a file drops all locks that the process holds on it (POSIX), SQLite's among them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stores: Counter[Inode] = Counter()
        self._open: dict[Inode, dict[str, int]] = {}

    def enter(self, path: str) -> Inode:
        """Count a store in, and return what names its file."""
        _make_private(path)
        found = os.stat(path)
        inode = (found.st_dev, found.st_ino)
        with self._lock:
            self._stores[inode] += 1
        return inode

    def of(self, inode: Inode, path: Path) -> int | None:
        """Return a handle of the file or its log, None where it does not exist."""
        with self._lock:
            held = self._open.setdefault(inode, {})
            if path.name not in held:
                if not path.exists():
                    return None
                held[path.name] = os.open(path, os.O_RDONLY)
            return held[path.name]

    def knows(self, path: Path) -> bool:
        """Tell whether a store of this process has this file, its log or its shared memory open."""
        bases = [path, *(path.with_name(path.name.removesuffix(end)) for end in LOGS if path.name.endswith(end))]
        with self._lock:
            return any(_inode(base) in self._stores for base in bases)

    def leave(self, inode: Inode) -> None:
        """Count a store out; the last one closes the handles."""
        with self._lock:
            self._stores[inode] -= 1
            if self._stores[inode] <= 0:
                del self._stores[inode]
                for handle in self._open.pop(inode, {}).values():
                    os.close(handle)


_HANDLES: Final = _Handles()


def is_open_store(path: Path) -> bool:
    """Tell whether `path` belongs to an open store of this process: opening it beside SQLite would break its locks."""
    return _HANDLES.knows(path)


def _inode(path: Path) -> Inode | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(path: str) -> None:
    """Create the file for its owner alone; SQLite gives its log the same mode."""
    if os.path.exists(path):
        return
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StoreReadOnly(f"{path} cannot be created: {error.strerror}") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull(f"no space is left for {path}") from error
        raise StoreError(f"{path} cannot be created: {error.strerror}") from error
