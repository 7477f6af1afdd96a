"""Records as documents, and documents as records."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import StoreBusy, StoreCorrupt
from seasoned.ports import Vectors
from seasoned.records import JSON, Hit, Key, Scope, from_micros, to_micros, trusted_key, trusted_record
from seasoned.stores.documents.ports import Document, Sort, document_id

_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

Given = frozenset[tuple[str, str]]
"""Which credits a record had: (field, by)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A record as a store knows it; `vectors` are float32 bytes by the fingerprint of their space.

    In a copy they are empty bytes once the index holds them.
    """

    hit: Hit
    vectors: dict[str, bytes]
    given: Given = frozenset()


def encode(stored: Stored) -> Document:
    """Return the document of a record."""
    hit, record = stored.hit, stored.hit.record
    partition = record.key.scope.encode()
    return Document(
        id=document_id(partition, Sort.RECORD, record.key.kind, record.key.id),
        partition=partition,
        sort=Sort.RECORD,
        seq=hit.seq,
        order=hit.order,
        version=record.version,
        kind=record.key.kind,
        name=record.key.id,
        body=_dumps(_body(stored)),
        vectors=_dumps({name: b64encode(data).decode() for name, data in stored.vectors.items()}),
    )


def _body(stored: Stored) -> dict[str, object]:
    record, written = stored.hit.record, stored.hit.written
    return {
        "text": record.text,
        "data": record.data,
        "sources": [[*key.scope, key.kind, key.id] for key in record.sources],
        "worth": record.worth,
        "at": to_micros(record.at),
        "until": None if record.until is None else to_micros(record.until),
        "written": None if written is None else to_micros(written),
        "credits": sorted(stored.given),
    }


def decode(document: Document) -> Stored:
    """Return the record of a document.

    Raises:
        StoreBusy: the engine does not show it whole yet.
        StoreCorrupt: it is not what was written.
    """
    check_whole(document)
    try:
        return _decoded(document)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise StoreCorrupt(
            f"{document.kind} {document.name!r} cannot be read: {error}; forget it, or restore it from an export"
        ) from error


def check_whole(document: Document) -> None:
    """Raise `StoreBusy` where the engine does not show a document whole yet."""
    if not document.whole:
        raise StoreBusy(f"{document.kind} {document.name!r} is not shown whole yet; ask again, or forget it")


def _decoded(document: Document) -> Stored:
    body = json.loads(document.body)
    until, written = body["until"], body["written"]
    record = trusted_record(
        key_of(document),
        _text(body["text"]),
        from_micros(body["at"]),
        _object(body["data"]),
        tuple(trusted_key(Scope(parts[:-2]), parts[-2], parts[-1]) for parts in body["sources"]),
        float(body["worth"]),
        None if until is None else from_micros(until),
        document.version,
    )
    hit = Hit(
        record=record,
        order=document.order,
        seq=document.seq,
        written=None if written is None else from_micros(written),
    )
    vectors = json.loads(document.vectors) if document.vectors else {}
    return Stored(
        hit=hit,
        vectors={name: _floats(name, data) for name, data in vectors.items()},
        given=frozenset((field, by) for field, by in body["credits"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, found {value!r:.80}")
    return value


def _object(value: object) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, found {value!r:.80}")
    return value


def _floats(name: str, data: str) -> bytes:
    """Return the bytes of vectors, which must be whole rows of their space's dimension."""
    found = b64decode(data, validate=True)
    if not found or len(found) % (4 * int(name.rpartition("/")[2])):
        raise ValueError(f"the vectors of {name} are {len(found)} bytes long")
    return found


def spaces(document: Document) -> int:
    """Return how many vector spaces a record has vectors in, 0 of one that cannot be read."""
    try:
        return len(decode(document).vectors)
    except (StoreBusy, StoreCorrupt):
        return 0


def key_of(document: Document) -> Key:
    """Return the key of a record's document, damaged or not."""
    return trusted_key(Scope.decode(document.partition), document.kind, document.name)


def gone(document: Document, seq: int) -> Document:
    """Return what stands for a removed record: its place in each order, and nothing that it held."""
    return replace(document, sort=Sort.GONE, seq=seq, version=0, body="", vectors="")


def packed(vectors: Vectors) -> bytes:
    """Return vectors as little-endian float32 bytes."""
    return vectors.values.astype("<f4", copy=False).tobytes()
