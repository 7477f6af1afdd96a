"""Both arms over one in-process index, narrowed first and fused after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.index import ScopeIndex, said_digest
from seasoned.ports import Vectors
from seasoned.postings import bm25, ideal
from seasoned.query import And, Compare, Filter, Not, Op
from seasoned.ranking import Arms, Blend, Fused, fuse
from seasoned.records import Why, to_micros

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of an index: words and/or a vector, narrowed to `kinds`, `rows` (None: all), as of `now` (µs)."""

    words: str | None
    vector: Vectors | None
    strength: float
    blend: Blend
    k: int
    now: int
    kinds: tuple[str, ...] = ()
    rows: Sequence[int] | None = None
    where: Filter | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row that answers, its fused score in [0, 1], and each arm's part."""

    row: int
    score: float
    why: Mapping[str, Why] = field(default_factory=dict)


_ARRAYS: Final = {
    "at": "at",
    "until": "until",
    "worth": "worth",
    "kind": "kind",
    "data.session": "session",
    "data.role": "role",
}
_CODED: Final = ("kind", "session", "role")


def rank(index: ScopeIndex, wanted: Wanted) -> list[Ranked]:
    """Return at most k rows, best first; by words and vector, those that nothing speaks for are left out.

    A vector alone ranks every eligible row that has one, by its cosine.
    """
    allowed = _allowed(index, wanted)
    if not allowed.any():
        return []
    return _by_vector(index, wanted, allowed) if wanted.words is None else _fused(index, wanted, allowed)


def _by_vector(index: ScopeIndex, wanted: Wanted, allowed: Bools) -> list[Ranked]:
    cosines = _cosines(index, wanted, allowed)
    if cosines is None:
        return []
    rows = index.array("rows")
    best = _top(np.where(np.isnan(cosines), -np.inf, cosines), rows, wanted.k)
    return [
        Ranked(int(rows[slot]), score, {"dense": Why(float(cosines[slot]), score)})
        for slot in best
        for score in (max(0.0, float(cosines[slot])),)
    ]


def _fused(index: ScopeIndex, wanted: Wanted, allowed: Bools) -> list[Ranked]:
    allowed = allowed & (index.array("said") != 0)  # a record without text is found by no words, its session's neither
    arms = _arms(index, wanted, allowed)
    fused = fuse(arms, wanted.blend)
    rows = index.array("rows")
    best = _top(np.where(allowed & (fused.score > 0), fused.score, -np.inf), rows, wanted.k)
    return [Ranked(int(rows[slot]), float(fused.score[slot]), _why(arms, fused, slot)) for slot in best]


def _why(arms: Arms, fused: Fused, slot: int) -> dict[str, Why]:
    raw = {"lexical": float(arms.lexical[slot])}
    if arms.dense is not None and not np.isnan(arms.dense[slot]):
        raw["dense"] = float(arms.dense[slot])
    return {name: Why(raw.get(name, share), share) for name, share in fused.why(slot).items() if share or name in raw}


def _allowed(index: ScopeIndex, wanted: Wanted) -> Bools:
    allowed: Bools = index.alive & (index.array("until") > wanted.now)  # type: ignore[operator]
    if wanted.kinds:
        allowed &= _coded(index, "kind", wanted.kinds)
    if wanted.rows is not None:
        slots = [slot for row in wanted.rows if (slot := index.slot_of(row)) is not None]
        chosen = np.zeros(len(allowed), bool)
        chosen[slots] = True
        allowed &= chosen
    for part in _parts(wanted.where):
        allowed &= _holds(index, part)
    return allowed


def _parts(where: Filter | None) -> tuple[Filter, ...]:
    return () if where is None else where.of if isinstance(where, And) else (where,)


def in_arrays(where: Filter | None, index: ScopeIndex) -> bool:
    """Tell whether the index alone can evaluate a filter: comparisons, all of which must hold, of fields it keeps.

    A kind that a record must not have counts among them, for every record has one.
    """
    return all(_simple(part, index) for part in _parts(where))


def _simple(part: Filter, index: ScopeIndex) -> bool:
    if isinstance(part, Not):
        return isinstance(part.of, Compare) and part.of.field == "kind" and _simple(part.of, index)
    if not isinstance(part, Compare):
        return False
    column = _ARRAYS.get(part.field)
    if column in _CODED:
        values = part.value if isinstance(part.value, tuple) else (part.value,)
        plain = part.op in (Op.EQ, Op.IN) and all(isinstance(value, str) and value for value in values)
        return plain and (column == "kind" or not index.odd)
    return column is not None and part.op in (Op.LT, Op.LE, Op.GT, Op.GE) and not isinstance(part.value, (str, tuple))


def _holds(index: ScopeIndex, part: Filter) -> Bools:
    if isinstance(part, Not):
        return ~_holds(index, part.of)
    assert isinstance(part, Compare)  # noqa: S101  # as `in_arrays` checked
    name = _ARRAYS[part.field]
    column = index.array(name)
    if name in _CODED:
        values = part.value if isinstance(part.value, tuple) else (part.value,)
        return _coded(index, name, [str(value) for value in values])
    bound = to_micros(part.value) if name in ("at", "until") else part.value  # type: ignore[arg-type]  # checked when made
    held: Bools = _ORDERS[part.op](column, bound)  # type: ignore[arg-type]  # a number, as `in_arrays` checked
    return held & (column != np.iinfo(np.int64).max) if name == "until" else held


def _coded(index: ScopeIndex, name: str, values: Sequence[str]) -> Bools:
    """Tell where a column of names has one of some values."""
    codes = [index.tables[name].known(value) for value in values]
    found: Bools = index.array(name) == codes[0] if len(codes) == 1 else np.isin(index.array(name), codes)
    return found


_ORDERS: Final = {Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater, Op.GE: np.greater_equal}


def _arms(index: ScopeIndex, wanted: Wanted, allowed: Bools) -> Arms:
    words = wanted.words or ""
    query, length = index.analyser.analyse(words)
    terms = index.analyser.query_terms(words)
    lengths, alive = index.postings.lengths, index.per_passage(index.alive)
    matched = index.postings.match(terms, alive)
    lexical = index.best_passage(bm25(matched, lengths, alive))
    lexical[~allowed] = 0
    return Arms(
        lexical=lexical,
        lexical_ideal=ideal(matched, query, length, lengths, alive),
        dense=_cosines(index, wanted, allowed),
        strength=wanted.strength,
        lengths=index.array("length").astype(np.float32),
        query_length=float(length),
        layout=index.layout if index.tables["session"].strings else None,
        from_user=index.human,
        named=index.named(terms),
        recency=index.spread("at") if wanted.blend.recency else None,
        equal=_equal(index, words, allowed),
        worth=index.spread("worth") if wanted.blend.worth else None,
    )


def _equal(index: ScopeIndex, words: str, allowed: Bools) -> Bools | None:
    """Tell which eligible rows are exactly the query's text; None where none is."""
    digest = said_digest(words)
    equal: Bools = (index.array("said") == digest) & allowed
    return equal if digest and equal.any() else None


def _cosines(index: ScopeIndex, wanted: Wanted, allowed: Bools) -> Floats | None:
    if wanted.vector is None:
        return None
    space = index.dense(wanted.vector.fingerprint)
    return space.cosines(wanted.vector.values[0], len(allowed), allowed) if len(space) else None


def _top(scores: NDArray[np.floating], rows: NDArray[np.generic], k: int) -> list[int]:
    """Return the slots of the k best scores above -inf; among equals the row written last comes first."""
    slots = np.flatnonzero(scores > -np.inf)
    if len(slots) > k:
        cut = np.partition(scores[slots], len(slots) - k)[len(slots) - k]
        slots = slots[scores[slots] >= cut]
    order = np.lexsort((-rows[slots].astype(np.int64), -scores[slots]))
    best: list[int] = slots[order][:k].tolist()
    return best
