"""Answering queries from the copy of one partition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Final

from seasoned.arms import Ranked, Wanted, in_arrays, rank
from seasoned.errors import InvalidInput
from seasoned.index import ScopeIndex
from seasoned.query import Order, Page, Query, cursor_number
from seasoned.ranking import DEFAULT as DEFAULT_BLEND
from seasoned.records import Hit, Key
from seasoned.stores import embedded
from seasoned.stores.documents.coding import Stored, key_of
from seasoned.stores.documents.mirror import Mirror, MirrorRows
from seasoned.text import Analyser

_CURSOR: Final = re.compile(r"(\d{1,18})(?:-([0-9a-f]{16}))?", re.ASCII)

Position = tuple[int, str]
"""Where a record stands among those of several scopes: its place, and its scope where two share one."""


def answers(stored: Stored, query: Query, now: int) -> bool:
    """Tell whether a record answers a query, whatever the words and the vector."""
    return embedded.answers(stored.hit.record, stored.vectors, query, now)


def answering(mirror: Mirror, query: Query, now: int) -> Iterator[Stored]:
    """Yield the records of a partition that answer, in the order they were first written."""
    if not query.keys:
        return (one for one in mirror.ordered() if answers(one, query, now))
    names = ((key.kind, key.id) for key in dict.fromkeys(query.keys) if key.scope.encode() == mirror.partition)
    found = (one for name in names if (one := mirror.records.get(name)) is not None)
    return iter(sorted((one for one in found if answers(one, query, now)), key=lambda one: one.hit.order))


def digest(partition: str) -> str:
    """Return what tells two partitions apart in a cursor."""
    return blake2b(partition.encode(), digest_size=8).hexdigest()


def position(cursor: str | None, *, subtree: bool) -> Position | None:
    """Return the position that a cursor of `in_order` writes, None for none.

    Raises:
        InvalidInput: it was written by something else.
    """
    if cursor is None:
        return None
    found = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if found is None or (found[2] is not None) is not subtree:
        raise InvalidInput(f"{cursor!r} is not a cursor of this store")
    return int(found[1]), found[2] or ""


def in_order(mirror: Mirror, query: Query, now: int) -> list[tuple[Position, Hit]]:
    """Return what one partition gives to a page in the order of writing: one more than `k`, where there are."""
    after, name = position(query.cursor, subtree=query.subtree), digest(mirror.partition) if query.subtree else ""
    newest = query.order is Order.NEWEST
    found: Iterable[Stored] = reversed(mirror.ordered()) if newest else mirror.ordered()
    places = (((one.hit.order, name), one) for one in found)
    rest = ((at, one) for at, one in places if after is None or (at < after if newest else at > after))
    return list(islice(((at, one.hit) for at, one in rest if answers(one, query, now)), query.k + 1))


def page_of(found: list[tuple[Position, Hit]], query: Query) -> Page:
    """Return the page that the partitions together give."""
    found.sort(key=lambda one: one[0], reverse=query.order is Order.NEWEST)
    page = found[: query.k]
    if len(found) <= query.k:
        return Page(hits=[hit for _, hit in page])
    order, name = page[-1][0]
    return Page(hits=[hit for _, hit in page], cursor=f"{order}-{name}" if query.subtree else str(order))


def changed(mirror: Mirror, query: Query, now: int) -> Page:
    """Return a page of what changed after the cursor, with the keys of what was removed meanwhile."""
    after = cursor_number(query.cursor) or 0
    recent = [one for one in mirror.records.values() if one.hit.seq > after]
    hits = sorted((one.hit for one in recent if answers(one, query, now)), key=lambda hit: hit.seq)
    more = len(hits) > query.k
    page = hits[: query.k]
    end = page[-1].seq if more else mirror.seq
    gone = sorted(
        (seq, order)
        for (seq, order), key in mirror.gone.items()
        if after < seq <= end and (not query.kinds or key.kind in query.kinds)
    )
    return Page(
        hits=page,
        cursor=str(end) if more else None,
        seq=mirror.seq,
        gone=tuple(mirror.gone[place] for place in gone),
        reload=0 < after < mirror.gone_before,
    )


def damaged(mirror: Mirror, query: Query) -> list[tuple[Key, str]]:
    """Return the keys of records that might have answered and cannot be read, or not yet, each with what is wrong."""
    return [
        (key_of(document), f"{'corrupt' if document.whole else 'late'}: {why}")
        for (kind, _), (document, why) in mirror.unreadable()
        if not query.kinds or kind in query.kinds
    ]


def ranked(mirror: Mirror, query: Query, now: int, analyser: Analyser) -> list[Hit]:
    """Return the best hits of one partition, ranked by words, vector or both."""
    index = mirror.index(analyser)
    if query.vector is not None:
        mirror.held.follow_vectors(MirrorRows(mirror), index, query.vector.fingerprint)
    by_order = {one.row: one for one in rank(index, _wanted(mirror, index, query, now))}
    found = {one.hit.order: one.hit for one in mirror.ordered() if one.hit.order in by_order}
    return [_scored(found[row], one) for row, one in by_order.items()]


def _wanted(mirror: Mirror, index: ScopeIndex, query: Query, now: int) -> Wanted:
    arrays = in_arrays(query.where, index) and query.source is None and query.lacking is None and not query.expired
    return Wanted(
        words=query.words,
        vector=query.vector,
        strength=query.strength,
        blend=query.blend or DEFAULT_BLEND,
        k=query.k,
        now=-1 << 62 if query.expired else now,
        kinds=query.kinds,
        rows=None if arrays else [one.hit.order for one in mirror.ordered() if answers(one, query, now)],
        where=query.where if arrays else None,
    )


def _scored(hit: Hit, one: Ranked) -> Hit:
    return replace(hit, score=one.score, why=one.why)


def copied(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with data of their own, so that no reader changes what is held."""
    return [replace(hit, record=replace(hit.record)) for hit in hits]
