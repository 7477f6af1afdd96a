"""Retention: how long and how many records of a kind are kept, and the sweep that removes the others bit by bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from types import MappingProxyType
from typing import Final

from seasoned.cascade import PARTS, Remaker, by_keys
from seasoned.errors import Conflict, InvalidInput, NotFound, WrongType
from seasoned.following import pages
from seasoned.forgetting import Selection, forget
from seasoned.ports import ABSENT, Remove, Store
from seasoned.query import Compare, Filter, Not, Op, Query, both
from seasoned.records import Hit, Key, Scope, checked_id
from seasoned.results import Swept

BATCH: Final = 100
"""How many records one write of a sweep removes, so that nobody waits long for it."""

EXEMPT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "run": "a run's turns, atoms and episodes are found by it",
        "profile": "it tells which lines of a profile's file are ours",
        "context-pins": "it says which notes are pinned",
        "export": "it says which files hold what is forgotten later",
        **dict.fromkeys(
            ("playbook-head", "playbook-id", "playbook-by", "playbook-paper", "playbook-refined"),
            "the playbook goes on from it",
        ),
        **dict.fromkeys(("playbook-change", "playbook-step"), "a rollback needs it; it goes with its entry"),
    }
)
"""Kinds that no rule may name, and why."""

_OF_RUNS: Final = ("turn", "atom", "episode")
_SUPERSEDED: Final = "superseded"
_PINS: Final = "context-pins"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How long (`keep_for`, by `at`) and how many (`keep_last`, by first writing, in each scope) are kept of a kind.

    A record goes when either says so. What was derived from it stays, unless `derived`: then it goes or is marked, as
    `Memory.forget` does.

    Raises:
        InvalidInput: neither, an age that is not above 0, a number below 0.
        WrongType: a value of another type.
    """

    keep_for: timedelta | None = None
    keep_last: int | None = None
    derived: bool = False

    def __post_init__(self) -> None:
        if self.keep_for is None and self.keep_last is None:
            raise InvalidInput("a rule says keep_for, keep_last, or both")
        if self.keep_for is not None and not isinstance(self.keep_for, timedelta):
            raise WrongType(f"keep_for is a timedelta, not {self.keep_for!r:.80}")
        if self.keep_for is not None and self.keep_for <= timedelta(0):
            raise InvalidInput(f"keep_for is longer than nothing, found {self.keep_for!r}")
        if isinstance(self.keep_last, bool) or not isinstance(self.keep_last, int | None):
            raise WrongType(f"keep_last is an integer, not {self.keep_last!r:.80}")
        if self.keep_last is not None and self.keep_last < 0:
            raise InvalidInput(f"keep_last is 0 or more, found {self.keep_last}")


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept: a `Rule` by kind, such as `{"message": Rule(keep_for=timedelta(days=90))}`.

    Records past their `until` are removed whatever their kind, unless `expired` is False. Never removed by a rule: what
    is pinned; turns, atoms and episodes of a run that is not closed; the kinds in `EXEMPT`.

    Raises:
        InvalidInput: a rule for a kind in `EXEMPT`.
        WrongType: not a mapping of kinds to rules.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    expired: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Mapping) or not all(isinstance(rule, Rule) for rule in self.rules.values()):
            raise WrongType(f"a retention is a mapping of kinds to rules, not {self.rules!r:.80}")
        for kind in self.rules:
            if checked_id(kind, "a kind") in EXEMPT:
                raise InvalidInput(f"records of the kind {kind!r} are never swept: {EXEMPT[kind]}")
        object.__setattr__(self, "rules", MappingProxyType(dict(self.rules)))


def sweep(
    store: Store,
    scope: Scope,
    retention: Retention,
    now: datetime,
    batch: int = BATCH,
    remaker: Remaker | None = None,
) -> Swept:
    """Remove what is not to be kept any more in a scope and those below it, at most `batch` records in one write.

    Old versions and other parts of a record go with it. A record that another writer changes meanwhile stays until the
    next sweep. Interrupted, the next sweep goes on where it was.

    Raises:
        InvalidInput: a batch below 1.
        WrongType: a value of another type.
    """
    if not isinstance(retention, Retention):
        raise WrongType(f"a retention is a Retention, not {retention!r:.80}")
    if isinstance(batch, bool) or not isinstance(batch, int):
        raise WrongType(f"a batch is an integer, not {batch!r:.80}")
    if batch < 1:
        raise InvalidInput(f"a batch is 1 or more, found {batch}")
    return _Sweep(store, now, batch, remaker).through(scope, retention)


@dataclass(slots=True)
class _Sweep:
    """One sweep on its way."""

    store: Store
    now: datetime
    batch: int
    remaker: Remaker | None
    gone: Counter[str] = field(default_factory=Counter)
    expired: int = 0
    skipped: int = 0
    stale: dict[str, None] = field(default_factory=dict)

    def through(self, scope: Scope, retention: Retention) -> Swept:
        if retention.expired:
            self._remove_expired(scope)
        for each in self.store.find(Query(scope=scope, subtree=True, scopes=True)).scopes if retention.rules else ():
            for kind, rule in retention.rules.items():
                self._keep(each, kind, rule)
        return Swept(by_kind=dict(self.gone), expired=self.expired, skipped=self.skipped, stale=tuple(self.stale))

    def _remove_expired(self, scope: Scope) -> None:
        """Remove what is past its time; to a writer that is absent already, so that is what is expected."""
        query = Query(scope=scope, subtree=True, where=Compare("until", Op.LE, self.now), expired=True, k=self.batch)
        for page in pages(self.store, query):
            before = self.gone.total()
            self._remove([Remove(hit.record.key, ABSENT) for hit in page.hits], scope)
            self.expired += self.gone.total() - before

    def _keep(self, scope: Scope, kind: str, rule: Rule) -> None:
        query = Query(scope=scope, kinds=(kind,), where=_free(self.store, scope, kind), k=self.batch)
        if rule.keep_for is not None:
            old = Compare("at", Op.LT, self.now - rule.keep_for)
            self._take(_hits(self.store, replace(query, where=both(query.where, old))), rule, kind, scope)
        if rule.keep_last is not None:
            more = (self.store.find(replace(query, count=True)).count or 0) - rule.keep_last
            self._take(islice(_hits(self.store, query), max(more, 0)), rule, kind, scope)

    def _take(self, hits: Iterator[Hit], rule: Rule, kind: str, scope: Scope) -> None:
        while some := list(islice(hits, self.batch)):
            if rule.derived:
                self._forget(tuple(hit.id for hit in some), kind, scope)
            else:
                self._remove([Remove(hit.record.key, hit.record.version) for hit in some], scope)

    def _forget(self, names: Sequence[str], kind: str, scope: Scope) -> None:
        selection = Selection(scope=scope, ids=tuple(names), kinds=(kind,))
        try:
            done = forget(
                self.store, selection, superseded=_SUPERSEDED, dry_run=False, hard=False, remaker=self.remaker
            )
        except (NotFound, Conflict):  # another writer came first
            self.skipped += len(names)
            return
        self.gone.update(done.by_kind)
        self.stale.update(dict.fromkeys(done.stale))

    def _remove(self, removes: Sequence[Remove], scope: Scope) -> None:
        """Remove records, as far as none changed meanwhile, and then their parts."""
        done = _applied(self.store, removes)
        self.skipped += len(removes) - len(done)
        while done:
            self.gone.update(key.kind for key in done)
            parts = [Remove(key) for key in _parts(self.store, scope, done)]
            done = [key for start in range(0, len(parts), self.batch)
                    for key in _applied(self.store, parts[start : start + self.batch])]  # fmt: skip


def _hits(store: Store, query: Query) -> Iterator[Hit]:
    for page in pages(store, query):
        yield from page.hits


def _applied(store: Store, removes: Sequence[Remove]) -> list[Key]:
    """Apply removals at once; where others changed some of the records meanwhile, all but those. Return what went."""
    if not removes:
        return []
    try:
        store.apply(removes)
    except Conflict:
        done = list[Key]()
        for remove in removes:
            with suppress(Conflict):
                store.apply([remove])
                done.append(remove.key)
        return done
    return [remove.key for remove in removes]


def _parts(store: Store, scope: Scope, keys: Sequence[Key]) -> list[Key]:
    """Return the parts of records that are gone, those left out that another record holds, too."""
    parts = Query(scope=scope, subtree=True, kinds=PARTS, expired=True, k=1_000)
    if not store.find(replace(parts, count=True)).count:
        return []
    found = {hit.record.key: hit.record.sources for key in keys for hit in _hits(store, replace(parts, source=key))}
    named = {source for sources in found.values() for source in sources}
    outside = {source for source in named if not scope.holds(source.scope)}
    left = {hit.record.key for hit in by_keys(store, scope, named - outside, expired=False)} | outside
    return [key for key, sources in found.items() if left.isdisjoint(sources)]


def _free(store: Store, scope: Scope, kind: str) -> Filter | None:
    """Return the filter for the records of a kind that a rule may remove."""
    parts: list[Filter] = [Not(Compare("data.pinned", Op.EQ, True))]
    pinned = tuple(_pinned(store, scope, kind))
    if pinned:
        parts.append(Not(Compare("id", Op.IN, pinned)))
    going_on = tuple(_runs_going_on(store, scope)) if kind in _OF_RUNS else ()
    if going_on:
        parts.append(Not(Compare("data.run", Op.IN, going_on)))
    return both(*parts)


def _pinned(store: Store, scope: Scope, kind: str) -> Iterator[str]:
    for hit in _hits(store, Query(scope=scope, kinds=(_PINS,))):
        pins = hit.record.data.get("pins")
        for each in pins if isinstance(pins, list) else []:
            if isinstance(each, list) and len(each) == 2 and each[0] == kind and isinstance(each[1], str):
                yield each[1]


def _runs_going_on(store: Store, scope: Scope) -> Iterator[str]:
    closed = Not(Compare("data.status", Op.EQ, "closed"))
    for hit in _hits(store, Query(scope=scope, kinds=("run",), where=closed)):
        yield hit.id
