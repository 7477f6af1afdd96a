"""What engines without search of their own share: in-process indexes, one a scope, that follow the rows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from seasoned.index import Row, ScopeIndex
from seasoned.ports import Fingerprint
from seasoned.query import Query, matches
from seasoned.records import Hit, Record, to_micros
from seasoned.text import Analyser

CACHE_BYTES: Final = 1 << 30
"""How much memory the indexes of one store may take; those used longest ago go first, the one in use never."""

SAVE_AFTER: Final = 2_000
"""How many changes an index takes in before it is stored again, or a quarter of its records if that is more."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened in a scope since some change: rows written and removed, the last change; or: read all again."""

    rows: Iterable[Row]
    gone: Sequence[int]
    seq: int
    reload: bool = False


class Rows(Protocol):
    """One consistent view of the rows of one scope."""

    def seq(self) -> int:
        """Return the scope's last change."""
        ...

    def changes(self, after: int) -> Changes:
        """Return what happened after a change."""
        ...

    def vectors(self, fingerprint: Fingerprint, after: int) -> Iterable[Sequence[tuple[int, bytes]]]:
        """Yield the vectors (row, float32 bytes) of one space of rows written after a change, some at a time."""
        ...

    def load(self, analyser: Analyser) -> ScopeIndex | None:
        """Return the index as it was stored last, None if it was not or does not fit."""
        ...


class Indexes:
    """The indexes of a store, by scope: made at first use, followed at each, dropped by size."""

    def __init__(self, analyser: Analyser, cache_bytes: int = CACHE_BYTES) -> None:
        self.analyser = analyser
        self.cache_bytes = cache_bytes
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._lock = threading.Lock()
        self._total = 0

    @contextmanager
    def held(self, scope: str) -> Iterator[Held]:
        """Give the place of a scope's index, locked for this thread."""
        with self._lock:
            held = self._held.setdefault(scope, Held())
            self._held.move_to_end(scope)
        with held.lock:
            yield held
        self._shrink(scope, held)

    def _shrink(self, used: str, held: Held) -> None:
        with self._lock:
            if self._held.get(used) is held:
                self._total += held.size - held.counted
                held.counted = held.size
            while self._total > self.cache_bytes and len(self._held) > 1:
                oldest = next(iter(self._held))
                if oldest == used:
                    return
                self._total -= self._held.pop(oldest).counted

    def drop(self, scope: str | None = None) -> None:
        """Forget the index of a scope, or of all."""
        with self._lock:
            for name in list(self._held) if scope is None else [scope] if scope in self._held else []:
                self._total -= self._held.pop(name).counted

    def unsaved(self) -> list[tuple[str, Held]]:
        """Return the scopes whose index took in changes since it was stored."""
        with self._lock:
            return [
                (scope, held) for scope, held in self._held.items() if held.index is not None and held.index.unsaved
            ]


class Held:
    """The place of one scope's index: its `size` in bytes, of which `counted` are in the sum of all."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.index: ScopeIndex | None = None
        self.size = 0
        self.counted = 0

    def follow(self, rows: Rows, analyser: Analyser) -> ScopeIndex:
        """Return the index, up to date with the rows."""
        index = self.index
        if index is None or index.wasted:
            stored = rows.load(analyser) if index is None else None
            index = self.index = stored or ScopeIndex(analyser)
            self.size = index.nbytes
        seq = rows.seq()
        if index.seq != seq:
            index = self._take(rows, index, analyser)
        return index

    def _take(self, rows: Rows, index: ScopeIndex, analyser: Analyser) -> ScopeIndex:
        changes = rows.changes(index.seq)
        if changes.reload:
            index = self.index = ScopeIndex(analyser)
            changes = rows.changes(0)
        index.follow(changes.rows, changes.gone, changes.seq)
        self.size = index.nbytes
        return index

    def follow_vectors(self, rows: Rows, index: ScopeIndex, fingerprint: Fingerprint) -> None:
        """Bring the vectors of one space up to date with the rows."""
        space = index.dense(fingerprint)
        if space.seq != index.seq:
            index.take_vectors(space, rows.vectors(fingerprint, space.seq), index.seq)
            self.size = index.nbytes

    def due(self) -> bool:
        """Tell whether the index should be stored."""
        index = self.index
        return index is not None and index.unsaved > max(SAVE_AFTER, len(index) // 4)


def answers(record: Record, spaces: Container[str], query: Query, now: int) -> bool:
    """Tell whether a record with vectors in some spaces answers a query at `now` (µs), whatever words and vector."""
    return (
        (not query.kinds or record.key.kind in query.kinds)
        and (query.expired or not expired(record, now))
        and (query.source is None or query.source in record.sources)
        and (query.lacking is None or (record.text.strip() != "" and query.lacking not in spaces))
        and matches(query.where, record)
    )


def expired(record: Record, now: int) -> bool:
    """Tell whether a record has ended to exist."""
    return record.until is not None and to_micros(record.until) <= now


def merged(found: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Return the k best of the ranked hits of several scopes; those of one scope keep their order."""
    if len(found) == 1:
        return [*found[0]]
    return sorted((hit for hits in found for hit in hits), key=_best_first)[:k]


def _best_first(hit: Hit) -> tuple[float, float]:
    dense = hit.why.get("dense")
    return -hit.score, -dense.value if dense is not None else 0.0
