"""Erasing for good: after the rows are deleted, the server is made to free their space in tables and indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from seasoned.ports import Counts
from seasoned.stores.postgres.connections import Connections, at_once
from seasoned.stores.postgres.rows import key_mark, literal, scope_mark
from seasoned.stores.postgres.schema import Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seasoned.records import Key
    from seasoned.stores.postgres.connections import Database

WAITING: Final = "vacuum"
"""What is pending where another transaction may still read what was erased."""


def held(db: Database, tables: Tables, keys: Sequence[Key]) -> Counts:
    """Return how many rows, vectors and postings the records of these keys have."""
    marks: dict[UUID, list[UUID]] = {}
    for key in dict.fromkeys(keys):
        marks.setdefault(scope_mark(key.scope), []).append(key_mark(key))
    rows = f"SELECT row FROM {tables.record} WHERE scope = %(scope)s AND key = ANY(%(key)s::uuid[])"
    parts = [
        f"(SELECT count(*) FROM {table} WHERE scope = %(scope)s AND row IN (SELECT row FROM found))"
        for table in (tables.record, tables.vector, tables.posting)
    ]
    sql = f"WITH found AS MATERIALIZED ({rows}) SELECT {', '.join(parts)}"
    asked = [(sql, {"scope": scope, "key": literal(keys)}) for scope, keys in marks.items()]
    found = [answer.fetchall()[0] for answer in at_once(db, asked)]
    rows_, vectors, postings = (sum(column) for column in zip(*found, strict=True))
    return Counts(rows=rows_, vectors=vectors, postings=postings)


def announce(connections: Connections, tables: Tables) -> None:
    """Note in the schema that something is being erased, so that who comes later finishes what is not."""
    sql = f"INSERT INTO {tables.schema}.meta VALUES ('erasing', 'vacuum') ON CONFLICT DO NOTHING"
    connections.write(lambda lent: lent.db.execute(sql))


def finish(connections: Connections, tables: Tables) -> tuple[str, ...]:
    """Free what was erased; return what is still pending, which stays noted."""
    with connections.alone() as db:
        names = _holding(db, tables)
        db.execute(f"VACUUM (INDEX_CLEANUP ON) {', '.join(names)}")
        dead = db.execute(
            "SELECT coalesce(sum(pg_stat_get_dead_tuples(name::regclass)), 0) FROM unnest(%s::text[]) AS u(name)",
            (names,),
        ).fetchone()
        if dead is None or dead[0]:
            return (WAITING,)
        db.execute(f"DELETE FROM {tables.schema}.meta WHERE name = 'erasing'")
        return ()


def unfinished(connections: Connections, tables: Tables) -> tuple[str, ...]:
    """Try to finish the erasures that the schema says are pending; return what still is."""
    waiting = connections.read(
        lambda db: db.execute(f"SELECT FROM {tables.schema}.meta WHERE name = 'erasing'").fetchone()
    )
    return () if waiting is None else finish(connections, tables)


def _holding(db: Database, tables: Tables) -> list[str]:
    """Return the tables that hold words, data or vectors of records."""
    spaces = db.execute(f"SELECT space FROM {tables.space} ORDER BY space")
    named = [tables.record, tables.source, tables.credit, tables.term, tables.posting]
    return [*named, *(tables.vectors(space) for (space,) in spaces)]
