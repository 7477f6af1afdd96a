"""Giving vectors to the records that have none in the embedder's space: after a failure, or with another embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import Conflict, EmbeddingError
from seasoned.ports import Put, Store, Vectors
from seasoned.query import Query
from seasoned.records import Record, Scope
from seasoned.search import Searcher

BATCH: Final = 256
"""How many texts are embedded at once; what was written stays when a run is interrupted."""

GIVE_UP_AFTER: Final = 3
"""After so many texts in a row that fail one by one the embedder is taken to be down."""


def reembed(store: Store, scope: Scope, searcher: Searcher, progress: Callable[[int, int], None] | None) -> int:
    """Embed the records of the scope and those below it that lack a vector; return how many were written.

    Where a batch fails its halves are tried, so that one text which cannot be embedded holds no other back.

    Raises:
        EmbeddingError: some texts failed; all others were written, unless the embedder is down.
    """
    lacking = Query(scope=scope, subtree=True, lacking=str(searcher.embedder.fingerprint), k=BATCH)
    total = store.find(replace(lacking, count=True)).count or 0
    trouble = _Trouble()
    done, cursor = 0, None
    while True:
        page = store.find(replace(lacking, cursor=cursor))
        done += _write(store, _embedded(searcher, [hit.record for hit in page.hits], trouble))
        if progress is not None:
            progress(done, max(total, done))
        cursor = page.cursor
        if cursor is None:
            trouble.tell()
            return done


def _write(store: Store, embedded: Iterator[tuple[Record, Vectors | None]]) -> int:
    written = 0
    for record, vectors in embedded:
        try:
            store.apply([Put(record, vectors, record.version)])
        except Conflict:  # changed meanwhile: whoever did wrote its vector, or the next run will
            continue
        written += 1
    return written


def _embedded(
    searcher: Searcher, records: Sequence[Record], trouble: _Trouble
) -> Iterator[tuple[Record, Vectors | None]]:
    try:
        vectors = searcher.required_vectors([record.text for record in records])
    except EmbeddingError as error:
        half = len(records) // 2
        if not half:
            trouble.note(error)
            return
        yield from _embedded(searcher, records[:half], trouble)
        yield from _embedded(searcher, records[half:], trouble)
        return
    trouble.in_row = 0
    yield from zip(records, vectors, strict=True)


@dataclass(slots=True)
class _Trouble:
    """The texts that failed one by one."""

    texts: int = 0
    in_row: int = 0
    last: EmbeddingError | None = None

    def note(self, error: EmbeddingError) -> None:
        self.texts += 1
        self.in_row += 1
        self.last = error
        if self.in_row >= GIVE_UP_AFTER:
            raise error

    def tell(self) -> None:
        if self.last is not None:
            raise EmbeddingError(f"{self.texts} texts have no vector: {self.last}") from self.last
