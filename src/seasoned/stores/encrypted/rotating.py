"""Rotation: every record of a scope that another key sealed is sealed anew with the current one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import Conflict
from seasoned.ports import Put, Store
from seasoned.query import Query
from seasoned.records import Hit, Key, Record, Scope
from seasoned.stores.documents.coding import Stored
from seasoned.stores.encrypted.boxes import box_of, read
from seasoned.stores.encrypted.keys import Keys, mark_of
from seasoned.stores.encrypted.locked import LockedHit
from seasoned.stores.encrypted.writing import Sealer

BATCH: Final = 100
"""How many records are sealed anew in one write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What a rotation did: `resealed` records, those that the current key had sealed before (`current`), and the rest.

    `locked` are records whose own key is not here, `unreadable` damaged ones: both are as they were. `busy` are those
    that another writer changed meanwhile, with whatever key is current there; rotate again until there are none.
    """

    resealed: int = 0
    current: int = 0
    locked: tuple[Key, ...] = ()
    unreadable: tuple[Key, ...] = ()
    busy: tuple[Key, ...] = ()

    @property
    def done(self) -> bool:
        """Whether nothing that can be read needs an older key any more."""
        return not (self.locked or self.busy)


def rotate(inner: Store, keys: Keys, scope: Scope, sealer: Sealer) -> Rotated:
    """Seal anew what the current key of a scope did not seal; stopped anywhere, the same call goes on.

    Each record sealed anew takes its next version and sequence; `written` stays. One past its `until` is left alone.
    """
    counts: Counter[str] = Counter()
    left: dict[str, list[Key]] = {"locked": [], "unreadable": [], "busy": []}
    for hits in _pages(inner, scope):
        due = [hit for hit in hits if not _current(hit, keys)]
        counts["current"] += len(hits) - len(due)
        puts = list(_puts(due, keys, sealer, left))
        busy = list(_written(inner, puts))
        left["busy"] += busy
        counts["resealed"] += len(puts) - len(busy)
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
        if isinstance(found, Stored):
            yield Put(sealer(_next(found)), None, hit.record.version)
        else:
            left["locked" if isinstance(found, LockedHit) else "unreadable"].append(hit.record.key)


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
