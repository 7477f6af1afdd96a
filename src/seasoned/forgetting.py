"""Forgetting: which records go, what goes with them, and the receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from seasoned.errors import InvalidInput, NotFound, StoreError, WrongType
from seasoned.ports import Counts, Remove, Store, Upkeep
from seasoned.query import And, Compare, Filter, Op, Page, Query, both
from seasoned.records import Key, Scope, checked_id
from seasoned.results import Receipt

_PAGE: Final = 1_000
_MANY: Final = 100
_MANY_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which records are meant: all that pass every condition given.

    `ids` of any kind; `session`; `before` an instant (by `at`); `source`, a record that they were derived from;
    `kinds`; `where`. `everything` must be set where nothing narrows, and `subtree` reaches into the scopes below.

    Raises:
        InvalidInput: nothing narrows (an empty filter does not) and `everything` is not set.
    """

    scope: Scope
    ids: tuple[str, ...] | None = None
    session: str | None = None
    before: datetime | None = None
    source: Key | None = None
    kinds: tuple[str, ...] = ()
    where: Filter | None = None
    everything: bool = False
    subtree: bool = False

    def __post_init__(self) -> None:
        narrowing = (self.ids, self.session, self.before, self.source, self.kinds or None)
        if all(each is None for each in narrowing) and not _narrows(self.where) and not self.everything:
            raise InvalidInput(
                "say what to forget: id, session, before, older_than, source, kinds, where, or everything=True"
            )
        for name in self.ids or ():
            checked_id(name)

    def query(self) -> Query:
        """Return the query that finds them."""
        parts: list[Filter | None] = [self.where]
        if self.session is not None:
            parts.append(Compare("data.session", Op.EQ, checked_id(self.session, "a session")))
        if self.before is not None:
            parts.append(Compare("at", Op.LT, self.before))
        if self.ids is not None:
            parts.append(Compare("id", Op.IN, self.ids))
        return Query(
            scope=self.scope,
            subtree=self.subtree,
            kinds=self.kinds,
            source=self.source,
            where=both(*parts),
            k=_PAGE,
            expired=True,
        )


def _narrows(where: Filter | None) -> bool:
    """Tell whether a filter says anything: an `and` of nothing holds for all."""
    return any(_narrows(part) for part in where.of) if isinstance(where, And) else where is not None


def forget(store: Store, selection: Selection, *, superseded: str, dry_run: bool, hard: bool) -> Receipt:
    """Remove what is selected and what was derived from it; with `hard`, so that no byte of it stays.

    Raises:
        NotFound: an id is not there.
        StoreError: `hard` on an engine that cannot erase.
    """
    if hard and not isinstance(store, Upkeep):
        raise StoreError(
            f"{type(store).__name__} cannot erase for good; forget without hard, or use the engine's own means"
        )
    old_too = selection.everything or superseded in selection.kinds
    found = keys_of(store, selection.query())
    chosen = [key for key in found if key.kind != superseded or old_too]
    _check_found(selection, chosen)
    known = set(chosen)
    derived = [key for key in _derived(store, selection.scope, chosen) if key not in known]
    counts = Counts() if dry_run else _remove(store, [*reversed(derived), *chosen], hard=hard)
    if not dry_run:
        late = _derived(store, selection.scope, [*chosen, *derived])  # by writers between the look and the removal
        counts, derived = _sum(counts, _remove(store, late, hard=hard)), [*derived, *late]
    return Receipt(
        ids=tuple(key.id for key in chosen if key.kind != superseded),
        derived=tuple(key.id for key in (*(key for key in chosen if key.kind == superseded), *derived)),
        by_kind=dict(Counter(key.kind for key in (*chosen, *derived))),
        dry_run=dry_run,
        hard=hard,
        rows=counts.rows,
        vectors=counts.vectors,
        postings=counts.postings,
        log_bytes=counts.log_bytes,
        pending=counts.pending,
        left=counts.left,
    )


def keys_of(store: Store, query: Query) -> Iterator[Key]:
    """Yield the keys of all records that answer; say in `unreadable` what is damaged."""
    for page in _pages(store, query):
        yield from (hit.record.key for hit in page.hits)
        yield from page.unreadable


def _pages(store: Store, query: Query) -> Iterator[Page]:
    cursor: str | None = None
    while True:
        page = store.find(replace(query, cursor=cursor))
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def _check_found(selection: Selection, chosen: Sequence[Key]) -> None:
    missing = set(selection.ids or ()) - {key.id for key in chosen}
    if missing:
        raise NotFound(f"no record {sorted(missing)[0]!r} in {'/'.join(selection.scope)}; nothing was forgotten")


def _derived(store: Store, scope: Scope, keys: Sequence[Key]) -> list[Key]:
    """Return what the scope and those below it derived from the keys, and from that, and so on."""
    derived_from = _derivations(store, Query(scope=scope, subtree=True, k=_PAGE, expired=True), len(keys))
    found: dict[Key, None] = {}
    waiting = list(keys)
    while waiting:
        for key in derived_from(waiting.pop()):
            if key not in found:
                found[key] = None
                waiting.append(key)
    return list(found)


def _derivations(store: Store, everything: Query, asked: int) -> Callable[[Key], Iterable[Key]]:
    """Return what gives the records derived from a key: one query each, or all read once where many are asked for."""
    if asked < _MANY or asked < (store.find(replace(everything, count=True)).count or 0) * _MANY_SHARE:
        return lambda source: keys_of(store, replace(everything, source=source))
    below: dict[Key, list[Key]] = {}
    for page in _pages(store, everything):
        for hit in page.hits:
            for source in hit.record.sources:
                below.setdefault(source, []).append(hit.record.key)
    return lambda source: below.get(source, ())


def _remove(store: Store, keys: Sequence[Key], *, hard: bool) -> Counts:
    if not keys:
        return Counts()
    if hard and isinstance(store, Upkeep):
        return store.purge(keys)
    at_once = max(1, len(keys)) if store.can.atomic else _PAGE
    for start in range(0, len(keys), at_once):
        store.apply([Remove(key) for key in keys[start : start + at_once]])
    return Counts(rows=len(keys))


def _sum(one: Counts, more: Counts) -> Counts:
    return Counts(
        rows=one.rows + more.rows,
        vectors=one.vectors + more.vectors,
        postings=one.postings + more.postings,
        log_bytes=one.log_bytes + more.log_bytes,
        pending=tuple(dict.fromkeys((*one.pending, *more.pending))),
        left=tuple(dict.fromkeys((*one.left, *more.left))),
    )


@runtime_checkable
class Unfinished(Protocol):
    """An engine whose `purge` may have to wait for others, and can be finished later."""

    def finish_purge(self) -> tuple[str, ...]:
        """Finish what earlier purges could not; return what is still pending, as in `Counts.pending`."""
        ...


def finish_erasures(store: Store) -> tuple[str, ...]:
    """Finish the erasures that a reader held back; return what is still pending, () where nothing is."""
    return store.finish_purge() if isinstance(store, Unfinished) else ()


def source_key(scope: Scope, source: object) -> Key | None:
    """Return the key that a caller means by a source: a key, or (kind, id) in the scope.

    Raises:
        WrongType: anything else.
    """
    if source is None or isinstance(source, Key):
        return source
    if isinstance(source, tuple) and len(source) == 2:
        return Key(scope, str(source[0]), str(source[1]))
    raise WrongType(f"a source is a Key or a (kind, id) pair, not {source!r}")
