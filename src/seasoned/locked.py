"""Records that are there and whose key is not: how they look, and how the memories that decode records read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seasoned.errors import StoreLocked
from seasoned.keys import Sealing, layers
from seasoned.layer import UpkeepLayer
from seasoned.ports import Store, Upkeep
from seasoned.query import Page, Query
from seasoned.records import Hit


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


class ReadableStore(UpkeepLayer):
    """An encrypted store for those who decode what they find: a page of which nothing can be read raises."""

    def find(self, query: Query) -> Page:
        """Return the records that answer a query.

        Raises:
            StoreLocked: all that are on the page are locked.
        """
        page = self.inner.find(query)
        check_readable(page.hits)
        return page
