"""Records as sealed records, and sealed records as documents, which the copies of scopes are made of."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Final

from seasoned.errors import StoreCorrupt
from seasoned.keys import FIELD, Keys, sealed_form
from seasoned.locked import LockedHit
from seasoned.records import JSON, Hit, Key, Record, to_micros
from seasoned.stores.documents.coding import Stored, decode, encode
from seasoned.stores.documents.ports import Document, Sort, document_id
from seasoned.stores.encrypted.keys import checked_key, mark_of
from seasoned.stores.encrypted.locked import locked
from seasoned.stores.encrypted.sealing import seal, unseal

_FORM: Final = "seasoned sealed 1"


@dataclass(frozen=True, slots=True)
class Box:
    """The sealed field of a record: the key's name, which key that is, and the ciphertext in base64."""

    name: str
    mark: str
    content: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that cannot be read although its key is here, and why."""

    key: Key
    version: int
    why: str


def boxed(stored: Stored, name: str, key: bytes) -> Record:
    """Return the sealed form of a record, to be written as the version that it has."""
    record, document = stored.hit.record, encode(stored)
    sizes = json.dumps([[space, len(data)] for space, data in stored.vectors.items()])
    plain = b"\n".join((document.body.encode(), sizes.encode(), b"".join(stored.vectors.values())))
    content = b64encode(seal(checked_key(key), plain, _bound(record))).decode()
    data: dict[str, JSON] = {FIELD: {"key": name, "mark": mark_of(key), "box": content}}
    return Record(key=record.key, text="", at=record.at, data=data, until=record.until)


def _bound(record: Record) -> bytes:
    """Return the associated data: key, version and times."""
    until = None if record.until is None else to_micros(record.until)
    place = [*record.key.scope], record.key.kind, record.key.id, record.version
    return json.dumps([_FORM, *place, to_micros(record.at), until]).encode()


def box_of(record: Record) -> Box | None:
    """Return the sealed field of a record of the engine, None of one in the clear."""
    found = sealed_form(record.data)
    return None if found is None else Box(*found)


def opened(hit: Hit, keys: Keys) -> Document | LockedHit | Broken:
    """Return the document of a hit of the engine, or its locked form, or why it cannot be read."""
    record, box = hit.record, box_of(hit.record)
    if box is None:
        return _broken(record, "it lies in the clear, where only sealed records are believed")
    key = keys.get(record.key.scope, box.name)
    if key is None or mark_of(checked_key(key)) != box.mark:
        return locked(hit, box.name)
    try:
        plain = unseal(key, b64decode(box.content, validate=True), _bound(record))
        body, sizes, vectors = plain.split(b"\n", 2)
        return _document(hit, body.decode(), _texts(json.loads(sizes), vectors))
    except (StoreCorrupt, binascii.Error, ValueError) as error:
        return _broken(record, str(error))


def _broken(record: Record, why: str) -> Broken:
    what = f"{record.key.kind} {record.key.id!r} cannot be read: {why}; forget it, or restore it from an export"
    return Broken(record.key, record.version, what)


def _texts(sizes: list[tuple[str, int]], vectors: bytes) -> str:
    """Return vectors in the form in which a document has them."""
    found, start = dict[str, str](), 0
    for space, size in sizes:
        found[space] = b64encode(vectors[start : start + size]).decode()
        start += size
    return json.dumps(found) if found else ""


def _document(hit: Hit, body: str, vectors: str) -> Document:
    key = hit.record.key
    partition = key.scope.encode()
    return Document(
        id=document_id(partition, Sort.RECORD, key.kind, key.id),
        partition=partition,
        sort=Sort.RECORD,
        seq=hit.seq,
        order=hit.order,
        version=hit.record.version,
        kind=key.kind,
        name=key.id,
        body=body,
        vectors=vectors,
    )


def read(hit: Hit, keys: Keys) -> Stored | LockedHit | Broken:
    """Return the record of a hit of the engine, or its locked form, or why it cannot be read."""
    found = opened(hit, keys)
    if not isinstance(found, Document):
        return found
    try:
        return decode(found)
    except StoreCorrupt as error:
        return Broken(hit.record.key, hit.record.version, str(error))
