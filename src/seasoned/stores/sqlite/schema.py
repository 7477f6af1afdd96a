"""The tables of a SQLite store, and the numbered migrations that make them."""

from __future__ import annotations

import sqlite3
from typing import Final

from seasoned.errors import SchemaTooNew, StoreCorrupt
from seasoned.stores.sqlite.connections import Connections

APPLICATION_ID: Final = 0x5EA50ED
"""Marks a file as ours (`PRAGMA application_id`)."""

MIGRATIONS: Final = (
    # 1: records with their sequence, sources, vectors, credits, removals, and the blobs of the in-process index.
    """
    CREATE TABLE scope (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        seq INTEGER NOT NULL DEFAULT 0,
        gone_before INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO scope (id, name) VALUES (0, '');
    CREATE TABLE record (
        row INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        version INTEGER NOT NULL,
        at INTEGER NOT NULL,
        until INTEGER,
        worth REAL NOT NULL,
        written INTEGER NOT NULL,
        session TEXT,
        sources TEXT,
        data TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX record_key ON record (scope, kind, id);
    CREATE UNIQUE INDEX record_seq ON record (scope, seq);
    CREATE INDEX record_scope ON record (scope);
    CREATE INDEX record_session ON record (scope, session) WHERE session IS NOT NULL;
    CREATE INDEX record_until ON record (until) WHERE until IS NOT NULL;
    CREATE TABLE source (
        key TEXT NOT NULL,
        row INTEGER NOT NULL,
        PRIMARY KEY (key, row)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX source_row ON source (row);
    CREATE TABLE space (
        id INTEGER PRIMARY KEY,
        fingerprint TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE vector (
        id INTEGER PRIMARY KEY,
        data BLOB NOT NULL
    ) STRICT;
    CREATE TABLE credit (
        row INTEGER NOT NULL,
        field TEXT NOT NULL,
        by TEXT NOT NULL,
        PRIMARY KEY (row, field, by)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE gone (
        scope INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        row INTEGER NOT NULL,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        PRIMARY KEY (scope, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE posting (
        scope INTEGER NOT NULL,
        name TEXT NOT NULL,
        part INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (scope, name, part)
    ) STRICT;
    CREATE TABLE pending (
        what TEXT PRIMARY KEY
    ) STRICT, WITHOUT ROWID;
    """,
)
"""Each brings a file from the version of its place to the next; none is ever changed once released."""

ROWS: Final = 0
"""The id of the `scope` row whose `seq` is the last record number of the file: numbers are never used twice."""

SPACE_BITS: Final = 8
"""A vector's id is its record's row and, in so many low bits, its space: at most 256 spaces a file."""


def prepare(connections: Connections) -> None:
    """Create or migrate the tables, once even if several processes open the file at the same time.

    Raises:
        SchemaTooNew: a newer version of seasoned wrote the file.
        StoreCorrupt: the file is a database of something else.
    """
    with connections.read() as db:
        version = _version(db, connections.path)
    if version == len(MIGRATIONS):
        return
    with connections.write() as db:
        for statements in MIGRATIONS[_version(db, connections.path) :]:
            for statement in statements.split(";"):
                db.execute(statement)
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={len(MIGRATIONS)}")


def _version(db: sqlite3.Connection, path: str) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    owner: int = db.execute("PRAGMA application_id").fetchone()[0]
    tables: int = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION_ID and (tables or version):
        raise StoreCorrupt(f"{path} is a database of another program; give seasoned a file of its own")
    if version > len(MIGRATIONS):
        raise SchemaTooNew(
            f"{path} has schema {version}, this seasoned knows up to {len(MIGRATIONS)}; upgrade seasoned"
        )
    return version
