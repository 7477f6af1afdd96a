"""The lessons of one scope at hand, following the store, so that a context does not read them all each time."""

from __future__ import annotations

import threading

from seasoned.following import Follower
from seasoned.forks import StartsAnew, watch
from seasoned.ports import Clock, Store
from seasoned.query import Page, Query
from seasoned.records import Scope
from seasoned.runs import Lesson
from seasoned.runs.lessons import lesson_of, ordered
from seasoned.runs.rows import LESSON

_PAGE = 2_000


class KnownLessons(StartsAnew):
    """The lessons of one scope; threads share it."""

    def __init__(self, store: Store, scope: Scope, clock: Clock) -> None:
        self._clock = clock
        self._follower = Follower(store, Query(scope=scope, kinds=(LESSON,), k=_PAGE))
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own and nothing read."""
        self._lock = threading.Lock()
        self._follower.restart()
        self._start_anew()

    def _start_anew(self) -> None:
        self._lessons: dict[str, Lesson] = {}

    def of(self, profile: str) -> list[Lesson]:
        """Return the lessons of a profile: those that stand first, the most confirmed first."""
        with self._lock:
            self._follower.follow(self._take, self._start_anew, self._clock.now())
            return ordered(each for each in self._lessons.values() if each.profile == profile)

    def _take(self, page: Page) -> None:
        for key in page.gone:
            if key.kind == LESSON:
                self._lessons.pop(key.id, None)
        for hit in page.hits:
            lesson = lesson_of(hit)
            if lesson is None:
                self._lessons.pop(hit.id, None)
            else:
                self._lessons[hit.id] = lesson
