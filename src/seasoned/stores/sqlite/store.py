"""`SQLiteStore`: the seam over one file."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from seasoned.arms import Ranked, Wanted, in_arrays, rank
from seasoned.closing import Closing
from seasoned.errors import InvalidInput, StoreError, StoreReadOnly, WrongType
from seasoned.forks import watch
from seasoned.ports import Applied, Can, Change, Clock, Counts, Finding, SystemClock
from seasoned.query import Page, Query
from seasoned.ranking import DEFAULT as DEFAULT_BLEND
from seasoned.records import JSON, Key, to_micros
from seasoned.stores.embedded import CACHE_BYTES, Held, Indexes, merged
from seasoned.stores.sqlite import reading, upkeep
from seasoned.stores.sqlite.blobs import save_index
from seasoned.stores.sqlite.connections import Connections, Durability
from seasoned.stores.sqlite.schema import ROWS, prepare
from seasoned.stores.sqlite.writing import Writing
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

SAVE_AT_CLOSE: Final = 200
"""Fewest changes for which an index is stored when the store is closed."""

_LOG: Final = logging.getLogger("seasoned.stores.sqlite")
_CAN: Final = Can(atomic=True, compare=True, ordered=True, lexical=True, dense=True, fresh=True, durable=True)


class SQLiteStore(Closing):
    """Records in one SQLite file (WAL), made for its owner alone (mode 0600).

    `path` is created if it is not there; its folder must exist. `durability` "full" survives a power cut, "normal" a
    killed process. `analyser` says how texts become terms. `cache_bytes` bounds the indexes kept in memory.

    Raises:
        InvalidInput, WrongType: a path that is blank, holds a NUL, or is none.
        SchemaTooNew: a newer version wrote the file.
        StoreCorrupt: the file is damaged, or of another program.
        StoreError: the file cannot be opened or created.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.path = _checked(path).absolute()
        self._clock = clock or SystemClock()
        self._connections = Connections(str(self.path), durability)
        self._analyser = analyser
        self._cache_bytes = cache_bytes
        self._indexes = Indexes(analyser, cache_bytes)
        self._spaces: dict[str, int] = {}
        try:
            prepare(self._connections)
        except BaseException:
            self._connections.close()
            raise
        watch(self)

    @property
    def can(self) -> Can:
        """All of it: atomic, compare, ordered, lexical, dense, fresh, durable."""
        return _CAN

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`."""
        now = self._now()
        if query.words is not None or query.vector is not None:
            return self._ranked(query, now)
        with self._connections.read() as db:
            if query.scopes:
                return reading.scopes(db, query, now)
            if query.count:
                return reading.count(db, query, now)
            return reading.by_key(db, query, now) if query.keys else reading.in_order(db, query, now)

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes in order, all or none."""
        self._connections.check_open()
        if not changes:
            return Applied((), ())
        with self._connections.write() as db:
            return Writing(db, self._now(), self._spaces).apply(changes)

    def close(self) -> None:
        """Store the indexes that changed and close the file; closing twice is harmless."""
        if self._connections.closed:
            return
        for scope, held in self._indexes.unsaved():
            if held.index is not None and held.index.unsaved >= SAVE_AT_CLOSE:
                self._save(scope, held)
        self._indexes.drop()
        self._connections.close()

    def check(self) -> list[Finding]:
        """Compare the file with itself and every derived index with the rows; [] where all is well."""
        with self._connections.read() as db:
            found = upkeep.check(db, self._analyser)
        waiting = "an erasure waits for a reader to let go of the log; close it and check again"
        return [*found, *(Finding(what, waiting) for what in self._unfinished())]

    def rebuild(self) -> int:
        """Make every derived index anew from the rows; return how many records were read."""
        with self._connections.write() as db:
            db.execute("DELETE FROM posting")
            upkeep.repair(db)
            names = [name for (name,) in db.execute(f"SELECT name FROM scope WHERE id <> {ROWS}")]
        self._indexes.drop()
        return sum(self._rebuilt(name) for name in names)

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove the records for good: no byte of them stays in rows, indexes or the write-ahead log."""
        for scope in {key.scope.encode() for key in keys}:
            self._indexes.drop(scope)
        return upkeep.purge(self._connections, keys, self._now())

    def finish_purge(self) -> tuple[str, ...]:
        """Empty the write-ahead log that an earlier purge could not; return what is still pending."""
        return upkeep.unfinished(self._connections)

    def stats(self) -> Mapping[str, JSON]:
        """Return sizes and counts of the file."""
        with self._connections.read() as db:
            return upkeep.stats(db, self.path)

    def _unfinished(self) -> tuple[str, ...]:
        try:
            return upkeep.unfinished(self._connections)
        except StoreReadOnly:
            return ()

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def before_fork(self) -> None:
        """Become quiet: close the connections."""
        self._connections.before_fork()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._connections.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """Start with connections, locks and indexes of its own."""
        self._connections.after_fork_in_child()
        self._indexes = Indexes(self._analyser, self._cache_bytes)

    def _ranked(self, query: Query, now: int) -> Page:
        if not query.subtree:
            return self._ranked_in(query, now)
        with self._connections.read() as db:
            below = reading.scopes(db, replace(query, words=None, vector=None), now).scopes
        pages = [self._ranked_in(replace(query, scope=scope, subtree=False), now) for scope in below]
        degraded = tuple(part for page in pages for part in page.degraded)
        return Page(hits=merged([page.hits for page in pages], query.k), degraded=degraded)

    def _ranked_in(self, query: Query, now: int) -> Page:
        scope = query.scope.encode()
        with self._indexes.held(scope) as held:
            with self._connections.read() as db:
                ranked = self._rank(db, held, query, now)
                found, degraded = reading.hits_of_rows(db, [one.row for one in ranked])
            if held.due():
                self._save(scope, held)
        hits = [replace(found[one.row], score=one.score, why=one.why) for one in ranked if one.row in found]
        return Page(hits=hits, degraded=degraded)

    def _rank(self, db: sqlite3.Connection, held: Held, query: Query, now: int) -> list[Ranked]:
        rows = reading.SnapshotRows(db, query.scope.encode())
        index = held.follow(rows, self._analyser)
        if query.vector is not None:
            held.follow_vectors(rows, index, query.vector.fingerprint)
        arrays = in_arrays(query.where, index) and query.source is None and query.lacking is None and not query.expired
        wanted = Wanted(
            words=query.words,
            vector=query.vector,
            strength=query.strength,
            blend=query.blend or DEFAULT_BLEND,
            k=query.k,
            now=-1 << 62 if query.expired else now,
            kinds=query.kinds,
            rows=None if arrays else reading.matching_rows(db, query, now),
            where=query.where if arrays else None,
        )
        return rank(index, wanted)

    def _rebuilt(self, scope: str) -> int:
        with self._indexes.held(scope) as held:
            with self._connections.read() as db:
                index = held.follow(reading.SnapshotRows(db, scope), self._analyser)
            self._save(scope, held)
            return len(index)

    def _save(self, scope: str, held: Held) -> None:
        """Store an index, unless its scope changed or a writer is at work: without it the next open is only slower."""
        index = held.index
        if index is None:
            return
        try:
            with self._connections.write_if_free() as db:
                bound = (scope, index.seq)
                found = db and db.execute("SELECT id FROM scope WHERE name = ? AND seq = ?", bound).fetchone()
                if not db or not found:
                    return
                save_index(db, found[0], index)
        except StoreError as error:
            _LOG.warning("the index of one scope was not stored: %s", error)
        index.saved_seq = index.seq


def _checked(path: str | os.PathLike[str]) -> Path:
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(name, str):
        raise WrongType(f"the path of a memory is a string or a path, not {path!r:.80}")
    if not name.strip():
        raise InvalidInput("the path of a memory must not be blank")
    if "\0" in name:
        raise InvalidInput(f"the path of a memory must hold no NUL, found {name!r}")
    return Path(name)
