"""Documents as points of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from seasoned.errors import StoreBusy
from seasoned.stores.documents import Document, Place, Sort, Traits, columns, document_of, root
from seasoned.stores.qdrant.client import Opened, QdrantClient, UnexpectedResponse, models

BATCH: Final = 256
"""How many points one request writes or reads by id."""

PAGE: Final = 1_000
"""How many points one request of a scan reads from a server; in this process, where each request looks at all, all."""

REQUEST_CHARS: Final = 8_000_000
"""About how many characters one request writes at most: a server refuses bodies above 32 MB."""

_CONFLICT: Final = 409


class QdrantDocuments:
    """Documents as points without vectors; fields are their payload."""

    def __init__(self, opened: Opened, collection: str) -> None:
        self._opened = opened
        self._collection = collection
        self.traits = Traits(
            engine="qdrant",
            place=f"qdrant {opened.place} {collection}",
            batch=BATCH,
            durable=opened.durable,
            exclusive=opened.exclusive,
        )
        with self._opened.call():
            if not self._client.collection_exists(collection):
                self._create()
            if not opened.local:
                self._index()

    @property
    def _client(self) -> QdrantClient:
        return self._opened.client

    def put(self, documents: Sequence[Document]) -> None:
        """Write points in requests of bounded size; where others can write too, under a condition and read back."""
        for some in _by_size(documents):
            condition = None if self.traits.exclusive else _unchanged(some)
            with self._opened.call():
                self._client.upsert(self._collection, [self._point(one) for one in some], update_filter=condition)
            if condition is not None:
                self._check(some)

    def _check(self, written: Sequence[Document]) -> None:
        """Read back: a request whose condition does not hold reports success too."""
        stored = {one.id: one for one in self.get([(one.partition, one.id) for one in written])}
        for one in written:
            if stored.get(one.id) != one:
                raise StoreBusy(
                    f"another writer changed {one.sort} {one.name!r} in {self._collection!r} at the same time;"
                    " read it again and repeat the change"
                )

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Read points by id."""
        if not places:
            return []
        with self._opened.call():
            found = self._client.retrieve(self._collection, [name for _, name in places], with_payload=True)
        return [_document(record) for record in found]

    def delete(self, places: Sequence[Place]) -> None:
        """Delete points by id."""
        if places:
            with self._opened.call():
                self._client.delete(self._collection, models.PointIdsList(points=[name for _, name in places]))

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Read the points of a tenant, a request at a time."""
        later = models.FieldCondition(key="seq", range=models.Range(gt=after))
        asked = models.Filter(must=[same("partition", partition), later])
        return (_document(record) for record in self._scrolled(asked, payload=True))

    def partitions(self, prefix: str) -> Iterable[str]:
        """Return the tenants below the first part of the prefix."""
        below = [same("root", root(prefix))] if prefix else []
        found = self._scrolled(models.Filter(must=[same("sort", Sort.HEAD), *below]), payload=["partition"])
        return [str((record.payload or {}).get("partition")) for record in found]

    def _scrolled(self, asked: models.Filter, *, payload: bool | list[str]) -> Iterator[models.Record]:
        offset: models.ExtendedPointId | None = None
        limit = 1_000_000 if self._opened.local else PAGE
        while True:
            with self._opened.call():
                found, offset = self._client.scroll(
                    self._collection, scroll_filter=asked, limit=limit, offset=offset, with_payload=payload
                )
            yield from found
            if offset is None:
                return

    def close(self) -> None:
        """Let go of the client."""
        self._opened.release()

    def _point(self, document: Document) -> models.PointStruct:
        return models.PointStruct(id=document.id, vector={}, payload=columns(document))

    def _create(self) -> None:
        self._made({}, None)

    def _made(self, dense: dict[str, models.VectorParams], sparse: dict[str, models.SparseVectorParams] | None) -> None:
        try:
            self._client.create_collection(self._collection, dense, sparse)
        except UnexpectedResponse as error:
            if error.status_code != _CONFLICT:  # another process made it meanwhile
                raise

    def _index(self) -> None:
        """Tell a server which fields are asked for; done already, it changes nothing."""
        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        for name, kind in (
            ("partition", tenant),
            ("root", models.PayloadSchemaType.KEYWORD),
            ("sort", models.PayloadSchemaType.KEYWORD),
            ("seq", models.PayloadSchemaType.INTEGER),
        ):
            self._client.create_payload_index(self._collection, name, kind, wait=True)


def _document(record: models.Record) -> Document:
    return document_of(str(record.id), record.payload or {})


def same(field: str, value: str) -> models.FieldCondition:
    """Return the condition that a field of the payload is exactly a text."""
    return models.FieldCondition(key=field, match=models.MatchValue(value=str(value)))


def _unchanged(documents: Sequence[Document]) -> models.Filter:
    """Return the condition under which a point may be written: it is in the state that the writer read.

    A point that is not there is written whatever the condition; one that should not be there passes none.
    """
    return models.Filter(
        should=[
            models.Filter(
                must=[
                    models.HasIdCondition(has_id=[one.id]),
                    models.FieldCondition(key="seq", match=models.MatchValue(value=one.was)),
                ]
            )
            for one in documents
        ]
    )


def _by_size(documents: Sequence[Document]) -> Iterator[list[Document]]:
    some, size = list[Document](), 0
    for one in documents:
        length = len(one.body) + len(one.vectors)
        if some and size + length > REQUEST_CHARS:
            yield some
            some, size = [], 0
        some.append(one)
        size += length
    if some:
        yield some
