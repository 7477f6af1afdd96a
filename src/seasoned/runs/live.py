"""The run under way, as this process holds it: its head, the numbers of the turns not read yet, the episode so far.

All of it comes from the store when it is opened, and everything that is shown is read from the store again, so that
what was forgotten meanwhile is not shown.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from seasoned.ports import ABSENT, Change, Clock, Put, Store
from seasoned.records import Scope
from seasoned.runs.extraction import Window
from seasoned.runs.head import NOTHING, Head, Status
from seasoned.runs.reading import (
    by_keys,
    episode_by_number,
    numbers_after,
    turns_before,
    turns_between,
    turns_by_number,
)
from seasoned.runs.rows import StoredAtom, StoredEpisode, atom_of, episode_of, episode_row
from seasoned.search import Searcher


@dataclass(frozen=True, slots=True)
class Place:
    """Where runs lie and what is used to write them."""

    store: Store
    scope: Scope
    searcher: Searcher
    clock: Clock


@dataclass(slots=True)
class Live:
    """An open run.

    `numbers` are its turns from the last windows on, `resumed_at` the last turn when it was opened again, `heat` how
    often the current episode was shown since that was written.
    """

    place: Place
    head: Head
    numbers: array[int] = field(default_factory=lambda: array("q"))
    resumed_at: int = NOTHING
    heat: int = 0

    @property
    def last(self) -> int:
        """The last turn, `NOTHING` before the first."""
        return self.numbers[-1] if self.numbers else NOTHING

    def after(self, turn: int, upto: int, most: int) -> list[int]:
        """Return the turns above one number and up to another, the first so many."""
        start = bisect_right(self.numbers, turn)
        return self.numbers[start : min(bisect_right(self.numbers, upto), start + most)].tolist()

    def upto(self, turn: int, done: int, every: int) -> int | None:
        """Return up to which turn is to be read at `turn`, None where nothing is due since `done`.

        What was due when the process before ended is read as it would have read it: up to the first turn at which it
        was due.
        """
        if turn // every <= max(done, 0) // every:
            return None
        first = bisect_left(self.numbers, (max(done, 0) // every + 1) * every)
        missed = first < len(self.numbers) and self.numbers[first] <= min(self.resumed_at, turn)
        return self.numbers[first] if missed else turn

    def trim(self, lookback: int) -> None:
        """Let go of the numbers that nothing reads any more."""
        first = bisect_right(self.numbers, min(self.head.extracted, self.head.covered))
        if (spare := first - lookback - 1) > 1_000:
            del self.numbers[:spare]

    def windows(self, upto: int, every: int, lookback: int) -> Iterator[Window]:
        """Yield the windows of the new turns, ended at turns that are multiples of `every`."""
        pending = self.after(self.head.extracted, upto, len(self.numbers))
        while pending:
            block = max(pending[0] - 1, 0) // every
            end = next((i for i, turn in enumerate(pending) if max(turn - 1, 0) // every != block), len(pending))
            window = self._window(pending[:end], lookback)
            if window is None:
                self.head = replace(self.head, extracted=pending[end - 1])
            else:
                yield window
            pending = pending[end:]

    def _window(self, new: list[int], lookback: int) -> Window | None:
        place = bisect_right(self.numbers, new[0]) - 1
        before = self.numbers[max(0, place - lookback) : place].tolist()
        turns = turns_by_number(self.place.store, self.head.ids, [*before, *new])
        fresh = next((i for i, each in enumerate(turns) if each.turn.turn >= new[0]), None)
        return None if fresh is None else Window(turns, fresh)

    def failed_windows(self, tries: int, lookback: int) -> Iterator[Window]:
        """Yield the windows that failed fewer than so many times."""
        store, ids = self.place.store, self.head.ids
        for each in self.head.failed:
            if each.tries >= tries:
                continue
            new = turns_between(store, ids, each.first, each.last)
            if new:
                before = turns_before(store, ids, each.first, lookback)
                yield Window([*before, *new], len(before), each.tries)

    def save(self, head: Head, changes: Sequence[Change] = ()) -> None:
        """Write changes and, last, the head.

        Raises:
            Conflict: another process wrote the run meanwhile, or it was forgotten; nothing was written.
        """
        expect = head.version or ABSENT
        applied = self.place.store.apply([*changes, Put(head.row(), None, expect)])
        self.head = replace(head, version=applied.versions[-1])

    def shown(self) -> tuple[StoredEpisode | None, list[StoredAtom]]:
        """Return the current episode and the atoms of the ring, as they stand in the store now."""
        ids, number = self.head.ids, self.head.episodes
        keys = [*([ids.episode(number)] if number else []), *(ids.atom(name) for name in self.head.ring)]
        hits = by_keys(self.place.store, ids.scope, keys) if keys else []
        episode = next((made for hit in hits if (made := episode_of(hit)) is not None), None)
        return self._heated(episode), [atom for hit in hits if (atom := atom_of(hit)) is not None]

    def current(self) -> StoredEpisode | None:
        """Return the current episode as it stands now, with the heat that is not written yet."""
        return self._heated(episode_by_number(self.place.store, self.head.ids, self.head.episodes))

    def _heated(self, stored: StoredEpisode | None) -> StoredEpisode | None:
        if stored is not None:
            stored = stored.as_of(self.head.covered)
        if stored is None or not self.heat:
            return stored
        heated = replace(stored.episode, heat=stored.episode.heat + self.heat)
        return replace(stored, episode=heated)

    def heat_puts(self) -> list[Put]:
        """Return what writes the heat since the last time, [] where there is none."""
        stored = self.current() if self.heat else None
        return [] if stored is None else [Put(episode_row(self.head.ids, stored), None, stored.version)]


def reopened(place: Place, head: Head, lookback: int) -> Live:
    """Return an open run as the store has it."""
    known = min(head.extracted, head.covered)
    numbers = numbers_after(place.store, head.ids, known, lookback + 1)
    live = Live(place, head, array("q", numbers))
    live.resumed_at = live.last
    return live


def is_open(head: Head | None) -> bool:
    """Tell whether a run takes turns."""
    return head is not None and head.status is Status.OPEN
