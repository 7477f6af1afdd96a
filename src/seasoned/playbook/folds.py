"""Which entries say exactly the same: what a process keeps at hand of their folded texts, following the store."""

from __future__ import annotations

import threading
from typing import Final
from weakref import WeakKeyDictionary

from seasoned.following import Follower
from seasoned.forks import StartsAnew, watch
from seasoned.playbook.core import Core
from seasoned.playbook.entries import ENTRY
from seasoned.playbook.likeness import folded
from seasoned.ports import Clock, Store
from seasoned.query import Page, Query
from seasoned.records import Hit, Scope

PAGE: Final = 2_000


class Folds(StartsAnew):
    """The ids of the entries of one scope that are shown, by folded text; threads may share it."""

    def __init__(self, store: Store, scope: Scope, clock: Clock) -> None:
        self._clock = clock
        self._follower = Follower(store, Query(scope=scope, kinds=(ENTRY,), k=PAGE))
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own and nothing read."""
        self._lock = threading.Lock()
        self._follower.restart()
        self._start_anew()

    def _start_anew(self) -> None:
        self._texts: dict[str, str] = {}
        self._ids: dict[str, set[str]] = {}
        self._several: set[str] = set()

    def alike(self) -> list[set[str]]:
        """Return the ids of entries with the same folded text, two or more each; costs what changed since before."""
        with self._lock:
            self._follower.follow(self._take, self._start_anew, self._clock.now())
            return [set(self._ids[text]) for text in sorted(self._several)]

    def _take(self, page: Page) -> None:
        for key in page.gone:
            if key.kind == ENTRY:
                self._drop(key.id)
        for hit in page.hits:
            self._take_one(hit)

    def _take_one(self, hit: Hit) -> None:
        text = "" if hit.record.data.get("retired") is not None else folded(hit.text)
        if self._texts.get(hit.id) == text:
            return
        self._drop(hit.id)
        if text:
            self._texts[hit.id] = text
            ids = self._ids.setdefault(text, set())
            ids.add(hit.id)
            if len(ids) > 1:
                self._several.add(text)

    def _drop(self, name: str) -> None:
        text = self._texts.pop(name, None)
        if text is None:
            return
        ids = self._ids[text]
        ids.discard(name)
        if len(ids) < 2:
            self._several.discard(text)
        if not ids:
            del self._ids[text]


_KNOWN: Final[WeakKeyDictionary[Core, Folds]] = WeakKeyDictionary()


def folds_of(core: Core) -> Folds:
    """Return the folded texts of a playbook, the same object each time."""
    known = _KNOWN.get(core)
    return known if known is not None else _KNOWN.setdefault(core, Folds(core.store, core.scope, core.clock))
