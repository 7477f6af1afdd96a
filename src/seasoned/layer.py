"""Stores that stand before another one: what hands everything on, with the upkeep that the one below has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from seasoned.closing import Closing
from seasoned.errors import StoreClosed
from seasoned.ports import Applied, Can, Change, Counts, Finding, Store, Upkeep
from seasoned.query import Page, Query
from seasoned.records import JSON, Key


class Layer(Closing):
    """A store before another one, which it hands everything on to; closing it closes that one."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    @property
    def can(self) -> Can:
        """What the engine below can do."""
        return self.inner.can

    @property
    def path(self) -> object:
        """The file of the engine below, None where it has none."""
        return getattr(self.inner, "path", None)

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`."""
        return self.inner.find(query)

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes."""
        return self.inner.apply(changes)

    def close(self) -> None:
        """Close the store below."""
        self.inner.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"


class _Kept(Store, Upkeep, Protocol):
    """A store with upkeep."""


class UpkeepLayer(Layer):
    """A layer over a store that has upkeep."""

    inner: _Kept

    def check(self) -> list[Finding]:
        """Compare every derived index of the engine with its rows."""
        return self.inner.check()

    def rebuild(self) -> int:
        """Make every derived index of the engine anew."""
        return self.inner.rebuild()

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove records for good."""
        return self.inner.purge(keys)

    def finish_purge(self) -> tuple[str, ...]:
        """Finish what earlier purges could not, where the engine can."""
        finish = getattr(self.inner, "finish_purge", None)
        return () if finish is None else tuple(finish())

    def stats(self) -> Mapping[str, JSON]:
        """Return sizes and counts of the engine."""
        return self.inner.stats()


class Opening:
    """Whether a memory is open: not after it was closed, nor one that it was taken from."""

    __slots__ = ("_above", "_closed")

    def __init__(self, above: Opening | None = None) -> None:
        self._above = above
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed or (self._above is not None and self._above.closed)

    def close(self) -> None:
        """Close it."""
        self._closed = True

    def check(self) -> None:
        """Refuse to go on where it is closed.

        Raises:
            StoreClosed: it is.
        """
        if self.closed:
            raise StoreClosed("this memory was closed")


class Lent(Layer):
    """A store as the views of a memory see it: closed with the memory, whoever owns the store."""

    def __init__(self, inner: Store, opening: Opening) -> None:
        super().__init__(inner)
        self._opening = opening

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`."""
        self._opening.check()
        return self.inner.find(query)

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes."""
        self._opening.check()
        return self.inner.apply(changes)

    def close(self) -> None:
        """Do nothing: a view owns no store."""


class LentWithUpkeep(UpkeepLayer, Lent):
    """The same, of a store that has upkeep."""

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove records for good."""
        self._opening.check()
        return self.inner.purge(keys)


def lent(store: Store, opening: Opening) -> Lent:
    """Return a store as the views of a memory see it."""
    return (LentWithUpkeep if isinstance(store, Upkeep) else Lent)(store, opening)
