"""Tombstones: the keys of what a scope and those below it held once and hold no more, as far back as is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seasoned.cascade import by_keys
from seasoned.forgetting import EXPORT
from seasoned.ports import Store
from seasoned.query import Compare, Op, Order, Query
from seasoned.records import Key, Scope

_PAGE: Final = 1_000
_FEW: Final = Compare("kind", Op.EQ, EXPORT)  # removals are told whatever narrows the records beside them


def tombstones(store: Store, scope: Scope) -> Iterator[Key]:
    """Yield the key of each record that was removed and not written again; of an engine without a sequence none."""
    if not store.can.ordered:
        return
    for each in store.find(Query(scope=scope, subtree=True, scopes=True, order=Order.CHANGED)).scopes:
        removed = [key for key in dict.fromkeys(_removed(store, each)) if key.kind != EXPORT]
        there = {hit.record.key for hit in by_keys(store, each, removed)}
        yield from (key for key in removed if key not in there)


def _removed(store: Store, scope: Scope) -> Iterator[Key]:
    cursor: str | None = None
    while True:
        page = store.find(Query(scope=scope, order=Order.CHANGED, where=_FEW, cursor=cursor, k=_PAGE, expired=True))
        yield from page.gone
        cursor = page.cursor
        if cursor is None:
            return
