"""Answering queries that nothing ranks: by key, in order, for a count, for scopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from seasoned.filters import And, Compare, Filter, Op
from seasoned.query import Order, Page, Query, cursor_number
from seasoned.records import Hit, Key, Scope, trusted_key
from seasoned.stores.postgres.connections import BEGIN_READING, COMMIT, Statement, at_once
from seasoned.stores.postgres.rows import COLUMNS, ODD_SESSION, key_mark, mark, scope_mark, source_mark
from seasoned.stores.postgres.schema import Tables
from seasoned.stores.postgres.where import Bound, to_sql
from seasoned.stores.sqlite.rows import hits, scope_of

if TYPE_CHECKING:
    from seasoned.stores.postgres.connections import Database

_PREFIX: Final = 400


def conditions(tables: Tables, query: Query, now: int, bound: Bound) -> str:
    """Return what a `record r` must be to answer a query: in scope, of a kind, not expired, and so on."""
    parts = [in_scope(tables, query.scope, bound, subtree=query.subtree)]
    if query.kinds:
        parts.append(f"r.kind = ANY({bound(list(query.kinds), 'text[]')})")
    if not query.expired:
        parts.append(f"(r.until IS NULL OR r.until > {bound(now, 'bigint')})")
    if query.source is not None:
        parts.append(_from_source(tables, query.source, bound))
    if query.lacking is not None:
        parts.append(_lacking(tables, query.lacking, bound))
    if query.where is not None:
        parts += [*_in_session(query.where, bound), to_sql(query.where, bound)]
    if query.keys:
        parts.append(f"r.key = ANY({bound([key_mark(key) for key in dict.fromkeys(query.keys)], 'uuid[]')})")
    return " AND ".join(parts)


def in_scope(tables: Tables, scope: Scope, bound: Bound, *, subtree: bool, row: str = "r") -> str:
    """Return what a row (`record r`) must be to lie in a scope, or below it."""
    if not subtree:
        return f"{row}.scope = {bound(scope_mark(scope), 'uuid')}"
    name = scope.encode()
    low, high = bound(name, "text"), bound(name[:-1] + "0", "text")  # "0" follows "/"
    near = f"left(name, {_PREFIX}) BETWEEN left({low}, {_PREFIX}) AND left({high}, {_PREFIX})"
    return f"{row}.scope IN (SELECT scope FROM {tables.scope} WHERE {near} AND name >= {low} AND name < {high})"


def _from_source(tables: Tables, source: Key, bound: Bound) -> str:
    sql = f"SELECT scope, row FROM {tables.source} WHERE source = {bound(source_mark(source), 'uuid')}"
    return f"(r.scope, r.row) IN ({sql})"


def _lacking(tables: Tables, fingerprint: str, bound: Bound) -> str:
    space = f"SELECT space FROM {tables.space} WHERE mark = {bound(mark(fingerprint), 'uuid')}"
    there = f"SELECT FROM {tables.vector} v WHERE v.scope = r.scope AND v.space = ({space}) AND v.row = r.row"
    return f"r.said <> 0 AND NOT EXISTS ({there})"


def _in_session(where: Filter, bound: Bound) -> Iterator[str]:
    """Yield what narrows a filter for one session to the rows that the index of sessions names."""
    for part in where.of if isinstance(where, And) else (where,):
        named = isinstance(part, Compare) and part.field == "data.session" and part.op is Op.EQ
        if named and isinstance(part, Compare) and isinstance(part.value, str) and part.value:
            yield f"r.session = ANY({bound([mark(part.value), ODD_SESSION], 'uuid[]')})"


def scopes(db: Database, tables: Tables, query: Query, now: int) -> Page:
    """Return the scopes that hold a record which answers; in the order CHANGED all that ever held one."""
    bound = Bound()
    if query.order is Order.CHANGED:
        there = in_scope(tables, query.scope, bound, subtree=query.subtree, row="s")
    else:
        sql = f"SELECT FROM {tables.record} r WHERE {conditions(tables, query, now, bound)} AND r.scope = s.scope"
        there = f"EXISTS ({sql})"
    found = db.execute(f"SELECT s.name FROM {tables.scope} s WHERE {there} ORDER BY s.name", bound.values)
    return Page(scopes=tuple(scope_of(name) for (name,) in found))


def count(db: Database, tables: Tables, query: Query, now: int) -> Page:
    """Return how many records answer."""
    if query.keys:
        return Page(count=len(by_key(db, tables, query, now).hits))
    bound = Bound()
    where = conditions(tables, query, now, bound)
    found = db.execute(f"SELECT count(*) FROM {tables.record} r WHERE {where}", bound.values).fetchone()
    return Page(count=found[0] if found else 0)


def by_key(db: Database, tables: Tables, query: Query, now: int) -> Page:
    """Return the records of the keys that answer, in the order of the keys."""
    bound = Bound()
    sql = f"SELECT {COLUMNS} {joined(tables)} WHERE {conditions(tables, query, now, bound)}"
    read = hits(db.execute(sql, bound.values, binary=True).fetchall())
    found = {hit.record.key: hit for hit in read.hits}
    return replace(read, hits=[found[key] for key in dict.fromkeys(query.keys) if key in found])


def joined(tables: Tables) -> str:
    """Return the FROM that `COLUMNS` are read from."""
    return f"FROM {tables.record} r JOIN {tables.scope} s ON s.scope = r.scope"


def in_order(db: Database, tables: Tables, query: Query, now: int) -> Page:
    """Return a page of records as they were written or changed."""
    column, sign, direction = {
        Order.OLDEST: ("r.row", ">", "ASC"),
        Order.NEWEST: ("r.row", "<", "DESC"),
        Order.CHANGED: ("r.seq", ">", "ASC"),
    }[query.order]
    after, bound = cursor_number(query.cursor), Bound()
    sql = conditions(tables, query, now, bound)
    if after is not None:
        sql += f" AND {column} {sign} {bound(after, 'bigint')}"
    limit = bound(query.k + 1, "bigint")
    page = f"SELECT {COLUMNS} {joined(tables)} WHERE {sql} ORDER BY {column} {direction} LIMIT {limit}"
    if query.order is not Order.CHANGED:
        return _page(query, db.execute(page, bound.values, binary=True).fetchall())
    return _with_removals(db, tables, query, (page, bound.values), after or 0)


def _page(query: Query, raws: Sequence[tuple[object, ...]]) -> Page:
    more = len(raws) > query.k
    read = hits(raws[: query.k])  # type: ignore[arg-type]  # the columns that were asked for
    place = 4 if query.order is Order.CHANGED else 0
    return replace(read, cursor=str(raws[query.k - 1][place]) if more else None)


def _with_removals(db: Database, tables: Tables, query: Query, page: Statement, after: int) -> Page:
    """Return a page of changes with the removals among them, all of one instant."""
    scope = {"scope": scope_mark(query.scope), "after": after, "k": query.k}
    state = f"SELECT seq, gone_before FROM {tables.scope} WHERE scope = %(scope)s"
    removed = f"SELECT seq, kind, id FROM {tables.gone} WHERE scope = %(scope)s AND seq > %(after)s ORDER BY seq"
    _, first, second, third, _ = at_once(db, [BEGIN_READING, page, (state, scope), (removed, scope), COMMIT])
    read, found = _page(query, first.fetchall()), second.fetchone()
    if found is None:
        return read
    end = found[0] if read.cursor is None else int(read.cursor)
    gone = tuple(
        trusted_key(query.scope, kind, name)
        for seq, kind, name in third
        if seq <= end and (not query.kinds or kind in query.kinds)
    )
    return replace(read, seq=found[0], gone=gone, reload=0 < after < found[1])


def hits_of_rows(
    db: Database, tables: Tables, scope: Scope, rows: Sequence[int]
) -> tuple[dict[int, Hit], tuple[str, ...]]:
    """Return the records of row numbers of a scope, and what is said of those that cannot be read."""
    sql = f"SELECT {COLUMNS} {joined(tables)} WHERE r.scope = %(scope)s AND r.row = ANY(%(rows)s::bigint[])"
    read = hits(db.execute(sql, {"scope": scope_mark(scope), "rows": [*rows]}, binary=True).fetchall())
    return {hit.order: hit for hit in read.hits}, read.degraded
