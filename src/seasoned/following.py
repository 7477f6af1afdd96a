"""Every page of a query, records by keys of any scopes, and what changed of a scope since a view last looked."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from seasoned.ports import Store
from seasoned.query import MAX_K, Order, Page, Query
from seasoned.records import Hit, Key, Scope

_SPARE: Final = 64


def pages(store: Store, query: Query) -> Iterator[Page]:
    """Yield the pages of a query by order, to the last."""
    cursor: str | None = query.cursor
    while True:
        page = store.find(replace(query, cursor=cursor))
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def by_scope(keys: Iterable[Key]) -> dict[Scope, list[Key]]:
    """Return keys, each once, by the scope that they are of."""
    found: dict[Scope, list[Key]] = {}
    for key in dict.fromkeys(keys):
        found.setdefault(key.scope, []).append(key)
    return found


def hits_of(store: Store, keys: Iterable[Key]) -> dict[Key, Hit]:
    """Return the records of keys, of whichever scopes, that are there and have not ended."""
    return {
        hit.record.key: hit
        for scope, mine in by_scope(keys).items()
        for some in (tuple(mine[start : start + MAX_K]) for start in range(0, len(mine), MAX_K))
        for hit in store.find(Query(scope=scope, keys=some, k=len(some))).hits
    }


class Follower:
    """How far a view of one scope has read, and which of what it holds ends when.

    `query` says what the view holds; `seq` is the last change it knows of. Nothing is written when a record expires, so
    the time of each look tells; `moved` counts the looks at which time alone changed what there is. Who calls it holds
    the view's lock.
    """

    def __init__(self, store: Store, query: Query) -> None:
        self._store = store
        self._query = replace(query, expired=True)  # what is rewritten to end in the past is a change, too
        self.moved = 0
        self.restart()

    def restart(self) -> None:
        """Know nothing any more: the next look reads everything."""
        self.seq = 0
        self._cursor: str | None = None
        self._ends = _Ends()

    @property
    def remembered(self) -> int:
        """How many ends of records are remembered."""
        return len(self._ends)

    def follow(self, take: Callable[[Page], None], anew: Callable[[], None], now: datetime) -> bool:
        """Give `take` each page of what changed since the last look; return whether the view had to start anew.

        Records that have ended by `now` are never among the hits: they are gone, at the first look after their end.
        `anew` empties the view first where the store no longer knows what was removed since, at each look where it
        keeps no sequence, and where the time is set back to before an end that was told.
        """
        revived = self._ends.revived(now)
        self.moved += revived
        restarted = revived or not self._store.can.ordered
        if restarted:
            self.restart()
            anew()
        while not self._read(take, now):
            self.restart()
            anew()
            restarted = True
        gone = self._ends.passed(now)
        if gone:
            self.moved += 1
            take(Page(gone=gone, seq=self.seq))
        return restarted

    def _read(self, take: Callable[[Page], None], now: datetime) -> bool:
        """Take every page; False where removals since the last look are no longer known."""
        ordered, begun = self._store.can.ordered, self._cursor is not None
        order = Order.CHANGED if ordered else Order.OLDEST
        for page in pages(self._store, replace(self._query, order=order, cursor=self._cursor)):
            self.seq = page.seq
            if page.reload and begun:
                return False
            take(self._ends.lasting(page, now))
            if ordered:
                self._cursor = page.cursor or str(page.seq)
        return True


class _Ends:
    """When each of the records that a view holds ends, for those that do."""

    def __init__(self) -> None:
        self._until: dict[Key, datetime] = {}
        self._next: list[tuple[datetime, int, Key]] = []
        """A heap of ends, some of which count no more; the number keeps those of one instant apart."""
        self._count = 0
        self._told: datetime | None = None
        """The latest end that was told."""

    def __len__(self) -> int:
        return len(self._next)

    def revived(self, now: datetime) -> bool:
        """Tell whether the time is before an end that was told."""
        return self._told is not None and now < self._told

    def lasting(self, page: Page, now: datetime) -> Page:
        """Return a page with what has ended among what is gone; remember when the others end."""
        if self._until:
            for key in page.gone:
                self._until.pop(key, None)
        ended: list[Key] = []
        for hit in page.hits:
            key, until = hit.record.key, hit.record.until
            if until is not None and until <= now:
                self._until.pop(key, None)
                self._tell(until)
                ended.append(key)
            elif until is not None:
                self._remember(key, until)
            elif self._until:
                self._until.pop(key, None)
        if not ended:
            return page
        out = set(ended)
        return replace(page, hits=[hit for hit in page.hits if hit.record.key not in out], gone=(*page.gone, *ended))

    def passed(self, now: datetime) -> tuple[Key, ...]:
        """Return what has ended since it was remembered, and remember it no more."""
        gone: list[Key] = []
        while self._next and self._next[0][0] <= now:
            until, _, key = heapq.heappop(self._next)
            if self._until.get(key) == until:
                del self._until[key]
                self._tell(until)
                gone.append(key)
        return tuple(gone)

    def _tell(self, until: datetime) -> None:
        self._told = until if self._told is None else max(self._told, until)

    def _remember(self, key: Key, until: datetime) -> None:
        if self._until.get(key) == until:
            return
        self._until[key] = until
        self._push(key, until)
        if len(self._next) > 2 * len(self._until) + _SPARE:
            self._next = []
            for each, its in self._until.items():
                self._push(each, its)

    def _push(self, key: Key, until: datetime) -> None:
        self._count += 1
        heapq.heappush(self._next, (until, self._count, key))
