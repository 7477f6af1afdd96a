"""Upkeep of the file: comparing what is derived with the rows, repairing it, and erasing for good."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from seasoned.index import ScopeIndex
from seasoned.ports import Counts, Finding, Remove
from seasoned.records import JSON, Key, session_field
from seasoned.stores.sqlite import reading
from seasoned.stores.sqlite.blobs import load_index
from seasoned.stores.sqlite.connections import Connections
from seasoned.stores.sqlite.rows import decode_keys, encode_key
from seasoned.stores.sqlite.schema import MIGRATIONS, SPACE_BITS
from seasoned.stores.sqlite.writing import Writing
from seasoned.text import Analyser

MAX_NEEDLES: Final = 60
"""Most pieces of erased texts that the self-check looks for in the files."""

NEEDLE_BYTES: Final = 24
"""Length of such a piece; shorter texts are looked for whole from `MIN_NEEDLE_BYTES` on."""

MIN_NEEDLE_BYTES: Final = 8

LOG_TIMEOUT_MS: Final = 2_000
"""How long emptying the write-ahead log waits for a reader to let go of it."""

_ORPHANS: Final = (
    ("vector", f"id >> {SPACE_BITS} NOT IN (SELECT row FROM record)"),
    ("source", "row NOT IN (SELECT row FROM record)"),
    ("credit", "row NOT IN (SELECT row FROM record)"),
    ("posting", "scope NOT IN (SELECT id FROM scope)"),
)


def check(db: sqlite3.Connection, analyser: Analyser) -> list[Finding]:
    """Return what is wrong with the file, its rows and its indexes; [] where all is well."""
    damage = [Finding("file", text) for (text,) in db.execute("PRAGMA integrity_check") if text != "ok"]
    if damage:
        return damage
    return [*_orphans(db), *_rows(db), *_vectors(db), *_indexes(db, analyser)]


def _orphans(db: sqlite3.Connection) -> Iterator[Finding]:
    for table, condition in _ORPHANS:
        number = db.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()[0]
        if number:
            yield Finding(table, f"{number} entries belong to no record")


def _rows(db: sqlite3.Connection) -> Iterator[Finding]:
    late = db.execute(
        "SELECT count(*) FROM record, scope WHERE scope.id = scope AND record.seq > scope.seq"
    ).fetchone()[0]
    if late:
        yield Finding("record", f"{late} records are ahead of their scope's sequence")
    for row, session, sources, data in db.execute("SELECT row, session, sources, data FROM record"):
        try:
            fields = json.loads(data)
            keys = decode_keys(sources) if sources else ()
            said = session_field(fields)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            yield Finding("record", f"row {row} cannot be read: {error}; forget it")
            continue
        if said != session:
            yield Finding("record", f"row {row} has session {session!r} beside its data")
        if keys:
            yield from _sources(db, row, {encode_key(key) for key in keys})


def _sources(db: sqlite3.Connection, row: int, wanted: set[str]) -> Iterator[Finding]:
    if {key for (key,) in db.execute("SELECT key FROM source WHERE row = ?", (row,))} != wanted:
        yield Finding("source", f"the sources of row {row} differ from its record")


def _vectors(db: sqlite3.Connection) -> Iterator[Finding]:
    mask = (1 << SPACE_BITS) - 1
    for space, fingerprint in db.execute("SELECT id, fingerprint FROM space"):
        size = 4 * int(fingerprint.rsplit("/", 1)[1])
        wrong = db.execute(
            "SELECT count(*) FROM vector WHERE id & ? = ? AND (length(data) = 0 OR length(data) % ? <> 0)",
            (mask, space, size),
        ).fetchone()[0]
        if wrong:
            yield Finding("vector", f"{wrong} vectors of {fingerprint} have a wrong length")


def _indexes(db: sqlite3.Connection, analyser: Analyser) -> Iterator[Finding]:
    for scope, name in db.execute("SELECT id, name FROM scope WHERE id IN (SELECT scope FROM posting)").fetchall():
        stored = load_index(db, scope, analyser)
        if stored is None:
            yield Finding("posting", f"the stored index of scope {scope} is damaged or of another analyser")
            continue
        rows = reading.SnapshotRows(db, name)
        made = ScopeIndex(analyser)
        changes = [rows.changes(index.seq) for index in (stored, made)]
        if changes[0].reload:  # too old to follow: it is made anew before it is used
            continue
        for index, change in zip((stored, made), changes, strict=True):
            index.follow(change.rows, change.gone, change.seq)
        if stored.canonical() != made.canonical():
            yield Finding("posting", f"the stored index of scope {scope} differs from its rows")


def repair(db: sqlite3.Connection) -> None:
    """Make what stands beside the records agree with them: sources, sessions, and nothing without a record."""
    for table, condition in _ORPHANS:
        db.execute(f"DELETE FROM {table} WHERE {condition}")
    db.execute("DELETE FROM source")
    for row, sources, data in db.execute("SELECT row, sources, data FROM record").fetchall():
        try:
            session, keys = session_field(json.loads(data)), decode_keys(sources) if sources else ()
        except (ValueError, TypeError, LookupError, AttributeError):  # damaged: check names it, forgetting removes it
            continue
        db.execute("UPDATE record SET session = ? WHERE row = ? AND session IS NOT ?", (session, row, session))
        for key in keys:
            db.execute("INSERT OR IGNORE INTO source VALUES (?, ?)", (encode_key(key), row))


def purge(connections: Connections, keys: Sequence[Key], now: int) -> Counts:
    """Erase records, their vectors and the stored indexes of their scopes, then the log; see whether bytes are left."""
    if not keys:
        return Counts()
    with connections.write() as db:
        needles = _needles(db, keys)
        rows, vectors, postings = _erase(db, keys, now)
        db.execute("INSERT INTO pending VALUES ('wal ' || hex(randomblob(8)))")
    log = Path(f"{connections.path}-wal")
    log_bytes = log.stat().st_size if log.exists() else 0
    pending = finish(connections)
    left = () if pending else _left(connections, needles)
    return Counts(rows=rows, vectors=vectors, postings=postings, log_bytes=log_bytes, pending=pending, left=left)


def _erase(db: sqlite3.Connection, keys: Sequence[Key], now: int) -> tuple[int, int, int]:
    before = _sizes(db)
    names = {key.scope.encode() for key in keys}
    for name in names:
        db.execute("DELETE FROM posting WHERE scope = (SELECT id FROM scope WHERE name = ?)", (name,))
    Writing(db, now).apply([Remove(key) for key in keys])
    rows, vectors, postings = (old - new for old, new in zip(before, _sizes(db), strict=True))
    return rows, vectors, postings


def _sizes(db: sqlite3.Connection) -> tuple[int, int, int]:
    rows, vectors, postings = (
        db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("record", "vector", "posting")
    )
    return rows, vectors, postings


def finish(connections: Connections) -> tuple[str, ...]:
    """Finish an erasure by emptying the log, and note in the file that it is done; return what is still pending."""
    with connections.read() as db:
        waiting = db.execute("SELECT what FROM pending").fetchall()
    pending = empty_log(connections)
    if not pending and waiting:
        with connections.write() as db:
            db.executemany("DELETE FROM pending WHERE what = ?", waiting)
    return pending


def unfinished(connections: Connections) -> tuple[str, ...]:
    """Try to finish the erasures that the file says are pending; return what still is."""
    with connections.read() as db:
        waiting = db.execute("SELECT count(*) FROM pending").fetchone()[0]
    return finish(connections) if waiting else ()


def empty_log(connections: Connections) -> tuple[str, ...]:
    """Copy the write-ahead log into the file and empty it; return ("wal",) where a reader still holds on to it."""
    connections.drop_idle()
    with connections.outside() as db:
        timeout = db.execute("PRAGMA busy_timeout").fetchone()[0]
        db.execute(f"PRAGMA busy_timeout={LOG_TIMEOUT_MS}")
        try:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            db.execute(f"PRAGMA busy_timeout={timeout}")
    return ("wal",) if busy else ()


def _needles(db: sqlite3.Connection, keys: Sequence[Key]) -> list[bytes]:
    step = max(1, len(keys) * 3 // MAX_NEEDLES)
    found: list[bytes] = []
    for key in keys[::step]:
        row = db.execute(
            "SELECT text, data FROM record WHERE scope = (SELECT id FROM scope WHERE name = ?) AND kind = ? AND id = ?",
            (key.scope.encode(), key.kind, key.id),
        ).fetchone()
        found.extend(_pieces((row[0] or row[1]).encode()) if row else ())
    return list(dict.fromkeys(found))[:MAX_NEEDLES]


def _pieces(text: bytes) -> list[bytes]:
    starts = (0, max(0, len(text) // 2 - NEEDLE_BYTES // 2), max(0, len(text) - NEEDLE_BYTES))
    return [piece for start in starts if len(piece := text[start : start + NEEDLE_BYTES]) >= MIN_NEEDLE_BYTES]


def _left(connections: Connections, needles: Sequence[bytes]) -> tuple[str, ...]:
    """Return the files where erased bytes are still found, after compacting the file once if there are any."""
    if not _holding(connections, needles):
        return ()
    with connections.outside() as db:
        db.execute("VACUUM")
    empty_log(connections)
    return _holding(connections, needles)


def _holding(connections: Connections, needles: Sequence[bytes]) -> tuple[str, ...]:
    """Return which of the store's files hold a piece that no record still has."""
    found = {
        (end, needle)
        for end in ("", "-wal")
        for piece in connections.bytes_of(end)
        for needle in needles
        if needle in piece
    }
    if not found:
        return ()
    with connections.read() as db:
        kept = {needle for _, needle in found if _still_recorded(db, needle)}
    return tuple(sorted({Path(connections.path).name + end for end, needle in found if needle not in kept}))


def _still_recorded(db: sqlite3.Connection, needle: bytes) -> bool:
    """Tell whether a record that was not erased holds the same bytes, or an id that stays among the removals."""
    sql = (
        "SELECT 1 FROM record WHERE instr(CAST(text AS BLOB), :needle) OR instr(CAST(data AS BLOB), :needle)"
        " UNION ALL SELECT 1 FROM gone WHERE instr(CAST(id AS BLOB), :needle) LIMIT 1"
    )
    return db.execute(sql, {"needle": needle}).fetchone() is not None


def stats(db: sqlite3.Connection, path: Path) -> Mapping[str, JSON]:
    """Return sizes and counts of the whole file."""
    spaces = {
        fingerprint: db.execute(
            "SELECT count(*) FROM vector WHERE id & ? = ?", ((1 << SPACE_BITS) - 1, space)
        ).fetchone()[0]
        for space, fingerprint in db.execute("SELECT id, fingerprint FROM space").fetchall()
    }
    log = Path(f"{path}-wal")
    return {
        "engine": f"SQLite {sqlite3.sqlite_version}",
        "schema": len(MIGRATIONS),
        "file_bytes": os.path.getsize(path),
        "log_bytes": log.stat().st_size if log.exists() else 0,
        "index_bytes": db.execute("SELECT coalesce(sum(length(data)), 0) FROM posting").fetchone()[0],
        "records": db.execute("SELECT count(*) FROM record").fetchone()[0],
        "scopes": db.execute("SELECT count(DISTINCT scope) FROM record").fetchone()[0],
        "vectors": spaces,
    }
