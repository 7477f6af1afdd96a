"""What is asked of a store, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.filters import MAX_FILTER_DEPTH, And, Compare, Filter, Not, Op, Or, Where, both, matches, parse_filter
from seasoned.records import Hit, Key, Scope, checked_id, clean_text

if TYPE_CHECKING:
    from seasoned.ports import Vectors
    from seasoned.ranking import Blend

MAX_K: Final = 100_000
"""Most hits that one query may ask for; page on with the cursor."""


class Order(StrEnum):
    """In which order records come when nothing ranks them."""

    OLDEST = "oldest"
    """As first written, first to last."""
    NEWEST = "newest"
    """As first written, last to first."""
    CHANGED = "changed"
    """As last changed (by `seq`), first to last: what a follower reads. Its cursor is the last `seq`, in digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked of a store, always within a scope.

    Exactly one way of asking: by `keys`; by `words` and/or `vector` (ranked, `strength` says how far cosines count
    beside words, `blend` how both are fused; at most `k`, no cursor); else by order (`order`, paged by `cursor`). All
    are narrowed by `kinds`, `source` (derived from that key), `lacking` (no vectors of that fingerprint; texts that
    are not blank only) and `where`. With `subtree` the scopes below count too. `count` asks for `Page.count` and
    `scopes` for `Page.scopes` in place of hits; in the order CHANGED those that are empty now count too, whatever
    narrows, since their removals can still be followed.
    Records past their `until` are left out unless `expired`.

    Raises:
        InvalidInput: k outside 1 to `MAX_K`, or two ways of asking at once.
        WrongType: k that is not an integer.
    """

    scope: Scope
    subtree: bool = False
    kinds: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    source: Key | None = None
    lacking: str | None = None
    where: Filter | None = None
    words: str | None = None
    vector: Vectors | None = None
    strength: float = 0.65
    blend: Blend | None = None
    order: Order = Order.OLDEST
    cursor: str | None = None
    k: int = 100
    count: bool = False
    scopes: bool = False
    expired: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "scope", Scope(self.scope))
        put(self, "where", parse_filter(self.where))
        put(self, "kinds", tuple(checked_id(kind, "a kind") for kind in _all_of(str, self.kinds, "kinds")))
        put(self, "keys", _all_of(Key, self.keys, "keys"))
        _check_type(self.source, Key, "source")
        _check_type(self.words, str, "words")
        put(self, "words", None if self.words is None else clean_text(self.words))
        _check_type(self.lacking, str, "lacking")
        put(self, "lacking", None if self.lacking is None else clean_text(self.lacking))
        if self.vector is not None and not hasattr(self.vector, "fingerprint"):
            raise WrongType(f"vector is of Vectors, not {self.vector!r:.80}")
        if self.order not in tuple(Order):
            raise InvalidInput(f"order is one of {', '.join(Order)}, not {self.order!r}")
        put(self, "order", Order(self.order))
        checked_k(self.k)
        self._check_ways()

    def _check_ways(self) -> None:
        ranked = self.words is not None or self.vector is not None
        if ranked and (self.cursor is not None or self.keys):
            raise InvalidInput("a ranked query takes neither keys nor a cursor; raise k instead")
        if ranked and (self.count or self.scopes):
            raise InvalidInput("a ranked query is not counted: k says how many hits are asked for")
        if self.order is Order.CHANGED and self.subtree and not self.scopes:
            raise InvalidInput("a sequence belongs to one scope: follow the scopes of a subtree one by one")


def _all_of(kind: type, values: object, what: str) -> tuple[object, ...]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, kind) for value in values):
        raise WrongType(f"{what} is a tuple of {kind.__name__}, not {values!r:.80}")
    return tuple(values)


def _check_type(value: object, kind: type, what: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise WrongType(f"{what} is of {kind.__name__} or None, not {value!r:.80}")


def cursor_number(cursor: str | None) -> int | None:
    """Return the number that a cursor of an engine of ours writes in digits, None for none.

    Raises:
        InvalidInput: it was written by something else.
    """
    if cursor is None:
        return None
    if not (isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput(f"{cursor!r} is not a cursor of this store")
    return int(cursor)


def checked_k(k: object) -> int:
    """Return `k` if it is a number of hits that may be asked for.

    Raises:
        InvalidInput: below 1 or above `MAX_K`.
        WrongType: not an integer.
    """
    if isinstance(k, bool) or not isinstance(k, int):
        raise WrongType(f"k is an integer, not {k!r}")
    if not 1 <= k <= MAX_K:
        raise InvalidInput(f"k lies between 1 and {MAX_K}, found {k}")
    return k


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a store answers.

    `cursor` asks for what follows, None at the end. `degraded` names what could not be used, such as "dense";
    `unreadable` are the keys of records that would be among the hits, were they not damaged: they can be forgotten.
    `count` and `scopes` are filled where the query asked for them. In the order CHANGED, `seq` is the scope's last
    change, `gone` the keys removed between the query's cursor and this page's end, and `reload` tells that removals
    so far back are no longer known, so that a follower must start anew.
    """

    hits: Sequence[Hit] = ()
    cursor: str | None = None
    degraded: tuple[str, ...] = ()
    count: int | None = None
    scopes: tuple[Scope, ...] = ()
    unreadable: tuple[Key, ...] = ()
    seq: int = 0
    gone: tuple[Key, ...] = ()
    reload: bool = False


__all__ = [
    "MAX_FILTER_DEPTH", "MAX_K", "And", "Compare", "Filter", "Not", "Op", "Or", "Order", "Page", "Query", "Where",
    "both", "checked_k", "cursor_number", "matches", "parse_filter",
]  # fmt: skip
