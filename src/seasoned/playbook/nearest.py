"""The entries nearest to one: by vector where there is an embedder, else by words."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.core import Core
from seasoned.playbook.entries import ENTRY, Entry, from_record
from seasoned.ports import Vectors
from seasoned.query import Query
from seasoned.ranking import Blend
from seasoned.records import Hit, Key
from seasoned.search import CHUNK_CHARS
from seasoned.text import likeness, words

NEAREST: Final = 16
"""How many entries are looked at for each; twice as many as long as half of them are near enough."""

SPELLED: Final = 0.45
"""How far below the threshold the share of equal words may lie: words that differ by a letter share trigrams."""

SLACK: Final = 0.1
"""How far the lengths of two texts may differ by what folding takes away."""

_PLAIN: Final = Blend(user=0, named=0, recency=0, worth=0)
_LOG: Final = logging.getLogger("seasoned.playbook")


@dataclass(frozen=True, slots=True)
class Seen:
    """An entry as it stands in the store, and its place in the order of first writing."""

    entry: Entry
    place: int


@dataclass(frozen=True, slots=True)
class Near:
    """An entry that may be near another, and how near it is: 0 where it was not even compared."""

    seen: Seen
    similarity: float


def seen(core: Core, names: Iterable[str]) -> dict[str, Seen]:
    """Return the entries with these ids that are shown."""
    keys, found = tuple(Key(core.scope, ENTRY, name) for name in names), dict[str, Seen]()
    for start in range(0, len(keys), _PAGE):
        page = core.store.find(Query(scope=core.scope, keys=keys[start : start + _PAGE], k=_PAGE))
        found |= {each.entry.id: each for each in _readable(page.hits)}
    return found


_PAGE: Final = 2_000


def _readable(hits: Iterable[Hit]) -> Iterator[Seen]:
    for hit in hits:
        try:
            entry = from_record(hit.record)
        except (InvalidInput, WrongType, OverflowError) as error:
            _LOG.warning("%s is no entry and is not compared: %s", hit.record.key, error)
            continue
        if entry.retired is None and entry.content.strip():
            yield Seen(entry, hit.order)


class Nearest:
    """Finds what is near an entry; `failed` tells why it was done by words alone."""

    def __init__(self, core: Core, threshold: float) -> None:
        self._core = core
        self._threshold = threshold
        self.failed: str | None = None

    def of(self, wanted: Sequence[Entry]) -> Iterator[tuple[Entry, list[Near]]]:
        """Yield each entry with those that may be near it."""
        vectors, self.failed = self._core.searcher.vectors([entry.content for entry in wanted])
        for entry, vector in zip(wanted, vectors, strict=True):
            yield entry, self._around(entry, vector)

    def _around(self, entry: Entry, vector: Vectors | None) -> list[Near]:
        k = NEAREST
        while True:
            hits = self._hits(entry, vector, k)
            found = self._compared(entry, hits)
            near = sum(each.similarity >= self._threshold for each in found)
            if len(hits) < k or near < k // 2:
                return found
            k *= 2

    def _hits(self, entry: Entry, vector: Vectors | None, k: int) -> Sequence[Hit]:
        text = None if vector is not None else entry.content
        query = Query(scope=self._core.scope, kinds=(ENTRY,), words=text, vector=vector, blend=_PLAIN, k=k)
        return self._core.store.find(query).hits

    def _compared(self, entry: Entry, hits: Sequence[Hit]) -> list[Near]:
        by_id = {hit.id: hit for hit in hits if hit.id != entry.id}
        return [
            Near(each, self._similarity(entry.content, each.entry.content, by_id[each.entry.id]))
            for each in _readable(by_id.values())
        ]

    def _similarity(self, one: str, other: str, hit: Hit) -> float:
        """Return the cosine where both were embedded whole, else the Dice share of their trigrams if it can be near."""
        cosine, (shorter, longer) = hit.why.get("dense"), sorted((len(one), len(other)))
        if cosine is not None and longer <= CHUNK_CHARS:
            return min(1.0, cosine.value)
        if 2 * shorter < (self._threshold - SLACK) * (shorter + longer):
            return 0.0
        if one.isascii() and other.isascii() and _shared(one, other) < self._threshold - SPELLED:
            return 0.0
        return likeness(one, other)


def _shared(one: str, other: str) -> float:
    """Return the Dice share of the different words of two texts."""
    left, right = _words(one), _words(other)
    return 2 * len(left & right) / (len(left) + len(right)) if left or right else 1.0


@lru_cache(maxsize=1 << 12)
def _words(text: str) -> frozenset[str]:
    return frozenset(words(text))
