"""Records that are there and whose key is not: how they look, who may read them, and stores opened without keys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from seasoned.errors import InvalidInput, SeasonedError, StoreLocked
from seasoned.keys import Keys, Sealing, ends_of, holds_sealed, is_sealed, layers, sealed_form
from seasoned.layer import Layer, UpkeepLayer
from seasoned.locations import open_store
from seasoned.ports import Applied, Change, Clock, Finding, Put, Remove, Store, Upkeep
from seasoned.query import Or, Order, Page, Query
from seasoned.records import Hit, Record, Scope
from seasoned.stores.sqlite.connections import Durability
from seasoned.text import Analyser

NOTHING: Final = Or(())
"""The filter that no record answers: a follower with it is told of removals alone, for which no key is needed."""

_ENCRYPTED: Final = "seasoned.stores.encrypted"
"""The package that encrypts; imported only where there is something to encrypt."""


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


def check_clear(store: Store, record: Record) -> None:
    """Refuse a record that is still sealed, since nothing before the engine opens it: it is no data of anybody's.

    Raises:
        StoreLocked: it is sealed, and `store` has no layer that knows of keys.
    """
    sealed = sealed_form(record.data)
    if sealed is not None and not any(isinstance(layer, (Sealing, UnkeyedStore)) for layer in layers(store)):
        raise StoreLocked(scope=record.key.scope, name=sealed[0])


def readable(store: Store) -> Store:
    """Return a store in which nothing that is locked looks like nothing that is there; see `ReadableStore`."""
    sealed = any(isinstance(layer, (Sealing, UnkeyedStore)) for layer in layers(store))
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


def with_keys(store: Store, keys: Keys | None, scope: Scope, *, clock: Clock, analyser: Analyser, owns: bool) -> Store:
    """Return a store whose scopes are encrypted with `keys`; closed, it closes `store` if it `owns` it.

    Without keys every sealed scope is locked, those below `scope` too, so that a memory that was opened without its
    keys neither looks empty nor writes to such a scope in the clear; see `UnkeyedStore`. A store that encrypts already
    is returned as it is.

    Raises:
        InvalidInput: keys for a store that encrypts or redacts already, or that keeps no sequence.
        MissingExtra: `cryptography` is not installed.
        WrongType: `keys` are none.
    """
    try:
        if keys is None:
            return _without_keys(store, scope, clock, analyser, owns=owns)
        store = bare(store)
        _check_bare(store)
        return _encrypted(store, keys, clock, analyser, owns=owns)
    except SeasonedError:
        if owns:
            store.close()
        raise


def open_unkeyed(
    location: str | os.PathLike[str] | Store | None,
    scope: Scope,
    *,
    clock: Clock,
    analyser: Analyser,
    durability: Durability = "full",
) -> Store:
    """Return the store of a location: one that is opened for it is as `with_keys` has it without keys.

    A store that is given is itself, so whoever asks sees by its identity whether to close what comes back.
    """
    store = open_store(location, durability=durability, clock=clock, analyser=analyser)
    if store is location:
        return store
    return with_keys(store, None, scope, clock=clock, analyser=analyser, owns=True)


def bare(store: Store) -> Store:
    """Return the store that an `UnkeyedStore` stands before, any other as it is."""
    return store.inner if isinstance(store, UnkeyedStore) else store


def _without_keys(store: Store, scope: Scope, clock: Clock, analyser: Analyser, *, owns: bool) -> Store:
    if any(isinstance(layer, (Sealing, UnkeyedStore)) for layer in layers(store)):
        return store
    if any(map(is_sealed, ends_of(store, scope))):
        return _encrypted(store, None, clock, analyser, owns=owns)
    kind = _UnkeyedWithUpkeep if isinstance(store, Upkeep) else UnkeyedStore
    return kind(store, clock=clock, analyser=analyser, owns=owns)


def _encrypted(store: Store, keys: Keys | None, clock: Clock, analyser: Analyser, *, owns: bool) -> Store:
    module = import_module(_ENCRYPTED)
    ring = module.KeyRing({}) if keys is None else keys
    made: Store = module.EncryptedStore(store, ring, clock=clock, analyser=analyser, owns=owns)
    return made


def _check_bare(store: Store) -> None:
    """Refuse a store that would seal twice, or would redact what is sealed already."""
    for layer in layers(store):
        if isinstance(layer, Sealing):
            raise InvalidInput("the store encrypts already; leave keys out")
        if hasattr(layer, "redactor"):
            raise InvalidInput("redaction comes before encryption: give the bare store, with redaction= and keys=")


class UnkeyedStore(Layer):
    """A store that was opened without keys: what is asked of a sealed scope, or written there, meets a locked one.

    A scope is looked at when it is first written to, followed or asked for content: its newest and its oldest record,
    two small queries of the engine, once a process and scope. Scopes below one are looked at when that and they are
    first asked for content together: one query, filtered for sealed records. Whatever else turns up sealed is shown as
    locked. What lacks vectors is no such question: a sealed record has no text in the engine that could lack one.
    """

    def __init__(self, inner: Store, *, clock: Clock, analyser: Analyser, owns: bool) -> None:
        super().__init__(inner)
        self._clock = clock
        self._analyser = analyser
        self._owns = owns
        self._clear: set[Scope] = set()
        self._all_clear: set[Scope] = set()
        self._locking: Store | None = None

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`; those that are sealed are `LockedHit`s.

        Raises:
            StoreLocked: it asks for what is sealed, and no record of the scope can be read; or it follows the changes
                of a sealed scope.
        """
        if query.where != NOTHING and self._meets_sealed(query):
            return self._locked().find(query)
        page = self.inner.find(query)
        return self._locked().find(query) if any(map(is_sealed, page.hits)) else page

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes.

        Raises:
            StoreLocked: one of them would write to a sealed scope; nothing was written.
        """
        keys = (
            each.record.key if isinstance(each, Put) else each.key for each in changes if not isinstance(each, Remove)
        )
        shut = any(map(self._is_sealed, dict.fromkeys(key.scope for key in keys)))
        return (self._locked() if shut else self.inner).apply(changes)

    def close(self) -> None:
        """Close the store below, if it is owned."""
        if self._owns:
            self.inner.close()

    def _meets_sealed(self, query: Query) -> bool:
        content = any(each is not None for each in (query.where, query.source, query.words, query.vector))
        if not content and query.order is not Order.CHANGED:
            return False
        if query.keys:
            return any(map(self._is_sealed, dict.fromkeys(key.scope for key in query.keys)))
        if query.subtree:
            return content and self._holds_sealed(query.scope)
        return self._is_sealed(query.scope)

    def _is_sealed(self, scope: Scope) -> bool:
        if scope in self._clear:
            return False
        ends = ends_of(self.inner, scope)
        if any(map(is_sealed, ends)):
            return True
        if ends:  # a scope that is still empty may be sealed by whoever writes to it first
            self._clear.add(scope)
        return False

    def _holds_sealed(self, scope: Scope) -> bool:
        if scope not in self._all_clear:
            if holds_sealed(self.inner, scope):
                return True
            self._all_clear.add(scope)
        return False

    def _locked(self) -> Store:
        """Return the store over the same engine in which sealed scopes are locked."""
        if self._locking is None:
            self._locking = _encrypted(self.inner, None, self._clock, self._analyser, owns=False)
        return self._locking


class _UnkeyedWithUpkeep(UpkeepLayer, UnkeyedStore):
    """The same, of a store that has upkeep."""

    def check(self) -> list[Finding]:
        """Compare every derived index of the engine with its rows, and name the sealed scopes that were met."""
        return self._locking.check() if isinstance(self._locking, Upkeep) else self.inner.check()
