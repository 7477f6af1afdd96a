"""Which sessions there are: counted once, then followed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime

from seasoned.conversation.following import MESSAGE, PAGE, every_page
from seasoned.ports import Store
from seasoned.query import Order, Page, Query
from seasoned.records import Scope


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session: its id, how many messages it has, and when the first and the last of them were said."""

    id: str
    messages: int
    first: datetime
    last: datetime


class Sessions:
    """The sessions of one scope; threads share it."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self._lock = threading.Lock()
        self._cursor: str | None = None
        self._seen: dict[str, tuple[str, datetime, int]] = {}

    def all(self) -> list[SessionInfo]:
        """Return the sessions, the one written to last first."""
        with self._lock:
            self._follow()
            times: dict[str, list[datetime]] = {}
            written: dict[str, int] = {}
            for session, at, order in self._seen.values():
                times.setdefault(session, []).append(at)
                written[session] = max(order, written.get(session, 0))
        latest = sorted(times, key=lambda name: -written[name])
        return [SessionInfo(name, len(times[name]), min(times[name]), max(times[name])) for name in latest]

    def _follow(self) -> None:
        order = Order.CHANGED if self._store.can.ordered else Order.OLDEST
        if order is Order.OLDEST:
            self._seen.clear()
        for page in every_page(self._store, self._query(order)):
            if page.reload:
                self._seen.clear()
                self._cursor = None
                return self._follow()
            self._take(page)
            self._cursor = page.cursor or str(page.seq) if order is Order.CHANGED else None
        return None

    def _query(self, order: Order) -> Query:
        return Query(scope=self._scope, kinds=(MESSAGE,), order=order, cursor=self._cursor, k=PAGE)

    def _take(self, page: Page) -> None:
        for key in page.gone:
            self._seen.pop(key.id, None)
        for hit in page.hits:
            session = hit.record.data.get("session")
            if isinstance(session, str):
                self._seen[hit.id] = (session, hit.record.at, hit.order)
