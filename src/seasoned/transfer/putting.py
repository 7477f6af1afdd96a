"""Writing records that come from elsewhere: what is there stays unless it may be overwritten, and all is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from seasoned.errors import Conflict, StoreError
from seasoned.ports import ABSENT, Expect, Put, Store
from seasoned.query import Query
from seasoned.records import Hit, Key, Record, Scope
from seasoned.search import Searcher
from seasoned.transfer.bundle import encoded

REMOVED: Final = "it was removed here; import with restore to bring it back"
"""Why something that was forgotten stays away."""

_RETRIES: Final = 8


@dataclass(slots=True)
class Putting:
    """Records on their way into a store, and what became of them.

    A record that differs from the one under its key is refused, or written over it where `overwrite` is set. One whose
    key is among `forgotten` is refused.
    """

    store: Store
    searcher: Searcher
    overwrite: bool = False
    forgotten: frozenset[Key] = frozenset()
    written: int = 0
    duplicate: int = 0
    changed: int = 0
    refused: list[str] = field(default_factory=list)
    degraded: dict[str, None] = field(default_factory=dict)

    def put(self, records: Sequence[Record]) -> None:
        """Write records as they will be stored; sorted anew where another writer came between.

        Raises:
            StoreError: others came first at every try.
        """
        stored = [self.searcher.stored(record) for record in records]
        for _ in range(_RETRIES):
            sorted_ = _Sorted.of(self, stored)
            expected: list[tuple[Record, Expect]] = [(record, ABSENT) for record in sorted_.fresh]
            expected += sorted_.changed
            vectors, failed = self.searcher.vectors([record.text for record, _ in expected])
            puts = [Put(record, vector, expect) for (record, expect), vector in zip(expected, vectors, strict=True)]
            try:
                self.store.apply(puts)
            except Conflict:
                continue
            self._count(sorted_, failed)
            return
        raise StoreError("other writers kept adding the same records; import again")

    def _count(self, sorted_: _Sorted, failed: str | None) -> None:
        self.written += len(sorted_.fresh)
        self.changed += len(sorted_.changed)
        self.duplicate += sorted_.duplicates
        self.refused += sorted_.refused
        if failed:
            self.degraded[failed] = None


@dataclass(slots=True)
class _Sorted:
    """What is new, what differs from a version that is there and goes over it, and what is not written."""

    fresh: list[Record] = field(default_factory=list)
    changed: list[tuple[Record, int]] = field(default_factory=list)
    duplicates: int = 0
    refused: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, putting: Putting, records: Sequence[Record]) -> _Sorted:
        known, own = _known(putting.store, records), dict[Key, Record]()
        made = cls()
        for record in records:
            hit = known.get(record.key)
            old = own.get(record.key) or (None if hit is None else hit.record)
            if old is None and record.key in putting.forgotten:
                made._refuse(record, REMOVED)
            elif old is None:
                made.fresh.append(record)
                own[record.key] = record
            elif _same(old, record, whole=putting.overwrite):
                made.duplicates += 1
            elif putting.overwrite and record.key not in own:
                made.changed.append((record, old.version))
                own[record.key] = record
            else:
                made._refuse(record, "another record has this id")
        return made

    def _refuse(self, record: Record, why: str) -> None:
        self.refused.append(f"{record.key.kind} {record.key.id!r}: {why}")


def _same(old: Record, new: Record, *, whole: bool) -> bool:
    """Tell whether two records say the same; `whole`: in times, worth and sources too."""
    if whole:
        return encoded(old, old.key.scope) == encoded(new, new.key.scope)
    return old.text == new.text and old.data == new.data


def _known(store: Store, records: Sequence[Record]) -> dict[Key, Hit]:
    found: dict[Key, Hit] = {}
    by_scope: dict[Scope, list[Key]] = {}
    for record in records:
        by_scope.setdefault(record.key.scope, []).append(record.key)
    for scope, keys in by_scope.items():
        found |= {hit.record.key: hit for hit in store.find(Query(scope=scope, keys=tuple(keys))).hits}
    return found
