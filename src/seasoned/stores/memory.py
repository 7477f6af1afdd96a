"""`MemoryStore`: records in this process only, gone when it ends; for tests, tries and short-lived agents."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from seasoned.arms import Ranked, Wanted, rank
from seasoned.closing import Closing
from seasoned.errors import StoreClosed
from seasoned.forks import watch
from seasoned.index import ScopeIndex
from seasoned.ports import Applied, Can, Change, Clock, Counts, Finding, Remove, SystemClock
from seasoned.query import Order, Page, Query, cursor_number
from seasoned.ranking import DEFAULT as DEFAULT_BLEND
from seasoned.records import JSON, Hit, Key, Scope, to_micros
from seasoned.stores.embedded import CACHE_BYTES, Indexes, answers, merged
from seasoned.stores.memory_rows import Space, SpaceRows, Stored, Writing
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

_CAN: Final = Can(atomic=True, compare=True, ordered=True, lexical=True, dense=True, fresh=True, durable=False)


class MemoryStore(Closing):
    """Records in a dictionary, with the same search as the SQLite store. Everything is lost when it is closed."""

    def __init__(
        self, *, clock: Clock | None = None, analyser: Analyser = DEFAULT_ANALYSER, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._clock = clock or SystemClock()
        self._analyser = analyser
        self._indexes = Indexes(analyser, cache_bytes)
        self._lock = threading.RLock()
        self._scopes: dict[Scope, Space] = {}
        self._rows = 0
        self._closed = False
        watch(self)

    def before_fork(self) -> None:
        """Wait for the call under way."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start with a lock and indexes of its own."""
        self._lock = threading.RLock()
        self._indexes = Indexes(self._analyser, self._indexes.cache_bytes)

    @property
    def can(self) -> Can:
        """All but durable."""
        return _CAN

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`."""
        with self._lock:
            self._check_open()
            now = to_micros(self._clock.now())
            if query.words is not None or query.vector is not None:
                return _copied(self._ranked(query, now))
            if query.scopes:
                return Page(scopes=tuple(sorted(self._named(query, now))))
            if query.count:
                return Page(count=sum(1 for _ in self._answering(query, now)))
            return _copied(self._by_key(query, now) if query.keys else self._in_order(query, now))

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes in order, all or none."""
        with self._lock:
            self._check_open()
            writing = Writing(self._scopes, self._rows, to_micros(self._clock.now()))
            try:
                done = [writing.one(change) for change in changes]
            except BaseException:
                writing.undo()
                raise
            self._rows = writing.rows
            return Applied(tuple(version for version, _ in done), tuple(seq for _, seq in done))

    def close(self) -> None:
        """Let go of everything; closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._scopes.clear()
            self._indexes.drop()

    def check(self) -> list[Finding]:
        """Compare each index with the rows; [] where all is well."""
        with self._lock:
            self._check_open()
            return [finding for scope in self._scopes for finding in self._check_scope(scope)]

    def _check_scope(self, scope: Scope) -> list[Finding]:
        rows = SpaceRows(self._scopes[scope])
        with self._indexes.held(scope.encode()) as held:
            followed = held.follow(rows, self._analyser).canonical()
        made = ScopeIndex(self._analyser)
        changes = rows.changes(0)
        made.follow(changes.rows, changes.gone, changes.seq)
        return [] if made.canonical() == followed else [Finding("index", f"the index of {scope} differs from its rows")]

    def rebuild(self) -> int:
        """Drop each index, to be made anew; return how many records there are."""
        with self._lock:
            self._check_open()
            self._indexes.drop()
            return sum(len(space.records) for space in self._scopes.values())

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove the records and what indexes hold of them."""
        with self._lock:
            self._check_open()
            stored = [one for key in dict.fromkeys(keys) if (one := self._stored(key)) is not None]
            for scope in {key.scope for key in keys}:
                self._indexes.drop(scope.encode())
            self.apply([Remove(one.hit.record.key) for one in stored])
            return Counts(rows=len(stored), vectors=sum(len(one.vectors) for one in stored))

    def stats(self) -> Mapping[str, JSON]:
        """Return counts of the whole store."""
        with self._lock:
            self._check_open()
            spaces = [space for space in self._scopes.values() if space.records]
            return {"engine": "memory", "records": sum(len(space.records) for space in spaces), "scopes": len(spaces)}

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the in-memory store was closed")

    def _stored(self, key: Key) -> Stored | None:
        space = self._scopes.get(key.scope)
        return None if space is None else space.records.get((key.kind, key.id))

    def _named(self, query: Query, now: int) -> set[Scope]:
        if query.order is not Order.CHANGED:
            return {one.hit.record.key.scope for one in self._answering(query, now)}
        return {each for each in self._scopes if each == query.scope or (query.subtree and query.scope.holds(each))}

    def _answering(self, query: Query, now: int) -> Iterable[Stored]:
        """Yield the records that answer, in the order they were first written."""
        keys = set(query.keys)
        found = [
            one
            for scope, space in self._scopes.items()
            if scope == query.scope or (query.subtree and query.scope.holds(scope))
            for one in space.records.values()
            if (not keys or one.hit.record.key in keys) and _answers(one, query, now)
        ]
        return sorted(found, key=lambda one: one.hit.order)

    def _by_key(self, query: Query, now: int) -> Page:
        found = ((key, self._stored(key)) for key in dict.fromkeys(query.keys))
        inside = ((key, one) for key, one in found if one is not None and self._in_scope(key, query))
        return Page(hits=[one.hit for _, one in inside if _answers(one, query, now)])

    @staticmethod
    def _in_scope(key: Key, query: Query) -> bool:
        return key.scope == query.scope or (query.subtree and query.scope.holds(key.scope))

    def _in_order(self, query: Query, now: int) -> Page:
        after = cursor_number(query.cursor)
        if query.order is Order.CHANGED:
            return self._changed(query, now, after or 0)
        hits = [one.hit for one in self._answering(query, now)]
        if query.order is Order.NEWEST:
            hits = [hit for hit in reversed(hits) if after is None or hit.order < after]
        else:
            hits = [hit for hit in hits if hit.order > (after or 0)]
        page = hits[: query.k]
        return Page(hits=page, cursor=str(page[-1].order) if len(hits) > query.k else None)

    def _changed(self, query: Query, now: int, after: int) -> Page:
        space = self._scopes.get(query.scope, Space())
        recent = [one for one in space.records.values() if one.hit.seq > after]
        hits = sorted((one.hit for one in recent if _answers(one, query, now)), key=lambda hit: hit.seq)
        page = hits[: query.k]
        more = len(hits) > query.k
        end = page[-1].seq if more else space.seq
        gone = [
            key for seq, _, key in space.gone if after < seq <= end and (not query.kinds or key.kind in query.kinds)
        ]
        return Page(hits=page, cursor=str(end) if more else None, seq=space.seq, gone=tuple(gone))

    def _ranked(self, query: Query, now: int) -> Page:
        scopes = [
            scope for scope in self._scopes if scope == query.scope or (query.subtree and query.scope.holds(scope))
        ]
        return Page(hits=merged([self._ranked_in(scope, query, now) for scope in scopes], query.k))

    def _ranked_in(self, scope: Scope, query: Query, now: int) -> list[Hit]:
        space = self._scopes[scope]
        by_row = {one.hit.order: one for one in space.records.values()}
        narrowed = replace(query, words=None, vector=None, scope=scope, subtree=False)
        eligible = [number for number, one in by_row.items() if _answers(one, narrowed, now)]
        ranked = self._rank(scope, query, now, eligible)
        return [replace(by_row[one.row].hit, score=one.score, why=one.why) for one in ranked]

    def _rank(self, scope: Scope, query: Query, now: int, eligible: list[int]) -> list[Ranked]:
        rows = SpaceRows(self._scopes[scope])
        with self._indexes.held(scope.encode()) as held:
            index = held.follow(rows, self._analyser)
            if query.vector is not None:
                held.follow_vectors(rows, index, query.vector.fingerprint)
            wanted = Wanted(
                words=query.words,
                vector=query.vector,
                strength=query.strength,
                blend=query.blend or DEFAULT_BLEND,
                k=query.k,
                now=-1 << 62 if query.expired else now,
                rows=eligible,
            )
            return rank(index, wanted)


def _copied(page: Page) -> Page:
    """Return the page with data of its own, so that no reader changes what is stored."""
    return replace(page, hits=[replace(hit, record=replace(hit.record)) for hit in page.hits])


def _answers(one: Stored, query: Query, now: int) -> bool:
    return answers(one.hit.record, one.vectors, query, now)
