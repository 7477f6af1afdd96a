"""The stored form of the in-process index: named blobs beside the rows, with a checksum, thrown away when in doubt."""

from __future__ import annotations

import logging
import sqlite3
import zlib
from typing import Final

from seasoned.index import ScopeIndex
from seasoned.text import Analyser

PART_BYTES: Final = 16 << 20
"""Longest blob of one row; a larger array is stored in parts."""

_LOG: Final = logging.getLogger("seasoned.stores.sqlite")
_FORMAT: Final = "1"


def load_index(db: sqlite3.Connection, scope_id: int, analyser: Analyser) -> ScopeIndex | None:
    """Return the index of a scope as it was stored last; None if it was not, or is damaged or of another analyser."""
    parts: dict[str, list[bytes]] = {}
    for name, data in db.execute("SELECT name, data FROM posting WHERE scope = ? ORDER BY name, part", (scope_id,)):
        parts.setdefault(name, []).append(data)
    blobs = {name: b"".join(pieces) for name, pieces in parts.items()}
    head = blobs.pop("head", b"").decode(errors="replace").split("\n")
    if len(head) != 4 or head[:2] != [_FORMAT, analyser.fingerprint]:
        return None
    try:
        if head[3] != str(_checksum(blobs)):
            raise ValueError("the checksum differs")
        return ScopeIndex.load(blobs, analyser, int(head[2]))
    except (ValueError, KeyError) as error:
        _LOG.warning("the stored index of scope %d is not used: %s; it is made anew from the rows", scope_id, error)
        return None


def save_index(db: sqlite3.Connection, scope_id: int, index: ScopeIndex) -> None:
    """Store the index of a scope in place of the one before."""
    blobs = index.dump()
    head = "\n".join([_FORMAT, index.analyser.fingerprint, str(index.seq), str(_checksum(blobs))]).encode()
    db.execute("DELETE FROM posting WHERE scope = ?", (scope_id,))
    for name, data in {**blobs, "head": head}.items():
        for part, start in enumerate(range(0, max(1, len(data)), PART_BYTES)):
            db.execute(
                "INSERT INTO posting VALUES (?, ?, ?, ?)", (scope_id, name, part, data[start : start + PART_BYTES])
            )


def _checksum(blobs: dict[str, bytes]) -> int:
    total = 0
    for name in sorted(blobs):
        total = zlib.crc32(blobs[name], zlib.crc32(name.encode(), total))
    return total
