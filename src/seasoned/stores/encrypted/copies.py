"""The decrypted copies of scopes in this process: made at first use, followed at each, dropped with their keys."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from seasoned.keys import Keys
from seasoned.ports import Store
from seasoned.query import Query
from seasoned.records import Key, Scope
from seasoned.stores.documents.answering import damaged
from seasoned.stores.documents.mirror import Mirror
from seasoned.stores.encrypted.unsealing import Closed, Unsealed


class Copy:
    """One scope: `mirror` holds what could be read, `closed` what could not."""

    def __init__(self, scope: Scope, documents: Unsealed) -> None:
        self.scope = scope
        self.mirror = Mirror(scope.encode())
        self._documents = documents
        self.counted = 0

    @property
    def closed(self) -> Closed:
        """What could not be read."""
        return self._documents.closed

    def follow(self, now: int) -> bool:
        """Bring it up to date; False where it must be made anew, since keys or removals are not what it knew."""
        if not (self._documents.same_keys() and self._documents.catch_up()):
            return False
        self.mirror.follow(self._documents, now)
        self._documents.let_go()
        return True

    def broken(self, query: Query) -> list[tuple[Key, str]]:
        """Return the keys of unreadable records that might have answered, each with what is wrong."""
        own = [(one.key, f"corrupt: {one.why}") for one in self.closed.broken.values()]
        return [each for each in own if not query.kinds or each[0].kind in query.kinds] + damaged(self.mirror, query)


class Copies:
    """The copies of one store; those used longest ago go first, the one in use never."""

    def __init__(self, inner: Store, keys: Keys, cache_bytes: int) -> None:
        self._inner = inner
        self._keys = keys
        self._cache_bytes = cache_bytes
        self._copies: OrderedDict[Scope, Copy] = OrderedDict()
        self._lock = threading.Lock()
        self._total = 0

    @contextmanager
    def of(self, scope: Scope, now: int) -> Iterator[Copy]:
        """Give the copy of a scope, up to date and locked while it is looked at."""
        while True:
            copy = self._known(scope)
            with copy.mirror.lock:
                if copy.follow(now):
                    yield copy
                    self._shrink(copy)
                    return
            self._drop(copy)

    def drop(self, scope: Scope | None = None) -> None:
        """Let go of one copy, or of all."""
        with self._lock:
            for name in [*self._copies] if scope is None else [scope] if scope in self._copies else []:
                self._total -= self._copies.pop(name).counted

    def _known(self, scope: Scope) -> Copy:
        with self._lock:
            if scope not in self._copies:
                self._copies[scope] = Copy(scope, Unsealed(self._inner, self._keys, scope))
            self._copies.move_to_end(scope)
            return self._copies[scope]

    def _drop(self, copy: Copy) -> None:
        with self._lock:
            if self._copies.get(copy.scope) is copy:
                self._total -= self._copies.pop(copy.scope).counted

    def _shrink(self, used: Copy) -> None:
        with self._lock:
            if self._copies.get(used.scope) is used:
                self._total += used.mirror.size - used.counted
                used.counted = used.mirror.size
            while self._total > self._cache_bytes and next(iter(self._copies.values())) is not used:
                self._total -= self._copies.popitem(last=False)[1].counted
