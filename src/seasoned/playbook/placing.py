"""Placing: which lines a block shows and in which order, given those of the run before.

A provider's prompt cache holds a prompt as far as it begins like an earlier one. So a block begins like the one before
it: what is new is appended, marks that only got better wait, and only in rare steps everything is ranked and grouped
anew. What would be wrong to show changes at once: an entry that was removed or retired goes, one that was rewritten or
turned out to harm is shown as it is now.

While all entries fit the budget, all are shown. After that a stable part holds the best ones, with room for what proves
itself later, and the rest of the budget is for what suits the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from seasoned.playbook.ranking import Standing
from seasoned.playbook.rendering import FAILS, Line, block
from seasoned.tokens import Counter

RANKED_SHARE: Final = 0.6
"""How much of the budget the stable part takes when it was just ranked, where not all entries fit."""

GROWN_SHARE: Final = 0.75
"""Up to how much of the budget it grows until it is ranked again."""

WHOLE_SHARE: Final = 0.9
"""Into how much of the budget all entries must fit for all of them to be shown again."""

FEWEST: Final = 8
"""With fewer new entries than this, none is worth a ranking."""

MISSES: Final = 8
"""After how many entries that did not fit no more are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The lines of a block: `stable` ones, which the next block begins with, and those chosen for the task.

    Of the stable ones the first `ranked` were placed by the last ranking, when there were `known` entries; `whole`
    tells whether all are shown.
    """

    stable: tuple[Line, ...] = ()
    chosen: tuple[Line, ...] = ()
    ranked: int = 0
    known: int = 0
    whole: bool = True

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, as they are shown."""
        return self.stable + self.chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much a block may hold: tokens as a system message, and entries; None for no bound."""

    counter: Counter
    budget: int | None = None
    entries: int | None = None

    def tokens(self, text: str) -> int:
        """Return the tokens of a block as a system message; 0 for none."""
        return self.counter([{"role": "system", "content": text}]) if text else 0

    def holds(self, lines: Sequence[Line], share: float = 1.0) -> bool:
        """Tell whether lines fit into a share of it."""
        if self.entries is not None and len(lines) > int(self.entries * share):
            return False
        return self.budget is None or self.tokens(block(lines)) <= self.budget * share


def placed(standing: Standing, room: Room, matches: dict[str, float], before: Layout | None) -> Layout:
    """Return the layout of a new run; `before` is that of the run before, where there is one."""
    place = _Placing(standing, room, matches)
    grown = None if before is None else place.grown(before)
    return grown or place.ranked()


class _Placing:
    def __init__(self, standing: Standing, room: Room, matches: dict[str, float]) -> None:
        self.standing = standing
        self.room = room
        self.matches = matches

    def ranked(self) -> Layout:
        """Return all entries, grouped; or the best ones and those for the task, where not all fit."""
        everything = range(len(self.standing))
        if self._could_hold_all() and self._holds(everything, WHOLE_SHARE):
            lines = tuple(self._lines(self.standing.in_order(everything)))
            return Layout(stable=lines, ranked=len(lines), known=len(lines))
        proven = self.standing.ranked(among=self.standing.proven)
        best = self._best(proven, lambda places: self._holds(places, RANKED_SHARE))
        if len(best) == len(proven):
            best = self._best(self.standing.ranked(), lambda places: self._holds(places, RANKED_SHARE))
        stable = tuple(self._lines(self.standing.in_order(best)))
        layout = Layout(stable=stable, ranked=len(stable), known=len(self.standing), whole=False)
        return self._with_chosen(layout)

    def grown(self, before: Layout) -> Layout | None:
        """Return the layout with what is new appended; None where all must be ranked anew."""
        kept = self._kept(before.stable)
        ranked = sum(each.id in kept for each in before.stable[: before.ranked])
        layout = replace(before, stable=tuple(kept.values()), chosen=(), ranked=ranked)
        free = self.standing.without(layout.stable)
        others: list[int] = np.flatnonzero(free).tolist()
        if self._could_hold_all():
            whole = self._appended(layout, others)
            if self.room.holds(whole.stable, 1.0 if before.whole else WHOLE_SHARE):
                return None if _outgrown(whole) else replace(whole, whole=True, known=len(self.standing))
        if before.whole or len(self.standing) >= max(2 * before.known, FEWEST) or self._surpassed(layout, others):
            return None
        new = self.standing.ranked(among=free & self.standing.proven)
        fits = self._best(new, lambda places: self.room.holds(self._appended(layout, places).stable, GROWN_SHARE))
        layout = self._with_chosen(self._appended(layout, sorted(fits)))
        return layout if self.room.holds(layout.lines) and not self._crowds_out(layout) else None

    def _kept(self, lines: Iterable[Line]) -> dict[str, Line]:
        """Return what stays in its place, by id: as it was, or as it is now where the old form would be wrong."""
        kept = dict[str, Line]()
        for old in lines:
            at = self.standing.place.get(old.id)
            if at is None:
                continue
            new = self.standing.line(at)
            if new.section == old.section:
                kept[old.id] = old if _says_the_same(old, new) else new
        return kept

    def _appended(self, layout: Layout, places: Sequence[int]) -> Layout:
        """Return the layout with entries at its end, those of its last section first, so that it goes on."""
        last = layout.stable[-1].section if layout.stable else None
        lines = self._lines(self.standing.in_order(places))
        lines.sort(key=lambda each: each.section != last)
        return replace(layout, stable=(*layout.stable, *lines))

    def _with_chosen(self, layout: Layout) -> Layout:
        """Return the layout with what suits the task, and what is new, in the room that is left."""
        order = self.standing.ranked(self.matches, self.standing.without(layout.stable))
        chosen = self._best(order, lambda places: self.room.holds(self._appended(layout, places).stable))
        lines = self._appended(layout, chosen).stable
        return replace(layout, chosen=lines[len(layout.stable) :])

    def _surpassed(self, layout: Layout, others: Sequence[int]) -> bool:
        """Tell whether many of the others are more useful than the least useful one of the stable part."""
        shown = [self.standing.place[each.id] for each in layout.stable]
        if not shown or not others:
            return False
        worth = self.standing.usefulness + 2.0 * self.standing.proven
        return int((worth[others] > worth[shown].min()).sum()) >= max(len(shown) / 2, FEWEST)

    def _crowds_out(self, layout: Layout) -> bool:
        """Tell whether the stable part has entries without evidence while one with evidence could be there."""
        proven = self.standing.proven
        if all(proven[self.standing.place[each.id]] for each in layout.stable):
            return False
        return any(self._holds([at]) for at in np.flatnonzero(proven & self.standing.without(layout.lines)).tolist())

    def _best(self, order: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> list[int]:
        """Return the first of the order that fit together, and what fits of those behind them."""
        low, high = 0, 1
        while high < len(order) and fits(order[:high]):
            low, high = high, 2 * high
        high = min(high, len(order))
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(order[:middle]) else (low, middle - 1)
        found, missed = list(order[:low]), 0
        for at in order[low:]:
            if missed == MISSES:
                break
            if fits([*found, at]):
                found.append(at)
            else:
                missed += 1
        return found

    def _holds(self, places: Sequence[int], share: float = 1.0) -> bool:
        return self.room.holds(self._lines(self.standing.in_order(places)), share)

    def _could_hold_all(self) -> bool:
        """Tell whether it is worth counting the tokens of all entries: no tokenizer has over 32 characters a token."""
        return self.room.budget is None or self.standing.characters <= 32 * self.room.budget

    def _lines(self, places: Iterable[int]) -> list[Line]:
        return [self.standing.line(at) for at in places]


def _says_the_same(old: Line, new: Line) -> bool:
    """Tell whether an old line can stay: the content is the same, and it is not now to be avoided, nor was."""
    same = old.text[3:] == new.text[3:]
    return same and (old.mark == new.mark or FAILS not in (old.mark, new.mark))


def _outgrown(layout: Layout) -> bool:
    """Tell whether as many lines were appended as there were when they were last ranked."""
    return len(layout.stable) - layout.ranked >= max(layout.ranked, FEWEST)
