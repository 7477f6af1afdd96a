"""What follows from forgetting a record: which derived records go with it, and which stay with another source left."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Protocol

from seasoned.following import pages
from seasoned.ports import Put, Store
from seasoned.query import Query
from seasoned.records import Hit, Key, Scope

PAGE: Final = 1_000
_KEYS: Final = 400
_MANY: Final = 100
_MANY_SHARE: Final = 0.2


class Bond(StrEnum):
    """How a record hangs on its sources."""

    WHOLE = "whole"
    """Made from all of them together, and made anew when it is needed again: it goes with any of them."""
    ANY = "any"
    """Borne by each of them: it stays while one is left, marked for rewriting."""
    PART = "part"
    """Belongs to them, and says nothing of its own of them: it stays while one is left, as it is."""
    LOG = "log"
    """Names them and holds no text: it stays while one is left, without the names of the others."""


_BONDS: Final[Mapping[str, Bond]] = {
    **dict.fromkeys(("summary", "atom", "episode", "run", "profile"), Bond.WHOLE),
    **dict.fromkeys(("context-snapshot", "playbook-layout"), Bond.WHOLE),
    **dict.fromkeys(("superseded", "feedback", "playbook-id", "playbook-step", "context-outcome"), Bond.PART),
    "context-trace": Bond.LOG,
}


PARTS: Final = tuple(kind for kind, bond in _BONDS.items() if bond is Bond.PART)
"""Kinds of records that belong to their sources."""


def bond_of(kind: str) -> Bond:
    """Return how records of a kind hang on their sources: `ANY` where nothing else is known."""
    return _BONDS.get(kind, Bond.ANY)


@dataclass(frozen=True, slots=True)
class Derived:
    """A record that was derived from others: its key, what it names as sources, and where it was first written.

    `unsaid` tells that its sources do not name what it was derived from here.
    """

    key: Key
    sources: tuple[Key, ...] = ()
    order: int = 0
    unsaid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a `Remaker` is asked: what goes, which of its own records are derived from that, and how it is forgotten."""

    gone: Collection[Key]
    derived: Sequence[Key]
    hard: bool
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Remade:
    """What a `Remaker` answers: records written anew, those of which nothing is left, and what became of files."""

    puts: tuple[Put, ...] = ()
    gone: tuple[Key, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


class Remaker(Protocol):
    """A memory that writes some of its derived records anew, without what is forgotten, where others would go."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of which it does so."""
        ...

    def follows(self, store: Store, keys: Sequence[Key]) -> Iterable[Key]:
        """Return records that were made from these although their sources do not say so."""
        ...

    def remade(self, store: Store, asked: Asked) -> Remade:
        """Return what is left of its records, and write or remove its files unless it is a dry run."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """What was derived from records that go, at any depth: what goes, and what stays and how."""

    going: tuple[Derived, ...] = ()
    stale: tuple[Derived, ...] = ()
    logs: tuple[Derived, ...] = ()
    remade: tuple[Derived, ...] = ()


def cascade(
    store: Store, scope: Scope, keys: Sequence[Key], *, all_derived: bool = False, remaker: Remaker | None = None
) -> Cascade:
    """Return what becomes of all that was derived from the keys, in the scope and those below it.

    With `all_derived` all of it goes but logs and what the remaker writes anew. A source that lies outside of the scope
    counts as one that is left, since nothing is read there; one inside that is gone or expired does not.
    """
    derived = _derived(store, scope, keys, remaker)
    own = () if remaker is None else remaker.kinds

    def stays(each: Derived, bearing: set[Key], fallen: set[Key]) -> bool:
        if each.key.kind in own:
            return True
        if all_derived and bond_of(each.key.kind) is not Bond.LOG:
            return False
        return _stays(each, bearing, fallen)

    staying = _staying(derived, keys, _left(store, scope, derived), stays)
    kept = [each for each in derived.values() if each.key in staying]
    return Cascade(
        going=tuple(each for each in derived.values() if each.key not in staying),
        stale=tuple(each for each in kept if each.key.kind not in own and bond_of(each.key.kind) is Bond.ANY),
        logs=tuple(each for each in kept if bond_of(each.key.kind) is Bond.LOG),
        remade=tuple(each for each in kept if each.key.kind in own),
    )


def _derived(store: Store, scope: Scope, keys: Sequence[Key], remaker: Remaker | None) -> dict[Key, Derived]:
    """Return what was derived from the keys, and from that, and so on, nearest first; none of the keys themselves."""
    derived_from = _derivations(store, Query(scope=scope, subtree=True, k=PAGE, expired=True), len(keys))
    chosen, found = set(keys), dict[Key, Derived]()
    waiting, level = deque(keys), list(keys)
    while waiting:
        for each in derived_from(waiting.popleft()):
            if each.key not in found and each.key not in chosen:
                found[each.key] = each
                waiting.append(each.key)
                level.append(each.key)
        if not waiting and remaker is not None:
            more = [key for key in remaker.follows(store, level) if key not in found and key not in chosen]
            found |= {hit.record.key: _node(hit, unsaid=True) for hit in by_keys(store, scope, more)}
            level = [key for key in more if key in found]
            waiting.extend(level)
    return found


def _node(hit: Hit, *, unsaid: bool = False) -> Derived:
    return Derived(hit.record.key, hit.record.sources, hit.order, unsaid)


def _derivations(store: Store, everything: Query, asked: int) -> Callable[[Key], Iterable[Derived]]:
    """Return what gives the records derived from a key: one query each, or all read once where many are asked for."""
    if asked < _MANY or asked < (store.find(replace(everything, count=True)).count or 0) * _MANY_SHARE:
        return lambda source: _answering(store, replace(everything, source=source))
    below: dict[Key, list[Derived]] = {}
    for each in _answering(store, everything):
        for source in each.sources:
            below.setdefault(source, []).append(each)
    return lambda source: below.get(source, ())


def _answering(store: Store, query: Query) -> Iterator[Derived]:
    for page in pages(store, query):
        yield from map(_node, page.hits)
        yield from (Derived(key) for key in page.unreadable)


def by_keys(store: Store, scope: Scope, keys: Iterable[Key], *, expired: bool = True) -> Iterator[Hit]:
    """Yield the records of these keys that are there, in the scope and those below it."""
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _KEYS):
        some = tuple(wanted[start : start + _KEYS])
        yield from store.find(Query(scope=scope, subtree=True, keys=some, k=len(some), expired=expired)).hits


def _left(store: Store, scope: Scope, derived: Mapping[Key, Derived]) -> set[Key]:
    """Return the sources of derived records that are not derived themselves and still there, the forgotten ones too."""
    named = {source for each in derived.values() for source in each.sources if source not in derived}
    inside = [source for source in named if scope.holds(source.scope)]
    there = {hit.record.key for hit in by_keys(store, scope, inside, expired=False)}
    return there | named.difference(inside)


def _staying(
    derived: Mapping[Key, Derived],
    gone: Sequence[Key],
    left: set[Key],
    stays: Callable[[Derived, set[Key], set[Key]], bool],
) -> set[Key]:
    """Return the derived records that stay where these are gone and those are left.

    They are found from what is left upwards, so records that only hang on each other go.
    """
    bearing, fallen, staying, before = left.difference(gone), {*gone, *derived}, set[Key](), -1
    while len(staying) != before:
        before = len(staying)
        for each in derived.values():
            if each.key not in staying and stays(each, bearing, fallen):
                staying.add(each.key)
                bearing.add(each.key)
                fallen.discard(each.key)
    return staying


def _stays(each: Derived, bearing: set[Key], fallen: set[Key]) -> bool:
    if bond_of(each.key.kind) is Bond.WHOLE:
        return bool(each.sources) and not each.unsaid and fallen.isdisjoint(each.sources)
    return not bearing.isdisjoint(each.sources)
