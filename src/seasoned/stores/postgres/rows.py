"""How records stand in the `record` table: names as hashes of one length, times in microseconds, data as its JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b, sha256
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from seasoned.ports import Credit
from seasoned.records import ODD, Key, Scope

COLUMNS: Final = (
    "r.row, s.name, r.kind, r.id, r.seq, r.version, r.at, r.until, r.worth, r.written, r.sources, r.data::text, r.text"
)
"""What makes a hit, in its order, from `record r JOIN scope s USING (scope)`."""


def mark(*parts: str) -> UUID:
    """Return 128 bits that name these parts and, as far as anybody knows, no others."""
    said = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return UUID(bytes=blake2b(said.encode(), digest_size=16).digest())


def scope_mark(scope: Scope) -> UUID:
    """Return what stands for a scope in every table: what the tables are distributed by."""
    return mark(scope.encode())


def key_mark(key: Key) -> UUID:
    """Return what names a record in its scope."""
    return mark(key.kind, key.id)


def source_mark(key: Key) -> UUID:
    """Return what names a record in any scope."""
    return mark(key.scope.encode(), key.kind, key.id)


def credit_mark(credit: Credit) -> UUID:
    """Return what says that somebody credited a field of a record."""
    return mark(credit.field, credit.by)


def session_mark(session: str | None) -> UUID | None:
    """Return what names a session in its scope."""
    return None if session is None else mark(session)


ODD_SESSION: Final = mark(ODD)
"""The mark of a session that is there but is no text, or an empty one."""


def text_mark(text: str) -> bytes:
    """Return what `sha256` gives of a stored text."""
    return sha256(text.encode()).digest()


def literal(values: Iterable[object]) -> str:
    """Return an array as PostgreSQL reads it: several times faster than the driver's own way for thousands."""
    return f"{{{','.join(map(_element, values))}}}"


def _element(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return "NULL" if value is None else repr(value) if isinstance(value, float) else str(value)


def packed_vector(vector: NDArray[np.float32]) -> bytes:
    """Return one vector in pgvector's binary form."""
    return struct.pack(">hh", len(vector), 0) + vector.astype(">f4").tobytes()


def packed_vectors(vectors: Sequence[NDArray[np.float32]], type_: int) -> bytes:
    """Return an array of vectors in PostgreSQL's binary form; `type_` is the number of their type in the database."""
    parts = [struct.pack(">iiiii", 1, 0, type_, len(vectors), 1)]
    for vector in vectors:
        one = packed_vector(vector)
        parts += [struct.pack(">i", len(one)), one]
    return b"".join(parts)
