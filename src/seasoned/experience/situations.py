"""The distinct situations of a table: how well each answers a text, by words and by the cosines of its records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasoned.columns import Column
from seasoned.experience.policy import TEXT
from seasoned.postings import Postings, bm25, ideal
from seasoned.ranking import Arms, Fused, fuse
from seasoned.text import DEFAULT as ANALYSER

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextScores:
    """What the texts of a table say to a query, one value a situation."""

    fused: Fused
    lexical: Floats
    dense: Floats | None


class Situations:
    """Situation texts as small numbers, each indexed once however many records have it."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str | None] = []
        self._uses: list[int] = []
        self._alive: Column[np.bool_] = Column(np.bool_)
        self._postings = Postings()

    def __len__(self) -> int:
        return len(self._texts)

    def take(self, text: str) -> int:
        """Return the number of a text, for one more record that has it."""
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self._texts)
            self._texts.append(text)
            self._uses.append(0)
            self._alive.extend(np.ones(1, np.bool_))
            self._postings.add(*ANALYSER.analyse(text))
        self._uses[code] += 1
        return code

    def release(self, code: int) -> None:
        """Tell that one record less has the text; that of the last is forgotten."""
        self._uses[code] -= 1
        text = self._texts[code]
        if not self._uses[code] and text is not None:
            del self._codes[text]
            self._texts[code] = None
            self._alive.view[code] = False

    def text(self, code: int) -> str:
        """Return the text of a number; "" of one that no record has any more."""
        return self._texts[code] or ""

    def scores(self, text: str, cosines: Iterable[tuple[int, float]] | None, strength: float) -> TextScores:
        """Return how well each situation answers, its cosine being the best of its records' (code, cosine)."""
        query, length = ANALYSER.analyse(text)
        alive, lengths = self._alive.view, self._postings.lengths
        matched = self._postings.match(ANALYSER.query_terms(text), alive)
        lexical = bm25(matched, lengths, alive)
        dense = None if cosines is None else _best(len(self), cosines)
        arms = Arms(
            lexical=lexical,
            lexical_ideal=ideal(matched, query, length, lengths, alive),
            dense=dense,
            strength=strength,
        )
        return TextScores(fuse(arms, TEXT), lexical, dense)


def _best(size: int, cosines: Iterable[tuple[int, float]]) -> Floats:
    best = np.full(size, np.nan, np.float32)
    for code, cosine in cosines:
        best[code] = np.fmax(best[code], np.float32(cosine))
    return best
