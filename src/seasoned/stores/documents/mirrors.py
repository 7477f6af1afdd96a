"""The copies of one store, by partition."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from seasoned.stores.documents.mirror import Mirror


class Mirrors:
    """The copies of one store, by partition; those used longest ago go first, the one in use never."""

    def __init__(self, cache_bytes: int) -> None:
        self.cache_bytes = cache_bytes
        self._mirrors: OrderedDict[str, Mirror] = OrderedDict()
        self._lock = threading.Lock()
        self._total = 0

    def __contains__(self, partition: str) -> bool:
        return partition in self._mirrors

    @contextmanager
    def locked(self, partition: str) -> Iterator[Mirror]:
        """Give the copy of a partition, locked for this thread."""
        with self._lock:
            mirror = self._mirrors.setdefault(partition, Mirror(partition))
            self._mirrors.move_to_end(partition)
        with mirror.lock:
            yield mirror
            self._shrink(partition, mirror)

    @contextmanager
    def known(self, partition: str) -> Iterator[Mirror | None]:
        """Give the copy of a partition if there is one, locked for this thread."""
        with self._lock:
            mirror = self._mirrors.get(partition)
        if mirror is None:
            yield None
            return
        with mirror.lock:
            yield mirror

    def drop(self, partition: str | None = None) -> None:
        """Let go of one copy, or of all."""
        with self._lock:
            for name in list(self._mirrors) if partition is None else [partition] if partition in self._mirrors else []:
                self._total -= self._mirrors.pop(name).counted

    def _shrink(self, used: str, mirror: Mirror) -> None:
        with self._lock:
            if self._mirrors.get(used) is mirror:
                self._total += mirror.size - mirror.counted
                mirror.counted = mirror.size
            while self._total > self.cache_bytes and len(self._mirrors) > 1 and next(iter(self._mirrors)) != used:
                self._total -= self._mirrors.popitem(last=False)[1].counted
