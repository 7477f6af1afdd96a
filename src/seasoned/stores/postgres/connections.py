"""Connections to one PostgreSQL server: a pool, the driver's errors as ours, and nothing shared across a fork.

psycopg is imported here only, when a store is opened. No connection keeps anything from call to call, so a pooler that
lends connections for one transaction may stand between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from seasoned.errors import (
    InvalidInput,
    MissingExtra,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from seasoned.records import finite

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

    Database: TypeAlias = psycopg.Connection[tuple[Any, ...]]
    Rows: TypeAlias = psycopg.Cursor[tuple[Any, ...]]
    Pool: TypeAlias = psycopg_pool.ConnectionPool[Database]

Params: TypeAlias = Mapping[str, object]
Statement: TypeAlias = "str | tuple[str, Params]"
Result = TypeVar("Result")

FORK_TIMEOUT_S: Final = 5.0
"""How long a fork waits for calls under way."""

RETRY_S: Final = 2.0
"""How long one pool tries to connect before another takes its place: a pool itself waits longer after each failure."""

BEGIN: Final = "BEGIN"
BEGIN_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
COMMIT: Final = "COMMIT"

_BUSY: Final = ("55P03", "40P01", "40001", "57014")
_FULL: Final = ("53100",)
_READ_ONLY: Final = ("25006", "42501")
_CORRUPT: Final = ("XX001", "XX002")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSizes:
    """How many connections are kept (`least`) and opened (`most`, of which half may write at the same time).

    `timeout_s` is how long a call waits for one, and a writer for another one of its scope.
    """

    least: int
    most: int
    timeout_s: float

    def __post_init__(self) -> None:
        sizes = (self.least, self.most)
        if (
            any(isinstance(size, bool) or not isinstance(size, int) for size in sizes)
            or not 0 <= self.least <= self.most
        ):
            raise InvalidInput(f"pool sizes are integers with 0 <= least <= most, found {self.least!r}, {self.most!r}")
        if self.most < 2:
            raise InvalidInput(f"a pool has room for 2 connections or more, found {self.most}")
        if finite(self.timeout_s, "timeout_s") <= 0:
            raise InvalidInput(f"timeout_s is above 0, found {self.timeout_s!r}")


@dataclass(frozen=True, slots=True)
class Packed:
    """A value in the server's binary form; the statement that reads it says of which type it is."""

    data: bytes


@dataclass(slots=True)
class Lent:
    """A connection for one call. `deciding` is set once a commit was sent, whose outcome may stay unknown."""

    db: Database
    deciding: bool = False


class Connections:
    """All connections of one store; made when needed, closed before a fork."""

    def __init__(self, dsn: str, sizes: PoolSizes) -> None:
        self._psycopg, self._pools = _driver()
        self._dsn = dsn
        self._sizes = sizes
        self.where = self._shown(dsn)
        self.timeout_s = sizes.timeout_s
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._quiet = threading.Condition()
        self._forking = False
        self._lent = 0
        self._pool: Pool | None = None
        self._writers = threading.BoundedSemaphore(max(1, self._sizes.most // 2))

    def check_open(self) -> None:
        """Raise `StoreClosed` after `close`."""
        if self._closed:
            raise StoreClosed(f"the store at {self.where} was closed")

    def read(self, work: Callable[[Database], Result]) -> Result:
        """Return what `work` reads; where the connection was lost it is called a second time, on another one."""
        with self._translated():
            try:
                with self._lend() as lent:
                    return work(lent.db)
            except self._psycopg.Error as error:
                if not self._lost(error):
                    raise
            with self._lend() as lent:
                return work(lent.db)

    def write(self, work: Callable[[Lent], Result]) -> Result:
        """Return what `work` wrote; it is called a second time only where nothing can have been written.

        Raises:
            StoreError: (among others) the connection was lost while the change was committed, so that nobody knows
                whether it stands.
        """
        self.check_open()
        if not self._writers.acquire(timeout=self.timeout_s):
            raise StoreBusy(f"the writers of this process held {self.where} for over {self.timeout_s:g} s; try again")
        try:
            with self._translated():
                try:
                    return self._once(work)
                except self._psycopg.Error as error:
                    if not self._lost(error):
                        raise
                return self._once(work)
        finally:
            self._writers.release()

    def _once(self, work: Callable[[Lent], Result]) -> Result:
        with self._lend() as lent:
            try:
                return work(lent)
            except self._psycopg.Error as error:
                if not (lent.deciding and self._lost(error)):
                    raise
                raise StoreError(
                    f"the connection to {self.where} was lost while a change was committed: it stands whole or not at"
                    " all, and which is not known; read, or repeat it, which does no harm where ids are given"
                ) from error

    def _lost(self, error: Exception) -> bool:
        """Tell whether an error means that the connection, and not what was asked, is at fault."""
        if isinstance(error, self._pools.PoolTimeout):
            return False
        code = getattr(error, "sqlstate", None)
        of_kind = isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError))
        return of_kind and (code is None or (code[:2] in ("08", "57") and code not in _BUSY))

    @contextmanager
    def _lend(self) -> Iterator[Lent]:
        """Give a connection for one call; where it turns out to be lost, the others of its pool are given up too."""
        self._enter()
        try:
            pool, db = self._connection()
            try:
                yield Lent(db)
            except self._psycopg.Error as error:
                if self._lost(error):
                    self._give_up(pool)
                raise
            finally:
                self._give_back(pool, db)
        finally:
            self._left()

    def _enter(self) -> None:
        with self._quiet:
            self._quiet.wait_for(lambda: not self._forking)
            self.check_open()
            self._lent += 1

    def _connection(self) -> tuple[Pool, Database]:
        """Return a free connection with its pool; a pool that cannot connect is given up for a new one."""
        end = time.monotonic() + self.timeout_s
        while True:
            pool, left = self._current(), end - time.monotonic()
            try:
                return pool, pool.getconn(timeout=max(min(RETRY_S, left), 0.01))
            except self._pools.PoolClosed:
                self.check_open()
            except self._pools.PoolTimeout:
                if left <= RETRY_S:
                    raise
                if pool.get_stats().get("connections_errors"):
                    self._give_up(pool)

    def _current(self) -> Pool:
        with self._quiet:
            self.check_open()
            if self._pool is None:
                self._pool = self._opened()
            return self._pool

    def _give_up(self, pool: Pool) -> None:
        """Close a pool whose server went away; the next call makes another."""
        with self._quiet:
            if self._pool is pool:
                self._pool = None
        pool.close()

    def _left(self) -> None:
        with self._quiet:
            self._lent -= 1
            self._quiet.notify_all()

    def _give_back(self, pool: Pool, db: Database) -> None:
        try:
            if not db.closed and db.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE:
                db.rollback()
        except self._psycopg.Error:  # the error that led here is raised; the pool replaces what is broken
            db.close()
        pool.putconn(db)

    def _opened(self) -> Pool:
        pool: Pool = self._pools.ConnectionPool(
            self._dsn,
            kwargs=_OPTIONS,
            min_size=self._sizes.least,
            max_size=self._sizes.most,
            timeout=self._sizes.timeout_s,
            open=False,
            name="seasoned",
        )
        pool.open()
        return pool

    @contextmanager
    def alone(self) -> Iterator[Database]:
        """Give a connection outside the pool, closed at the end: for migrations, and what runs in no transaction."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._forking)
            self.check_open()
            self._lent += 1
        try:
            with self._translated(), self._psycopg.connect(self._dsn, **_OPTIONS) as db:
                yield db
        finally:
            self._left()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise the driver's errors as ours."""
        try:
            yield
        except self._pools.PoolClosed as error:
            raise StoreClosed(f"the store at {self.where} was closed") from error
        except self._pools.PoolTimeout as error:
            raise StoreError(
                f"no connection to {self.where} within {self.timeout_s:g} s: the server cannot be reached, or"
                f" all {self._sizes.most} connections are in use"
            ) from error
        except self._psycopg.Error as error:
            raise self._translate(error) from error

    def _translate(self, error: psycopg.Error) -> StoreError:
        code, said = error.sqlstate or "", str(error).strip() or type(error).__name__
        if code in _BUSY:
            return StoreBusy(f"{self.where} was held by another writer for too long: {said}; try again")
        if code in _FULL:
            return StoreFull(f"no space is left at {self.where}: {said}; the change was rolled back")
        if code in _READ_ONLY:
            return StoreReadOnly(f"{self.where} cannot be written: {said}")
        if code in _CORRUPT:
            return StoreCorrupt(f"{self.where} is damaged: {said}; restore a copy, or run doctor on it")
        return StoreError(f"{self.where}: {said}")

    def _shown(self, dsn: str) -> str:
        """Return where the store is, without any secret.

        Raises:
            InvalidInput: it is no address of a PostgreSQL server; it is not shown, since it may hold a password.
        """
        try:
            parts = self._psycopg.conninfo.conninfo_to_dict(dsn)
        except self._psycopg.Error as error:
            raise InvalidInput("not an address of a PostgreSQL server, such as postgresql://user@host/name") from error
        host = str(parts.get("host") or "localhost")
        return f"postgresql://{'' if host.startswith('/') else host}/{parts.get('dbname') or ''}"

    def before_fork(self) -> None:
        """Wait for calls under way, and close the connections."""
        self._quiet.acquire()
        self._forking = True
        self._quiet.wait_for(lambda: not self._lent, timeout=FORK_TIMEOUT_S)
        self._close_pool()

    def after_fork_in_parent(self) -> None:
        """Go on; connections are opened anew when they are needed."""
        self._forking = False
        self._quiet.notify_all()
        self._quiet.release()

    def after_fork_in_child(self) -> None:
        """Start with locks and connections of its own."""
        self._start()

    def _close_pool(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def close(self) -> None:
        """Close every connection; closing twice is harmless."""
        with self._quiet:
            self._closed = True
            self._close_pool()


_OPTIONS: Final[Mapping[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "utf8",
    "fallback_application_name": "seasoned",
}


def at_once(db: Database, statements: Sequence[Statement]) -> list[Rows]:
    """Send all statements in one round trip and return their answers, read in binary form."""
    with db.pipeline():
        return [
            db.execute(each, binary=True) if isinstance(each, str) else db.execute(*each, binary=True)
            for each in statements
        ]


def _driver() -> tuple[Any, Any]:
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise MissingExtra("postgres", error.name or "psycopg") from error
    if not psycopg.Pipeline.is_supported():
        raise MissingExtra("postgres", "libpq 14 or later")
    psycopg.adapters.register_dumper(Packed, _packer(psycopg))
    return psycopg, psycopg_pool


def _packer(psycopg: Any) -> Any:
    """Return what tells the driver to send a `Packed` as it is."""

    class Packer(psycopg.adapt.Dumper):  # type: ignore[misc]  # known only where the driver is
        format = psycopg.pq.Format.BINARY

        def dump(self, obj: Packed) -> bytes:
            return obj.data

    return Packer
