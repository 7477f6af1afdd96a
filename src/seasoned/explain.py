"""Explaining a record: what it was made from, down to what was made from nothing, what came of it, and who saw it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from seasoned.errors import InvalidInput, NotFound
from seasoned.notes import BOOKKEEPING
from seasoned.ports import Store
from seasoned.query import Compare, Not, Op, Order, Query, checked_k
from seasoned.records import Hit, Key, Scope, checked_id

MAX_RECORDS: Final = 10_000
"""Most sources that one explanation reads."""

MAX_USES: Final = 1_000
"""Most records that came of one of which an explanation tells."""

MAX_RECALLED: Final = 20
"""Most contexts that showed it of which an explanation tells; `recalled_in` gives more."""

TRACE: Final = "context-trace"
"""The kind of what says which records a context showed: they are its sources."""

_PAGE: Final = 400
_KEPT_APART: Final = Not(Compare("kind", Op.IN, tuple(dict.fromkeys((*BOOKKEEPING, TRACE, "context-snapshot")))))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A record, what it was made from, and what came of it.

    `hit` is None where the record is gone, or lies in a scope that is not this one nor below. A source that several
    records share stands whole under each; one that a record is itself made into stands without its own. `cut` tells
    that sources were left out, since there are more than `MAX_RECORDS`.

    Of the record that was asked for, `uses` are those that name it as a source, each with its own `uses`; what a memory
    keeps for itself is left out. `uses_cut` tells that there are more than `MAX_USES`. `recalled` are the traces of the
    last contexts that showed it, newest first.
    """

    key: Key
    hit: Hit | None
    sources: tuple[Explanation, ...] = ()
    cut: bool = False
    uses: tuple[Explanation, ...] = ()
    uses_cut: bool = False
    recalled: tuple[Hit, ...] = ()

    def walk(self) -> Iterator[Explanation]:
        """Yield this and everything below, each record once, what was made before what it was made from."""
        return _walked(self, lambda one: one.sources)

    def walk_uses(self) -> Iterator[Explanation]:
        """Yield all that came of it, each record once, what was made before what came of that."""
        each = _walked(self, lambda one: one.uses)
        next(each)
        return each

    def of_kind(self, kind: str) -> list[Explanation]:
        """Return what is of a kind in it, each record once."""
        return [one for one in self.walk() if one.key.kind == kind]

    @property
    def roots(self) -> list[Key]:
        """The keys of what was made from nothing: where the chain ends."""
        return [one.key for one in self.walk() if not one.sources]


def _walked(start: Explanation, below: Callable[[Explanation], tuple[Explanation, ...]]) -> Iterator[Explanation]:
    seen, waiting = set[Key](), [start]
    while waiting:
        one = waiting.pop()
        if one.key not in seen:
            seen.add(one.key)
            yield one
            waiting.extend(reversed(below(one)))


def explain(store: Store, scope: Scope, name: str, kinds: Sequence[str] = ()) -> Explanation:
    """Return the record with this id, the chain of its sources, what came of it, and the last contexts that showed it.

    `kinds` are looked at first, in their order.

    Raises:
        NotFound: there is none in the scope.
    """
    start = _start(store, scope, checked_id(name), kinds)
    key = start.record.key
    found, cut = _gathered(store, scope, start)
    made = _built(
        key,
        lambda each: found[each].record.sources if each in found else (),
        lambda each, below: Explanation(each, found.get(each), below, cut),
    )
    users, links, uses_cut = _users(store, scope, key)
    used = _built(
        key, lambda each: links.get(each, ()), lambda each, above: Explanation(each, users.get(each), uses=above)
    )
    recalled = recalled_in(store, scope, key, MAX_RECALLED)
    return replace(made, uses=used.uses, uses_cut=uses_cut, recalled=tuple(recalled))


def recalled_in(store: Store, scope: Scope, key: Key, k: int = 100) -> list[Hit]:
    """Return the traces of the contexts that showed a record, newest first, at most `k`: `data.used` has what they did.

    Raises:
        InvalidInput, WrongType: a k that is none.
    """
    newest = Query(scope=scope, subtree=True, kinds=(TRACE,), source=key, order=Order.NEWEST, k=checked_k(k))
    return [*store.find(newest).hits]


def _start(store: Store, scope: Scope, name: str, kinds: Sequence[str]) -> Hit:
    keys = tuple(Key(scope, kind, name) for kind in kinds)
    hits = store.find(Query(scope=scope, keys=keys, k=len(keys))).hits if keys else ()
    if not hits:
        hits = store.find(Query(scope=scope, where=Compare("id", Op.EQ, name), k=1)).hits
    if not hits:
        raise NotFound(f"no record {name!r} in {scope}")
    return hits[0]


def _gathered(store: Store, scope: Scope, start: Hit) -> tuple[dict[Key, Hit], bool]:
    """Return all records below the first by their keys, read level by level."""
    found = {start.record.key: start}
    level = [key for key in start.record.sources if scope.holds(key.scope)]
    asked = set(found)
    while level:
        wanted = [key for key in dict.fromkeys(level) if key not in asked][: MAX_RECORDS - len(asked)]
        asked.update(wanted)
        hits = [hit for at in range(0, len(wanted), _PAGE) for hit in _read(store, scope, wanted[at : at + _PAGE])]
        found |= {hit.record.key: hit for hit in hits}
        level = [key for hit in hits for key in hit.record.sources if scope.holds(key.scope)]
    return found, len(asked) >= MAX_RECORDS


def _read(store: Store, scope: Scope, keys: Sequence[Key]) -> Sequence[Hit]:
    return store.find(Query(scope=scope, subtree=True, keys=tuple(keys), k=len(keys))).hits


def _users(store: Store, scope: Scope, start: Key) -> tuple[dict[Key, Hit], dict[Key, tuple[Key, ...]], bool]:
    """Return all records above the first by their keys, and by the key of a source those that name it."""
    found, links, waiting = dict[Key, Hit](), dict[Key, tuple[Key, ...]](), deque([start])
    while waiting:
        source = waiting.popleft()
        query = Query(scope=scope, subtree=True, source=source, where=_KEPT_APART, k=MAX_USES + 1)
        hits = {hit.record.key: hit for hit in store.find(query).hits}
        new = [key for key in hits if key not in found and key != start]
        some = set(new[: MAX_USES - len(found)])
        found |= {key: hits[key] for key in some}
        links[source] = tuple(key for key in hits if key in found or key == start)
        if len(some) < len(new):
            return found, links, True
        waiting.extend(new)
    return found, links, False


_Made: TypeAlias = Callable[[Key, tuple[Explanation, ...]], Explanation]
"""Makes an explanation of a record and those that it links to."""


def _built(start: Key, links: Callable[[Key], tuple[Key, ...]], make: _Made) -> Explanation:
    """Build the explanations, those that others link to first, without recursion."""
    made: dict[Key, Explanation] = {}
    waiting, open_ = [start], set[Key]()
    while waiting:
        key = waiting[-1]
        linked = links(key)
        missing = [each for each in linked if each not in made and each not in open_]
        if key not in made and missing:
            open_.add(key)
            waiting.extend(missing)
            continue
        waiting.pop()
        open_.discard(key)
        if key not in made:
            made[key] = make(key, tuple(made.get(each) or make(each, ()) for each in linked))
    return made[start]


def described(explanation: Explanation, most_lines: int = 200) -> str:
    """Return an explanation as an indented text, a record a line: it and its sources, what came of it, who saw it.

    Raises:
        InvalidInput: `most_lines` below 1.
    """
    if most_lines < 1:
        raise InvalidInput(f"most_lines is at least 1, found {most_lines}")
    lines = list(islice(_lines(explanation), most_lines + 1))
    return "\n".join(lines if len(lines) <= most_lines else [*lines[:most_lines], "…"])


def _lines(explanation: Explanation) -> Iterator[str]:
    yield from _tree(explanation, lambda one: one.sources, 0)
    if explanation.uses:
        yield "from it came:"
        for use in explanation.uses:
            yield from _tree(use, lambda one: one.uses, 1)
    for trace in explanation.recalled:
        yield f"shown in context {trace.id}, {trace.record.at.date().isoformat()}"


def _tree(start: Explanation, below: Callable[[Explanation], tuple[Explanation, ...]], depth: int) -> Iterator[str]:
    waiting = [(start, depth)]
    while waiting:
        one, deep = waiting.pop()
        yield f"{'  ' * deep}{one.key.kind} {one.key.id}{_said(one)}"
        waiting.extend((each, deep + 1) for each in reversed(below(one)))


def _said(one: Explanation) -> str:
    if one.hit is None:
        return ": gone"
    text = " ".join(one.hit.text.split())
    return f": {text[:160]}{'…' if len(text) > 160 else ''}" if text else ""
