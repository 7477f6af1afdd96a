"""Reading items: by key, by search, by namespace."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.following import hits_of
from seasoned.integrations.langgraph.filters import ItemFilter, narrowing, parsed, passes
from seasoned.integrations.langgraph.framework import ListNamespacesOp, MatchCondition, SearchOp
from seasoned.integrations.langgraph.items import KIND, value_of
from seasoned.integrations.langgraph.names import namespace_of, scope_of
from seasoned.ports import Store, Vectors
from seasoned.query import MAX_K, Order, Page, Query
from seasoned.records import Hit, Key, Scope
from seasoned.search import MAX_QUERY_CHARS

_PAGE: Final = 500
_LOG: Final = logging.getLogger("seasoned.langgraph")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search, checked: the first `offset + limit` items are found and the first `offset` of them left out."""

    scope: Scope
    where: ItemFilter
    words: str | None
    offset: int
    limit: int
    refresh: bool

    @property
    def end(self) -> int:
        """How many items are wanted, those left out included."""
        return self.offset + self.limit


def checked_search(base: Scope, op: SearchOp) -> Search:
    """Return a search that can be made.

    Raises:
        InvalidFilter: the filter is not in the grammar.
        InvalidInput: a negative limit or offset.
        WrongType: a value of another type.
    """
    if op.query is not None and not isinstance(op.query, str):
        raise WrongType(f"a query is a text or None, not {op.query!r:.80}")
    query = (op.query or "")[:MAX_QUERY_CHARS]
    return Search(
        scope=scope_of(base, op.namespace_prefix),
        where=parsed(op.filter),
        words=query if query.strip() else None,
        offset=checked_bound(op.offset, "an offset"),
        limit=checked_bound(op.limit, "a limit"),
        refresh=bool(op.refresh_ttl),
    )


def checked_bound(value: object, what: str) -> int:
    """Return a limit or offset if it is one.

    Raises:
        InvalidInput: it is negative.
        WrongType: it is not an integer.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongType(f"{what} is an integer, not {value!r:.80}")
    if value < 0:
        raise InvalidInput(f"{what} is 0 or more, found {value}")
    return value


def by_key(store: Store, keys: Iterable[Key]) -> dict[Key, Hit]:
    """Return the items of some keys that are there and have not expired."""
    return {key: hit for key, hit in hits_of(store, keys).items() if value_of(hit.record) is not None}


def search(store: Store, asked: Search, vector: Vectors | None) -> list[tuple[Hit, float | None]]:
    """Return the items that a search asks for, best first, each with its score.

    With a vector the score is the cosine of the nearest text, -1 to 1; with words alone that of the store, 0 to 1.
    What has no score follows, the newest first, and so does everything where there is no query.
    """
    ranked = _ranked(store, asked, vector) if asked.end and asked.words is not None else []
    if len(ranked) < asked.end:
        seen = {hit.record.key for hit, _ in ranked}
        for hit in _newest(store, asked):
            if hit.record.key not in seen:
                ranked.append((hit, None))
            if len(ranked) >= asked.end:
                break
    return ranked[asked.offset : asked.end]


def _ranked(store: Store, asked: Search, vector: Vectors | None) -> list[tuple[Hit, float | None]]:
    """Return at most `end` ranked items; more are fetched where the store could not apply the whole filter."""
    query = replace(_query(asked), words=None if vector is not None else asked.words, vector=vector)
    k = min(asked.end, MAX_K)
    while True:
        hits = _page(store, replace(query, k=k)).hits
        passing = [hit for hit in hits if _passes(hit, asked)]
        if len(passing) >= asked.end or len(hits) < k or k == MAX_K:
            return [(hit, _score(hit, vector)) for hit in passing[: asked.end]]
        k = min(max(4 * k, 100), MAX_K)


def _page(store: Store, query: Query) -> Page:
    page = store.find(query)
    if page.degraded:
        _LOG.warning("a search was degraded: %s", "; ".join(page.degraded))
    return page


def _query(asked: Search) -> Query:
    return Query(scope=asked.scope, subtree=True, kinds=(KIND,), where=narrowing(asked.where), order=Order.NEWEST)


def _passes(hit: Hit, asked: Search) -> bool:
    value = value_of(hit.record)
    return value is not None and passes(value, asked.where)


def _score(hit: Hit, vector: Vectors | None) -> float:
    return hit.score if vector is None or "dense" not in hit.why else hit.why["dense"].value


def _newest(store: Store, asked: Search) -> Iterator[Hit]:
    """Yield the items that pass, the one put last first."""
    query = replace(_query(asked), k=_PAGE if asked.where else min(max(asked.end, 1), _PAGE))
    while True:
        page = _page(store, query)
        yield from (hit for hit in page.hits if _passes(hit, asked))
        if page.cursor is None:
            return
        query = replace(query, cursor=page.cursor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A listing of namespaces, checked."""

    conditions: tuple[MatchCondition, ...]
    depth: int | None
    offset: int
    limit: int


def checked_listing(op: ListNamespacesOp) -> Listing:
    """Return a listing that can be made.

    Raises:
        InvalidInput: an unknown kind of match, a depth below 1, a negative limit or offset.
        WrongType: a value of another type.
    """
    conditions = tuple(op.match_conditions or ())
    for condition in conditions:
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInput(f"namespaces match by prefix or suffix, not by {condition.match_type!r}")
    if op.max_depth is not None and checked_bound(op.max_depth, "a depth") < 1:
        raise InvalidInput(f"a depth is 1 or more, found {op.max_depth}")
    return Listing(
        conditions=conditions,
        depth=op.max_depth,
        offset=checked_bound(op.offset, "an offset"),
        limit=checked_bound(op.limit, "a limit"),
    )


def namespaces(store: Store, base: Scope, asked: Listing) -> list[tuple[str, ...]]:
    """Return the namespaces that hold items and match, in order."""
    scope = scope_of(base, _literal_prefix(asked.conditions))
    found = store.find(Query(scope=scope, subtree=True, kinds=(KIND,), scopes=True)).scopes
    spelt = (namespace_of(base, each) for each in found)
    matching = (each for each in spelt if all(_matches(each, condition) for condition in asked.conditions))
    return sorted({each[: asked.depth] for each in matching})[asked.offset : asked.offset + asked.limit]


def _literal_prefix(conditions: Sequence[MatchCondition]) -> tuple[str, ...]:
    """Return the longest prefix without a wildcard that all namespaces asked for have."""
    prefixes = [tuple(condition.path) for condition in conditions if condition.match_type == "prefix"]
    return max((path[: path.index("*")] if "*" in path else path for path in prefixes), key=len, default=())


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    end = len(path) if condition.match_type == "prefix" else len(namespace)
    return all(label in ("*", own) for label, own in zip(path, namespace[end - len(path) : end], strict=True))
