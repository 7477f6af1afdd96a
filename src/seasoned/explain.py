"""Explaining a record: what it was made from, and that from what, down to what was made from nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.errors import InvalidInput, NotFound
from seasoned.ports import Store
from seasoned.query import Compare, Op, Query
from seasoned.records import Hit, Key, Scope, checked_id

MAX_RECORDS: Final = 10_000
"""Most records that one explanation reads."""

_PAGE: Final = 400


@dataclass(frozen=True, slots=True)
class Explanation:
    """A record and what it was made from.

    `hit` is None where the record is gone, or lies in a scope that is not this one nor below. A source that several
    records share stands whole under each; one that a record is itself made into stands without its own. `cut` tells
    that sources were left out, since there are more than `MAX_RECORDS`.
    """

    key: Key
    hit: Hit | None
    sources: tuple[Explanation, ...] = ()
    cut: bool = False

    def walk(self) -> Iterator[Explanation]:
        """Yield this and everything below, each record once, what was made before what it was made from."""
        seen, waiting = set[Key](), [self]
        while waiting:
            one = waiting.pop()
            if one.key not in seen:
                seen.add(one.key)
                yield one
                waiting.extend(reversed(one.sources))

    def of_kind(self, kind: str) -> list[Explanation]:
        """Return what is of a kind in it, each record once."""
        return [one for one in self.walk() if one.key.kind == kind]

    @property
    def roots(self) -> list[Key]:
        """The keys of what was made from nothing: where the chain ends."""
        return [one.key for one in self.walk() if not one.sources]


def explain(store: Store, scope: Scope, name: str, kinds: Sequence[str] = ()) -> Explanation:
    """Return the record with this id and the chain of its sources; `kinds` are looked at first, in their order.

    Raises:
        NotFound: there is none in the scope.
    """
    start = _start(store, scope, checked_id(name), kinds)
    found, cut = _gathered(store, scope, start)
    return _built(start.record.key, found, cut)


def _start(store: Store, scope: Scope, name: str, kinds: Sequence[str]) -> Hit:
    keys = tuple(Key(scope, kind, name) for kind in kinds)
    hits = store.find(Query(scope=scope, keys=keys, k=len(keys))).hits if keys else ()
    if not hits:
        hits = store.find(Query(scope=scope, where=Compare("id", Op.EQ, name), k=1)).hits
    if not hits:
        raise NotFound(f"no record {name!r} in {'/'.join(scope)}")
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


def _built(start: Key, found: dict[Key, Hit], cut: bool) -> Explanation:
    """Build the explanations, sources before what was made from them, without recursion."""
    made: dict[Key, Explanation] = {}
    waiting, open_ = [start], set[Key]()
    while waiting:
        key = waiting[-1]
        sources = found[key].record.sources if key in found else ()
        missing = [source for source in sources if source not in made and source not in open_]
        if key not in made and missing:
            open_.add(key)
            waiting.extend(missing)
            continue
        waiting.pop()
        open_.discard(key)
        if key not in made:
            below = tuple(made.get(source) or Explanation(source, found.get(source)) for source in sources)
            made[key] = Explanation(key, found.get(key), below, cut)
    return made[start]


def described(explanation: Explanation, most_lines: int = 200) -> str:
    """Return an explanation as an indented text, a record a line.

    Raises:
        InvalidInput: `most_lines` below 1.
    """
    if most_lines < 1:
        raise InvalidInput(f"most_lines is at least 1, found {most_lines}")
    lines, waiting = list[str](), [(explanation, 0)]
    while waiting and len(lines) < most_lines:
        one, depth = waiting.pop()
        lines.append(f"{'  ' * depth}{one.key.kind} {one.key.id}{_said(one)}")
        waiting.extend((source, depth + 1) for source in reversed(one.sources))
    return "\n".join([*lines, "…"] if waiting else lines)


def _said(one: Explanation) -> str:
    if one.hit is None:
        return ": gone"
    text = " ".join(one.hit.text.split())
    return f": {text[:160]}{'…' if len(text) > 160 else ''}" if text else ""
