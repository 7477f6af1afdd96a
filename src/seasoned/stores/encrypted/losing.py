"""What cannot be read any more once keys are gone: counted, without decrypting anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from seasoned.keys import KeyForgotten, Keys
from seasoned.ports import Store
from seasoned.query import Query
from seasoned.records import Hit, Scope
from seasoned.stores.encrypted.boxes import box_of
from seasoned.stores.encrypted.keys import mark_of
from seasoned.stores.encrypted.unsealing import PAGE


def lost(inner: Store, keys: Keys, scopes: Sequence[Scope]) -> KeyForgotten:
    """Return how many records of scopes no key opens, by kind, and how many can still be read."""
    by_kind: Counter[str] = Counter()
    shut: dict[Scope, None] = {}
    readable = 0
    for scope in scopes:
        for hit in _hits(inner, scope):
            if _is_locked(hit, keys):
                by_kind[hit.record.key.kind] += 1
                shut[scope] = None
            else:
                readable += 1
    return KeyForgotten(scopes=tuple(shut), by_kind=dict(by_kind), readable=readable)


def _hits(inner: Store, scope: Scope) -> Iterator[Hit]:
    query = Query(scope=scope, k=PAGE, expired=True)
    while True:
        page = inner.find(query)
        yield from page.hits
        if page.cursor is None:
            return
        query = replace(query, cursor=page.cursor)


def _is_locked(hit: Hit, keys: Keys) -> bool:
    box = box_of(hit.record)
    return box is not None and mark_of(keys.get(hit.record.key.scope, box.name)) != box.mark
