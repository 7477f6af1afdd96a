"""The rows of the in-memory store: what is stored, what an index follows, and changes with what undoes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from seasoned.credits import credited_data
from seasoned.errors import NotFound, WrongType
from seasoned.index import NEVER, Row, ScopeIndex
from seasoned.ports import Change, Credit, Fingerprint, Put, Remove, Vectors
from seasoned.records import Hit, Key, Record, Scope, finite, from_micros, is_odd, text_field, to_micros
from seasoned.stores.embedded import Changes, expired
from seasoned.text import Analyser
from seasoned.versions import check_version


@dataclass(slots=True)
class Stored:
    """A record with what the store knows of it."""

    hit: Hit
    vectors: dict[str, bytes] = field(default_factory=dict)
    credits: set[tuple[str, str]] = field(default_factory=set)


@dataclass(slots=True)
class Space:
    """One scope."""

    seq: int = 0
    records: dict[tuple[str, str], Stored] = field(default_factory=dict)
    gone: list[tuple[int, int, Key]] = field(default_factory=list)


class SpaceRows:
    """The rows of one scope: what its index follows."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def seq(self) -> int:
        """Return the scope's last change."""
        return self._space.seq

    def changes(self, after: int) -> Changes:
        """Return what happened after a change."""
        changed = sorted(
            (one for one in self._space.records.values() if one.hit.seq > after), key=lambda one: one.hit.order
        )
        gone = [row for seq, row, _ in self._space.gone if seq > after]
        return Changes([_row(one.hit) for one in changed], gone, self._space.seq)

    def vectors(self, fingerprint: Fingerprint, after: int) -> list[list[tuple[int, bytes]]]:
        """Return the vectors of one space of rows written after a change."""
        name = str(fingerprint)
        changed = (one for one in self._space.records.values() if one.hit.seq > after)
        return [[(one.hit.order, one.vectors[name]) for one in changed if name in one.vectors]]

    def load(self, analyser: Analyser) -> ScopeIndex | None:  # noqa: ARG002  # the port's form
        """Return None: nothing is stored."""
        return None


def _row(hit: Hit) -> Row:
    record = hit.record
    session, role, name = (text_field(record.data, each) for each in ("session", "role", "name"))
    return Row(
        row=hit.order,
        kind=record.key.kind,
        text=record.text,
        at=to_micros(record.at),
        until=NEVER if record.until is None else to_micros(record.until),
        worth=record.worth,
        session=session,
        role=role,
        name=name,
        odd=is_odd(record.data),
    )


class Writing:
    """One `apply`: changes in order, each with what undoes it."""

    def __init__(self, scopes: dict[Scope, Space], rows: int, now: int) -> None:
        self._scopes = scopes
        self.rows = rows
        self._now = now
        self._undo: list[Callable[[], object]] = []

    def undo(self) -> None:
        """Take back all that was done, last first."""
        for step in reversed(self._undo):
            step()

    def one(self, change: Change) -> tuple[int, int]:
        """Apply one change; return the record's version after it and the sequence it took."""
        match change:
            case Put():
                return self._put(change)
            case Credit():
                return self._credit(change)
            case Remove():
                return self._remove(change)
        raise WrongType(f"a change is a Put, Credit or Remove, not {change!r}")

    def _space(self, scope: Scope) -> Space:
        if scope not in self._scopes:
            self._scopes[scope] = Space()
            self._undo.append(lambda: self._scopes.pop(scope))
        return self._scopes[scope]

    def _found(self, key: Key) -> Stored | None:
        """Return the record, taking an expired one away first: to callers it is not there."""
        found = self._space(key.scope).records.get((key.kind, key.id))
        if found is not None and expired(found.hit.record, self._now):
            self._delete(key)
            return None
        return found

    def _put(self, put: Put) -> tuple[int, int]:
        key = put.record.key
        found = self._found(key)
        check_version(key, put.expect, None if found is None else found.hit.record.version)
        vectors = dict(found.vectors) if found is not None and found.hit.text == put.record.text else {}
        if put.vectors is not None:
            vectors[str(put.vectors.fingerprint)] = _bytes(put.vectors)
        order = found.hit.order if found is not None else self._new_row()
        return self._store(put.record, order, found, vectors, found.credits if found is not None else set())

    def _new_row(self) -> int:
        self.rows += 1
        return self.rows

    def _store(
        self, record: Record, order: int, old: Stored | None, vectors: dict[str, bytes], credits_: set[tuple[str, str]]
    ) -> tuple[int, int]:
        space = self._space(record.key.scope)
        version = old.hit.record.version + 1 if old is not None else 1
        seq = self._seq(space)
        copied = replace(record, version=version)
        hit = Hit(record=copied, order=order, seq=seq, written=self._clock_time())
        name = (record.key.kind, record.key.id)
        space.records[name] = Stored(hit, vectors, credits_)
        self._undo.append(lambda: space.records.pop(name) if old is None else space.records.update({name: old}))
        return version, seq

    def _clock_time(self) -> datetime:
        return from_micros(self._now)

    def _seq(self, space: Space) -> int:
        before = space.seq
        self._undo.append(lambda: setattr(space, "seq", before))
        space.seq += 1
        return space.seq

    def _credit(self, credit: Credit) -> tuple[int, int]:
        found = self._found(credit.key)
        if found is None:
            raise NotFound(f"no {credit.key} to credit")
        if (credit.field, credit.by) in found.credits:
            return found.hit.record.version, 0
        record = found.hit.record
        if credit.field == "worth":
            record = replace(record, worth=finite(record.worth + finite(credit.amount, "a credit"), "worth"))
        else:
            record = replace(record, data=credited_data(json.loads(json.dumps(record.data)), credit))
        given = found.credits | {(credit.field, credit.by)}
        return self._store(record, found.hit.order, found, found.vectors, given)

    def _remove(self, remove: Remove) -> tuple[int, int]:
        found = self._found(remove.key)
        check_version(remove.key, remove.expect, None if found is None else found.hit.record.version)
        return (0, self._delete(remove.key)) if found is not None else (0, 0)

    def _delete(self, key: Key) -> int:
        space = self._space(key.scope)
        name = (key.kind, key.id)
        old = space.records.pop(name)
        self._undo.append(lambda: space.records.update({name: old}))
        seq = self._seq(space)
        space.gone.append((seq, old.hit.order, key))
        self._undo.append(space.gone.pop)
        return seq


def _bytes(vectors: Vectors) -> bytes:
    return vectors.values.astype("<f4", copy=False).tobytes()
