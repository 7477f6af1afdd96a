"""`PostgresStore`: the seam over one schema of a PostgreSQL server."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from seasoned.closing import Closing
from seasoned.errors import StoreReadOnly, WrongType
from seasoned.forks import watch
from seasoned.ports import Applied, Can, Change, Clock, Counts, Credit, Finding, Put, Remove, SystemClock
from seasoned.query import Page, Query
from seasoned.records import JSON, Key, to_micros
from seasoned.stores.embedded import merged
from seasoned.stores.postgres import checking, erasing, locking, reading, rebuilding, storing
from seasoned.stores.postgres.best import best
from seasoned.stores.postgres.candidates import Candidates, Statistics, ranked
from seasoned.stores.postgres.connections import BEGIN_READING, COMMIT, Connections, Lent, PoolSizes, Statement, at_once
from seasoned.stores.postgres.preparing import key_of, place_of, prepared
from seasoned.stores.postgres.rows import scope_mark
from seasoned.stores.postgres.schema import Spaces, checked_schema, prepare
from seasoned.stores.postgres.searching import Search, known, settings, statistics
from seasoned.stores.postgres.whole import too_many, whole
from seasoned.stores.postgres.writing import Writing
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

if TYPE_CHECKING:
    from seasoned.stores.postgres.connections import Database

_LOG: Final = logging.getLogger("seasoned.stores.postgres")
_CAN: Final = Can(atomic=True, compare=True, ordered=True, lexical=True, dense=True, fresh=True, durable=True)
_REMEMBERED: Final = 10_000


class PostgresStore(Closing):
    """Records in one schema of a PostgreSQL database with pgvector, shared by any number of processes and machines.

    `dsn` is a URL (`postgresql://user:password@host/name`) or what else libpq reads; what it leaves out libpq takes
    from the environment. `schema` is made if it is not there, and must belong to seasoned alone. `pool_least` and
    `pool_most` bound the connections that are kept and opened; `timeout_s` is how long a call waits for one, and a
    writer for another one in its scope.

    Raises:
        MissingExtra: psycopg or psycopg_pool is not installed.
        InvalidInput: the address, the name of the schema or the sizes cannot be used.
        SchemaTooNew: a newer version wrote the schema.
        StoreCorrupt: the schema belongs to another program.
        StoreError: the server cannot be reached, or lacks pgvector 0.8.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "seasoned",
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        pool_least: int = 1,
        pool_most: int = 10,
        timeout_s: float = 30.0,
    ) -> None:
        name = checked_schema(schema)
        self._clock = clock or SystemClock()
        self._analyser = analyser
        self._connections = Connections(dsn, PoolSizes(least=pool_least, most=pool_most, timeout_s=timeout_s))
        self._tables, self._terms_of = prepare(self._connections, name, analyser.fingerprint)
        self._spaces = Spaces(self._connections, self._tables)
        self._large: dict[tuple[UUID, tuple[str, ...]], None] = {}
        if self._terms_of != analyser.fingerprint:
            _LOG.warning("%s: %s", self._connections.where, self._other_terms())
        watch(self)

    @property
    def can(self) -> Can:
        """All of it: atomic, compare, ordered, lexical, dense, fresh, durable."""
        return _CAN

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`."""
        self._connections.check_open()
        now = self._now()
        if query.words is not None or query.vector is not None:
            return self._ranked(query, now)
        return self._connections.read(lambda db: self._answer(db, query, now))

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes in order, all or none.

        Raises:
            Conflict: a record was not in the version that its change expects.
            NotFound: a credit for a record that does not exist.
            StoreError: (among others) the connection was lost during the commit, and whether it stands is not known.
        """
        self._connections.check_open()
        for change in changes:
            if not isinstance(change, (Put, Credit, Remove)):
                raise WrongType(f"a change is a Put, Credit or Remove, not {change!r}")
        if not changes:
            return Applied((), ())
        written = [self._written(change) for change in changes]
        return self._connections.write(lambda lent: self._apply(lent, written))

    def close(self) -> None:
        """Close every connection; closing twice is harmless."""
        self._connections.close()

    def check(self) -> list[Finding]:
        """Compare every derived table with the rows; [] where all is well."""
        found = self._connections.read(lambda db: checking.check(db, self._tables, self._analyser))
        waiting = "an erasure waits for a transaction that may still read what was erased; end it and check again"
        found += [Finding(what, waiting) for what in self._unfinished()]
        return [*found, *([Finding("term", self._other_terms())] if self._foreign else [])]

    def rebuild(self) -> int:
        """Make every derived table and index anew from the rows; return how many records were read."""
        self._connections.check_open()
        number = rebuilding.rebuild(self._connections, self._tables, self._analyser)
        self._terms_of = self._analyser.fingerprint
        return number

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove the records for good, and have the server free the space of their rows, words and vectors.

        `pending` names "vacuum" where another transaction may still read them. Bytes in the server's log, its replicas
        and backups, and in free space until it is used again, are out of reach.
        """
        self._connections.check_open()
        if not keys:
            return Counts()
        counts = self._connections.read(lambda db: erasing.held(db, self._tables, keys))
        if not counts.rows:
            return counts
        erasing.announce(self._connections, self._tables)
        self.apply([Remove(key) for key in dict.fromkeys(keys)])
        return replace(counts, pending=erasing.finish(self._connections, self._tables))

    def finish_purge(self) -> tuple[str, ...]:
        """Free what earlier purges could not, because others still read it; return what is still pending."""
        return erasing.unfinished(self._connections, self._tables)

    def stats(self) -> Mapping[str, JSON]:
        """Return sizes and counts of the schema."""
        return self._connections.read(lambda db: checking.stats(db, self._tables))

    def before_fork(self) -> None:
        """Become quiet: close the connections."""
        self._connections.before_fork()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._connections.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """Start with connections and locks of its own."""
        self._connections.after_fork_in_child()
        self._spaces = Spaces(self._connections, self._tables)

    def _unfinished(self) -> tuple[str, ...]:
        try:
            return self.finish_purge()
        except StoreReadOnly:
            return ()

    def _now(self) -> int:
        return to_micros(self._clock.now())

    @property
    def _foreign(self) -> bool:
        return self._terms_of != self._analyser.fingerprint

    def _other_terms(self) -> str:
        return f"the stored terms are of {self._terms_of!r}, not of {self._analyser.fingerprint!r}; rebuild the store"

    def _answer(self, db: Database, query: Query, now: int) -> Page:
        if query.scopes:
            return reading.scopes(db, self._tables, query, now)
        if query.count:
            return reading.count(db, self._tables, query, now)
        if query.keys:
            return reading.by_key(db, self._tables, query, now)
        return reading.in_order(db, self._tables, query, now)

    def _written(self, change: Change) -> locking.Written:
        made = prepared(change, self._analyser, self._spaces.number) if isinstance(change, Put) else None
        return place_of(key_of(change)), change, made

    def _apply(self, lent: Lent, changes: Sequence[locking.Written]) -> Applied:
        now = self._now()
        writing = Writing(locking.read(lent.db, self._tables, changes, self._connections.timeout_s), now)
        applied = writing.apply(changes)
        lent.deciding = True
        storing.write(lent.db, self._tables, writing.plan, now)
        return applied

    def _ranked(self, query: Query, now: int) -> Page:
        if not query.subtree:
            return self._ranked_in(query, now)
        plain = replace(query, words=None, vector=None)
        below = self._connections.read(lambda db: reading.scopes(db, self._tables, plain, now)).scopes
        pages = [self._ranked_in(replace(query, scope=scope, subtree=False), now) for scope in below]
        degraded = tuple(dict.fromkeys(part for page in pages for part in page.degraded))
        return Page(hits=merged([page.hits for page in pages], query.k), degraded=degraded)

    def _ranked_in(self, query: Query, now: int) -> Page:
        space = None if query.vector is None else self._spaces.known(str(query.vector.fingerprint))
        search = Search.of(self._tables, query, now, self._analyser, space)
        found, about = self._candidates(search)
        chosen = ranked(found, about, query, self._analyser)
        foreign = (f"lexical: {self._other_terms()}",) if self._foreign and query.words is not None else ()
        if not chosen:
            return Page(degraded=foreign)
        rows = [one.row for one in chosen]
        read, wrong = self._connections.read(lambda db: reading.hits_of_rows(db, self._tables, query.scope, rows))
        hits = [replace(read[one.row], score=one.score, why=one.why) for one in chosen if one.row in read]
        return Page(hits=hits, degraded=(*wrong, *foreign))

    def _candidates(self, search: Search) -> tuple[Candidates, Statistics]:
        """Return all eligible rows of a scope, or the best of each arm where these are many."""
        query = search.query
        scope = (scope_mark(query.scope), tuple(sorted(query.kinds)))
        plain = query.where is None and query.source is None and query.lacking is None
        if not (plain and scope in self._large):
            raws, about = self._read(search, whole(search))
            if not too_many(raws):
                return Candidates.of(raws), about
            if plain:
                self._remember(scope)
        raws, about = self._read(search, best(search))
        return Candidates.of(raws), about

    def _remember(self, scope: tuple[UUID, tuple[str, ...]]) -> None:
        if len(self._large) >= _REMEMBERED:
            self._large.clear()
        self._large[scope] = None

    def _read(self, search: Search, statement: Statement) -> tuple[list[tuple[Any, ...]], Statistics]:
        asked = [BEGIN_READING, settings(search.query), *statistics(search), statement, COMMIT]
        _, _, scope, terms, rows, _ = self._connections.read(lambda db: at_once(db, asked))
        return rows.fetchall(), known(scope.fetchone(), terms.fetchall())
