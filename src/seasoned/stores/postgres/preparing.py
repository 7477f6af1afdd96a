"""What a put needs before a transaction begins: its record in columns, its words, its vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from seasoned.ports import Change, Fingerprint, Put, Vectors
from seasoned.records import Key, Record, session_field, to_micros
from seasoned.stores.postgres.rows import key_mark, scope_mark, session_mark, source_mark, text_mark
from seasoned.stores.postgres.terms import Said, said_by
from seasoned.stores.sqlite.rows import encode_json, encode_keys
from seasoned.text import Analyser


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: the mark of its scope and its own."""

    scope: UUID
    key: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A put, ready to be written."""

    put: Put
    said: Said
    at: int
    until: int | None
    session: UUID | None
    text_mark: bytes
    data: str
    sources: str | None
    source_marks: tuple[UUID, ...]
    space: int | None

    @property
    def record(self) -> Record:
        """The record to be written."""
        return self.put.record

    @property
    def vectors(self) -> Vectors | None:
        """Its vectors, if any were given."""
        return self.put.vectors


def key_of(change: Change) -> Key:
    """Return the key of the record that a change is about."""
    return change.record.key if isinstance(change, Put) else change.key


def place_of(key: Key) -> Place:
    """Return where a record stands."""
    return Place(scope_mark(key.scope), key_mark(key))


def prepared(put: Put, analyser: Analyser, number: Callable[[Fingerprint], int]) -> Prepared:
    """Return what is written of a put; `number` gives the number of a vector space."""
    record, vectors = put.record, put.vectors
    return Prepared(
        put=put,
        said=said_by(record, analyser),
        at=to_micros(record.at),
        until=None if record.until is None else to_micros(record.until),
        session=session_mark(session_field(record.data)),
        text_mark=text_mark(record.text),
        data=encode_json(record.data),
        sources=encode_keys(record.sources),
        source_marks=tuple(dict.fromkeys(source_mark(key) for key in record.sources)),
        space=None if vectors is None else number(vectors.fingerprint),
    )
