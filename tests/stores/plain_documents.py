"""Engines of flat documents in a dictionary: the least that one is, and one that shows writes late."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar

from seasoned.ports import Clock, Store
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.documents import Document, DocumentStore, Place, Sort, Traits
from seasoned.testing import FakeClock

ALICE = Scope(("acme", "alice"))


def note(id_: str, text: str = "", **fields: object) -> Record:
    """A note of Alice."""
    return Record(key=Key(ALICE, "note", id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC), **fields)


class PlainDocuments:
    """Documents in a dictionary: the least that an engine is."""

    places: ClassVar[dict[str, dict[Place, Document]]] = {}

    def __init__(self, place: str, batch: int = 100, *, exclusive: bool = False, chars: int | None = None) -> None:
        self.traits = Traits(engine="plain", place=place, batch=batch, durable=True, exclusive=exclusive, chars=chars)
        self.rows = self.places.setdefault(place, {})
        self.lock = threading.Lock()

    def put(self, documents: Sequence[Document]) -> None:
        """Write one after the other."""
        assert len(documents) <= self.traits.batch
        assert len({one.id for one in documents}) == len(documents)
        with self.lock:
            for one in documents:
                bound = self.traits.chars
                assert bound is None or len((one.body + one.vectors).encode()) <= bound
                self.rows[one.partition, one.id] = one

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Read by place."""
        assert len(places) <= self.traits.batch
        with self.lock:
            return [self.rows[place] for place in places if place in self.rows]

    def delete(self, places: Sequence[Place]) -> None:
        """Remove by place."""
        assert len(places) <= self.traits.batch
        with self.lock:
            for place in places:
                self.rows.pop(place, None)

    def scan(self, partition: str, after: int = 0) -> Iterable[Document]:
        """Read a partition."""
        with self.lock:
            return [one for one in self.rows.values() if one.partition == partition and one.seq > after]

    def partitions(self, prefix: str) -> Iterable[str]:
        """Name all partitions, whatever the prefix."""
        with self.lock:
            return [one.partition for one in self.rows.values() if one.sort is Sort.HEAD]

    def close(self) -> None:
        """Do nothing: the place stays."""


class LateDocuments(PlainDocuments):
    """An engine that shows a write only after so many further reads."""

    def __init__(self, place: str, late: int = 3, chars: int | None = None) -> None:
        super().__init__(place, chars=chars)
        self.traits = replace(self.traits, fresh=False)
        self.late = late
        self.hidden: list[tuple[int, Place, Document | None]] = []
        self.reads = 0

    def put(self, documents: Sequence[Document]) -> None:
        """Accept, and show later."""
        with self.lock:
            self.hidden += [(self.reads + self.late, (one.partition, one.id), one) for one in documents]

    def delete(self, places: Sequence[Place]) -> None:
        """Accept, and show later."""
        with self.lock:
            self.hidden += [(self.reads + self.late, place, None) for place in places]

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Read what is shown by now."""
        self.show()
        return super().get(places)

    def scan(self, partition: str, after: int = 0) -> Iterable[Document]:
        """Read what is shown by now."""
        self.show()
        return super().scan(partition, after)

    def show(self, everything: bool = False) -> None:
        """Let time pass."""
        with self.lock:
            self.reads += 1
            due = [one for one in self.hidden if everything or one[0] <= self.reads]
            self.hidden = [one for one in self.hidden if one not in due] if due else self.hidden
            for _, place, document in due:
                if document is None:
                    self.rows.pop(place, None)
                else:
                    self.rows[place] = document

    def close(self) -> None:
        """What was accepted is kept."""
        self.show(everything=True)


@contextmanager
def opened(documents: PlainDocuments, clock: Clock | None = None, **fields: object) -> Iterator[DocumentStore]:
    """A store that is closed at the end."""
    store = DocumentStore(documents, clock=clock or FakeClock(), **fields)
    yield store
    store.close()


def texts(store: Store, scope: Scope = ALICE) -> dict[str, str]:
    """What a scope holds, by id."""
    return {hit.id: hit.text for hit in store.find(Query(scope=scope, k=10_000)).hits}
