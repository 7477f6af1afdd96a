"""Rows with a vector and the terms of their text, so that the engine can name candidates of a large scope."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice
from typing import Final, Literal, TypeAlias

import numpy as np

from seasoned.stores.documents import Asked, Document, Sort
from seasoned.stores.documents.coding import decode
from seasoned.stores.singlestore.client import Connections, Value
from seasoned.stores.singlestore.table import COLUMNS, SingleStoreTable, digest, document
from seasoned.text import Analyser

TERMS: Final = 20_000
"""How many terms of a text are made searchable for candidates; a longer one is found by those."""

Distance: TypeAlias = Literal["cosine", "dot", "euclid"]
"""How vectors are compared when candidates are named; unit vectors come in the same order by each."""

_SCORES: Final = {"cosine": "{} <*> %s", "dot": "{} <*> %s", "euclid": "-({} <-> %s)"}


class SingleStoreVectors(SingleStoreTable):
    """Rows with a vector of one size and with full text; of a long text the vector is that of its beginning.

    The vectors of a scope are compared one by one: an index of neighbours would rank all scopes before it is narrowed
    to one, and miss most of a small scope. The full text is one word for each term, made from its digest, so that no
    tokenizer, stop word or query syntax of the engine's touches it. The engine adds new rows to its index of words
    some time after they were written.
    """

    def __init__(
        self, connections: Connections, table: str, place: str, analyser: Analyser, size: int, distance: Distance
    ) -> None:
        self._analyser = analyser
        self._size = size
        self._score = _SCORES[distance].format(f"vector_{size}")
        super().__init__(connections, table, place)

    def count(self, partition: str) -> int:
        """Return how many rows a scope has."""
        found = self._connections.ask(f"SELECT COUNT(*) FROM {self._table} WHERE scope = %s", (digest(partition),))
        return int(str(found[0][0]))

    def nearest(self, asked: Asked) -> list[Document]:
        """Ask each arm."""
        found = [*self._by_vector(asked), *self._by_words(asked)]
        return list({one.id: one for one in found}.values())

    def _by_vector(self, asked: Asked) -> list[Document]:
        if asked.vector is None or asked.vector.fingerprint.dimension != self._size:
            return []
        space, vector = str(asked.vector.fingerprint), _json(asked.vector.values[0].tolist())
        return self._ranked(asked, self._score, vector, "space = %s", space)

    def _by_words(self, asked: Asked) -> list[Document]:
        terms = list(dict.fromkeys(self._analyser.query_terms(asked.words or "")))
        if not terms:
            return []
        match = f"MATCH(TABLE {self._table}) AGAINST (%s)"
        said = f"words:({' OR '.join(_word(term) for term in terms)})"
        return self._ranked(asked, match, said, match, said)

    def _ranked(self, asked: Asked, score: str, against: str, where: str, value: str) -> list[Document]:
        """Return the best by a score of one bound value, of those that meet a condition of another."""
        kinds = f" AND kind IN ({', '.join(['%s'] * len(asked.kinds))})" if asked.kinds else ""
        statement = (
            f"SELECT {', '.join(COLUMNS)}, {score} AS score FROM {self._table}"
            f" WHERE scope = %s AND sort = %s{kinds} AND {where} ORDER BY score DESC LIMIT {int(asked.k)}"
        )
        bound: list[Value] = [against, digest(asked.partition), str(Sort.RECORD), *asked.kinds, value]
        return [document(row[:-1]) for row in self._connections.ask(statement, bound)]

    @property
    def _vector(self) -> str:
        """The column of the vectors, which says their size."""
        return f"vector_{self._size}"

    def _more_shape(self) -> Sequence[str]:
        return (
            "space VARCHAR(512)",
            "words LONGTEXT",
            f"{self._vector} VECTOR({self._size})",
            "FULLTEXT USING VERSION 2 words_index (words)",
        )

    def _more_columns(self) -> Sequence[str]:
        return ("space", "words", self._vector)

    def _more_values(self, document: Document) -> Sequence[Value]:
        if document.sort is not Sort.RECORD:
            return (None, None, None)
        stored = decode(document)
        terms, _ = self._analyser.analyse(stored.hit.text)
        words = " ".join(_word(term) for term in islice(terms, TERMS))
        fitting = [(name, data) for name, data in stored.vectors.items() if name.endswith(f"/{self._size}")]
        if not fitting:
            return (None, words, None)
        space, data = fitting[-1]
        return (space, words, _json(np.frombuffer(data, "<f4")[: self._size].tolist()))


def _word(term: str) -> str:
    return "x" + blake2b(term.encode(), digest_size=8).hexdigest()


def _json(values: Sequence[float]) -> str:
    return json.dumps(values, separators=(",", ":"))
