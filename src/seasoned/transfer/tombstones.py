"""Tombstones: the keys of what a scope and those below it held once and hold no more, as far back as is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from seasoned.cascade import by_keys
from seasoned.errors import StoreLocked
from seasoned.following import by_scope
from seasoned.forgetting import EXPORT, LEDGER
from seasoned.keys import layers
from seasoned.locked import NOTHING
from seasoned.ports import Store
from seasoned.query import Order, Query
from seasoned.records import Key, Scope
from seasoned.transfer.ledger import Ledgers, Name, name_of

_PAGE: Final = 1_000
_FIRST: Final = "1"  # nothing is removed by the first change; asked from there, a store says whether it knows all
_OURS: Final = (EXPORT, LEDGER)


def stored_store(store: Store) -> Store:
    """Return the store below redaction: what it holds has its ids as they are stored."""
    for layer in layers(store):
        if hasattr(layer, "redactor"):
            below: Store = layer.inner  # type: ignore[attr-defined]  # what redacts stands before a store
            return stored_store(below)
    return store


@dataclass(slots=True)
class _Read:
    cursor: str = _FIRST
    names: dict[Name, None] = field(default_factory=dict)


class Removals:
    """What was removed of a store's scopes, read further at each look; of those in `partial` not all is known."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[Scope, _Read] = {}
        self.partial: set[Scope] = set()

    def of(self, scope: Scope) -> dict[Name, None]:
        """Return the names of what was ever removed of a scope, in that order; some may be there again."""
        read = self._read.setdefault(scope, _Read())
        if self._store.can.ordered:
            try:
                self._follow(scope, read)
            except StoreLocked:
                self.partial.add(scope)
        return read.names

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is said where not all is known."""
        known = f"removals: {len(self.partial)} scopes do not know all that was removed of them"
        return (known,) if self.partial else ()

    def _follow(self, scope: Scope, read: _Read) -> None:
        while True:
            query = Query(scope=scope, order=Order.CHANGED, where=NOTHING, cursor=read.cursor, k=_PAGE, expired=True)
            page = self._store.find(query)
            if page.reload:
                self.partial.add(scope)
            read.names.update((name_of(key), None) for key in page.gone if key.kind not in _OURS)
            read.cursor = page.cursor or str(max(page.seq, 1))
            if page.cursor is None:
                return


class Forgotten:
    """What must not come back by an import: what was removed here, or where a bundle is from, and is not there."""

    def __init__(self, store: Store) -> None:
        self._store = stored_store(store)
        self.removals = Removals(self._store)
        self.ledgers = Ledgers(self._store)

    def of(self, keys: Iterable[Key]) -> set[Key]:
        """Return those of the keys that were removed and are not there."""
        return {key for scope, mine in by_scope(keys).items() for key in self._of(scope, mine)}

    def _of(self, scope: Scope, keys: Sequence[Key]) -> Iterator[Key]:
        removed, elsewhere = self.removals.of(scope), self.ledgers.of(scope).gone
        found = [key for key in keys if name_of(key) in removed or name_of(key) in elsewhere]
        there = {hit.record.key for hit in by_keys(self._store, scope, found)}
        yield from (key for key in found if key not in there)


def tombstones(store: Store, scope: Scope, degraded: list[str] | None = None) -> Iterator[Key]:
    """Yield the key of each record that was removed and not written again, here or where it came from.

    An engine without a sequence knows of none of its own; `degraded` takes what is said of scopes of which not all is
    known.
    """
    engine = stored_store(store)
    forgotten = Forgotten(store)
    asked = Query(scope=scope, subtree=True, scopes=True, order=Order.CHANGED if engine.can.ordered else Order.OLDEST)
    for each in engine.find(asked).scopes:
        names = [*forgotten.removals.of(each), *sorted(forgotten.ledgers.of(each).gone)]
        keys = [Key(each, kind, name) for kind, name in dict.fromkeys(names)]
        gone = forgotten.of(keys)
        yield from (key for key in keys if key in gone)
    if degraded is not None:
        degraded.extend(forgotten.removals.degraded)
