"""Every page of a query; and what changed of a scope since the last look, for views that are kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from seasoned.ports import Store
from seasoned.query import Order, Page, Query


def pages(store: Store, query: Query) -> Iterator[Page]:
    """Yield the pages of a query by order, to the last."""
    cursor: str | None = query.cursor
    while True:
        page = store.find(replace(query, cursor=cursor))
        yield page
        cursor = page.cursor
        if cursor is None:
            return


class Follower:
    """How far a view of one scope has read. `query` says what the view holds; `seq` is the last change it knows of.

    Who calls it holds the view's lock.
    """

    def __init__(self, store: Store, query: Query) -> None:
        self._store = store
        self._query = query
        self.restart()

    def restart(self) -> None:
        """Know nothing any more: the next look reads everything."""
        self.seq = 0
        self._cursor: str | None = None

    def follow(self, take: Callable[[Page], None], anew: Callable[[], None]) -> bool:
        """Give `take` each page of what changed since the last look; return whether the view had to start anew.

        `anew` empties the view first where the store no longer knows what was removed since, and at each look where it
        keeps no sequence.
        """
        restarted = not self._store.can.ordered
        if restarted:
            anew()
        while not self._read(take):
            self.restart()
            anew()
            restarted = True
        return restarted

    def _read(self, take: Callable[[Page], None]) -> bool:
        """Take every page; False where removals since the last look are no longer known."""
        ordered, begun = self._store.can.ordered, self._cursor is not None
        order = Order.CHANGED if ordered else Order.OLDEST
        for page in pages(self._store, replace(self._query, order=order, cursor=self._cursor)):
            self.seq = page.seq
            if page.reload and begun:
                return False
            take(page)
            if ordered:
                self._cursor = page.cursor or str(page.seq)
        return True
