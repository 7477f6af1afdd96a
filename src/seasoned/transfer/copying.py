"""Copying a memory from one engine to another: page by page, resumable, and compared at the end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from seasoned.errors import InvalidInput, StoreError
from seasoned.locked import bare
from seasoned.ports import Clock, Store
from seasoned.query import Query
from seasoned.records import Record, Scope
from seasoned.search import Searcher
from seasoned.transfer.bundle import Progress, encoded, records_of
from seasoned.transfer.putting import Putting
from seasoned.transfer.tombstones import tombstones

_BATCH: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy did: records read and written, and those that were there already.

    `digest` is the SHA-256 of all records in both places. `degraded` says what is missing for now, such as vectors.
    """

    read: int
    written: int
    duplicate: int
    digest: str
    degraded: tuple[str, ...] = ()


def copy(
    source: Store, target: Store, scope: Scope, searcher: Searcher, clock: Clock, progress: Progress | None = None
) -> Copied:
    """Write every record of the scope and those below it to another store, and compare both.

    What is there already stays, so a copy that broke off goes on where it was. Vectors are made anew by `searcher`,
    which stands over the target. What was removed is told to the target, so that no import brings it
    back. Not copied: what is past its time, numbers of versions, and who gave which credit.

    Raises:
        InvalidInput: source and target are one store.
        StoreError: the target holds other records under the same ids, or both differ at the end, since one was written
            to meanwhile.
    """
    if bare(source) is bare(target):
        raise InvalidInput("a memory is copied to another store, not to itself")
    putting, degraded = Putting(target, searcher, clock.now(), restore=True), list[str]()
    done = _put_all(source, scope, putting, degraded, progress)
    if putting.refused:
        raise StoreError(
            f"the target has other records under the same ids, {len(putting.refused)} in all, such as "
            f"{putting.refused[0]}; {putting.written} others were written"
        )
    digest, found = digest_of(source, scope, searcher.stored), digest_of(target, scope, searcher.stored)
    if digest != found:
        raise StoreError("source and target differ: one of them was written to meanwhile, or held more; copy again")
    return Copied(
        read=done,
        written=putting.written,
        duplicate=putting.duplicate,
        digest=digest[1],
        degraded=tuple(dict.fromkeys((*degraded, *putting.degraded))),
    )


def _put_all(source: Store, scope: Scope, putting: Putting, degraded: list[str], progress: Progress | None) -> int:
    """Write every record, and tell what was removed; return how many records there were."""
    total = source.find(Query(scope=scope, subtree=True, count=True)).count or 0
    records, done = records_of(source, scope, degraded), 0
    while batch := list(islice(records, _BATCH)):
        putting.put(batch)
        done += len(batch)
        if progress is not None:
            progress(done, max(total, done))
    keys = tombstones(source, scope, degraded)
    while gone := list(islice(keys, _BATCH)):
        putting.note_gone(gone)
    return done


def digest_of(store: Store, scope: Scope, stored: Callable[[Record], Record]) -> tuple[int, str]:
    """Return how many records a scope and those below it hold, and the SHA-256 of them all, whatever their order.

    `stored` says what the target makes of a record, such as one without secrets.
    """
    seen = sorted(
        hashlib.sha256(json.dumps(encoded(stored(record), scope), ensure_ascii=False, sort_keys=True).encode()).digest()
        for record in records_of(store, scope, [])
    )
    return len(seen), hashlib.sha256(b"".join(seen)).hexdigest()
