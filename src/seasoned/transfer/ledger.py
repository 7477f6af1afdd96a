"""What a scope knows of bundles: which records came with one, in which version they stand, and what was removed there.

It holds kinds, ids and versions, and no word of a record. Each batch of an import writes its part in the same change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from seasoned.following import pages
from seasoned.forgetting import LEDGER
from seasoned.ports import Change, Put, Remove, Store, new_id
from seasoned.query import Query
from seasoned.records import JSON, Key, Record, Scope

Name = tuple[str, str]
"""Kind and id of a record, in a scope."""

_MANY: Final = 64
_AT_ONCE: Final = 5_000


class Ledger:
    """Of one scope: `came` are the records that bundles brought, with their versions; `gone` what was removed there."""

    def __init__(self) -> None:
        self.came: dict[Name, int] = {}
        self.gone: set[Name] = set()
        self.parts: list[Key] = []

    def take(self, data: Mapping[str, JSON]) -> None:
        """Take in what one part says, after those before it."""
        for name in _names(data.get("back")):
            self.gone.discard(name)
        for name in _names(data.get("gone")):
            self.gone.add(name)
            self.came.pop(name, None)
        for name, version in _versions(data.get("came")):
            self.came[name] = version


class Ledgers:
    """The ledgers of a store's scopes, each read when it is first asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[Scope, Ledger] = {}

    def of(self, scope: Scope) -> Ledger:
        """Return the ledger of a scope."""
        if scope not in self._read:
            ledger = self._read[scope] = Ledger()
            for page in pages(self._store, Query(scope=scope, kinds=(LEDGER,), k=1_000)):
                for hit in page.hits:
                    ledger.take(hit.record.data)
                    ledger.parts.append(hit.record.key)
        return self._read[scope]

    def changes(self, entries: Iterable[Entry], at: datetime) -> list[Change]:
        """Return what writes entries, and takes the place of many small parts; say `written` when that is applied."""
        found: list[Change] = []
        for entry in entries:
            found += self._changes(entry, at)
        return found

    def _changes(self, entry: Entry, at: datetime) -> Iterator[Change]:
        ledger = self.of(entry.scope)
        if len(ledger.parts) < _MANY:
            yield Put(_part(entry.scope, entry.data(), at))
            return
        whole = Ledger()
        whole.came, whole.gone = dict(ledger.came), set(ledger.gone)
        whole.take(entry.data())
        yield from (Remove(key) for key in ledger.parts)
        names = sorted(whole.came)
        for start in range(0, len(names), _AT_ONCE):
            some = Entry(entry.scope, came={name: whole.came[name] for name in names[start : start + _AT_ONCE]})
            yield Put(_part(entry.scope, some.data(), at))
        if whole.gone:
            yield Put(_part(entry.scope, Entry(entry.scope, gone=whole.gone).data(), at))

    def written(self, entries: Iterable[Entry], changes: Iterable[Change]) -> None:
        """Take note that entries were written by these changes."""
        for change in changes:
            parts = self.of(change.record.key.scope if isinstance(change, Put) else change.key.scope).parts
            if isinstance(change, Put):
                parts.append(change.record.key)
            elif change.key in parts:
                parts.remove(change.key)
        for entry in entries:
            self.of(entry.scope).take(entry.data())


class Entry:
    """What is to be added to the ledger of one scope."""

    def __init__(self, scope: Scope, *, came: Mapping[Name, int] | None = None, gone: Iterable[Name] = ()) -> None:
        self.scope = scope
        self.came = dict(came or {})
        self.gone = set(gone)
        self.back: set[Name] = set()

    def __bool__(self) -> bool:
        return bool(self.came or self.gone or self.back)

    def data(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        came: dict[str, dict[str, JSON]] = {}
        for (kind, name), version in self.came.items():
            came.setdefault(kind, {})[name] = version
        made: dict[str, JSON] = {"came": dict(came)} if came else {}
        for field, names in (("gone", self.gone), ("back", self.back)):
            if names:
                made[field] = [[kind, name] for kind, name in sorted(names)]
        return made


def name_of(key: Key) -> Name:
    """Return a key's name in its scope."""
    return key.kind, key.id


def _part(scope: Scope, data: Mapping[str, JSON], at: datetime) -> Record:
    return Record(key=Key(scope, LEDGER, new_id()), text="", at=at, data=data)


def _names(given: JSON) -> Iterator[Name]:
    for each in given if isinstance(given, list) else ():
        if isinstance(each, list) and len(each) == 2:
            yield str(each[0]), str(each[1])


def _versions(given: JSON) -> Iterator[tuple[Name, int]]:
    for kind, named in given.items() if isinstance(given, dict) else ():
        for name, version in named.items() if isinstance(named, dict) else ():
            if isinstance(version, int):
                yield (kind, name), version
