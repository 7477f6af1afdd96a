"""One fusion for every store: what a row says itself, what stands around it, and who said it.

A row's content is its lexical coverage of the query (its BM25 over the BM25 the query would score against itself)
plus what its cosine has above the crowd. Both have the same unit: 1 is the query's own text. No arm is stretched to
fill a range, so a weak match stays weak and an arm that found nothing adds nothing.

    own     = coverage + strength**2 * dense + echo
    context = (neighbours + session) * share          share = context_words / (length + context_words)
    fused   = (own + context) * (1 + user + named + recency + worth)

The share is Dirichlet smoothing (Zhai and Lafferty 2001) with the session as the background: a short turn borrows its
meaning from the turns around it, a long answer speaks for itself. Rows without session, role, name or length have no
such part, and what is left is hybrid search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from seasoned.errors import InvalidInput

Floats: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend:
    """How much each part counts; one setting for every corpus.

    On LoCoMo and BEAM no weight moved by 30 % costs more than .03 of recall@10, and most cost under .01.
    """

    neighbour: float = 0.45
    """What a row gets of the row next to it in its session; of the one at distance d, this to the power d."""
    reach: int = 2
    """How many rows before and after count as neighbours."""
    session: float = 0.6
    """What a row gets of the best content in its session, its own included."""
    context_words: float = 150.0
    """The length, in words, at which a row takes half of its context."""
    user: float = 0.2
    """What a user's row gains over an answer with the same content."""
    named: float = 0.7
    """What a row gains when the query names its speaker."""
    recency: float = 0.1
    """What the newest row gains over the oldest, given `Arms.recency`."""
    worth: float = 0.1
    """What the worthiest row gains over the least, given `Arms.worth`."""
    depth: int = 100
    """A cosine counts from the one at this rank upwards; in a small scope, from the median."""
    echo: float = 2.0
    """What a row equal to the query gains, so that it stands first whatever surrounds the others."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if not getattr(self, each.name) >= 0:
                raise InvalidInput(f"{each.name} must be 0 or more, not {getattr(self, each.name)!r}")
        if self.depth < 1 or self.context_words == 0:
            raise InvalidInput("depth and context_words must be positive")


LIFT: Final = 1.01
"""How far above the best other row a row stands that is the query's own text."""

DEFAULT: Final = Blend()
"""The blend where none is given."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the sessions of a scope stand; made once per scope and reused by every query."""

    codes: Ints
    """Session of each place, never -1: a row without a session is one of its own."""
    starts: Ints
    """First place of each session."""
    order: Ints | None
    """Row at each place; None where rows already stand session by session."""

    @classmethod
    def of(cls, groups: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Layout:
        """Return the layout of rows with these session codes, -1 for none; in the order of `rows` where given."""
        codes = np.array(groups, dtype=np.int64)
        alone = codes < 0
        codes[alone] = -1 - np.arange(np.count_nonzero(alone))
        time = None if rows is None else np.asarray(rows)
        in_time = time is None or bool((time[1:] > time[:-1]).all())
        ends = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        order = None
        if not in_time or len(ends) + 1 != len(np.unique(codes)):
            order = np.argsort(codes, kind="stable") if in_time else np.lexsort((np.asarray(rows), codes))
            codes = codes[order]
            ends = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        return cls(codes, np.concatenate(([0], ends))[: len(codes)], order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """What each arm says of every row of a scope, in time order; all arrays have one length."""

    lexical: Floats
    """BM25, 0 where no word matches; of a row in chunks, its best chunk; the ideal where the text is the query's."""
    lexical_ideal: float = 0.0
    """BM25 of a row with exactly the query's text."""
    dense: Floats | None = None
    """Cosine, NaN where unknown; None without an embedder."""
    strength: float = 0.0
    """How far the embedder is to be trusted, 0 to 1: static .5, all-MiniLM-L6-v2 .65, hashing 0."""
    lengths: Floats | None = None
    """Words of each row; a CJK or Thai character is one."""
    query_length: float = 0.0
    """Words of the query, counted alike."""
    layout: Layout | None = None
    """The sessions; None where rows have none."""
    from_user: Bools | None = None
    """True where a user, or any human, speaks."""
    named: Bools | None = None
    """True where the row's speaker is named in the query."""
    recency: Floats | None = None
    """0 the oldest, 1 the newest."""
    worth: Floats | None = None
    """0 the least, 1 the most."""
    equal: Bools | None = None
    """True where the row's text is the query's own; None where no row's is."""


@dataclass(frozen=True, slots=True)
class Fused:
    """The order of the rows, as scores, and what each part gave."""

    score: Floats
    """In [0, 1] and in rank order: the best row has the query's confidence, the others their share of it."""
    confidence: float
    """How well the best row of either arm matches by itself: 1 is the query's own text, 0 nothing in common."""
    scale: float
    """What a part is multiplied by to stand in the unit of the score."""
    parts: Mapping[str, Floats] = field(default_factory=dict)
    """What each part gave each row, before `scale`."""

    def why(self, row: int) -> dict[str, float]:
        """What each part gave this row, in the unit of the score; they add up to it."""
        return {name: float(part[row]) * self.scale for name, part in self.parts.items()}


def fuse(arms: Arms, blend: Blend = DEFAULT) -> Fused:
    """Return the rows' scores for one query, O(rows) and without a loop over them.

    Raises:
        ValueError: the arrays differ in length.
    """
    _check(arms)
    coverage, dense = _coverage(arms), _dense(arms, blend)
    parts = {"lexical": coverage}
    if dense is not None:
        parts["dense"] = dense * np.float32(arms.strength**2)
    content = _total(parts)
    parts |= _echo(arms, blend, coverage) | _context(arms, blend, content)
    base = _total(parts)
    parts |= _priors(arms, blend, base)
    fused = _total(parts)
    confidence = _confidence(coverage, dense)
    if arms.equal is not None and arms.equal.any():
        parts["equal"] = _lifted(fused, arms.equal)
        fused, confidence = fused + parts["equal"], 1.0
    top = float(fused.max(initial=0.0))
    scale = confidence / top if top > 0 else 0.0
    return Fused(fused * np.float32(scale), confidence, scale, parts)


def _lifted(fused: Floats, equal: Bools) -> Floats:
    """Return what the rows equal to the query need to stand first, whatever surrounds the others."""
    others = float(fused[~equal].max(initial=0.0))
    missing = max(others * LIFT - float(fused[equal].min()), 0.0)
    return np.multiply(equal, np.float32(missing), dtype=np.float32)


def _check(arms: Arms) -> None:
    given = (arms.dense, arms.lengths, arms.from_user, arms.named, arms.recency, arms.worth)
    lengths = {len(arms.lexical), *(len(each) for each in given if each is not None)}
    if arms.layout is not None:
        lengths.add(len(arms.layout.codes))
    if len(lengths) > 1:
        raise ValueError(f"arms must have one length, not {sorted(lengths)}")


def _coverage(arms: Arms) -> Floats:
    """The share of what the query asks that the row's words hold; above 1 where a row repeats them."""
    ideal = arms.lexical_ideal
    return np.multiply(arms.lexical, 1 / ideal if ideal > 0 else 0.0, dtype=np.float32)


def _dense(arms: Arms, blend: Blend) -> Floats | None:
    """What each cosine has above the crowd, stretched so that an equal text keeps 1; 0 where unknown."""
    if arms.dense is None or arms.strength == 0:
        return None
    floor = _crowd(arms.dense[~np.isnan(arms.dense)], blend.depth)
    above: Floats = np.fmax(arms.dense - np.float32(floor), np.float32(0))
    above *= np.float32(1 / max(1 - floor, 1e-6))
    return above


def _crowd(known: Floats, depth: int) -> float:
    """The cosine of the crowd: at rank `depth` or the median, less where too few rows are known to call them one."""
    rank = min(depth, len(known) // 2)
    if rank < 2:
        return 0.0
    return max(float(np.partition(known, -rank)[-rank]), 0.0) * (1 - 1 / rank)


def _echo(arms: Arms, blend: Blend, coverage: Floats) -> dict[str, Floats]:
    """Nearly nothing until a row says what the query says at the query's length, then a leap."""
    if arms.lengths is None or arms.query_length <= 0:
        return {}
    query = np.float32(arms.query_length)
    alike = np.minimum(coverage, np.float32(1)) * np.minimum(
        query / np.maximum(arms.lengths, query), arms.lengths / query
    )
    for _ in range(3):
        alike *= alike
    return {"echo": alike * np.float32(blend.echo)}


def _context(arms: Arms, blend: Blend, content: Floats) -> dict[str, Floats]:
    """What the rows nearby and the best of the session give, more to a short row than to a long one."""
    layout = arms.layout
    if layout is None or not len(content):
        return {}
    placed = content if layout.order is None else content[layout.order]
    parts = {
        "neighbours": _neighbours(placed, layout, blend),
        "session": _best(placed, layout) * np.float32(blend.session),
    }
    for name, part in parts.items():
        if layout.order is not None:
            parts[name] = np.empty_like(part)
            parts[name][layout.order] = part
        if arms.lengths is not None:
            half = np.float32(blend.context_words)
            parts[name] *= half / (arms.lengths + half)
    return parts


def _neighbours(placed: Floats, layout: Layout, blend: Blend) -> Floats:
    given = np.zeros_like(placed)
    for distance in range(1, min(blend.reach, len(placed) - 1) + 1):
        together = layout.codes[distance:] == layout.codes[:-distance]
        weight = together * np.float32(blend.neighbour**distance)
        given[distance:] += weight * placed[:-distance]
        given[:-distance] += weight * placed[distance:]
    return given


def _best(placed: Floats, layout: Layout) -> Floats:
    sizes = np.diff(layout.starts, append=len(placed))
    best: Floats = np.repeat(np.maximum.reduceat(placed, layout.starts), sizes)
    return best


def _priors(arms: Arms, blend: Blend, base: Floats) -> dict[str, Floats]:
    """What raises a row in proportion to its match: nothing raises a row that matches nothing."""
    weighed: dict[str, tuple[Floats | Bools | None, float]] = {
        "user": (arms.from_user, blend.user),
        "named": (arms.named, blend.named),
        "recency": (arms.recency, blend.recency),
        "worth": (arms.worth, blend.worth),
    }
    return {
        name: _raised(base, mark, weight) for name, (mark, weight) in weighed.items() if mark is not None and weight
    }


def _raised(base: Floats, mark: Floats | Bools, weight: float) -> Floats:
    raised: Floats = np.multiply(mark, base * np.float32(weight), dtype=np.float32)
    return raised


def _confidence(coverage: Floats, dense: Floats | None) -> float:
    best = float(coverage.max(initial=0.0))
    if dense is not None:
        best = max(best, float(dense.max(initial=0.0)))
    return min(best, 1.0)


def _total(parts: Mapping[str, Floats]) -> Floats:
    first, *rest = parts.values()
    total = first.copy()
    for part in rest:
        total += part
    return total
