"""How long items live: what a read prolongs, and what a sweep removes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from seasoned.errors import Conflict, SeasonedError, StoreBusy, StoreFull, StoreReadOnly
from seasoned.integrations.langgraph.items import KIND, expiry, ttl_of
from seasoned.ports import ABSENT, Change, Put, Remove, Store
from seasoned.query import Compare, Op, Query
from seasoned.records import Hit, Record, Scope

WORTH_WRITING: Final = 0.01
"""A read that would prolong an item by less than this share of its time to live writes nothing."""

SWEPT_AT_ONCE: Final = 1_000
"""How many expired items one write removes, so that no other writer waits long."""

_LOG: Final = logging.getLogger("seasoned.langgraph")


def refresh(store: Store, hits: Iterable[Hit], now: datetime) -> None:
    """Give items that were read their whole time to live again; one that another writer changed meanwhile has it.

    Where the store cannot be written the read stands and the log says so.
    """
    puts = [Put(put, None, put.version) for hit in hits if (put := _prolonged(hit.record, now)) is not None]
    try:
        _each_if_not_all(store, puts)
    except (StoreBusy, StoreFull, StoreReadOnly) as error:
        _LOG.warning("the time to live of %d items that were read was not refreshed: %s", len(puts), error)


def _prolonged(record: Record, now: datetime) -> Record | None:
    ttl = ttl_of(record)
    until = expiry(now, ttl)
    if ttl is None or until is None or record.until is None:
        return None
    gained = (until - record.until).total_seconds() / 60
    return replace(record, until=until) if gained >= WORTH_WRITING * ttl else None


def sweep(store: Store, base: Scope, now: datetime) -> int:
    """Remove the items that have expired; return how many. One that is put anew meanwhile stays.

    An expired record is absent to a writer, who takes it away when told of its key; so that is what is expected.
    """
    query = Query(
        scope=base,
        subtree=True,
        kinds=(KIND,),
        where=Compare("until", Op.LE, now),
        expired=True,
        k=SWEPT_AT_ONCE,
    )
    total = 0
    while True:
        page = store.find(query)
        total += _each_if_not_all(store, [Remove(hit.record.key, ABSENT) for hit in page.hits])
        if page.cursor is None:
            return total
        query = replace(query, cursor=page.cursor)


def _each_if_not_all(store: Store, changes: Sequence[Change]) -> int:
    """Apply changes at once; where others changed some of the records meanwhile, all but those. Return how many."""
    if not changes:
        return 0
    try:
        store.apply(changes)
    except Conflict:
        done = 0
        for change in changes:
            with suppress(Conflict):
                store.apply([change])
                done += 1
        return done
    return len(changes)


class Sweeper:
    """Calls `sweep` in a thread of its own, every `interval_s` seconds, until it is stopped."""

    def __init__(self, sweep: Callable[[], int], interval_s: float) -> None:
        self._sweep = sweep
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="seasoned-ttl-sweeper", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float | None = None) -> bool:
        """Ask the thread to end and wait for it; return whether it has ended."""
        self._stopping.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            try:
                swept = self._sweep()
            except SeasonedError as error:
                _LOG.warning("expired items were not swept, and will be tried again: %s", error)
            else:
                _LOG.debug("swept %d expired items", swept)
