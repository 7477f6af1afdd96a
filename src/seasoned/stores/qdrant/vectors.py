"""Documents as points with a dense and a sparse vector, so that the engine can name candidates of a large scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np

from seasoned.errors import InvalidInput
from seasoned.postings import K1, B
from seasoned.stores.documents import Asked, Document, Sort, document_of
from seasoned.stores.documents.coding import Stored, decode
from seasoned.stores.qdrant.client import Distance, Opened, models
from seasoned.stores.qdrant.points import QdrantDocuments, same
from seasoned.text import Analyser

DENSE: Final = "dense"
SPARSE: Final = "words"
"""How the vectors of a point are named."""

TYPICAL_LENGTH: Final = 40
"""Words of a typical record, which lengths are measured by; the engine keeps no average."""


class QdrantVectors(QdrantDocuments):
    """Documents whose points have a dense vector and a sparse one, so that the engine can name candidates."""

    def __init__(self, opened: Opened, collection: str, analyser: Analyser, size: int, distance: Distance) -> None:
        self._analyser = analyser
        self._size = size
        self._distance = distance
        super().__init__(opened, collection)
        self._check_size()

    def count(self, partition: str) -> int:
        """Return about how many points a tenant has."""
        with self._opened.call():
            asked = models.Filter(must=[same("partition", partition)])
            return self._client.count(self._collection, asked, exact=self._opened.local).count

    def nearest(self, asked: Asked) -> list[Document]:
        """Ask both arms in one request."""
        requests = [*self._by_vector(asked), *self._by_words(asked)]
        if not requests:
            return []
        with self._opened.call():
            found = self._client.query_batch_points(self._collection, requests)
        points = {str(point.id): point.payload or {} for answer in found for point in answer.points}
        return [document_of(name, payload) for name, payload in points.items()]

    def _by_vector(self, asked: Asked) -> Iterator[models.QueryRequest]:
        if asked.vector is not None and asked.vector.fingerprint.dimension == self._size:
            space = same("space", str(asked.vector.fingerprint))
            yield self._request(asked, [asked.vector.values[0].tolist()], DENSE, [space])

    def _by_words(self, asked: Asked) -> Iterator[models.QueryRequest]:
        terms = self._analyser.query_terms(asked.words or "")
        if terms:
            yield self._request(asked, _sparse(dict.fromkeys(terms, 1.0)), SPARSE, [])

    @staticmethod
    def _request(
        asked: Asked, query: list[list[float]] | models.SparseVector, using: str, narrowed: list[models.FieldCondition]
    ) -> models.QueryRequest:
        kinds = models.FieldCondition(key="kind", match=models.MatchAny(any=list(asked.kinds)))
        must = [
            same("partition", asked.partition),
            same("sort", Sort.RECORD),
            *narrowed,
            *([kinds] if asked.kinds else []),
        ]
        return models.QueryRequest(
            query=query, using=using, filter=models.Filter(must=list(must)), limit=asked.k, with_payload=True
        )

    def _point(self, document: Document) -> models.PointStruct:
        point = super()._point(document)
        stored = _stored(document)
        if stored is None:
            return point
        fitting = [(name, data) for name, data in stored.vectors.items() if name.endswith(f"/{self._size}")]
        named: dict[str, list[list[float]] | models.SparseVector] = {}
        for name, data in fitting[-1:]:
            named[DENSE] = np.frombuffer(data, "<f4").reshape(-1, self._size).tolist()
            point.payload = {**(point.payload or {}), "space": name}
        terms, length = self._analyser.analyse(stored.hit.text)
        if terms:
            named[SPARSE] = _sparse(_weights(terms, length))
        return models.PointStruct(id=point.id, vector=dict(named), payload=point.payload)

    def _create(self) -> None:
        several = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        distance = models.Distance(self._distance.capitalize())
        dense = models.VectorParams(size=self._size, distance=distance, multivector_config=several)
        words = models.SparseVectorParams(modifier=models.Modifier.IDF)
        self._made({DENSE: dense}, {SPARSE: words})

    def _check_size(self) -> None:
        """Refuse a collection that was made for other vectors, or for none."""
        with self._opened.call():
            found = self._client.get_collection(self._collection).config.params.vectors
        dense = found.get(DENSE) if isinstance(found, dict) else None
        size = None if dense is None else dense.size
        if size != self._size:
            raise InvalidInput(
                f"the collection {self._collection!r} was made with vector_size {size}, not {self._size};"
                " name another collection, or open it as it was made"
            )


def _stored(document: Document) -> Stored | None:
    """Return a record that is to be written, None of another document."""
    return decode(document) if document.sort is Sort.RECORD else None


def _weights(terms: Sequence[str], length: int) -> dict[str, float]:
    """Return how much each term of a text counts, without its rarity, which the engine knows."""
    norm = K1 * (1 - B + B * length / TYPICAL_LENGTH)
    return {term: count * (K1 + 1) / (count + norm) for term, count in Counter(terms).items()}


def _sparse(weights: Mapping[str, float]) -> models.SparseVector:
    """Return terms as numbers of 32 bits; two terms of one number add up."""
    numbers: dict[int, float] = {}
    for term, weight in weights.items():
        number = int.from_bytes(blake2b(term.encode(), digest_size=4).digest(), "big")
        numbers[number] = numbers.get(number, 0.0) + weight
    return models.SparseVector(indices=list(numbers), values=list(numbers.values()))
