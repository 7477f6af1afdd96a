"""Which scopes are sealed, and the sealing of a record with its scope's current key."""

from __future__ import annotations

from collections.abc import Sequence

from seasoned.errors import StoreLocked
from seasoned.keys import Keys, ends_of
from seasoned.ports import Store
from seasoned.query import Query
from seasoned.records import Record, Scope
from seasoned.stores.documents.coding import Stored
from seasoned.stores.encrypted.boxes import Box, box_of, boxed
from seasoned.stores.encrypted.keys import checked_key, mark_of


class Scopes:
    """The scopes of one store.

    A scope is sealed where `keys` names a key for it, or where its newest or its oldest record is sealed although none
    is named: a lost ring of keys shuts a scope, it does not open it to writes in the clear.
    """

    def __init__(self, inner: Store, keys: Keys) -> None:
        self._inner = inner
        self._keys = keys
        self._unnamed: dict[Scope, str | None] = {}
        self._checked: dict[Scope, str] = {}
        self.used: set[Scope] = set()

    def sealed(self, scope: Scope) -> bool:
        """Tell whether a scope is sealed; those that are stay in `used`."""
        if self.name(scope) is None:
            return False
        self.used.add(scope)
        return True

    def name(self, scope: Scope) -> str | None:
        """Return the name of the key of a scope, None for one in the clear."""
        named = self._keys.current(scope)
        if named is not None:
            return named
        if scope not in self._unnamed:
            boxes = [box_of(hit.record) for hit in ends_of(self._inner, scope)]
            if not boxes:
                return None  # not for good: it may be sealed by whoever writes to it first
            self._unnamed[scope] = next((box.name for box in boxes if box is not None), None)
        return self._unnamed[scope]

    def check_open(self, scope: Scope) -> None:
        """Refuse a scope whose current key is not here.

        Raises:
            StoreLocked: it is locked.
        """
        self._key(scope)

    def is_open(self, scope: Scope) -> bool:
        """Tell whether the current key of a scope is here."""
        try:
            self._key(scope)
        except StoreLocked:
            return False
        return True

    def seal(self, stored: Stored) -> Record:
        """Return the sealed form of a record, with the current key of its scope.

        Raises:
            StoreLocked: the key is not here, or is not the one that the scope's newest record was sealed with.
        """
        name, key = self._key(stored.hit.record.key.scope)
        return boxed(stored, name, key)

    def below(self, query: Query) -> Sequence[Scope]:
        """Return the scopes that a query speaks of."""
        if not query.subtree:
            return (query.scope,)
        return self._inner.find(Query(scope=query.scope, subtree=True, scopes=True, expired=True)).scopes

    def _key(self, scope: Scope) -> tuple[str, bytes]:
        name = self._keys.current(scope)
        key = None if name is None else self._keys.get(scope, name)
        if name is None or key is None:
            raise StoreLocked(scope=scope, name=name or self.name(scope) or "")
        self._check(scope, name, mark_of(checked_key(key)) or "")
        return name, key

    def _check(self, scope: Scope, name: str, mark: str) -> None:
        """Refuse a key that shares no more than its name with the one in use; asked of the store once a key."""
        if self._checked.get(scope) != mark:
            newest = self._newest(scope)
            if newest is not None and newest.name == name and newest.mark != mark:
                raise StoreLocked(scope=scope, name=name)
            self._checked[scope] = mark

    def _newest(self, scope: Scope) -> Box | None:
        hits = ends_of(self._inner, scope)
        return box_of(hits[0].record) if hits else None
