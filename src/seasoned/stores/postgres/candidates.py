"""From what the server found to ranked rows: the fusion of every store, over candidates instead of a whole scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from seasoned.arms import Ranked
from seasoned.postings import K1, B
from seasoned.query import Query
from seasoned.ranking import DEFAULT, Arms, Blend, Fused, Layout, fuse
from seasoned.records import Why
from seasoned.text import Analyser

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LONG: Final = 1 << 30
"""The length of a row that is no candidate: it borrows nothing from those around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Rows that may answer, an array for each thing that ranking reads of them, session by session.

    `session` numbers the sessions of this answer, -1 for none; `place` is where a row stands in its own. `human` tells
    where a person speaks, `equal` where the text is the query's. A cosine that was not computed is NaN.
    """

    row: Ints
    at: Ints
    worth: NDArray[np.float64]
    session: Ints
    place: Ints
    human: Bools
    speaker: Sequence[str | None]
    length: Floats
    equal: Bools
    lexical: Floats
    cosine: Floats

    @classmethod
    def of(cls, raws: Sequence[tuple[Any, ...]]) -> Candidates:
        """Return the rows of an answer, column by column; they come ordered by session and place."""
        row, at, worth, session, place, human, speaker, length, equal, lexical, cosine = (
            zip(*raws, strict=True) if raws else ((),) * 11
        )
        return cls(
            row=np.array(row, np.int64),
            at=np.array(at, np.int64),
            worth=np.array(worth, np.float64),
            session=np.array(session, np.int64),
            place=np.array(place, np.int64),
            human=np.array(human, bool),
            speaker=speaker,
            length=np.array(length, np.float32),
            equal=np.array(equal, bool),
            lexical=np.array(lexical, np.float32),
            cosine=np.clip(np.array(cosine, np.float32), -1, 1),
        )

    def slots(self, reach: int) -> Ints:
        """Return where the rows stand when, in a session, rows between them that are no candidates have slots too.

        Of those that are further than `reach` apart only so many have one.
        """
        apart = np.clip(np.diff(self.place) - 1, 0, reach)
        together = (np.diff(self.session) == 0) & (self.session[1:] >= 0)
        slots: Ints = np.arange(len(self.row)) + np.concatenate([[0], np.cumsum(np.where(together, apart, 0))])
        return slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What ranking knows of a whole scope.

    `passages` have words, and together `words` of them; `at` and `worth` have bounds; each of the query's `terms` is
    in so many passages.
    """

    passages: int
    words: int
    at: tuple[int, int]
    worth: tuple[float, float]
    terms: Mapping[str, int]

    @property
    def average(self) -> float:
        """The mean length of a passage in words."""
        return self.words / self.passages if self.passages else 1.0


def ranked(found: Candidates, known: Statistics, query: Query, analyser: Analyser) -> list[Ranked]:
    """Return at most k rows, best first."""
    if not len(found.row):
        return []
    if query.words is None:
        return _nearest(found, query.k)
    blend = query.blend or DEFAULT
    slots = found.slots(blend.reach)
    arms = _arms(found, slots, known, query, analyser)
    fused = fuse(arms, blend)
    scores = fused.score[slots]
    best = np.lexsort((-found.row, -scores))[: query.k]
    return [
        Ranked(int(found.row[one]), float(scores[one]), _why(arms, fused, int(slots[one])))
        for one in best.tolist()
        if scores[one] > 0
    ]


def _nearest(found: Candidates, k: int) -> list[Ranked]:
    known = np.flatnonzero(~np.isnan(found.cosine))
    best = known[np.lexsort((-found.row[known], -found.cosine[known]))][:k]
    return [
        Ranked(int(found.row[one]), score, {"dense": Why(float(found.cosine[one]), score)})
        for one in best.tolist()
        for score in (max(0.0, float(found.cosine[one])),)
    ]


def _arms(found: Candidates, slots: Ints, known: Statistics, query: Query, analyser: Analyser) -> Arms:
    terms, length = analyser.analyse(query.words or "")
    blend, total = query.blend or DEFAULT, int(slots[-1]) + 1
    return Arms(
        lexical=_placed(found.lexical, slots, total, 0),
        lexical_ideal=_ideal(known, terms, length),
        dense=None if np.isnan(found.cosine).all() else _placed(found.cosine, slots, total, np.nan),
        strength=query.strength,
        lengths=_placed(found.length, slots, total, LONG),
        query_length=float(length),
        layout=_layout(found, slots, total),
        from_user=_placed(found.human, slots, total, False),
        named=_named(found, slots, total, query.words or "", analyser),
        equal=_placed(found.equal, slots, total, False) if found.equal.any() else None,
        **_spreads(found, slots, known, blend),
    )


def _placed(values: NDArray[Any], slots: Ints, total: int, absent: float) -> NDArray[Any]:
    """Return values at their slots, and what stands where no candidate is."""
    placed = np.full(total, absent, values.dtype)
    placed[slots] = values
    return placed


def _layout(found: Candidates, slots: Ints, total: int) -> Layout | None:
    if not (found.session >= 0).any():
        return None
    owner = np.searchsorted(slots, np.arange(total), side="left")  # a slot in between is of the row behind it
    return Layout.of(found.session[owner])


def _ideal(known: Statistics, terms: Sequence[str], length: int) -> float:
    """Return the BM25 of a text with exactly the terms of the query and its length in words."""
    norm = K1 * (1 - B + B * length / known.average)
    counts = {term: terms.count(term) for term in known.terms}
    return sum(
        _idf(passages, known.passages) * counts[term] * (K1 + 1) / (counts[term] + norm)
        for term, passages in known.terms.items()
    )


def _idf(passages: int, total: int) -> float:
    return float(np.log1p((total - passages + 0.5) / (passages + 0.5)))


def _named(found: Candidates, slots: Ints, total: int, words: str, analyser: Analyser) -> Bools | None:
    """Tell of each candidate whether the query names its speaker; None where it names none."""
    asked = set(analyser.query_terms(words))
    speakers = {speaker for speaker in found.speaker if speaker is not None}
    named = {speaker for speaker in speakers if not asked.isdisjoint(analyser.terms(speaker))}
    if not named:
        return None
    return _placed(np.array([speaker in named for speaker in found.speaker], bool), slots, total, False)


def _spreads(found: Candidates, slots: Ints, known: Statistics, blend: Blend) -> dict[str, Floats | None]:
    total = int(slots[-1]) + 1
    made = {"recency": (found.at, known.at, blend.recency), "worth": (found.worth, known.worth, blend.worth)}
    return {
        name: _placed(_spread(values, *bounds), slots, total, 0) if weight and bounds[1] > bounds[0] else None
        for name, (values, bounds, weight) in made.items()
    }


def _spread(values: NDArray[Any], low: float, high: float) -> Floats:
    """Return values from 0, the least of the scope, to 1."""
    return np.clip((values.astype(np.float64) - low) / (high - low), 0, 1).astype(np.float32)


def _why(arms: Arms, fused: Fused, slot: int) -> dict[str, Why]:
    raw = {"lexical": float(arms.lexical[slot])}
    if arms.dense is not None and not np.isnan(arms.dense[slot]):
        raw["dense"] = float(arms.dense[slot])
    return {name: Why(raw.get(name, share), share) for name, share in fused.why(slot).items() if share or name in raw}
