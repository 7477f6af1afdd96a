"""Lessons that are given, not drawn from a run here: known beforehand, or brought from another system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from seasoned.errors import Conflict
from seasoned.ports import ABSENT, Put
from seasoned.runs.closing import lessons_of
from seasoned.runs.lessons import Learned, Lesson, learn, lesson_row, ordered
from seasoned.runs.live import Place

_RETRIES: Final = 8


def give(place: Place, profile: str, texts: Sequence[str], run: str) -> list[Lesson]:
    """Write lessons as found in `run`; return those that are new or changed, the most confirmed first.

    Raises:
        Conflict: other writers came first at every try; nothing was written.
    """
    for attempt in range(_RETRIES):
        known = lessons_of(place, profile)
        versions = {each.id: each.version for each in known}
        changed = learn(known, Learned(profile=profile, run=run, found=texts, at=place.clock.now()))
        rows = [lesson_row(place.scope, each) for each in changed]
        vectors, _ = place.searcher.vectors([row.text for row in rows]) if rows else ([], None)
        puts = [Put(row, vector, versions.get(row.key.id, ABSENT)) for row, vector in zip(rows, vectors, strict=True)]
        try:
            place.store.apply(puts)
        except Conflict:
            if attempt + 1 == _RETRIES:
                raise
            continue
        return ordered(changed)
    raise AssertionError  # the loop returns or raises
