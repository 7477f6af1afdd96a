"""Which sessions there are: counted once, then followed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime

from seasoned.conversation.following import MESSAGE, PAGE, ended, every_page, must_reload
from seasoned.forks import StartsAnew, watch
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


@dataclass(frozen=True, slots=True)
class _Seen:
    """A message: its session, when it was said, where it stands, and until when it lasts."""

    session: str
    at: datetime
    order: int
    until: datetime | None


class Sessions(StartsAnew):
    """The sessions of one scope; threads share it."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own and nothing seen."""
        self._lock = threading.Lock()
        self._cursor: str | None = None
        self._seen: dict[str, _Seen] = {}

    def all(self, now: datetime) -> list[SessionInfo]:
        """Return the sessions of what is not past its time, the one written to last first."""
        with self._lock:
            self._follow()
            times: dict[str, list[datetime]] = {}
            written: dict[str, int] = {}
            for seen in self._seen.values():
                if not ended(seen.until, now):
                    times.setdefault(seen.session, []).append(seen.at)
                    written[seen.session] = max(seen.order, written.get(seen.session, 0))
        latest = sorted(times, key=lambda name: -written[name])
        return [SessionInfo(name, len(times[name]), min(times[name]), max(times[name])) for name in latest]

    def _follow(self) -> None:
        order = Order.CHANGED if self._store.can.ordered else Order.OLDEST
        if order is Order.OLDEST:
            self._seen.clear()
        while not self._read(self._query(order)):
            self._seen.clear()
            self._cursor = None

    def _read(self, query: Query) -> bool:
        """Take every page; False where the store no longer knows what was removed since the last look."""
        for page in every_page(self._store, query):
            if must_reload(page, query):
                return False
            self._take(page)
            self._cursor = page.cursor or str(page.seq) if query.order is Order.CHANGED else None
        return True

    def _query(self, order: Order) -> Query:
        return Query(scope=self._scope, kinds=(MESSAGE,), order=order, cursor=self._cursor, k=PAGE, expired=True)

    def _take(self, page: Page) -> None:
        for key in page.gone:
            self._seen.pop(key.id, None)
        for hit in page.hits:
            session = hit.record.data.get("session")
            if isinstance(session, str):
                self._seen[hit.id] = _Seen(session, hit.record.at, hit.order, hit.record.until)
