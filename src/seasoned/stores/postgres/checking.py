"""Comparing what is derived with the rows, table by table; and the sizes of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from seasoned.errors import StoreCorrupt
from seasoned.ports import Finding
from seasoned.records import JSON, Record, session_field
from seasoned.stores.postgres.reading import joined
from seasoned.stores.postgres.rows import COLUMNS, key_mark, literal, session_mark, source_mark
from seasoned.stores.postgres.schema import MIGRATIONS, Tables
from seasoned.stores.postgres.terms import Said, said_by
from seasoned.stores.sqlite.rows import hit
from seasoned.text import Analyser

if TYPE_CHECKING:
    from seasoned.stores.postgres.connections import Database

BATCH: Final = 500
"""How many records are read at a time."""

_DERIVED: Final = "r.scope, r.key, r.session, r.place, r.role, r.speaker, r.length, r.said, r.digest"


def check(db: Database, tables: Tables, analyser: Analyser) -> list[Finding]:
    """Return what is wrong with the tables and their indexes, all of one instant; [] where all is well."""
    with db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = [*_indexes(db, tables), *_orphans(db, tables), *_counts(db, tables)]
        for raws in batches(db, tables):
            found += _rows(db, tables, raws, analyser)
        return found


def _indexes(db: Database, tables: Tables) -> Iterator[Finding]:
    invalid = db.execute(
        "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " WHERE NOT indisvalid AND relnamespace = %s::regnamespace",
        (tables.schema,),
    )
    for (name,) in invalid:
        yield Finding("index", f"{name} was not made to its end")


def _orphans(db: Database, tables: Tables) -> Iterator[Finding]:
    for name, condition in orphans(tables).items():
        if number := _number(db, f"SELECT count(*) FROM {tables.schema}.{name} t WHERE {condition}"):
            yield Finding(name, f"{number} entries belong to no record")


def orphans(tables: Tables) -> dict[str, str]:
    """Return, by table, the condition that an entry `t` of it belongs to no record."""
    missing = f"NOT EXISTS (SELECT FROM {tables.record} r WHERE r.scope = t.scope AND r.{{name}} = t.{{name}})"
    by_row = {table: missing.format(name="row") for table in ("source", "posting", "vector")}
    return {**by_row, "credit": missing.format(name="key")}


def _number(db: Database, sql: str) -> int:
    found = db.execute(sql).fetchone()
    return int(found[0]) if found else 0


def _counts(db: Database, tables: Tables) -> Iterator[Finding]:
    """Yield where a count differs from what is counted, and where a record is ahead of its scope's sequence."""
    late = f"SELECT count(*) FROM {tables.record} r JOIN {tables.scope} s USING (scope) WHERE r.seq > s.seq"
    if number := _number(db, late):
        yield Finding("record", f"{number} records are ahead of their scope's sequence")
    for what, counted in counts(tables).items():
        table, columns = what
        same = " AND ".join(f"t.{name} IS NOT DISTINCT FROM c.{name}" for name in columns)
        keys = ", ".join(_KEYS[table])
        sql = (
            f"SELECT count(*) FROM {tables.schema}.{table} t FULL JOIN ({counted}) c USING ({keys}) WHERE NOT ({same})"
        )
        if number := _number(db, sql):
            yield Finding(table, f"{number} counts differ from what is there")


_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "scope": ("scope",),
    "term": ("scope", "term"),
    "used": ("scope", "space"),
}


def counts(tables: Tables, scope: str = "") -> dict[tuple[str, tuple[str, ...]], str]:
    """Return, by table and counting columns, the statement that counts anew; `scope` is a condition on the scope."""
    where = f" WHERE {scope}" if scope else ""
    passages = f"SELECT DISTINCT scope, row, part, length FROM {tables.posting}{where}"
    sums = "count(*) FILTER (WHERE length > 0) AS n, sum(length) AS words"
    words = f"SELECT scope, {sums} FROM ({passages}) p GROUP BY scope"
    records = f"SELECT scope, count(*) AS n FROM {tables.record}{where} GROUP BY scope"
    return {
        ("scope", ("records", "passages", "words")): (
            "SELECT s.scope, coalesce(r.n, 0) AS records, coalesce(w.n, 0) AS passages, coalesce(w.words, 0) AS words"
            f" FROM (SELECT scope FROM {tables.scope}{where}) s LEFT JOIN ({records}) r USING (scope)"
            f" LEFT JOIN ({words}) w USING (scope)"
        ),
        ("term", ("passages",)): (
            f"SELECT scope, term, count(*) AS passages FROM {tables.posting}{where} GROUP BY scope, term"
        ),
        ("used", ("vectors",)): (
            "SELECT scope, space, coalesce(v.n, 0) AS vectors"
            f" FROM (SELECT scope, space FROM {tables.used}{where}) u FULL JOIN"
            f" (SELECT scope, space, count(*) AS n FROM {tables.vector}{where} GROUP BY scope, space) v"
            " USING (scope, space)"
        ),
    }


def batches(db: Database, tables: Tables) -> Iterator[list[tuple[Any, ...]]]:
    """Yield all records, some at a time, as `some` reads them."""
    last: tuple[UUID, int] | None = None
    while raws := some(db, tables, last):
        yield raws
        last = (raws[-1][13], raws[-1][0])


def some(
    db: Database, tables: Tables, after: tuple[UUID, int] | None, scope: UUID | None = None
) -> list[tuple[Any, ...]]:
    """Return the next records behind one, or those of one scope: what makes a hit, then what is derived of it."""
    parts = ["true" if scope is None else "r.scope = %(only)s"]
    parts += [] if after is None else ["(r.scope, r.row) > (%(scope)s, %(row)s)"]
    bound = {"only": scope, "scope": after and after[0], "row": after and after[1]}
    sql = f"SELECT {COLUMNS}, {_DERIVED} {joined(tables)} WHERE {' AND '.join(parts)} ORDER BY r.scope, r.row"
    return db.execute(f"{sql} LIMIT {BATCH}", bound, binary=True).fetchall()


def _rows(db: Database, tables: Tables, raws: Sequence[tuple[Any, ...]], analyser: Analyser) -> Iterator[Finding]:
    rows = {
        "scope": literal(raw[13] for raw in raws),
        "row": literal(raw[0] for raw in raws),
    }
    sources, postings = _by_row(db, tables.source, "source", rows), _by_row(db, tables.posting, _POSTING, rows)
    for raw in raws:
        try:
            record = hit(raw[:13]).record
        except StoreCorrupt as error:
            yield Finding("record", str(error))
            continue
        said = said_by(record, analyser)
        if tuple(raw[14:]) != derived(record, said, raw[16]):
            yield Finding("record", f"row {raw[0]} has other marks beside it than its record")
        if sources.get(raw[0], set()) != {(source_mark(key),) for key in record.sources}:
            yield Finding("source", f"the sources of row {raw[0]} differ from its record")
        if postings.get(raw[0], set()) != _terms(said):
            yield Finding("posting", f"the terms of row {raw[0]} differ from its text")


_POSTING: Final = "term, part, times, length"


def _by_row(db: Database, table: str, columns: str, rows: Mapping[str, str]) -> dict[int, set[tuple[object, ...]]]:
    found: dict[int, set[tuple[object, ...]]] = {}
    names = ", ".join(f"t.{name}" for name in columns.split(", "))
    sql = f"SELECT t.row, {names} FROM unnest(%(scope)s::uuid[], %(row)s::bigint[]) AS u(scope, row)"
    for row, *values in db.execute(f"{sql} JOIN {table} t ON t.scope = u.scope AND t.row = u.row", rows, binary=True):
        found.setdefault(row, set()).add(tuple(values))
    return found


def _terms(said: Said) -> set[tuple[object, ...]]:
    return {
        (term, part, times, passage.length)
        for part, passage in enumerate(said.passages)
        for term, times in passage.times.items()
    }


def derived(record: Record, said: Said, place: int | None) -> tuple[object, ...]:
    """Return what stands beside a record: key, session, place, role, speaker, length, said and digest."""
    session = session_mark(session_field(record.data))
    order = None if session is None else place
    return (key_mark(record.key), session, order, said.role, said.speaker, said.length, said.said, said.digest)


def stats(db: Database, tables: Tables) -> Mapping[str, JSON]:
    """Return sizes and counts of the schema."""
    version = db.execute("SELECT current_setting('server_version')").fetchone()
    spaces = db.execute(
        f"SELECT p.fingerprint, coalesce(sum(u.vectors), 0)::bigint FROM {tables.space} p"
        f" LEFT JOIN {tables.used} u USING (space) GROUP BY p.space ORDER BY p.space"
    )
    size = "SELECT coalesce(sum({size}(oid)), 0)::bigint FROM pg_class WHERE relnamespace = '{schema}'::regnamespace"
    return {
        "engine": f"PostgreSQL {version[0] if version else ''}",
        "schema": len(MIGRATIONS),
        "file_bytes": _number(
            db, f"{size.format(size='pg_total_relation_size', schema=tables.schema)} AND relkind = 'r'"
        ),
        "index_bytes": _number(db, f"{size.format(size='pg_relation_size', schema=tables.schema)} AND relkind = 'i'"),
        "records": _number(db, f"SELECT coalesce(sum(records), 0)::bigint FROM {tables.scope}"),
        "scopes": _number(db, f"SELECT count(*) FROM {tables.scope} WHERE records > 0"),
        "vectors": dict(spaces.fetchall()),
    }
