"""Forgetting: which records go, what goes with them, what is written anew without them, and the receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from seasoned.cascade import PAGE, Asked, Cascade, Derived, Remade, Remaker, by_keys, cascade
from seasoned.errors import Conflict, InvalidInput, NotFound, StoreError, WrongType
from seasoned.following import pages
from seasoned.locked import bare
from seasoned.ports import Change, Counts, Put, Remove, Store, Upkeep
from seasoned.query import And, Compare, Filter, Op, Query, both
from seasoned.records import Key, Record, Scope, checked_id
from seasoned.results import Receipt

EXPORT: Final = "export"
"""The kind of what says that a bundle was written: `data.path`."""

LEDGER: Final = "bundle-ledger"
"""The kind of what says which records came with bundles, and what was removed where these are from."""

STALE: Final = "stale"
"""The field of data that is true where a part of what a record was derived from was forgotten: rewrite it."""

RETRIES: Final = 8
"""How often what stays is written anew where other writers came first."""


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

    @property
    def whole(self) -> bool:
        """Whether it is all that there is, in the scopes below too: what was derived from it there is in it."""
        narrowing = (self.ids, self.session, self.before, self.source, self.kinds or None)
        return self.everything and self.subtree and all(each is None for each in (*narrowing, self.where))

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
            k=PAGE,
            expired=True,
        )


def _narrows(where: Filter | None) -> bool:
    """Tell whether a filter says anything: an `and` of nothing holds for all."""
    return any(_narrows(part) for part in where.of) if isinstance(where, And) else where is not None


def forget(
    store: Store, selection: Selection, *, superseded: str, dry_run: bool, hard: bool, remaker: Remaker | None = None
) -> Receipt:
    """Remove what is selected, and what was derived from it and has no other source left; say what became of the rest.

    A derived record with another source left is kept and marked: `data.stale` is true. With `hard` it goes, too, so
    that no byte of what is selected stays. What the `remaker` writes anew stays without it.

    Raises:
        NotFound: an id is not there.
        StoreError: `hard` on an engine that cannot erase.
        Conflict: other writers came first at every try; nothing was forgotten.
    """
    _check_erases(store, hard=hard)
    old_too = selection.everything or superseded in selection.kinds
    found = (each for each in _selected(store, selection) if each.key.kind != superseded or old_too)
    chosen = list(found)
    _check_found(selection, chosen)
    going = _Forgetting(store, selection.scope, hard=hard, dry_run=dry_run, remaker=remaker)
    going.forget(chosen)
    return _receipt(going, chosen, superseded)


def forget_unread(store: Store, selection: Selection, *, superseded: str, dry_run: bool, hard: bool) -> Receipt:
    """Remove all that there is without reading it: where a key is lost, what was derived from what cannot be told.

    Raises:
        InvalidInput: the selection is not all that there is.
        StoreError: `hard` on an engine that cannot erase.
    """
    if not selection.whole:
        raise InvalidInput("only everything, with subtree, can be forgotten unread")
    _check_erases(store, hard=hard)
    chosen = list(_selected(store, selection))
    keys = [each.key for each in chosen]
    counts = Counts() if dry_run or not keys else _written(store, (), keys, hard=hard)
    going = _Forgetting(store, selection.scope, hard=hard, dry_run=dry_run, counts=counts)
    return _receipt(going, chosen, superseded)


def _check_erases(store: Store, *, hard: bool) -> None:
    if hard and not isinstance(store, Upkeep):
        raise StoreError(
            f"{type(bare(store)).__name__} cannot erase for good; forget without hard, or use the engine's own means"
        )


def forget_keys(store: Store, scope: Scope, keys: Sequence[Key], remaker: Remaker | None = None) -> int:
    """Remove these records as `forget` does, and what follows; pass over what is not there. Return how many went.

    Raises:
        Conflict: other writers came first at every try; nothing was forgotten.
    """
    going = _Forgetting(store, scope, hard=False, dry_run=False, remaker=remaker)
    going.forget([Derived(hit.record.key, (), hit.order) for hit in by_keys(store, scope, keys)])
    return going.counts.rows


def _selected(store: Store, selection: Selection) -> Iterator[Derived]:
    for page in pages(store, selection.query()):
        yield from (Derived(hit.record.key, (), hit.order) for hit in page.hits)
        yield from map(Derived, page.unreadable)


def _check_found(selection: Selection, chosen: Sequence[Derived]) -> None:
    missing = set(selection.ids or ()) - {each.key.id for each in chosen}
    if missing:
        raise NotFound(f"no record {sorted(missing)[0]!r} in {selection.scope}; nothing was forgotten")


def _receipt(going: _Forgetting, chosen: Sequence[Derived], superseded: str) -> Receipt:
    keys = [each.key for each in chosen]
    old = [key for key in keys if key.kind == superseded]
    counts = going.counts
    return Receipt(
        ids=tuple(dict.fromkeys(key.id for key in keys if key.kind != superseded)),
        derived=tuple(key.id for key in (*old, *going.derived)),
        by_kind=dict(Counter(key.kind for key in (*keys, *going.derived))),
        stale=tuple(going.stale),
        rewritten=tuple(going.rewritten),
        files=going.files,
        exports=tuple(going.exports),
        dry_run=going.dry_run,
        hard=going.hard,
        rows=counts.rows,
        vectors=counts.vectors,
        postings=counts.postings,
        log_bytes=counts.log_bytes,
        pending=counts.pending,
        left=counts.left,
    )


@dataclass(slots=True)
class _Forgetting:
    """One call of `forget`: what it was asked, and what became of what."""

    store: Store
    scope: Scope
    hard: bool
    dry_run: bool
    remaker: Remaker | None = None
    derived: list[Key] = field(default_factory=list)
    stale: dict[str, None] = field(default_factory=dict)
    rewritten: dict[str, None] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    exports: dict[str, None] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)

    def forget(self, chosen: Sequence[Derived]) -> None:
        """Remove the chosen records and what follows; then what other writers derived from them meanwhile."""
        if not chosen:
            return
        keys = [each.key for each in chosen]
        self._step(keys, chosen)
        for _ in range(0 if self.dry_run else RETRIES):
            if not self._step([*keys, *self.derived], ()):
                return

    def _step(self, gone: Sequence[Key], chosen: Sequence[Derived]) -> bool:
        """Remove what is chosen and what is derived from what is gone; return whether there was anything to do."""
        for attempt in range(RETRIES):
            found = cascade(self.store, self.scope, gone, all_derived=self.hard, remaker=self.remaker)
            remade = self._remade(found, gone)
            going = [each.key for each in found.going]
            going += [key for key in remade.gone if key not in gone and key not in going]
            puts = [*_puts(self.store, self.scope, found, {*gone, *going}), *remade.puts]
            if not (going or puts or chosen):
                return False
            self._look_for_exports([*chosen, *found.going])
            removed = [*reversed(going), *(each.key for each in chosen)]
            try:
                counts = Counts() if self.dry_run else _written(self.store, puts, removed or gone[:1], hard=self.hard)
            except Conflict:
                if attempt + 1 == RETRIES:
                    raise
                continue
            self._note(going, puts, remade, counts)
            return True
        raise AssertionError  # the loop returns or raises

    def _remade(self, found: Cascade, gone: Sequence[Key]) -> Remade:
        if self.remaker is None:
            return Remade()
        all_gone = {*gone, *(each.key for each in found.going)}
        derived = [each.key for each in found.remade]
        return self.remaker.remade(
            self.store, Asked(gone=all_gone, derived=derived, hard=self.hard, dry_run=self.dry_run)
        )

    def _look_for_exports(self, going: Sequence[Derived]) -> None:
        """Note the exports that were written when one of these was there already, by the order of first writing."""
        first: dict[Scope, int] = {}
        for each in going:
            first[each.key.scope] = min(each.order, first.get(each.key.scope, each.order))
        for page in pages(self.store, Query(scope=self.scope, subtree=True, kinds=(EXPORT,), k=PAGE)):
            for hit in page.hits:
                path, holder = hit.record.data.get("path"), hit.record.key.scope
                if isinstance(path, str) and any(holder.holds(each) and first[each] < hit.order for each in first):
                    self.exports[path] = None

    def _note(self, going: Sequence[Key], puts: Sequence[Put], remade: Remade, counts: Counts) -> None:
        self.derived += going
        for put in puts:
            marked = put.record.data.get(STALE) is True
            (self.stale if marked else self.rewritten)[put.record.key.id] = None
        self.files.update(remade.files)
        self.counts = _sum(self.counts, counts)


def _puts(store: Store, scope: Scope, found: Cascade, gone: set[Key]) -> Iterator[Put]:
    """Yield what stays as it is written anew: marked, or without the names of what is gone."""
    stale = {each.key for each in found.stale}
    for hit in by_keys(store, scope, (each.key for each in (*found.stale, *found.logs))):
        record = _marked(hit.record, gone) if hit.record.key in stale else _without(hit.record, gone)
        if record != hit.record:
            yield Put(record, None, hit.record.version)


def _marked(record: Record, gone: set[Key]) -> Record:
    sources = tuple(key for key in record.sources if key not in gone)
    return replace(record, data={**record.data, STALE: True}, sources=sources)


def _without(record: Record, gone: set[Key]) -> Record:
    """Return a log without the names of what is gone, in its sources and in `data.used`."""
    names = {(key.kind, key.id) for key in record.sources if key in gone}
    used = record.data.get("used")
    kept = [each for each in used if _name_of(each) not in names] if isinstance(used, list) else used
    data = {**record.data, "used": kept} if isinstance(used, list) else record.data
    return replace(record, data=data, sources=tuple(key for key in record.sources if key not in gone))


def _name_of(used: object) -> tuple[str, str] | None:
    return (str(used[0]), str(used[1])) if isinstance(used, list) and len(used) >= 2 else None


def _written(store: Store, puts: Sequence[Put], keys: Sequence[Key], *, hard: bool) -> Counts:
    if hard and isinstance(store, Upkeep):
        if puts:
            store.apply(puts)
        return store.purge(keys)
    changes: list[Change] = [*puts, *map(Remove, keys)]
    at_once = max(1, len(changes)) if store.can.atomic else PAGE
    for start in range(0, len(changes), at_once):
        store.apply(changes[start : start + at_once])
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
