"""The lessons of one scope at hand, following the store, so that a context does not read them all each time."""

from __future__ import annotations

import threading
from dataclasses import replace

from seasoned.conversation.following import every_page, must_reload
from seasoned.forks import StartsAnew, watch
from seasoned.ports import Store
from seasoned.query import Order, Query
from seasoned.records import Scope
from seasoned.runs import Lesson
from seasoned.runs.lessons import lesson_of, ordered
from seasoned.runs.rows import LESSON

_PAGE = 2_000


class KnownLessons(StartsAnew):
    """The lessons of one scope; threads share it."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._query = Query(scope=scope, kinds=(LESSON,), order=Order.CHANGED, k=_PAGE)
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own and nothing read."""
        self._lock = threading.Lock()
        self._start_anew()

    def _start_anew(self) -> None:
        self._lessons: dict[str, Lesson] = {}
        self._cursor: str | None = None

    def of(self, profile: str) -> list[Lesson]:
        """Return the lessons of a profile: those that stand first, the most confirmed first."""
        with self._lock:
            self._follow()
            return ordered(each for each in self._lessons.values() if each.profile == profile)

    def _follow(self) -> None:
        if not self._store.can.ordered:
            self._start_anew()
        while not self._read():
            self._start_anew()

    def _read(self) -> bool:
        """Take in what changed; False where the removals since the last look are no longer known."""
        ordered_store = self._store.can.ordered
        query = replace(self._query, cursor=self._cursor, order=Order.CHANGED if ordered_store else Order.OLDEST)
        for page in every_page(self._store, query):
            if must_reload(page, query):
                return False
            for key in page.gone:
                self._lessons.pop(key.id, None)
            for hit in page.hits:
                lesson = lesson_of(hit)
                if lesson is None:
                    self._lessons.pop(hit.id, None)
                else:
                    self._lessons[hit.id] = lesson
            self._cursor = page.cursor or str(page.seq) if ordered_store else None
        return True
