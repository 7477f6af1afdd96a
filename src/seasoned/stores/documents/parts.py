"""`Parted`: an engine that holds only short texts, made to hold long documents in parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from seasoned.stores.documents.ports import Document, Documents, Place, Sort, Traits, batches, document_id

_WHOLE: Final = "="
_SPLIT: Final = "+"


class Parted:
    """Splits `body` and `vectors` over documents of sort `part` where they are longer than `traits.chars`.

    The parts are written before the document that names them, and their ids hold its `seq`, so a reader finds the old
    state whole or the new one. Parts of an earlier state are deleted after the new one stands; a reader that misses
    some reads again what names them. Where the engine shows writes late, what still lacks parts is not `whole`.
    """

    def __init__(self, documents: Documents) -> None:
        bound = documents.traits.chars
        if bound is None or bound < 64:
            raise ValueError(f"an engine whose documents come in parts bounds them to 64 bytes or more, not {bound!r}")
        self._documents = documents
        self._bound = bound

    @property
    def traits(self) -> Traits:
        """Those of the engine, without the bound."""
        return replace(self._documents.traits, chars=None)

    def put(self, documents: Sequence[Document]) -> None:
        """Write the parts first, then what names them, then delete the parts of what stood there."""
        size = self._documents.traits.batch
        stood = self._documents.get([(one.partition, one.id) for one in documents])
        heads, parts = list[Document](), list[Document]()
        for document in documents:
            head, pieces = self._split(document)
            heads.append(head)
            parts += pieces
        for start in range(0, len(parts), size):
            self._documents.put(parts[start : start + size])
        self._documents.put(heads)
        written = {part.id for part in parts}
        self._delete([place for one in stood for place in _parts_of(one) if place[1] not in written])

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Return documents whole."""
        return list(self._joined(self._documents.get(places)))

    def delete(self, places: Sequence[Place]) -> None:
        """Remove documents with their parts."""
        parts = [place for one in self._documents.get(places) for place in _parts_of(one)]
        self._documents.delete(places)
        self._delete(parts)

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Yield documents whole."""
        return self._joined(one for one in self._documents.scan(partition, after) if one.sort is not Sort.PART)

    def partitions(self, prefix: str) -> Iterable[str]:
        """Return those of the engine."""
        return self._documents.partitions(prefix)

    def close(self) -> None:
        """Close the engine."""
        self._documents.close()

    def _delete(self, places: Sequence[Place]) -> None:
        for some in batches(places, self._documents.traits.batch):
            self._documents.delete(some)

    def _split(self, document: Document) -> tuple[Document, list[Document]]:
        content = json.dumps([document.body, document.vectors], ensure_ascii=False) if document.body else ""
        if len(content.encode()) < self._bound:
            return replace(document, body=_WHOLE + content if content else "", vectors=""), []
        pieces = _pieces(content, self._bound)
        ids = [_part_id(document, number) for number in range(len(pieces))]
        parts = [
            replace(document, id=name, sort=Sort.PART, order=0, version=0, kind="", name="", body=piece, vectors="")
            for name, piece in zip(ids, pieces, strict=True)
        ]
        return replace(document, body=f"{_SPLIT}{len(pieces)}", vectors=""), parts

    def _joined(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            whole = self._whole(document)
            if whole is not None:
                yield whole

    def _whole(self, document: Document) -> Document | None:
        """Return a document with its content, or what stands in its place by now; None where nothing does."""
        content = self._content(document)
        while content is None:
            again = self._documents.get([(document.partition, document.id)])
            if not again:
                return None
            if again[0].seq == document.seq:  # reading the record says that it is damaged, or not whole yet
                return replace(document, body="", whole=self._documents.traits.fresh)
            document, content = again[0], self._content(again[0])
        if not content:
            return document
        body, vectors = _unpacked(content)
        return replace(document, body=body, vectors=vectors)

    def _content(self, document: Document) -> str | None:
        """Return what a document holds, "" for nothing; None where parts are missing."""
        places = _parts_of(document)
        if not places:
            return document.body.removeprefix(_WHOLE)
        found: dict[str, str] = {}
        for some in batches(places, self._documents.traits.batch):
            found |= {part.id: part.body for part in self._documents.get(some)}
        return None if len(found) < len(places) else "".join(found[name] for _, name in places)


def _pieces(content: str, bound: int) -> list[str]:
    """Split a text into pieces of at most so many bytes, none inside a character."""
    made, data, start = list[str](), content.encode(), 0
    while start < len(data):
        end = min(start + bound, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        made.append(data[start:end].decode())
        start = end
    return made


def _parts_of(document: Document) -> list[Place]:
    count = document.body.removeprefix(_SPLIT)
    if not document.body.startswith(_SPLIT) or not count.isdecimal() or len(count) > 6:
        return []
    return [(document.partition, _part_id(document, number)) for number in range(int(count))]


def _part_id(document: Document, number: int) -> str:
    return document_id(document.partition, Sort.PART, document.id, f"{document.seq}/{number}")


def _unpacked(content: str) -> tuple[str, str]:
    """Return body and vectors; empty ones of a damaged document, so that reading the record says so."""
    try:
        body, vectors = json.loads(content)
    except ValueError:
        return "", ""
    return str(body), str(vectors)
