"""Rotation: every record of some scopes that another key sealed is sealed anew with the current one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from seasoned.errors import Conflict, StoreLocked
from seasoned.keys import Keys, Progress, Rotated
from seasoned.locked import LockedHit
from seasoned.ports import Put, Store
from seasoned.query import Query
from seasoned.records import Hit, Key, Record, Scope
from seasoned.stores.documents.coding import Stored
from seasoned.stores.encrypted.boxes import box_of, read
from seasoned.stores.encrypted.keys import mark_of
from seasoned.stores.encrypted.writing import Sealer

BATCH: Final = 100
"""How many records are sealed anew in one write."""


def rotate(
    inner: Store, keys: Keys, scopes: Sequence[Scope], sealer: Sealer, progress: Progress | None = None
) -> Rotated:
    """Seal anew what the current keys of scopes did not seal; stopped anywhere, the same call goes on.

    Each record sealed anew takes its next version and sequence; `written` stays. One past its `until` is left alone.
    """
    counts: Counter[str] = Counter()
    left: dict[str, list[Key]] = {"locked": [], "unreadable": [], "busy": []}
    total = sum(inner.find(Query(scope=scope, count=True)).count or 0 for scope in scopes) if progress else 0
    for hits in chain.from_iterable(_pages(inner, scope) for scope in scopes):
        due = [hit for hit in hits if not _current(hit, keys)]
        counts["current"] += len(hits) - len(due)
        puts = list(_puts(due, keys, sealer, left))
        busy = list(_written(inner, puts))
        left["busy"] += busy
        counts["resealed"] += len(puts) - len(busy)
        counts["read"] += len(hits)
        if progress is not None:
            progress(counts["read"], max(total, counts["read"]))
    return Rotated(
        resealed=counts["resealed"],
        current=counts["current"],
        locked=tuple(left["locked"]),
        unreadable=tuple(left["unreadable"]),
        busy=tuple(left["busy"]),
    )


def _pages(inner: Store, scope: Scope) -> Iterator[Sequence[Hit]]:
    query = Query(scope=scope, k=BATCH)
    while True:
        page = inner.find(query)
        yield page.hits
        if page.cursor is None:
            return
        query = replace(query, cursor=page.cursor)


def _current(hit: Hit, keys: Keys) -> bool:
    scope, box = hit.record.key.scope, box_of(hit.record)
    name = keys.current(scope)
    return box is not None and name == box.name and mark_of(keys.get(scope, name)) == box.mark


def _puts(hits: Sequence[Hit], keys: Keys, sealer: Sealer, left: dict[str, list[Key]]) -> Iterator[Put]:
    for hit in hits:
        found = read(hit, keys)
        if not isinstance(found, Stored):
            left["locked" if isinstance(found, LockedHit) else "unreadable"].append(hit.record.key)
            continue
        try:
            yield Put(sealer(_next(found)), None, hit.record.version)
        except StoreLocked:
            left["locked"].append(hit.record.key)


def _next(stored: Stored) -> Stored:
    record: Record = stored.hit.record
    return replace(stored, hit=replace(stored.hit, record=replace(record, version=record.version + 1)))


def _written(inner: Store, puts: Sequence[Put]) -> Iterator[Key]:
    """Write them together, or one by one where another writer came between; yield the keys of those it changed."""
    try:
        inner.apply(puts)
    except Conflict:
        for put in puts:
            try:
                inner.apply([put])
            except Conflict:
                yield put.record.key
