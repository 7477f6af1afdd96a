"""Writing records that come from elsewhere: what is there stays unless it may be overwritten, and all is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from seasoned.errors import Conflict, InvalidInput, StoreError, WrongType
from seasoned.following import hits_of
from seasoned.ports import ABSENT, Change, Expect, Put, Store
from seasoned.query import Query
from seasoned.records import Hit, Key, Record, Scope
from seasoned.search import Searcher
from seasoned.transfer.bundle import encoded
from seasoned.transfer.ledger import Entry, name_of
from seasoned.transfer.tombstones import Forgotten, stored_store

REMOVED: Final = "it was removed here; import with restore to bring it back"
"""Why something that was forgotten stays away."""

MADE: Final = "it was made from what was removed here; import with restore to bring it back"
"""Why something that tells of what was forgotten stays away."""

OTHER: Final = "another record has this id"
"""Why something is not written over what is there."""

MINE: Final = "it was changed here since it came"
"""Why something is not followed."""

PLAYBOOK: Final = "this memory has a playbook of its own"
"""Why a playbook is not followed: both have one history each, and entries that are numbered alike."""

OVER: Final = "its time is over"
"""Why something that has ended is not written."""

_HEAD: Final = "playbook-head"
_PLAYBOOK: Final = ("entry", "playbook-")
_RETRIES: Final = 8


@dataclass(slots=True)
class Putting:
    """Records on their way into a store, and what became of them.

    With `follow` a record that came from where these come from, and stands as it came, is written over. Without
    `restore` nothing comes back that was removed here, nor what was made from it.
    """

    store: Store
    searcher: Searcher
    now: datetime
    follow: bool = False
    restore: bool = False
    written: int = 0
    duplicate: int = 0
    changed: int = 0
    refused: list[str] = field(default_factory=list)
    degraded: dict[str, None] = field(default_factory=dict)
    forgotten: Forgotten = field(init=False)
    _own: dict[Scope, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.forgotten = Forgotten(self.store)
        self.store = stored_store(self.store)

    def put(self, records: Sequence[Record]) -> None:
        """Write records as they will be stored; sorted anew where another writer came between.

        Raises:
            StoreError: others came first at every try.
        """
        stored = [*self._stored(records)]
        for _ in range(_RETRIES):
            plan = _Plan.of(self, stored)
            vectors, failed = self.searcher.vectors([record.text for record, _ in plan.wanted])
            puts = [Put(record, vector, expect) for (record, expect), vector in zip(plan.wanted, vectors, strict=True)]
            entries = plan.entries()
            noted = self.forgotten.ledgers.changes(entries, self.now)
            try:
                versions = self.apply([*puts, *noted])
            except Conflict:
                continue
            self.forgotten.ledgers.written(entries, noted)
            self._note_versions({put.record.key: version for put, version in zip(puts, versions, strict=False)})
            self._count(plan, failed)
            return
        raise StoreError("other writers kept adding the same records; import again")

    def note_gone(self, keys: Sequence[Key]) -> None:
        """Remember that these were removed where the records come from, so that no import brings them back."""
        entries: dict[Scope, Entry] = {}
        for key in keys:
            if name_of(key) not in self.forgotten.ledgers.of(key.scope).gone:
                entries.setdefault(key.scope, Entry(key.scope)).gone.add(name_of(key))
        self._note(entries.values())

    def apply(self, changes: Sequence[Change]) -> tuple[int, ...]:
        """Apply changes, if there are any; return the versions after them."""
        return self.store.apply(changes).versions if changes else ()

    def _note_versions(self, versions: Mapping[Key, int]) -> None:
        """Set right what the ledgers say where a record was there before, and had ended."""
        entries: dict[Scope, Entry] = {}
        for key, version in versions.items():
            if self.forgotten.ledgers.of(key.scope).came.get(name_of(key)) != version:
                entries.setdefault(key.scope, Entry(key.scope)).came[name_of(key)] = version
        self._note(entries.values())

    def _note(self, entries: Collection[Entry]) -> None:
        noted = self.forgotten.ledgers.changes(entries, self.now)
        self.apply(noted)
        self.forgotten.ledgers.written(entries, noted)

    def follows(self, key: Key) -> bool:
        """Tell whether a record may be followed: not one of a playbook that is this memory's own."""
        return not (key.kind.startswith(_PLAYBOOK) and self.has_own_playbook(key.scope))

    def has_own_playbook(self, scope: Scope) -> bool:
        """Tell whether a scope's playbook is not the one that came with bundles, or was changed here since."""
        if scope not in self._own:
            hits = self.store.find(Query(scope=scope, kinds=(_HEAD,), k=1)).hits
            came = self.forgotten.ledgers.of(scope).came
            self._own[scope] = any(came.get(name_of(hit.record.key)) != hit.record.version for hit in hits)
        return self._own[scope]

    def refuse(self, key: Key, why: str) -> None:
        """Say that something was not written, or not removed."""
        self.refused.append(f"{key.kind} {key.id!r}: {why}")

    def _stored(self, records: Sequence[Record]) -> Iterator[Record]:
        for record in records:
            if record.until is not None and record.until <= self.now:
                self.refuse(record.key, OVER)
                continue
            try:
                yield self.searcher.stored(record)
            except (InvalidInput, WrongType) as error:
                self.refuse(record.key, str(error))

    def _count(self, plan: _Plan, failed: str | None) -> None:
        self.written += len(plan.fresh)
        self.changed += len(plan.over)
        self.duplicate += len(plan.same)
        for key, why in plan.refused:
            self.refuse(key, why)
        if failed:
            self.degraded[failed] = None


@dataclass(slots=True)
class _Plan:
    """What is new, what goes over a record that is there, what is there alike, and what is not written."""

    putting: Putting
    fresh: dict[Key, Record] = field(default_factory=dict)
    over: dict[Key, tuple[Record, Record]] = field(default_factory=dict)
    same: list[Record] = field(default_factory=list)
    refused: list[tuple[Key, str]] = field(default_factory=list)

    @classmethod
    def of(cls, putting: Putting, records: Sequence[Record]) -> _Plan:
        made, known = cls(putting), hits_of(putting.store, [record.key for record in records])
        gone: Collection[Key] = ()
        if not putting.restore:
            keys = (key for record in records for key in (record.key, *record.sources))
            gone = putting.forgotten.of(keys)
        for record in records:
            made._take(record, known.get(record.key), gone)
        return made

    @property
    def wanted(self) -> list[tuple[Record, Expect]]:
        """What is written, each with the version that it expects."""
        fresh: list[tuple[Record, Expect]] = [(record, ABSENT) for record in self.fresh.values()]
        return [*fresh, *((new, old.version) for new, old in self.over.values())]

    def entries(self) -> list[Entry]:
        """Return what the ledgers are to say of it."""
        made: dict[Scope, Entry] = {}
        versions = dict.fromkeys(self.fresh, 1)
        versions |= {key: old.version + 1 for key, (_, old) in self.over.items()}
        versions |= {record.key: record.version for record in self.same if record.version}
        for key, version in versions.items():
            ledger = self.putting.forgotten.ledgers.of(key.scope)
            entry = made.setdefault(key.scope, Entry(key.scope))
            if ledger.came.get(name_of(key)) != version:
                entry.came[name_of(key)] = version
            if key in self.fresh and name_of(key) in ledger.gone:
                entry.back.add(name_of(key))
        return [entry for entry in made.values() if entry]

    def _take(self, record: Record, hit: Hit | None, gone: Collection[Key]) -> None:
        key = record.key
        before = self.fresh.get(key) or (self.over[key][0] if key in self.over else None)
        if before is not None:
            self.same.append(record) if _alike(before, record) else self.refused.append((key, OTHER))
        elif hit is not None:
            self._compare(record, hit.record, gone)
        elif key in gone and not self._came_back(key):
            self.refused.append((key, REMOVED))
        elif any(source in gone and not self._came_back(source) for source in record.sources):
            self.refused.append((key, MADE))
        elif self._other_playbook(key):
            self.refused.append((key, PLAYBOOK))
        else:
            self.fresh[key] = record

    def _compare(self, new: Record, old: Record, gone: Collection[Key]) -> None:
        key, came = new.key, self.putting.forgotten.ledgers.of(new.key.scope).came.get(name_of(new.key))
        if _alike(old, new) and (not self.putting.follow or _whole(old) == _whole(new)):
            self.same.append(old)
        elif not self.putting.follow:
            self.refused.append((key, OTHER))
        elif self._other_playbook(key):
            self.refused.append((key, PLAYBOOK))
        elif came is None:
            self.refused.append((key, OTHER))
        elif came != old.version:
            self.refused.append((key, MINE))
        elif any(source in gone for source in new.sources):
            self.refused.append((key, MADE))
        else:
            self.over[key] = (new, old)

    def _came_back(self, key: Key) -> bool:
        """Tell whether what is not there was removed by following, and is there again where it came from."""
        return self.putting.follow and name_of(key) in self.putting.forgotten.ledgers.of(key.scope).gone

    def _other_playbook(self, key: Key) -> bool:
        return self.putting.follow and not self.putting.follows(key)


def _alike(old: Record, new: Record) -> bool:
    return old.text == new.text and old.data == new.data


def _whole(record: Record) -> object:
    return encoded(replace(record, version=0), record.key.scope)
