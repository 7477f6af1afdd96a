"""Applying changes inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Final

from seasoned.credits import credited_data
from seasoned.errors import Conflict, NotFound, StoreError, WrongType
from seasoned.ports import ABSENT, Applied, Change, Credit, Put, Remove, Vectors
from seasoned.records import Key, Scope, finite
from seasoned.stores.sqlite.rows import encode_json, encode_key, space_id, values
from seasoned.stores.sqlite.schema import ROWS, SPACE_BITS
from seasoned.versions import check_version

GONE_KEPT: Final = 100_000
"""Removals further back than so many changes of their scope are no longer listed; a reader behind them reloads."""

_INSERT: Final = """INSERT INTO record
    (row, scope, kind, id, seq, version, written, at, until, worth, session, sources, data, text)
    VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)"""
_UPDATE: Final = """UPDATE record SET seq = ?, version = ?, written = ?, at = ?, until = ?, worth = ?, session = ?,
    sources = ?, data = ?, text = ? WHERE row = ?"""
_FIND: Final = "SELECT row, version, until, text, sources FROM record WHERE scope = ? AND kind = ? AND id = ?"

Found = tuple[int, int, int | None, str, str | None]


class Writing:
    """One `apply`: the changes of one transaction, in order."""

    def __init__(self, db: sqlite3.Connection, now: int, spaces: dict[str, int] | None = None) -> None:
        self._db = db
        self._now = now
        self._scopes: dict[Scope, int] = {}
        self._next: dict[Scope, int] = {}
        self._row = 0
        self._new_spaces: dict[str, int] = {}
        self._spaces = {} if spaces is None else spaces

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply all changes, or raise."""
        for change in changes:
            if not isinstance(change, (Put, Credit, Remove)):
                raise WrongType(f"a change is a Put, Credit or Remove, not {change!r}")
        wanted = Counter(_key(change).scope for change in changes)
        for scope, count in wanted.items():
            self._take_sequence(scope, count)
        puts = sum(isinstance(change, Put) for change in changes)
        if puts:
            numbers = self._db.execute(f"UPDATE scope SET seq = seq + ? WHERE id = {ROWS} RETURNING seq", (puts,))
            self._row = numbers.fetchone()[0] - puts
        taken = {scope: self._next[scope] + count for scope, count in wanted.items()}
        done = [self._one(change) for change in changes]
        for scope, seq in self._next.items():
            if seq != taken[scope]:
                self._db.execute("UPDATE scope SET seq = ? WHERE id = ?", (seq, self._scopes[scope]))
        return Applied(tuple(version for version, _ in done), tuple(seq for _, seq in done))

    def _take_sequence(self, scope: Scope, count: int) -> None:
        update = "UPDATE scope SET seq = seq + ? WHERE name = ? RETURNING id, seq"
        name = scope.encode()
        found = self._db.execute(update, (count, name)).fetchone()
        if found is None:
            self._db.execute("INSERT INTO scope (name) VALUES (?)", (name,))
            found = self._db.execute(update, (count, name)).fetchone()
        self._scopes[scope], self._next[scope] = found[0], found[1] - count

    def _seq(self, scope: Scope) -> int:
        self._next[scope] += 1
        return self._next[scope]

    def _one(self, change: Change) -> tuple[int, int]:
        match change:
            case Put():
                return self._put(change)
            case Credit():
                return self._credit(change)
            case Remove():
                return self._remove(change)

    def _put(self, put: Put) -> tuple[int, int]:
        key = put.record.key
        found = None if put.expect is ABSENT else self._found(key)
        if put.expect is not None and put.expect is not ABSENT:
            check_version(key, put.expect, None if found is None else found[1])
        return self._insert(put) if found is None else self._update(put, found)

    def _found(self, key: Key) -> Found | None:
        """Return the record, taking an expired one away first: to callers it is not there."""
        found: Found | None = self._db.execute(_FIND, (self._scopes[key.scope], key.kind, key.id)).fetchone()
        if found is not None and found[2] is not None and found[2] <= self._now:
            self._delete(key, found[0])
            return None
        return found

    def _insert(self, put: Put) -> tuple[int, int]:
        record, scope = put.record, self._scopes[put.record.key.scope]
        seq = self._seq(record.key.scope)
        self._row += 1
        row = self._row
        bound = (row, scope, record.key.kind, record.key.id, seq, self._now, *values(record))
        try:
            self._db.execute(_INSERT, bound)
        except sqlite3.IntegrityError:
            found = self._found(record.key)
            if found is not None:
                raise Conflict(record.key, expected=ABSENT, found=found[1]) from None
            seq = self._seq(record.key.scope)  # behind the removal of the expired one
            self._db.execute(_INSERT, (*bound[:4], seq, *bound[5:]))
        self._attach(row, put, None)
        return 1, seq

    def _update(self, put: Put, found: Found) -> tuple[int, int]:
        row, version, _, text, sources = found
        seq = self._seq(put.record.key.scope)
        self._db.execute(_UPDATE, (seq, version + 1, self._now, *values(put.record), row))
        if text != put.record.text:
            self._delete_vectors(row)
        self._attach(row, put, sources)
        return version + 1, seq

    def _attach(self, row: int, put: Put, had_sources: str | None) -> None:
        if had_sources is not None:
            self._db.execute("DELETE FROM source WHERE row = ?", (row,))
        for source in put.record.sources:
            self._db.execute("INSERT OR IGNORE INTO source VALUES (?, ?)", (encode_key(source), row))
        if put.vectors is not None:
            self._attach_vectors(row, put.vectors)

    def _attach_vectors(self, row: int, vectors: Vectors) -> None:
        space = self._space(str(vectors.fingerprint))
        data = vectors.values.astype("<f4", copy=False).tobytes()
        self._db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (row << SPACE_BITS | space, data))

    def _space(self, fingerprint: str) -> int:
        """Return the number of a vector space; only one that was committed is remembered from call to call."""
        found = self._spaces.get(fingerprint) or self._new_spaces.get(fingerprint)
        if found is None:
            found = space_id(self._db, fingerprint)
            if found is None:
                found = self._new_spaces[fingerprint] = self._new_space(fingerprint)
            else:
                self._spaces[fingerprint] = found
        return found

    def _new_space(self, fingerprint: str) -> int:
        number = self._db.execute("INSERT INTO space (fingerprint) VALUES (?)", (fingerprint,)).lastrowid or 0
        if number >= 1 << SPACE_BITS:
            raise StoreError(f"a file holds at most {(1 << SPACE_BITS) - 1} vector spaces; rebuild it from an export")
        return number

    def _credit(self, credit: Credit) -> tuple[int, int]:
        found = self._found(credit.key)
        if found is None:
            raise NotFound(f"no {credit.key} to credit")
        row, version = found[0], found[1]
        new = self._db.execute("INSERT OR IGNORE INTO credit VALUES (?, ?, ?)", (row, credit.field, credit.by))
        if not new.rowcount:
            return version, 0
        seq = self._seq(credit.key.scope)
        column, value = self._credited(row, credit)
        self._db.execute(
            f"UPDATE record SET {column} = ?, seq = ?, version = ?, written = ? WHERE row = ?",
            (value, seq, version + 1, self._now, row),
        )
        return version + 1, seq

    def _credited(self, row: int, credit: Credit) -> tuple[str, object]:
        worth, text = self._db.execute("SELECT worth, data FROM record WHERE row = ?", (row,)).fetchone()
        if credit.field == "worth":
            return "worth", finite(worth + finite(credit.amount, "a credit"), "worth")
        return "data", encode_json(credited_data(json.loads(text), credit))

    def _remove(self, remove: Remove) -> tuple[int, int]:
        found = self._found(remove.key)
        if remove.expect is not None:
            check_version(remove.key, remove.expect, None if found is None else found[1])
        return (0, self._delete(remove.key, found[0])) if found is not None else (0, 0)

    def _delete(self, key: Key, row: int) -> int:
        seq, scope = self._seq(key.scope), self._scopes[key.scope]
        self._db.execute("DELETE FROM record WHERE row = ?", (row,))
        self._db.execute("DELETE FROM source WHERE row = ?", (row,))
        self._db.execute("DELETE FROM credit WHERE row = ?", (row,))
        self._delete_vectors(row)
        self._db.execute("INSERT INTO gone VALUES (?, ?, ?, ?, ?)", (scope, seq, row, key.kind, key.id))
        if seq % 1000 == 0:
            self._forget_removals(scope, seq - GONE_KEPT)
        return seq

    def _forget_removals(self, scope: int, before: int) -> None:
        if self._db.execute("DELETE FROM gone WHERE scope = ? AND seq < ?", (scope, before)).rowcount:
            self._db.execute("UPDATE scope SET gone_before = ? WHERE id = ?", (before, scope))

    def _delete_vectors(self, row: int) -> None:
        self._db.execute(
            "DELETE FROM vector WHERE id BETWEEN ? AND ?", (row << SPACE_BITS, (row + 1 << SPACE_BITS) - 1)
        )


def _key(change: Change) -> Key:
    return change.record.key if isinstance(change, Put) else change.key
