"""One `apply`: changes to sealed records become changes of the engine, each under the version that it was made for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from seasoned.credits import credited_data
from seasoned.errors import NotFound, StoreCorrupt, StoreError, StoreLocked
from seasoned.locked import LockedHit
from seasoned.ports import ABSENT, Applied, Change, Credit, Expect, Put, Remove
from seasoned.records import Hit, Key, Record, finite, from_micros, to_micros
from seasoned.stores.documents.coding import Given, Stored, packed
from seasoned.stores.documents.writing import key_of_change
from seasoned.stores.encrypted.boxes import Broken
from seasoned.versions import check_version

State: TypeAlias = Stored | LockedHit | Broken
"""What stands under a key."""

Sealer: TypeAlias = Callable[[Stored], Record]
"""Gives the sealed form of a record; raises where the scope's key is not here."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one change comes to: a change of the engine (None for none) and the version that the record then has."""

    change: Change | None
    version: int


@dataclass(frozen=True, slots=True)
class Planned:
    """What to apply to the engine for a batch, change by change."""

    steps: Sequence[Step]

    @property
    def changes(self) -> list[Change]:
        """The changes for the engine."""
        return [step.change for step in self.steps if step.change is not None]

    def answer(self, applied: Applied) -> Applied:
        """Return what the batch did, from what the engine says.

        Raises:
            StoreError: the engine counted versions otherwise, so that what was sealed for one cannot be read.
        """
        given = zip(applied.versions, applied.seqs, strict=True)
        done = [(step.version, 0) if step.change is None else next(given) for step in self.steps]
        for step, (version, _) in zip(self.steps, done, strict=True):
            if step.version not in (version, ANY):
                raise StoreError(
                    f"the engine wrote version {version} where {step.version} was next; it cannot be encrypted"
                )
        return Applied(tuple(version for version, _ in done), tuple(seq for _, seq in done))


ANY = -1
"""The version of a step that is the engine's own affair."""


class Planning:
    """Checks changes against what stands and says what the engine is to do; it writes nothing itself.

    `found` has the state of each sealed key that the batch names and that is there; `sealed` are those keys.
    """

    def __init__(self, sealed: Iterable[Key], found: Mapping[Key, State], sealer: Sealer, now: int) -> None:
        self._sealed = set(sealed)
        self._found = dict(found)
        self._sealer = sealer
        self._now = now

    def plan(self, changes: Sequence[Change]) -> Planned:
        """Return what to apply.

        Raises:
            Conflict, NotFound, InvalidInput: a change cannot be made.
            StoreLocked: the key of a scope or of a record is not here.
            StoreCorrupt: a credit to a record that cannot be read, or a record whose version cannot.
        """
        return Planned([self._one(change) for change in changes])

    def _one(self, change: Change) -> Step:
        if key_of_change(change) not in self._sealed:
            return Step(change, ANY)
        match change:
            case Put():
                return self._put(change)
            case Credit():
                return self._credit(change)
            case Remove():
                return self._remove(change)

    def _put(self, put: Put) -> Step:
        key = put.record.key
        found = self._standing(key)
        check_version(key, put.expect, _version(found))
        if isinstance(found, LockedHit):
            raise StoreLocked(scope=key.scope, name=found.name)
        if isinstance(found, Broken) and not found.version:
            raise StoreCorrupt(found.why)
        old = found if isinstance(found, Stored) else None
        kept = old is not None and old.hit.text == put.record.text
        vectors = dict(old.vectors) if old is not None and kept else {}
        if put.vectors is not None:
            vectors[str(put.vectors.fingerprint)] = packed(put.vectors)
        return self._write(put.record, found, vectors, frozenset() if old is None else old.given)

    def _write(self, record: Record, found: State | None, vectors: dict[str, bytes], given: Given) -> Step:
        version = 1 + (_version(found) or 0)
        hit = Hit(record=replace(record, version=version), written=from_micros(self._now))
        stored = Stored(hit=hit, vectors=vectors, given=given)
        self._found[record.key] = stored
        return Step(Put(self._sealer(stored), None, _expect(found)), version)

    def _credit(self, credit: Credit) -> Step:
        found = self._standing(credit.key)
        if found is None:
            raise NotFound(f"no {credit.key} to credit")
        if isinstance(found, LockedHit):
            raise StoreLocked(scope=credit.key.scope, name=found.name)
        if isinstance(found, Broken):
            raise StoreCorrupt(found.why)
        if (credit.field, credit.by) in found.given:
            return Step(None, found.hit.record.version)
        given = found.given | {(credit.field, credit.by)}
        return self._write(_credited(found.hit.record, credit), found, found.vectors, given)

    def _remove(self, remove: Remove) -> Step:
        check_version(remove.key, remove.expect, _version(self._standing(remove.key)))
        self._found.pop(remove.key, None)
        return Step(Remove(remove.key, remove.expect), 0)

    def _standing(self, key: Key) -> State | None:
        """Return what stands under a key; an expired record is not there, for the engine neither."""
        found = self._found.get(key)
        until = None if found is None or isinstance(found, Broken) else _record(found).until
        return found if until is None or to_micros(until) > self._now else None


def _record(found: Stored | LockedHit) -> Record:
    return found.record if isinstance(found, LockedHit) else found.hit.record


def _version(found: State | None) -> int | None:
    if found is None:
        return None
    return found.version if isinstance(found, Broken) else _record(found).version


def _expect(found: State | None) -> Expect:
    version = _version(found)
    return ABSENT if version is None else version


def _credited(record: Record, credit: Credit) -> Record:
    if credit.field == "worth":
        return replace(record, worth=finite(record.worth + finite(credit.amount, "a credit"), "worth"))
    return replace(record, data=credited_data(json.loads(json.dumps(record.data)), credit))
