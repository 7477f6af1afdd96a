"""Ranking: which entries come first where not all can be shown.

Entries with evidence come before those without. Within both, by usefulness, and by relevance to the task and recency on
top of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from seasoned.playbook.entries import ENTRY, SHOWN, Entry
from seasoned.playbook.rendering import Line, line
from seasoned.records import Scope
from seasoned.search import Searcher, says_something

RELEVANCE: Final = 1.0
"""What an entry with the words of the task gains: as much as lies between one that nobody knows and a proven one."""

RECENCY: Final = 0.1
"""What the newest entry gains over the oldest."""

MATCHES: Final = 64
"""How many entries are looked at for a task."""


class Asked(Protocol):
    """What is searched."""

    searcher: Searcher
    scope: Scope


class Standing:
    """The entries that can be shown, in order of first writing, and how each stands; made anew when one changes."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.place = {entry.id: at for at, entry in enumerate(entries)}
        self.proven: NDArray[np.bool_] = np.fromiter((each.proven for each in entries), np.bool_, len(entries))
        self.usefulness: NDArray[np.float64] = np.fromiter(
            (each.usefulness for each in entries), np.float64, len(entries)
        )
        self.characters = sum(len(each.content) for each in entries)
        self._recency = _recency(entries)
        self._lines: dict[int, Line] = {}
        first = {entry.section: at for at, entry in reversed(list(enumerate(entries)))}
        self._section = [first[entry.section] for entry in entries]

    def __len__(self) -> int:
        return len(self.entries)

    def line(self, at: int) -> Line:
        """Return an entry as it is shown."""
        found = self._lines.get(at)
        if found is None:
            found = self._lines[at] = line(self.entries[at])
        return found

    def ranked(self, relevance: Mapping[str, float] | None = None, among: NDArray[np.bool_] | None = None) -> list[int]:
        """Return the places of all entries, or of those that `among` marks, best first.

        `relevance` has a number from 0 to 1 for some ids.
        """
        score = self.usefulness + RECENCY * self._recency
        for name, match in (relevance or {}).items():
            at = self.place.get(name)
            if at is not None:
                score[at] += RELEVANCE * match
        places = np.arange(len(self.entries)) if among is None else np.flatnonzero(among)
        order = np.lexsort((places, -score[places], ~self.proven[places]))
        found: list[int] = places[order].tolist()
        return found

    def without(self, lines: Iterable[Line]) -> NDArray[np.bool_]:
        """Return for each entry whether none of the lines shows it."""
        found = np.ones(len(self.entries), np.bool_)
        found[[self.place[each.id] for each in lines]] = False
        return found

    def in_order(self, places: Sequence[int]) -> list[int]:
        """Return places as they are shown: by section in order of first appearance, then in order of first writing."""
        return sorted(places, key=lambda at: (self._section[at], at))


def _recency(entries: Sequence[Entry]) -> NDArray[np.float64]:
    """Return for each entry how many of the others were last changed before it, as a share."""
    when = np.fromiter((each.updated_at.timestamp() for each in entries), np.float64, len(entries))
    return np.searchsorted(np.sort(when), when) / max(len(entries) - 1, 1)


def relevance(asked: Asked, task: str | None) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return how well entries match a task, from 0 to 1, and what could not be used to tell; nothing for no task."""
    if task is None or not says_something(task):
        return {}, ()
    hits = asked.searcher.search(task, k=MATCHES, scope=asked.scope, kinds=(ENTRY,), where=SHOWN)
    return {hit.id: hit.score for hit in hits}, hits.degraded
