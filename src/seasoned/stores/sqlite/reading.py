"""Answering queries inside one snapshot."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from seasoned.filters import And, Compare, Filter, Op
from seasoned.index import NEVER, Row, ScopeIndex
from seasoned.ports import Fingerprint
from seasoned.query import Order, Page, Query, cursor_number
from seasoned.records import JSON, ODD, Hit, Key, Scope, is_odd, text_field, trusted_key
from seasoned.stores.embedded import Changes
from seasoned.stores.sqlite.blobs import load_index
from seasoned.stores.sqlite.rows import COLUMNS, encode_key, hit, hits, scope_of, space_id
from seasoned.stores.sqlite.schema import SPACE_BITS
from seasoned.stores.sqlite.where import to_sql
from seasoned.text import Analyser

_FROM: Final = "FROM record JOIN scope ON scope.id = record.scope"
_BATCH: Final = 400
_VECTORS: Final = 4_000
_SPACES: Final = ",".join(str(code) for code in range(0x3001) if chr(code).isspace())
_SAYS: Final = f"trim(text, char({_SPACES})) <> ''"
_LACKING: Final = (
    f"{_SAYS} AND NOT EXISTS (SELECT 1 FROM vector JOIN space ON vector.id = (record.row << {SPACE_BITS} | space.id)"
    " WHERE fingerprint = ?)"
)

Bound = list[object]


def conditions(query: Query, now: int) -> tuple[str, Bound]:
    """Return the WHERE of a query: scope, kinds, source, lacking, expiry and filter."""
    parts = [_in_scope(query.scope, subtree=query.subtree)]
    if query.kinds:
        parts.append((f"kind IN ({_marks(query.kinds)})", list(query.kinds)))
    if not query.expired:
        parts.append(("(until IS NULL OR until > ?)", [now]))
    if query.source is not None:
        parts.append(("row IN (SELECT row FROM source WHERE key = ?)", [encode_key(query.source)]))
    if query.lacking is not None:
        parts.append((_LACKING, [query.lacking]))
    if query.where is not None:
        parts.extend(_in_session(query.where))
        sql, bound = to_sql(query.where)
        parts.append((f"CASE WHEN json_valid(data) THEN {sql} ELSE 0 END" if "(data, ?)" in sql else sql, bound))
    return " AND ".join(sql for sql, _ in parts), [value for _, bound in parts for value in bound]


def _in_session(where: Filter) -> Iterator[tuple[str, Bound]]:
    """Yield what narrows a filter for one session to the rows that the index of sessions names."""
    for part in where.of if isinstance(where, And) else (where,):
        named = isinstance(part, Compare) and part.field == "data.session" and part.op is Op.EQ
        if named and isinstance(part, Compare) and isinstance(part.value, str) and part.value:
            yield "record.session IN (?, ?)", [part.value, ODD]


def _in_scope(scope: Scope, *, subtree: bool) -> tuple[str, Bound]:
    sql, bound = _named(scope, subtree=subtree)
    return f"record.scope {'IN' if subtree else '='} (SELECT id FROM scope WHERE {sql})", bound


def _named(scope: Scope, *, subtree: bool) -> tuple[str, Bound]:
    """Return what the name of a scope must be to be this one, or to lie below it."""
    name = scope.encode()
    return ("name >= ? AND name < ?", [name, name[:-1] + "0"]) if subtree else ("name = ?", [name])


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def scopes(db: sqlite3.Connection, query: Query, now: int) -> Page:
    """Return the scopes that hold a record which answers; in the order CHANGED all that ever held one."""
    if query.order is Order.CHANGED:
        sql, bound = _named(query.scope, subtree=query.subtree)
        found = db.execute(f"SELECT name FROM scope WHERE {sql} ORDER BY name", bound)
    else:
        sql, bound = conditions(query, now)
        found = db.execute(f"SELECT name {_FROM} WHERE {sql} GROUP BY name ORDER BY name", bound)
    return Page(scopes=tuple(scope_of(name) for (name,) in found))


def count(db: sqlite3.Connection, query: Query, now: int) -> Page:
    """Return how many records answer."""
    sql, bound = conditions(query, now)
    keyed, more = _keyed(query)
    return Page(count=db.execute(f"SELECT count(*) FROM record WHERE {sql}{keyed}", bound + more).fetchone()[0])


def _keyed(query: Query) -> tuple[str, Bound]:
    if not query.keys:
        return "", []
    made = [
        ("(kind = ? AND record.id IN (SELECT value FROM json_each(?)))", [kind, json.dumps(names)])
        for kind, names in _by_kind(query.keys).items()
    ]
    return f" AND ({' OR '.join(sql for sql, _ in made)})", [value for _, bound in made for value in bound]


def _by_kind(keys: Sequence[Key]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        found.setdefault(key.kind, []).append(key.id)
    return found


def by_key(db: sqlite3.Connection, query: Query, now: int) -> Page:
    """Return the records of the keys that answer, in the order of the keys."""
    found: dict[Key, Hit] = {}
    sql, bound = conditions(query, now)
    for kind, ids in _by_kind(query.keys).items():
        names = iter(ids)
        while batch := list(islice(names, _BATCH)):
            wanted = f"{sql} AND kind = ? AND record.id IN ({_marks(batch)})"
            answer = db.execute(f"SELECT {COLUMNS} {_FROM} WHERE {wanted}", [*bound, kind, *batch])
            found |= {one.record.key: one for one in map(hit, answer)}
    return Page(hits=[found[key] for key in dict.fromkeys(query.keys) if key in found])


def in_order(db: sqlite3.Connection, query: Query, now: int) -> Page:
    """Return a page of records as they were written or changed."""
    column, sign, direction = {
        Order.OLDEST: ("row", ">", "ASC"),
        Order.NEWEST: ("row", "<", "DESC"),
        Order.CHANGED: ("record.seq", ">", "ASC"),
    }[query.order]
    sql, bound = conditions(query, now)
    after = cursor_number(query.cursor)
    if after is not None:
        sql, bound = f"{sql} AND {column} {sign} ?", [*bound, after]
    found = db.execute(
        f"SELECT {COLUMNS} {_FROM} WHERE {sql} ORDER BY {column} {direction} LIMIT ?", [*bound, query.k + 1]
    )
    raws = found.fetchall()
    more = len(raws) > query.k
    read = hits(raws[: query.k])
    last = raws[: query.k][-1][4 if query.order is Order.CHANGED else 0] if raws else 0
    page = replace(read, cursor=str(last) if more else None)
    return _with_removals(db, query, page, after or 0, last if more else None) if query.order is Order.CHANGED else page


def _with_removals(db: sqlite3.Connection, query: Query, page: Page, after: int, end: int | None) -> Page:
    found = db.execute("SELECT id, seq, gone_before FROM scope WHERE name = ?", (query.scope.encode(),)).fetchone()
    if found is None:
        return page
    scope, seq, gone_before = found
    gone = db.execute(
        "SELECT kind, id FROM gone WHERE scope = ? AND seq > ? AND seq <= ?",
        (scope, after, seq if end is None else end),
    )
    keys = tuple(trusted_key(query.scope, kind, name) for kind, name in gone if not query.kinds or kind in query.kinds)
    return replace(page, seq=seq, gone=keys, reload=0 < after < gone_before)


def matching_rows(db: sqlite3.Connection, query: Query, now: int) -> list[int]:
    """Return the row numbers of all records that answer, whatever the words."""
    sql, bound = conditions(query, now)
    return [row for (row,) in db.execute(f"SELECT row FROM record WHERE {sql}", bound)]


def hits_of_rows(db: sqlite3.Connection, rows: Sequence[int]) -> tuple[dict[int, Hit], tuple[str, ...]]:
    """Return the records of row numbers, and what is said of those that cannot be read."""
    found: dict[int, Hit] = {}
    wrong: tuple[str, ...] = ()
    numbers = iter(rows)
    while batch := tuple(islice(numbers, _BATCH)):
        answer = db.execute(f"SELECT {COLUMNS} {_FROM} WHERE row IN ({_marks(batch)})", batch)
        read = hits(answer)
        found |= {one.order: one for one in read.hits}
        wrong += read.degraded
    return found, wrong


def _fields(data: str) -> Mapping[str, JSON]:
    try:
        found = json.loads(data)
    except ValueError:  # the row is damaged: reading it says so, searching others goes on
        return {}
    return found if isinstance(found, dict) else {}


class SnapshotRows:
    """The rows of one scope inside one snapshot: what an index follows."""

    def __init__(self, db: sqlite3.Connection, scope: str) -> None:
        self._db = db
        found = db.execute("SELECT id, seq, gone_before FROM scope WHERE name = ?", (scope,)).fetchone()
        self.scope_id: int = found[0] if found else 0
        self._seq: int = found[1] if found else 0
        self._gone_before: int = found[2] if found else 0

    def seq(self) -> int:
        """Return the scope's last change."""
        return self._seq

    def changes(self, after: int) -> Changes:
        """Return what happened after a change."""
        gone = self._db.execute("SELECT row FROM gone WHERE scope = ? AND seq > ?", (self.scope_id, after))
        return Changes(self._rows(after), [row for (row,) in gone], self._seq, reload=0 < after < self._gone_before)

    def _rows(self, after: int) -> Iterator[Row]:
        found = self._db.execute(
            "SELECT row, kind, text, at, until, worth, session, data FROM record"
            " WHERE scope = ? AND seq > ? ORDER BY row",
            (self.scope_id, after),
        )
        for row, kind, text, at, until, worth, session, data in found:
            fields = _fields(data) if session == ODD or '"role"' in data or '"name"' in data else {}
            role, name, odd = text_field(fields, "role"), text_field(fields, "name"), is_odd(fields)
            expiry, session = NEVER if until is None else until, None if session == ODD else session
            yield Row(
                row=row,
                kind=kind,
                text=text,
                at=at,
                until=expiry,
                worth=worth,
                session=session,
                role=role,
                name=name,
                odd=odd,
            )

    def vectors(self, fingerprint: Fingerprint, after: int) -> Iterator[list[tuple[int, bytes]]]:
        """Yield the vectors (row, float32 bytes) of one space of rows written after a change, some at a time."""
        space = space_id(self._db, str(fingerprint))
        if space is None:
            return
        changed, bound = (" AND record.seq > ?", [after]) if after else ("", [])  # all stand in the order of rows
        found = self._db.execute(
            f"SELECT row, vector.data FROM record JOIN vector ON vector.id = (row << {SPACE_BITS} | ?)"
            f" WHERE record.scope = ?{changed} ORDER BY row",
            [space, self.scope_id, *bound],
        )
        while some := found.fetchmany(_VECTORS):
            yield some

    def load(self, analyser: Analyser) -> ScopeIndex | None:
        """Return the index as it was stored last, None if it was not or does not fit."""
        return load_index(self._db, self.scope_id, analyser)
