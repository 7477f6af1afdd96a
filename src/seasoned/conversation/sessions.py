"""Which sessions there are: counted once, then followed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime

from seasoned.conversation.following import MESSAGE, PAGE
from seasoned.following import Follower
from seasoned.forks import StartsAnew, watch
from seasoned.ports import Store
from seasoned.query import Page, Query
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
    """A message: its session, when it was said, and where it stands."""

    session: str
    at: datetime
    order: int


class Sessions(StartsAnew):
    """The sessions of one scope; threads share it."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._follower = Follower(store, Query(scope=scope, kinds=(MESSAGE,), k=PAGE))
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own and nothing seen."""
        self._lock = threading.Lock()
        self._follower.restart()
        self._seen: dict[str, _Seen] = {}

    def all(self, now: datetime) -> list[SessionInfo]:
        """Return the sessions of what is not past its time, the one written to last first."""
        with self._lock:
            self._follower.follow(self._take, self._seen.clear, now)
            times: dict[str, list[datetime]] = {}
            written: dict[str, int] = {}
            for seen in self._seen.values():
                times.setdefault(seen.session, []).append(seen.at)
                written[seen.session] = max(seen.order, written.get(seen.session, 0))
        latest = sorted(times, key=lambda name: -written[name])
        return [SessionInfo(name, len(times[name]), min(times[name]), max(times[name])) for name in latest]

    def _take(self, page: Page) -> None:
        for key in page.gone:
            self._seen.pop(key.id, None)
        for hit in page.hits:
            session = hit.record.data.get("session")
            if isinstance(session, str):
                self._seen[hit.id] = _Seen(session, hit.record.at, hit.order)
