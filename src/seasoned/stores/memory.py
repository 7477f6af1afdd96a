"""`MemoryStore`: records in this process only, gone when it ends; for tests, tries and short-lived agents."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from seasoned.arms import Ranked, Wanted, rank
from seasoned.credits import credited_data
from seasoned.errors import Conflict, InvalidInput, NotFound, StoreClosed, WrongType
from seasoned.index import NEVER, Row, ScopeIndex
from seasoned.ports import (
    ABSENT,
    Applied,
    Can,
    Change,
    Clock,
    Counts,
    Credit,
    Expect,
    Finding,
    Fingerprint,
    Put,
    Remove,
    SystemClock,
    Vectors,
)
from seasoned.query import Order, Page, Query, matches
from seasoned.ranking import DEFAULT as DEFAULT_BLEND
from seasoned.records import JSON, Hit, Key, Record, Scope, finite, from_micros, text_field, to_micros
from seasoned.stores.embedded import CACHE_BYTES, Changes, Indexes, merged
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

_CAN: Final = Can(atomic=True, compare=True, ordered=True, lexical=True, dense=True, fresh=True, durable=False)


@dataclass(slots=True)
class _Stored:
    """A record with what the store knows of it."""

    hit: Hit
    vectors: dict[str, bytes] = field(default_factory=dict)
    credits: set[tuple[str, str]] = field(default_factory=set)


@dataclass(slots=True)
class _Space:
    """One scope."""

    seq: int = 0
    records: dict[tuple[str, str], _Stored] = field(default_factory=dict)
    gone: list[tuple[int, int, Key]] = field(default_factory=list)


class MemoryStore:
    """Records in a dictionary, with the same search as the SQLite store. Everything is lost when it is closed."""

    def __init__(
        self, *, clock: Clock | None = None, analyser: Analyser = DEFAULT_ANALYSER, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._clock = clock or SystemClock()
        self._analyser = analyser
        self._indexes = Indexes(analyser, cache_bytes)
        self._lock = threading.RLock()
        self._scopes: dict[Scope, _Space] = {}
        self._rows = 0
        self._closed = False

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
                return Page(scopes=tuple(sorted({one.hit.record.key.scope for one in self._answering(query, now)})))
            if query.count:
                return Page(count=sum(1 for _ in self._answering(query, now)))
            return _copied(self._by_key(query, now) if query.keys else self._in_order(query, now))

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes in order, all or none."""
        with self._lock:
            self._check_open()
            writing = _Writing(self._scopes, self._rows, to_micros(self._clock.now()))
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
        rows = _Rows(self._scopes[scope])
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

    def _stored(self, key: Key) -> _Stored | None:
        space = self._scopes.get(key.scope)
        return None if space is None else space.records.get((key.kind, key.id))

    def _answering(self, query: Query, now: int) -> Iterable[_Stored]:
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
        after = _cursor(query.cursor)
        hits = [one.hit for one in self._answering(query, now)]
        if query.order is Order.CHANGED:
            return self._changed(query, sorted(hits, key=lambda hit: hit.seq), after or 0)
        if query.order is Order.NEWEST:
            hits = [hit for hit in reversed(hits) if after is None or hit.order < after]
        else:
            hits = [hit for hit in hits if hit.order > (after or 0)]
        page = hits[: query.k]
        return Page(hits=page, cursor=str(page[-1].order) if len(hits) > query.k else None)

    def _changed(self, query: Query, hits: list[Hit], after: int) -> Page:
        space = self._scopes.get(query.scope, _Space())
        hits = [hit for hit in hits if hit.seq > after]
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
        rows = _Rows(self._scopes[scope])
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


def _answers(one: _Stored, query: Query, now: int) -> bool:
    record = one.hit.record
    return (
        (not query.kinds or record.key.kind in query.kinds)
        and (query.expired or not _expired(record, now))
        and (query.source is None or query.source in record.sources)
        and (query.lacking is None or (record.text.strip() != "" and query.lacking not in one.vectors))
        and matches(query.where, record)
    )


def _expired(record: Record, now: int) -> bool:
    return record.until is not None and to_micros(record.until) <= now


def _cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput(f"{cursor!r} is not a cursor of this store")
    return int(cursor)


class _Rows:
    """The rows of one scope: what its index follows."""

    def __init__(self, space: _Space) -> None:
        self._space = space

    def seq(self) -> int:
        return self._space.seq

    def changes(self, after: int) -> Changes:
        changed = sorted(
            (one for one in self._space.records.values() if one.hit.seq > after), key=lambda one: one.hit.order
        )
        gone = [row for seq, row, _ in self._space.gone if seq > after]
        return Changes([_row(one.hit) for one in changed], gone, self._space.seq)

    def vectors(self, fingerprint: Fingerprint, after: int) -> list[list[tuple[int, bytes]]]:
        name = str(fingerprint)
        changed = (one for one in self._space.records.values() if one.hit.seq > after)
        return [[(one.hit.order, one.vectors[name]) for one in changed if name in one.vectors]]

    def load(self, analyser: Analyser) -> ScopeIndex | None:  # noqa: ARG002  # the port's form
        return None


def _row(hit: Hit) -> Row:
    record = hit.record
    session, role, name = (text_field(record.data, each) for each in ("session", "role", "name"))
    return Row(
        row=hit.order,
        kind=record.key.kind,
        text=record.text,
        at=to_micros(record.at),
        until=NEVER if record.until is None else to_micros(record.until),
        worth=record.worth,
        session=session,
        role=role,
        name=name,
    )


class _Writing:
    """One `apply`: changes in order, each with what undoes it."""

    def __init__(self, scopes: dict[Scope, _Space], rows: int, now: int) -> None:
        self._scopes = scopes
        self.rows = rows
        self._now = now
        self._undo: list[Callable[[], object]] = []

    def undo(self) -> None:
        """Take back all that was done, last first."""
        for step in reversed(self._undo):
            step()

    def one(self, change: Change) -> tuple[int, int]:
        """Apply one change; return the record's version after it and the sequence it took."""
        match change:
            case Put():
                return self._put(change)
            case Credit():
                return self._credit(change)
            case Remove():
                return self._remove(change)
        raise WrongType(f"a change is a Put, Credit or Remove, not {change!r}")

    def _space(self, scope: Scope) -> _Space:
        if scope not in self._scopes:
            self._scopes[scope] = _Space()
            self._undo.append(lambda: self._scopes.pop(scope))
        return self._scopes[scope]

    def _found(self, key: Key) -> _Stored | None:
        """Return the record, taking an expired one away first: to callers it is not there."""
        found = self._space(key.scope).records.get((key.kind, key.id))
        if found is not None and _expired(found.hit.record, self._now):
            self._delete(key)
            return None
        return found

    def _put(self, put: Put) -> tuple[int, int]:
        key = put.record.key
        found = self._found(key)
        _check(key, put.expect, found)
        vectors = dict(found.vectors) if found is not None and found.hit.text == put.record.text else {}
        if put.vectors is not None:
            vectors[str(put.vectors.fingerprint)] = _bytes(put.vectors)
        order = found.hit.order if found is not None else self._new_row()
        return self._store(put.record, order, found, vectors, found.credits if found is not None else set())

    def _new_row(self) -> int:
        self.rows += 1
        return self.rows

    def _store(
        self, record: Record, order: int, old: _Stored | None, vectors: dict[str, bytes], credits_: set[tuple[str, str]]
    ) -> tuple[int, int]:
        space = self._space(record.key.scope)
        version = old.hit.record.version + 1 if old is not None else 1
        seq = self._seq(space)
        copied = replace(record, version=version)
        hit = Hit(record=copied, order=order, seq=seq, written=self._clock_time())
        name = (record.key.kind, record.key.id)
        space.records[name] = _Stored(hit, vectors, credits_)
        self._undo.append(lambda: space.records.pop(name) if old is None else space.records.update({name: old}))
        return version, seq

    def _clock_time(self) -> datetime:
        return from_micros(self._now)

    def _seq(self, space: _Space) -> int:
        before = space.seq
        self._undo.append(lambda: setattr(space, "seq", before))
        space.seq += 1
        return space.seq

    def _credit(self, credit: Credit) -> tuple[int, int]:
        found = self._found(credit.key)
        if found is None:
            raise NotFound(f"no {credit.key} to credit")
        if (credit.field, credit.by) in found.credits:
            return found.hit.record.version, 0
        record = found.hit.record
        if credit.field == "worth":
            record = replace(record, worth=finite(record.worth + finite(credit.amount, "a credit"), "worth"))
        else:
            record = replace(record, data=credited_data(json.loads(json.dumps(record.data)), credit))
        given = found.credits | {(credit.field, credit.by)}
        return self._store(record, found.hit.order, found, found.vectors, given)

    def _remove(self, remove: Remove) -> tuple[int, int]:
        found = self._found(remove.key)
        _check(remove.key, remove.expect, found)
        return (0, self._delete(remove.key)) if found is not None else (0, 0)

    def _delete(self, key: Key) -> int:
        space = self._space(key.scope)
        name = (key.kind, key.id)
        old = space.records.pop(name)
        self._undo.append(lambda: space.records.update({name: old}))
        seq = self._seq(space)
        space.gone.append((seq, old.hit.order, key))
        self._undo.append(space.gone.pop)
        return seq


def _check(key: Key, expect: Expect, found: _Stored | None) -> None:
    if expect is None:
        return
    version = found.hit.record.version if found is not None else None
    if (expect is ABSENT and version is not None) or (expect is not ABSENT and version != expect):
        raise Conflict(key, expected=expect, found="none" if version is None else version)


def _bytes(vectors: Vectors) -> bytes:
    return vectors.values.astype("<f4", copy=False).tobytes()
