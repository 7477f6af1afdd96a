"""Records that are there and whose key is not: how they look, and how the memories that decode records read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from seasoned.errors import StoreLocked
from seasoned.keys import Sealing, layers
from seasoned.ports import Applied, Can, Change, Counts, Finding, Store, Upkeep
from seasoned.query import Page, Query
from seasoned.records import JSON, Hit, Key


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedHit(Hit):
    """A record that is there and cannot be read, since the key `name` is not here or is another one.

    Its key, times, version and places are true; its text is "", `data` is `{"locked": true}`, and it has no score.
    """

    name: str

    @property
    def locked(self) -> bool:
        """True."""
        return True


def check_readable(hits: Sequence[Hit]) -> None:
    """Refuse records of which none can be read.

    Raises:
        StoreLocked: there are some, and all are locked.
    """
    if hits and all(hit.locked for hit in hits):
        first = hits[0]
        raise StoreLocked(scope=first.record.key.scope, name=first.name if isinstance(first, LockedHit) else "")


def readable(store: Store) -> Store:
    """Return a store in which nothing that is locked looks like nothing that is there; see `ReadableStore`."""
    sealed = any(isinstance(layer, Sealing) for layer in layers(store))
    return ReadableStore(store) if sealed and isinstance(store, Upkeep) else store


class _Engine(Store, Upkeep, Protocol):
    """A store with upkeep."""


class ReadableStore:
    """An encrypted store for those who decode what they find: a page of which nothing can be read raises."""

    def __init__(self, inner: _Engine) -> None:
        self.inner = inner

    @property
    def can(self) -> Can:
        """What the store below can do."""
        return self.inner.can

    def find(self, query: Query) -> Page:
        """Return the records that answer a query.

        Raises:
            StoreLocked: all that are on the page are locked.
        """
        page = self.inner.find(query)
        check_readable(page.hits)
        return page

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes."""
        return self.inner.apply(changes)

    def close(self) -> None:
        """Close the store below."""
        self.inner.close()

    def check(self) -> list[Finding]:
        """Check the store below."""
        return self.inner.check()

    def rebuild(self) -> int:
        """Make every derived index of the store below anew."""
        return self.inner.rebuild()

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove records for good."""
        return self.inner.purge(keys)

    def finish_purge(self) -> tuple[str, ...]:
        """Finish what earlier purges could not, where the store below can."""
        finish = getattr(self.inner, "finish_purge", None)
        return () if finish is None else tuple(finish())

    def stats(self) -> Mapping[str, JSON]:
        """Return sizes and counts of the store below."""
        return self.inner.stats()
