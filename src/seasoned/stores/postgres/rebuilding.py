"""Making what is derived anew from the rows: some records at a time, so that others wait only for these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from seasoned.errors import StoreCorrupt
from seasoned.records import Record
from seasoned.stores.postgres.checking import counts, derived, orphans, some
from seasoned.stores.postgres.connections import Connections, Lent, Params
from seasoned.stores.postgres.forms import DERIVED, ROW, SOURCE
from seasoned.stores.postgres.rows import source_mark
from seasoned.stores.postgres.schema import MAX_INDEXED, Tables, near_index
from seasoned.stores.postgres.storing import unword, word
from seasoned.stores.postgres.terms import Said, said_by
from seasoned.stores.sqlite.rows import hit
from seasoned.text import Analyser

if TYPE_CHECKING:
    from seasoned.stores.postgres.connections import Database


def rebuild(connections: Connections, tables: Tables, analyser: Analyser) -> int:
    """Make words, sources, places and counts anew, then the indexes of vectors; return how many records were read."""
    connections.write(partial(_drop_orphans, tables=tables))
    scopes = connections.read(lambda db: db.execute(f"SELECT scope FROM {tables.scope}").fetchall())
    number = sum(_scope(connections, tables, scope, analyser) for (scope,) in scopes)
    ours = f"UPDATE {tables.schema}.meta SET value = %s WHERE name = 'analyser'"
    connections.write(lambda lent: lent.db.execute(ours, (analyser.fingerprint,)))
    for statement in connections.read(lambda db: _indexes(db, tables)):
        with connections.alone() as db:
            db.execute(statement)
    return number


def _drop_orphans(lent: Lent, tables: Tables) -> None:
    for name, condition in orphans(tables).items():
        lent.db.execute(f"DELETE FROM {tables.schema}.{name} t WHERE {condition}")


def _scope(connections: Connections, tables: Tables, scope: UUID, analyser: Analyser) -> int:
    number, last = 0, (scope, -1)
    while rows := connections.write(partial(_some, tables=tables, after=last, analyser=analyser)):
        number, last = number + len(rows), (scope, rows[-1])
    connections.write(partial(_count, tables=tables, scope=scope))
    return number


def _some(lent: Lent, tables: Tables, after: tuple[UUID, int], analyser: Analyser) -> list[int]:
    """Make some records' words, sources and marks anew; return their rows."""
    with lent.db.transaction():
        lent.db.execute(f"SELECT FROM {tables.scope} WHERE scope = %s FOR UPDATE", (after[0],))
        raws = some(lent.db, tables, after, after[0])
        for statement in _statements(tables, after[0], [raw[0] for raw in raws], list(_read(raws, analyser))):
            lent.db.execute(*statement)
    return [raw[0] for raw in raws]


def _read(raws: Sequence[tuple[Any, ...]], analyser: Analyser) -> Iterator[tuple[tuple[Any, ...], Record, Said]]:
    for raw in raws:
        try:
            record = hit(raw[:13]).record
        except StoreCorrupt:  # check names it, forgetting removes it
            continue
        yield raw, record, said_by(record, analyser)


def _statements(
    tables: Tables, scope: UUID, rows: Sequence[int], made: Sequence[tuple[tuple[Any, ...], Record, Said]]
) -> Iterator[tuple[str, Params]]:
    places = [(row,) for row in rows]
    yield from unword(tables, scope, places)
    yield from word(tables, scope, [(raw[0], said) for raw, _, said in made])
    yield from ROW.delete(tables.source, scope, places)
    sources = {(source_mark(key), raw[0]): None for raw, record, _ in made for key in record.sources}
    yield from SOURCE.insert(tables.source, scope, [*sources])
    derivations = [(raw[0], *derived(record, said, raw[16])) for raw, record, said in made]
    yield from DERIVED.update(tables.record, scope, derivations)


def _count(lent: Lent, tables: Tables, scope: UUID) -> None:
    """Count the scope anew, and number the records of its sessions without gaps."""
    db, bound = lent.db, {"scope": scope}
    with db.transaction():
        db.execute(f"SELECT FROM {tables.scope} WHERE scope = %(scope)s FOR UPDATE", bound)
        for table in (tables.term, tables.used):
            db.execute(f"DELETE FROM {table} WHERE scope = %(scope)s", bound)
        for (table, columns), counted in counts(tables, "scope = %(scope)s").items():
            if table == "scope":
                new = ", ".join(f"{name} = c.{name}" for name in columns)
                db.execute(f"UPDATE {tables.scope} t SET {new} FROM ({counted}) c WHERE t.scope = c.scope", bound)
            else:
                db.execute(f"INSERT INTO {tables.schema}.{table} {counted}", bound)
        db.execute(
            f"UPDATE {tables.record} t SET place = n.place FROM (SELECT row, row_number() OVER"
            f" (PARTITION BY session ORDER BY row) AS place FROM {tables.record}"
            " WHERE scope = %(scope)s AND session IS NOT NULL) n"
            " WHERE t.scope = %(scope)s AND t.row = n.row AND t.place IS DISTINCT FROM n.place",
            bound,
        )


def _indexes(db: Database, tables: Tables) -> list[str]:
    """Return what makes each index of vectors anew beside the old one, which serves until then."""
    made = []
    for space, dimension in db.execute(f"SELECT space, dimension FROM {tables.space} ORDER BY space"):
        if dimension <= MAX_INDEXED:
            name = f"{tables.schema}.vector_{space:d}"
            made += [
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}_new",
                near_index(tables, space, dimension, "new", "CONCURRENTLY"),
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}_near",
                f"ALTER INDEX {name}_new RENAME TO vector_{space:d}_near",
            ]
    return made
