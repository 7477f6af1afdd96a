"""How records stand in the `record` table."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from seasoned.errors import StoreCorrupt
from seasoned.query import Page
from seasoned.records import (
    JSON,
    Hit,
    Key,
    Record,
    Scope,
    from_micros,
    session_field,
    to_micros,
    trusted_key,
    trusted_record,
)

COLUMNS: Final = "row, scope.name, kind, record.id, record.seq, version, at, until, worth, written, sources, data, text"
"""What `hit` reads, in its order, from `record JOIN scope ON scope.id = record.scope`."""

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

RawRow = tuple[int, str, str, str, int, int, int, int | None, float, int, str | None, str, str]


def hits(raws: Iterable[RawRow]) -> Page:
    """Return the records of rows, and what is said of those that cannot be read: one hides no other."""
    found, wrong, keys = list[Hit](), list[str](), list[Key]()
    for raw in raws:
        try:
            found.append(hit(raw))
        except StoreCorrupt as error:
            wrong.append(f"corrupt: {error}")
            keys.append(trusted_key(scope_of(raw[1]), raw[2], raw[3]))
    return Page(hits=found, degraded=tuple(wrong), unreadable=tuple(keys))


def hit(raw: RawRow) -> Hit:
    """Return the record of a row, unranked.

    Raises:
        StoreCorrupt: its data or sources are not what was written.
    """
    try:
        return _hit(raw)
    except (ValueError, TypeError, LookupError) as error:
        raise StoreCorrupt(f"{raw[2]} {raw[3]!r} cannot be read: {error}; run doctor, or forget it") from error


def _hit(raw: RawRow) -> Hit:
    row, scope, kind, name, seq, version, at, until, worth, written, sources, data, text = raw
    record = trusted_record(
        trusted_key(scope_of(scope), kind, name),
        text,
        from_micros(at),
        json.loads(data),
        decode_keys(sources) if sources else (),
        worth,
        None if until is None else from_micros(until),
        version,
    )
    return Hit(record=record, order=row, seq=seq, written=from_micros(written))


@lru_cache(maxsize=4096)
def scope_of(name: str) -> Scope:
    """Return the scope that an encoded name means."""
    return Scope.decode(name)


def encode_json(data: Mapping[str, JSON]) -> str:
    """Return plain JSON as text."""
    return _dumps(data)


def encode_key(key: Key) -> str:
    """Return one string for a key, unlike that of any other."""
    return _dumps([*key.scope, key.kind, key.id])


def encode_keys(keys: tuple[Key, ...]) -> str | None:
    """Return the text of `record.sources`."""
    return _dumps([[*key.scope, key.kind, key.id] for key in keys]) if keys else None


def decode_keys(text: str) -> tuple[Key, ...]:
    """Return what `encode_keys` wrote."""
    return tuple(trusted_key(Scope(parts[:-2]), parts[-2], parts[-1]) for parts in json.loads(text))


def values(record: Record) -> tuple[int, int | None, float, str | None, str | None, str, str]:
    """Return at, until, worth, session, sources, data, text as they are stored."""
    return (
        to_micros(record.at),
        None if record.until is None else to_micros(record.until),
        record.worth,
        session_field(record.data),
        encode_keys(record.sources),
        encode_json(record.data),
        record.text,
    )


def space_id(db: sqlite3.Connection, fingerprint: str) -> int | None:
    """Return the number of a vector space, None where nothing was stored in it."""
    found = db.execute("SELECT id FROM space WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return None if found is None else int(found[0])
