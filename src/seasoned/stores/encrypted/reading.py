"""Answering queries over sealed scopes and scopes in the clear alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from seasoned.errors import StoreLocked
from seasoned.keys import Keys
from seasoned.locked import NOTHING, LockedHit
from seasoned.ports import Store
from seasoned.query import Order, Page, Query
from seasoned.records import Hit, Key, Scope
from seasoned.stores.documents import answering
from seasoned.stores.documents.coding import Stored
from seasoned.stores.embedded import merged
from seasoned.stores.encrypted.boxes import Broken, read
from seasoned.stores.encrypted.copies import Copies, Copy
from seasoned.stores.encrypted.locked import Judged, judged, needs_content
from seasoned.stores.encrypted.scopes import Scopes
from seasoned.stores.encrypted.unsealing import PAGE
from seasoned.text import Analyser

Placed = tuple[answering.Position, Hit]


@dataclass(slots=True, kw_only=True)
class Reading:
    """Answers what is asked of one store."""

    inner: Store
    keys: Keys
    scopes: Scopes
    copies: Copies
    analyser: Analyser

    def find(self, query: Query, now: int) -> Page:
        """Return the records that answer a query."""
        if query.words is not None or query.vector is not None:
            return self._ranked(query, now)
        if query.keys:
            return self._by_key(query, now)
        if query.order is Order.CHANGED and not (query.count or query.scopes):
            return self._changed(query, now)
        if not needs_content(query):
            page = self.inner.find(query)
            for scope in page.scopes:
                self.scopes.sealed(scope)
            return page if query.count or query.scopes else self._opened(page)
        scopes = self.scopes.below(query)
        if not any(map(self.scopes.sealed, scopes)):
            return self.inner.find(query)
        if query.scopes:
            return Page(scopes=tuple(scope for scope in scopes if self._count(scope, query, now)))
        if query.count:
            return Page(count=sum(self._count(scope, query, now) for scope in scopes))
        return self._in_order(query, scopes, now)

    def _judged(self, copy: Copy, query: Query, now: int) -> Judged:
        return judged(copy.scope, copy.closed.locked.values(), query, now, readable=bool(copy.mirror.records))

    def _opened(self, page: Page) -> Page:
        """Return a page of the engine that was asked for nothing sealed, with what is in its records."""
        found = [self._read(hit) for hit in page.hits]
        broken = [one for one in found if isinstance(one, Broken)]
        closed = sum(isinstance(one, LockedHit) for one in found)
        said = [f"corrupt: {one.why}" for one in broken] + _said(closed)
        return replace(
            page,
            hits=[one for one in found if not isinstance(one, Broken)],
            degraded=(*page.degraded, *said),
            unreadable=(*page.unreadable, *(one.key for one in broken)),
        )

    def _read(self, hit: Hit) -> Hit | Broken:
        if not self.scopes.sealed(hit.record.key.scope):
            return hit
        found = read(hit, self.keys)
        return found.hit if isinstance(found, Stored) else found

    def _by_key(self, query: Query, now: int) -> Page:
        """Answer from the engine itself, in the order of the keys."""
        keys = tuple(dict.fromkeys(query.keys))
        shut = {scope for scope in {key.scope for key in keys} if self.scopes.sealed(scope)}
        sealed = tuple(key for key in keys if key.scope in shut)
        if not sealed:
            return self.inner.find(query)
        asked = replace(query, count=False, scopes=False)
        clear = tuple(key for key in keys if key.scope not in shut)
        pages = [self.inner.find(replace(asked, keys=clear))] if clear else []
        pages.append(self._unsealed(replace(asked, keys=sealed), now))
        by_key = {hit.record.key: hit for page in pages for hit in page.hits}
        hits = [by_key[key] for key in keys if key in by_key]
        if query.scopes:
            return Page(scopes=tuple(sorted({hit.record.key.scope for hit in hits})))
        return Page(
            hits=() if query.count else hits,
            count=len(hits) if query.count else None,
            degraded=tuple(reason for page in pages for reason in page.degraded),
            unreadable=tuple(key for page in pages for key in page.unreadable),
        )

    def _unsealed(self, query: Query, now: int) -> Page:
        """Return the sealed records of the keys of a query that answer it."""
        page = self.inner.find(replace(query, where=None, source=None, lacking=None))
        found = [read(hit, self.keys) for hit in page.hits]
        stored = [one for one in found if isinstance(one, Stored)]
        broken = [one for one in found if isinstance(one, Broken)]
        closed = [one for one in found if isinstance(one, LockedHit)]
        shown = judged(query.scope, closed, query, now, readable=bool(stored))
        return Page(
            hits=[*(one.hit for one in stored if answering.answers(one, query, now)), *shown.hits],
            degraded=(*page.degraded, *shown.degraded, *(f"corrupt: {one.why}" for one in broken)),
            unreadable=(*page.unreadable, *(one.key for one in broken)),
        )

    def _changed(self, query: Query, now: int) -> Page:
        """Answer a follower, whom nothing but removals can be told of a scope without its key.

        Raises:
            StoreLocked: the key is not here, or opens nothing.
        """
        if not self.scopes.sealed(query.scope) or query.where == NOTHING:
            return self.inner.find(query)
        self.scopes.check_open(query.scope)
        page = self.inner.find(replace(query, where=None, source=None, lacking=None))
        found = [read(hit, self.keys) for hit in page.hits]
        stored = [one for one in found if isinstance(one, Stored)]
        broken = [one for one in found if isinstance(one, Broken)]
        closed = [one for one in found if isinstance(one, LockedHit)]
        if closed and not stored:
            raise StoreLocked(scope=query.scope, name=closed[0].name)
        return replace(
            page,
            hits=[one.hit for one in stored if answering.answers(one, query, now)],
            degraded=(*page.degraded, *_said(len(closed)), *(f"corrupt: {one.why}" for one in broken)),
            unreadable=(*page.unreadable, *(one.key for one in broken), *(one.record.key for one in closed)),
        )

    def _count(self, scope: Scope, query: Query, now: int) -> int:
        if not self.scopes.sealed(scope):
            return self.inner.find(replace(query, scope=scope, subtree=False, scopes=False, count=True)).count or 0
        with self.copies.of(scope, now) as copy:
            shown = self._judged(copy, query, now).hits
            return len(shown) + sum(1 for _ in answering.answering(copy.mirror, query, now))

    def _in_order(self, query: Query, scopes: Iterable[Scope], now: int) -> Page:
        answering.position(query.cursor, subtree=query.subtree)
        found, wrong, said = list[Placed](), list[tuple[Key, str]](), list[str]()
        for scope in scopes:
            if not self.scopes.sealed(scope):
                found += _after(self._clear(scope, query), query)
                continue
            with self.copies.of(scope, now) as copy:
                found += answering.in_order(copy.mirror, query, now)
                shown = self._judged(copy, query, now)
                wrong += copy.broken(query)
            found += _after(shown.hits, query)
            said += shown.degraded
        page = answering.page_of(found, query)
        last = wrong if page.cursor is None else []
        return replace(
            page,
            hits=answering.copied(page.hits),
            degraded=(*said, *(why for _, why in last)),
            unreadable=tuple(key for key, _ in last),
        )

    def _clear(self, scope: Scope, query: Query) -> Iterator[Hit]:
        """Yield all that answers in a scope in the clear beside sealed ones."""
        asked = replace(query, scope=scope, subtree=False, cursor=None, k=PAGE)
        while True:
            page = self.inner.find(asked)
            yield from page.hits
            if page.cursor is None:
                return
            asked = replace(asked, cursor=page.cursor)

    def _ranked(self, query: Query, now: int) -> Page:
        scopes = self.scopes.below(query)
        if not any(map(self.scopes.sealed, scopes)):
            return self.inner.find(query)
        pages = [self._ranked_in(replace(query, scope=scope, subtree=False), now) for scope in scopes]
        return Page(
            hits=answering.copied(merged([page.hits for page in pages], query.k)),
            degraded=tuple(reason for page in pages for reason in page.degraded),
            unreadable=tuple(key for page in pages for key in page.unreadable),
        )

    def _ranked_in(self, query: Query, now: int) -> Page:
        """Return the best of one scope; those that are locked come last, newest first."""
        if not self.scopes.sealed(query.scope):
            return self.inner.find(query)
        with self.copies.of(query.scope, now) as copy:
            hits = answering.ranked(copy.mirror, query, now, self.analyser)
            shown, wrong = self._judged(copy, query, now), copy.broken(query)
        closed = sorted(shown.hits, key=lambda hit: -hit.order)
        return Page(
            hits=[*hits, *closed][: query.k],
            degraded=(*shown.degraded, *(why for _, why in wrong)),
            unreadable=tuple(key for key, _ in wrong),
        )


def _said(closed: int) -> list[str]:
    return [f"locked: {closed} records cannot be read, since their keys are not here"] if closed else []


def _after(hits: Iterable[Hit], query: Query) -> list[Placed]:
    """Return hits with their places, those that a query's cursor has passed left out."""
    after, newest = answering.position(query.cursor, subtree=query.subtree), query.order is Order.NEWEST
    placed = [((hit.order, _digest(hit, query)), hit) for hit in hits]
    return [each for each in placed if after is None or (each[0] < after if newest else each[0] > after)]


def _digest(hit: Hit, query: Query) -> str:
    return answering.digest(hit.record.key.scope.encode()) if query.subtree else ""
