"""Pinned notes: those that every context shows. One small record names them, so that none has to be looked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seasoned.errors import Conflict, InvalidInput
from seasoned.ports import ABSENT, Clock, Put, Store
from seasoned.query import Query
from seasoned.records import JSON, Hit, Key, Record, Scope

PINS: Final = "context-pins"
"""The kind of the record that names what is pinned."""

MOST: Final = 1_000
"""Most notes that are pinned in one scope."""

_TRIES: Final = 32


def pinned_notes(store: Store, scope: Scope) -> list[Hit]:
    """Return the pinned notes, in the order in which they were pinned; one that is gone is passed over."""
    keys = _named(_found(store, scope), scope)
    if not keys:
        return []
    hits = {hit.record.key: hit for hit in store.find(Query(scope=scope, keys=tuple(keys), k=len(keys))).hits}
    return [hits[key] for key in keys if key in hits]


def set_pin(store: Store, clock: Clock, key: Key, *, pinned: bool) -> bool:
    """Pin a note or let it go; return whether that is new.

    What is named but gone is named no more.

    Raises:
        InvalidInput: `MOST` are pinned already.
        Conflict: other writers came first every time.
    """
    for attempt in range(_TRIES):
        record = _found(store, key.scope)
        keys = _named(record, key.scope)
        if (key in keys) == pinned:
            return False
        there = [hit.record.key for hit in pinned_notes(store, key.scope)]
        wanted = [*there, key] if pinned else [each for each in there if each != key]
        if pinned and len(wanted) > MOST:
            raise InvalidInput(f"at most {MOST} notes are pinned in a scope, as each stands in every context")
        data: dict[str, JSON] = {"pins": [[each.kind, each.id] for each in wanted]}
        new = record or Record(key=Key(key.scope, PINS, "notes"), text="", at=clock.now())
        try:
            store.apply([Put(replace(new, data=data), expect=record.version if record else ABSENT)])
        except Conflict:
            if attempt + 1 == _TRIES:
                raise
            continue
        return True
    raise AssertionError  # the loop returns or raises


def _found(store: Store, scope: Scope) -> Record | None:
    hits = store.find(Query(scope=scope, keys=(Key(scope, PINS, "notes"),), k=1)).hits
    return hits[0].record if hits else None


def _named(record: Record | None, scope: Scope) -> list[Key]:
    pins = record.data.get("pins") if record else None
    pairs = [each for each in pins if isinstance(each, list) and len(each) == 2] if isinstance(pins, list) else []
    return [Key(scope, str(kind), str(name)) for kind, name in pairs]
