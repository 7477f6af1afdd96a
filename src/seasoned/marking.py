"""Marking what was made from a text that is replaced: `data.stale` is true there, at any depth."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from seasoned.cascade import PAGE, PARTS, Bond, bond_of, by_keys
from seasoned.errors import Conflict, StoreLocked
from seasoned.following import pages
from seasoned.forgetting import STALE
from seasoned.ports import Put, Store
from seasoned.query import Compare, Not, Op, Query
from seasoned.records import Hit, Key, Record, Scope

_AT_ONCE: Final = 200
_TRIES: Final = 100
_OWN: Final = Not(Compare("kind", Op.IN, PARTS))
"""Old versions and the like are as they were made."""

_LOG: Final = logging.getLogger("seasoned.memory")


class Marking:
    """The marks that belong to one change of a text: `puts`, for what was made from it in a scope and those below.

    They are written in the same change as the text. Where other writers keep changing what is to be marked, it is
    marked before: a mark on what was made from a text that stays is harmless, an old text without one would never be
    found. Scopes whose keys are not here are passed over, and a warning names them.
    """

    def __init__(self, store: Store, scope: Scope, source: Key) -> None:
        self._store = store
        self._scope = scope
        self._source = source
        self._scopes: list[Scope] | None = None
        """The scopes that are asked one by one, None while all are asked at once."""
        self._shut: set[Scope] = set()
        self._looked = False
        self.puts: list[Put] = []

    def look(self) -> bool:
        """Find what is to be marked, unless that is known; return whether anything was read."""
        if self._looked:
            return False
        self._looked = True
        self.puts = [_marked(record) for record in self._made_from() if not _is_marked(record)]
        return True

    def settle(self, conflict: Conflict) -> None:
        """Where what is to be marked was changed meanwhile, mark all of it now, before the text is replaced.

        Raises:
            Conflict: a record was changed by others at every try.
        """
        keys = [put.record.key for put in self.puts]
        if conflict.key not in keys:
            return
        self._looked = False
        try:
            for start in range(0, len(keys), _AT_ONCE):
                self._mark(keys[start : start + _AT_ONCE])
        except StoreLocked as error:
            if not self.pass_over(error.scope):
                raise

    def pass_over(self, scope: Sequence[str]) -> bool:
        """Leave out what lies in a scope that cannot be written to; return whether there was anything."""
        shut = Scope(tuple(scope))
        left = [put for put in self.puts if put.record.key.scope != shut]
        if shut == self._source.scope or len(left) == len(self.puts):
            return False
        self.puts = left
        self._leave(shut)
        return True

    def _made_from(self) -> Iterable[Record]:
        """Return what was made from the source, and from that, marked or not."""
        found, waiting = dict[Key, Record](), [self._source]
        while waiting:
            for hit in self._derived(waiting.pop()):
                own = hit.record.key
                if bond_of(own.kind) is Bond.ANY and own != self._source and own not in found and not hit.locked:
                    found[own] = hit.record
                    waiting.append(own)
        return [record for key, record in found.items() if key.scope not in self._shut]

    def _derived(self, source: Key) -> list[Hit]:
        """Return what names a record as its source, wherever it can be read."""
        query = Query(scope=self._scope, subtree=True, source=source, where=_OWN, k=PAGE)
        if self._scopes is None:
            try:
                return self._all(query)
            except StoreLocked:
                self._scopes = list(self._store.find(Query(scope=self._scope, subtree=True, scopes=True)).scopes)
        found: list[Hit] = []
        for scope in list(self._scopes):
            try:
                found += self._all(replace(query, scope=scope, subtree=False))
            except StoreLocked:
                self._scopes.remove(scope)
                self._leave(scope)
        return found

    def _all(self, query: Query) -> list[Hit]:
        return [hit for page in pages(self._store, query) for hit in page.hits]

    def _leave(self, scope: Scope) -> None:
        """Say that what lies in a scope stays as it is, once."""
        if scope not in self._shut:
            self._shut.add(scope)
            _LOG.warning(
                "the key of %s is not here, so what was made there from %s is not marked", "/".join(scope), self._source
            )

    def _mark(self, keys: Sequence[Key]) -> None:
        """Mark records as they are now; where one was changed meanwhile, each half by itself, and one again and again.

        Raises:
            Conflict: it was changed at every try.
        """
        for left in reversed(range(_TRIES if len(keys) == 1 else 1)):
            hits = by_keys(self._store, self._scope, keys, expired=False)
            puts = [_marked(hit.record) for hit in hits if not (hit.locked or _is_marked(hit.record))]
            try:
                if puts:
                    self._store.apply(puts)
                return
            except Conflict:
                if left == 0 and len(keys) == 1:
                    raise
        half = len(keys) // 2
        self._mark(keys[:half])
        self._mark(keys[half:])


def _is_marked(record: Record) -> bool:
    return record.data.get(STALE) is True


def _marked(record: Record) -> Put:
    return Put(replace(record, data={**record.data, STALE: True}), None, record.version)
