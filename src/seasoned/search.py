"""Search as the memories ask for it: text in, hits out, whatever the engine and with or without an embedder."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, TypeVar

from seasoned.asking import Flow
from seasoned.embedders import embed_checked
from seasoned.errors import EmbeddingError, InvalidInput, WrongType
from seasoned.ports import Embedder, Store, Vectors
from seasoned.query import Filter, Query, checked_k
from seasoned.ranking import Blend
from seasoned.records import Hit, Key, Record, Scope, clean_text
from seasoned.redaction import Redactor, redacted_flow
from seasoned.text import chunks, words

CHUNK_CHARS: Final = 1_000
"""Longest piece of a text that is embedded as one: about what all-MiniLM-L6-v2 reads (256 tokens)."""

MAX_CHUNKS: Final = 64
"""Most pieces of one text that are embedded; what follows them is found by words."""

MAX_QUERY_CHARS: Final = 100_000
"""Longest query; what follows is not read."""

_LOG: Final = logging.getLogger("seasoned.search")

T = TypeVar("T")


class Hits(list[Hit]):
    """Hits, best first, and `degraded`: what could not be used for them, such as "dense: …"; () where all went well."""

    def __init__(self, hits: Iterable[Hit] = (), degraded: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.degraded = degraded

    def from_score(self, least: float) -> Hits:
        """Return those that score at least so much."""
        return Hits((hit for hit in self if hit.score >= least), self.degraded)


class Searcher:
    """Embeds what is stored and what is asked, and puts the query to a store.

    An embedder of weight 0 adds nothing to words, so nothing is embedded with it. With a redactor, which is that of the
    store and the embedder, texts are redacted before they are cut in pieces, so that nothing hides behind a cut.
    """

    def __init__(
        self, store: Store, embedder: Embedder, blend: Blend | None = None, redactor: Redactor | None = None
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.blend = blend
        self._redactor = redactor

    def over(self, store: Store) -> Searcher:
        """Return one that puts its queries to another store."""
        return Searcher(store, self.embedder, self.blend, self._redactor)

    def clear(self, text: str, scope: Scope | None = None) -> str:
        """Return a text as it will stand in a new record of the scope: what is there is compared with this."""
        return text if self._redactor is None else self._redactor.text(text, scope)

    def stored(self, record: Record) -> Record:
        """Return a record as it will be stored."""
        return record if self._redactor is None else self._redactor.record(record)

    def key(self, key: Key) -> Key:
        """Return a key as it will be stored."""
        return key if self._redactor is None else self._redactor.key(key)

    def below(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return parts of a scope that a file names as they will be stored; those of an operator's own stay.

        Raises:
            InvalidInput: a part holds personal data, and the policy has no key to name it by.
        """
        return tuple(parts) if self._redactor is None else self._redactor.below(parts)

    def guarded(self, flow: Flow[T]) -> Flow[T]:
        """Return a flow that shows a model nothing that may not be stored."""
        return flow if self._redactor is None else redacted_flow(flow, self._redactor)

    @property
    def space(self) -> str | None:
        """The fingerprint of the embedder; None where it cannot be told now, since the embedder must be asked."""
        try:
            return str(self.embedder.fingerprint)
        except EmbeddingError as error:
            _LOG.warning("the embedder cannot say which vectors it makes: %s", error)
            return None

    @property
    def dense(self) -> bool:
        """Whether vectors are used at all."""
        return self.embedder.weight > 0 and self.store.can.dense

    def vectors(self, texts: Sequence[str]) -> tuple[list[Vectors | None], str | None]:
        """Return the vectors of each text, long ones in chunks, and why there are none where the embedder failed.

        None stands for a blank text, and for every text where the embedder failed: the records are written all the
        same, and `reembed` finds them by what they lack.
        """
        if not self.dense:
            return [None] * len(texts), None
        try:
            return self.required_vectors(texts), None
        except EmbeddingError as error:
            _LOG.warning("the embedder failed, so %d texts have no vectors yet: %s", len(texts), error)
            return [None] * len(texts), f"dense: {error}"

    def required_vectors(self, texts: Sequence[str]) -> list[Vectors | None]:
        """Return the vectors of each text as `vectors` does, but raise where the embedder fails.

        Raises:
            EmbeddingError: the embedder failed.
        """
        clear = [self.clear(text) for text in texts]
        pieces = [chunks(text, CHUNK_CHARS)[:MAX_CHUNKS] if text.strip() else [] for text in clear]
        rows = embed_checked(self.embedder, list(chain.from_iterable(pieces)))
        fingerprint, start, made = self.embedder.fingerprint, 0, list[Vectors | None]()
        for parts in pieces:
            made.append(Vectors(fingerprint, rows[start : start + len(parts)]) if parts else None)
            start += len(parts)
        return made

    def search(
        self,
        text: str,
        *,
        k: int,
        scope: Scope,
        subtree: bool = False,
        kinds: tuple[str, ...] = (),
        where: Filter | None = None,
        blend: Blend | None = None,
    ) -> Hits:
        """Return the k best hits for a text; a query of no words at all (an emoji) is only compared by its vector.

        Raises:
            InvalidInput: a blank text, or k below 1.
            WrongType: text that is not a string, k that is not an integer.
        """
        query = _checked_query(text)
        checked_k(k)
        vector, failed = self._query_vector(query)
        found = self.store.find(
            Query(
                scope=scope,
                subtree=subtree,
                kinds=kinds,
                where=where,
                words=query,
                vector=vector,
                strength=self.embedder.weight,
                blend=blend or self.blend,
                k=k,
            )
        )
        return Hits(found.hits, (*found.degraded, *([failed] if failed else [])))

    def _query_vector(self, query: str) -> tuple[Vectors | None, str | None]:
        if not self.dense:
            return None, None
        made, failed = self.vectors([chunks(self.clear(query).strip(), CHUNK_CHARS)[0]])
        return made[0], failed


def _checked_query(text: object) -> str:
    if not isinstance(text, str):
        raise WrongType(f"a query is a text, not {text!r:.80}")
    query = clean_text(text[:MAX_QUERY_CHARS])
    if not query.strip():
        raise InvalidInput(f"a query must not be blank, found {text!r:.80}")
    return query


def says_something(text: str) -> bool:
    """Tell whether a text has words to search for: an emoji or "?!" has none."""
    return bool(words(text))
