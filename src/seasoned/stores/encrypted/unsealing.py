"""One sealed scope of a store as documents in the clear, which its copy in this process follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from seasoned.keys import Keys
from seasoned.locked import LockedHit
from seasoned.ports import Store
from seasoned.query import Order, Page, Query
from seasoned.records import Hit, Key, Scope
from seasoned.stores.documents.ports import Document, Place, Sort, Traits, document_id
from seasoned.stores.encrypted.boxes import Broken, box_of, opened
from seasoned.stores.encrypted.keys import mark_of

PAGE: Final = 1_000
"""How many records one read of the engine asks for."""

Name = tuple[str, str]


@dataclass(slots=True)
class Closed:
    """What could not be read of a scope; `used` are the marks of the keys that were asked for, by name."""

    locked: dict[Name, LockedHit] = field(default_factory=dict)
    broken: dict[Name, Broken] = field(default_factory=dict)
    used: dict[str, str | None] = field(default_factory=dict)

    def drop(self, name: Name) -> None:
        """Forget what was said of a record."""
        self.locked.pop(name, None)
        self.broken.pop(name, None)


class Unsealed:
    """The documents of one scope (`Documents`, for reading): its head, and what changed, decrypted."""

    def __init__(self, inner: Store, keys: Keys, scope: Scope) -> None:
        self.traits = Traits(engine="encrypted", place=scope.encode(), batch=PAGE, durable=True)
        self.closed = Closed()
        self.seq = 0
        self._inner = inner
        self._keys = keys
        self._scope = scope
        self._partition = scope.encode()
        self._since = 0
        self._orders: dict[Name, int] = {}
        self._news: dict[Name, Document] = {}

    def same_keys(self) -> bool:
        """Tell whether each key that was used is here as it was, and each that was not here is still not."""
        return all(mark_of(self._keys.get(self._scope, name)) == mark for name, mark in self.closed.used.items())

    def catch_up(self) -> bool:
        """Read what changed since the last call; False where the scope must be read anew."""
        self._since = self.seq
        for page in self._pages(self.seq):
            if (page.reload and self._since) or page.seq < self.seq:  # a first read holds nothing that was removed
                return False
            self._take(page)
            self.seq = page.seq if page.cursor is None else int(page.cursor)
        return True

    def let_go(self) -> None:
        """Let go of what the last `catch_up` read: the copy has it."""
        self._news = {}

    def put(self, documents: Sequence[Document]) -> None:
        """Refuse: records are written through the store."""
        raise NotImplementedError

    def delete(self, places: Sequence[Place]) -> None:
        """Refuse: records are removed through the store."""
        raise NotImplementedError

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Return the head, whatever is asked."""
        name = document_id(self._partition, Sort.HEAD)
        head = Document(id=name, partition=self._partition, sort=Sort.HEAD, seq=self.seq, order=0, version=0)
        return [head] if (self._partition, name) in places else []

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Yield what the last `catch_up` read, or from the start every record that can be read."""
        if partition != self._partition:
            return
        if after == self._since:
            yield from self._news.values()
            return
        for page in self._pages(0):
            found = (opened(hit, self._keys) for hit in page.hits)
            yield from (one for one in found if isinstance(one, Document))

    def partitions(self, prefix: str) -> list[str]:
        """Return the one partition that there is."""
        return [self._partition] if self._partition.startswith(prefix) else []

    def close(self) -> None:
        """Do nothing: the store is not its own."""

    def _pages(self, seq: int) -> Iterator[Page]:
        cursor = str(seq) if seq else None
        while True:
            page = self._inner.find(Query(scope=self._scope, order=Order.CHANGED, cursor=cursor, k=PAGE, expired=True))
            yield page
            cursor = page.cursor
            if cursor is None:
                return

    def _take(self, page: Page) -> None:
        for key in (*page.gone, *page.unreadable):
            self._away(key)
        for key in page.unreadable:
            self.closed.broken[key.kind, key.id] = Broken(key, 0, f"the engine cannot read {key}")
        for hit in page.hits:
            self._written(hit)

    def _away(self, key: Key) -> None:
        """Note that a record is no more, or is no more to be read."""
        name = key.kind, key.id
        self.closed.drop(name)
        order = self._orders.pop(name, None)
        if order is not None:
            self._news[name] = Document(
                id=document_id(self._partition, Sort.RECORD, key.kind, key.id),
                partition=self._partition,
                sort=Sort.GONE,
                seq=self._since,
                order=order,
                version=0,
                kind=key.kind,
                name=key.id,
            )

    def _written(self, hit: Hit) -> None:
        key, box = hit.record.key, box_of(hit.record)
        name = key.kind, key.id
        if box is not None and box.name not in self.closed.used:
            self.closed.used[box.name] = mark_of(self._keys.get(self._scope, box.name))
        found = opened(hit, self._keys)
        if isinstance(found, Document):
            self.closed.drop(name)
            self._orders[name] = hit.order
            self._news[name] = found
            return
        self._away(key)
        if isinstance(found, LockedHit):
            self.closed.locked[name] = found
        else:
            self.closed.broken[name] = found
