"""Searching a scope too large to be read whole: the engine names candidates, and ours ranks those."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from seasoned.ports import Vectors
from seasoned.query import Page, Query
from seasoned.stores.documents import answering
from seasoned.stores.documents.mirror import Mirror
from seasoned.stores.documents.ports import Document
from seasoned.text import Analyser

READ_WHOLE: Final = 200_000
"""Largest scope (records) that is read whole for a search, where the engine can name candidates instead."""

CANDIDATES: Final = 400
"""How many candidates each arm of the engine names, or four times what is asked for if that is more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an engine is asked for: the `k` nearest records of a partition by words and by vector, of some kinds."""

    partition: str
    kinds: tuple[str, ...]
    words: str | None
    vector: Vectors | None
    k: int


@runtime_checkable
class Nearest(Protocol):
    """What an engine with search of its own does besides; optional."""

    def count(self, partition: str) -> int:
        """Return about how many documents a partition has."""
        ...

    def nearest(self, asked: Asked) -> Iterable[Document]:
        """Return the `k` best records by words and the `k` best by vector, each once, in any order."""
        ...


def fits(query: Query) -> bool:
    """Tell whether an engine can narrow a search as the query does: by kinds and no more."""
    return query.where is None and query.source is None and query.lacking is None and not query.expired


def searched(engine: Nearest, partition: str, query: Query, now: int, analyser: Analyser) -> Page:
    """Return the best of the candidates, ranked as if they were all that the scope holds, and say so."""
    asked = Asked(
        partition=partition,
        kinds=query.kinds,
        words=query.words,
        vector=query.vector,
        k=max(CANDIDATES, 4 * query.k),
    )
    mirror = Mirror(partition)
    for document in sorted(engine.nearest(asked), key=lambda one: one.seq):
        mirror.add(document)
    hits = answering.ranked(mirror, query, now, analyser)
    said = f"candidates: ranked were the {len(mirror.records)} that the engine named, not the whole scope"
    return Page(hits=hits, degraded=(said,))
