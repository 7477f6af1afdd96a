"""Reading runs from the store: by key where the run is under way, by order where it is opened again or shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from seasoned.ports import Store
from seasoned.query import Compare, Filter, Op, Order, Query, both
from seasoned.records import Hit, Key, Scope
from seasoned.runs.head import Head, head_of
from seasoned.runs.rows import (
    ATOM,
    EPISODE,
    RUN,
    TURN,
    Ids,
    StoredAtom,
    StoredEpisode,
    StoredTurn,
    atom_of,
    episode_of,
    turn_of,
    whole,
)

_PAGE: Final = 2_000
_FEW: Final = 50
T = TypeVar("T")


def by_keys(store: Store, scope: Scope, keys: Sequence[Key]) -> list[Hit]:
    """Return the records of the keys, those that are there, in the order of the keys."""
    found = list[Hit]()
    for start in range(0, len(keys), _PAGE):
        found += store.find(Query(scope=scope, keys=tuple(keys[start : start + _PAGE]), k=_PAGE)).hits
    return found


def turns_by_number(store: Store, ids: Ids, numbers: Iterable[int]) -> list[StoredTurn]:
    """Return the turns of these numbers that are there, in their order."""
    return _read(by_keys(store, ids.scope, [ids.turn(number) for number in numbers]), turn_of)


def atoms_by_id(store: Store, ids: Ids, names: Iterable[str]) -> list[StoredAtom]:
    """Return the atoms of these ids that are there, in their order."""
    return _read(by_keys(store, ids.scope, [ids.atom(name) for name in dict.fromkeys(names)]), atom_of)


def episode_by_number(store: Store, ids: Ids, number: int) -> StoredEpisode | None:
    """Return an episode, None where it is not there."""
    found = _read(by_keys(store, ids.scope, [ids.episode(number)]), episode_of) if number else []
    return found[0] if found else None


def episodes_before(store: Store, ids: Ids, number: int, most: int) -> list[StoredEpisode]:
    """Return the last episodes before one, in order."""
    keys = [ids.episode(each) for each in range(max(1, number - most), number)]
    return _read(by_keys(store, ids.scope, keys), episode_of) if keys else []


def head_by_name(store: Store, ids: Ids) -> Head | None:
    """Return the head of a run, None where there is no such run."""
    found = _read(by_keys(store, ids.scope, [ids.head()]), head_of)
    return found[0] if found else None


def heads(store: Store, scope: Scope, where: Filter | None = None) -> Iterator[Head]:
    """Yield the runs of a scope, the newest first."""
    yield from _each(pages(store, Query(scope=scope, kinds=(RUN,), where=where, order=Order.NEWEST, k=_FEW)), head_of)


def newest_head(store: Store, scope: Scope) -> Head | None:
    """Return the run of a scope that was opened last, None where there is none."""
    found = store.find(Query(scope=scope, kinds=(RUN,), order=Order.NEWEST, k=1)).hits
    return next(_each(found, head_of), None)


def numbers_after(store: Store, ids: Ids, turn: int, more: int) -> list[int]:
    """Return the numbers of the run's turns above `turn` and of the last `more` up to it, read from the newest back."""
    found, left = list[int](), more
    for hit in pages(store, replace(_of_run(ids, TURN), order=Order.NEWEST)):
        number = whole(hit.record.data, "turn")
        if number is None:
            continue
        if number <= turn:
            if left <= 0:
                break
            left -= 1
        found.append(number)
    return sorted(found)


def turns_between(store: Store, ids: Ids, first: int, last: int) -> list[StoredTurn]:
    """Return the turns of a run from one number to another."""
    query = _of_run(ids, TURN)
    span = both(query.where, Compare("data.turn", Op.GE, first), Compare("data.turn", Op.LE, last))
    found = _read(pages(store, replace(query, where=span)), turn_of)
    return sorted(found, key=lambda each: each.turn.turn)


def turns_before(store: Store, ids: Ids, turn: int, most: int) -> list[StoredTurn]:
    """Return the last turns of a run below a number."""
    query = _of_run(ids, TURN)
    below = both(query.where, Compare("data.turn", Op.LT, turn))
    found = store.find(replace(query, where=below, order=Order.NEWEST, k=most)).hits
    return _read(reversed(found), turn_of)


def turns_of(store: Store, ids: Ids) -> Iterator[StoredTurn]:
    """Yield all turns of a run in order."""
    yield from _each(pages(store, _of_run(ids, TURN)), turn_of)


def atoms_of(store: Store, ids: Ids) -> Iterator[StoredAtom]:
    """Yield all atoms of a run as they were first written."""
    yield from _each(pages(store, _of_run(ids, ATOM)), atom_of)


def episodes_of(store: Store, ids: Ids) -> list[StoredEpisode]:
    """Return all episodes of a run in order."""
    return sorted(_read(pages(store, _of_run(ids, EPISODE)), episode_of), key=lambda each: each.number)


def count_of(store: Store, ids: Ids, kind: str) -> int:
    """Return how many records of a kind a run has."""
    return store.find(replace(_of_run(ids, kind), count=True)).count or 0


def pages(store: Store, query: Query) -> Iterator[Hit]:
    """Yield all records that answer a query by order, page by page."""
    while True:
        page = store.find(query)
        yield from page.hits
        if page.cursor is None:
            return
        query = replace(query, cursor=page.cursor)


def _of_run(ids: Ids, kind: str) -> Query:
    of_turns = Compare("data.session", Op.EQ, ids.turns_session())
    where = of_turns if kind == TURN else Compare("data.run", Op.EQ, ids.run)
    return Query(scope=ids.scope, kinds=(kind,), where=where, k=_PAGE)


def _each(hits: Iterable[Hit], read: Callable[[Hit], T | None]) -> Iterator[T]:
    return (made for hit in hits if (made := read(hit)) is not None)


def _read(hits: Iterable[Hit], read: Callable[[Hit], T | None]) -> list[T]:
    return list(_each(hits, read))
