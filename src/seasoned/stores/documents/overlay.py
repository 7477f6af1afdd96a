"""`Overlaid`: an engine that shows its own writes late, made to show them at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from seasoned.stores.documents.ports import Document, Documents, Place, Sort, Traits
from seasoned.stores.documents.processes import ForkLock

WAITING_BYTES: Final = 64_000_000
"""About how much of what was written is held before the engine is asked what it shows by now."""

DELETED: Final = 10_000
"""How many deletions are remembered; those of longest ago go first."""

_OVERHEAD: Final = 1_000


class Overlaid:
    """Holds what was written through it until the engine shows it (a document of that `seq` or a later one).

    What other processes wrote is seen when the engine shows it. What was deleted is hidden for as long as the engine
    shows the deleted state. Beyond `waiting_bytes` each write also reads some of what waits longest, so that a bulk
    load is held only for as long as the engine is late.
    """

    def __init__(self, documents: Documents, waiting_bytes: int = WAITING_BYTES) -> None:
        self._documents = documents
        self._waiting_bytes = waiting_bytes
        self._lock = ForkLock()
        self._waiting: OrderedDict[Place, Document] = OrderedDict()
        self._bytes = 0
        self._deleted: OrderedDict[Place, int] = OrderedDict()

    @property
    def traits(self) -> Traits:
        """Those of the engine: `fresh` stays false, since other processes are seen late."""
        return self._documents.traits

    @property
    def held(self) -> int:
        """About how many bytes wait to be shown."""
        return self._bytes

    def put(self, documents: Sequence[Document]) -> None:
        """Write, and remember until the engine shows it."""
        self._documents.put(documents)
        with self._lock:
            for document in documents:
                place = document.partition, document.id
                self._pop(place)
                self._waiting[place] = document
                self._bytes += _size(document)
                self._deleted.pop(place, None)
        if self._bytes > self._waiting_bytes:
            self._confirm()

    def _confirm(self) -> None:
        """Read what waits longest; what is not shown yet waits behind the rest."""
        with self._lock:
            oldest = list(islice(self._waiting, self.traits.batch))
        self.get(oldest)
        with self._lock:
            for place in oldest:
                if place in self._waiting:
                    self._waiting.move_to_end(place)

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Return each in its newest known state."""
        found = {(one.partition, one.id): one for one in self._documents.get(places)}
        newest = (self._newest(place, found.get(place)) for place in places)
        return [one for one in newest if one is not None]

    def delete(self, places: Sequence[Place]) -> None:
        """Delete, and hide the state that was deleted."""
        known = {(one.partition, one.id): one.seq for one in self.get(places)}
        self._documents.delete(places)
        with self._lock:
            for place in places:
                waited = self._pop(place)
                self._deleted[place] = max(known.get(place, 0), 0 if waited is None else waited.seq)
            while len(self._deleted) > DELETED:
                self._deleted.popitem(last=False)

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Yield each in its newest known state, those that the engine does not show yet included."""
        seen: set[Place] = set()
        for one in self._documents.scan(partition, after):
            place = one.partition, one.id
            seen.add(place)
            newest = self._newest(place, one)
            if newest is not None and newest.seq > after:
                yield newest
        with self._lock:
            rest = [
                one
                for place, one in self._waiting.items()
                if place not in seen and one.partition == partition and one.seq > after
            ]
        yield from rest

    def partitions(self, prefix: str) -> Iterable[str]:
        """Return those of the engine and those just written."""
        with self._lock:
            own = [one.partition for one in self._waiting.values() if one.sort is Sort.HEAD]
        return dict.fromkeys(
            chain(self._documents.partitions(prefix), (name for name in own if name[: len(prefix)] == prefix))
        )

    def close(self) -> None:
        """Close the engine."""
        self._documents.close()

    def _newest(self, place: Place, shown: Document | None) -> Document | None:
        with self._lock:
            waiting, deleted = self._waiting.get(place), self._deleted.get(place)
            if waiting is not None and (shown is None or shown.seq < waiting.seq):
                return waiting
            self._pop(place)
            if shown is None or (deleted is not None and shown.seq <= deleted):
                return None
            self._deleted.pop(place, None)
            return shown

    def _pop(self, place: Place) -> Document | None:
        found = self._waiting.pop(place, None)
        if found is not None:
            self._bytes -= _size(found)
        return found


def _size(document: Document) -> int:
    return _OVERHEAD + len(document.body) + len(document.vectors)
