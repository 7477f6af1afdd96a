"""Which part of a conversation a context keeps: pure, so that every process chooses the same.

`window`: the end of the conversation from a cut, in whole units. The cut depends only on how many tokens stand before
each unit, and moves in steps of about half the room, so that between two moves each context is the former one and more
at its end. What survives from before a cut is chosen at the cut. `scored`: the best units for this one call.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from seasoned.conversation.messages import content_text
from seasoned.conversation.policy import ConversationPolicy
from seasoned.conversation.units import Layout, Unit
from seasoned.text import words

MOST_SURVIVORS: Final = 1_000
"""How many units before a cut are looked at for survivors, the newest of them."""

MOST_KNOWN: Final = 32
"""Most choices of survivors that are kept at hand for one layout."""

Relevance = Callable[[Unit], float]
"""How relevant a unit is, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What there is to fill, in tokens: `whole` for all but the system messages, `recall` of it for recalled texts.

    `summary` is what the summary of what is cut takes, 0 where there is none. `pinned` are ids. `advance` moves the
    cut on by as many steps as needed, where a whole list counts more than its parts; `survivors` off keeps none.
    """

    whole: int
    newest: int
    recall: int = 0
    summary: int = 0
    pinned: frozenset[str] = frozenset()
    advance: int = 0
    survivors: bool = True


@dataclass(frozen=True, slots=True)
class Chosen:
    """Places of the units that are kept, in order, and whether the summary stands for the others.

    `exhausted`: no further advance of the cut would keep less.
    """

    places: tuple[int, ...]
    summary: bool = False
    exhausted: bool = False


def item_cap(policy: ConversationPolicy, whole: int) -> int:
    """Return how many tokens an assistant's or a tool's message may count before it is cut."""
    return policy.max_item_tokens or max(1, whole // 2)


def select(layout: Layout, policy: ConversationPolicy, room: Room, relevance: Relevance) -> Chosen:
    """Return which units are kept. The newest user message is always one of them; it counts `room.newest`."""
    newest = layout.newest_user()
    if not layout.units or (newest < 0 and policy.start == "user"):
        return Chosen((), exhausted=True)
    picker = _Picker(layout, policy, room, newest)
    return picker.scored(relevance) if policy.selection == "scored" else picker.window()


class _Picker:
    """One choice: what it costs to keep a unit, and what is kept so far."""

    def __init__(self, layout: Layout, policy: ConversationPolicy, room: Room, newest: int) -> None:
        self.layout, self.policy, self.room, self.newest = layout, policy, room, newest
        self.cap = item_cap(policy, room.whole)
        self.ends = layout.ends(self.cap)
        self.extra = room.newest - self._stored(newest) if newest >= 0 else 0
        self.first = 0 if policy.start == "any" else next((i for i, head in enumerate(layout.heads) if head >= 0), 0)
        self.space = max(room.newest, room.whole - room.recall)

    def _stored(self, place: int) -> int:
        return self.ends[place] - (self.ends[place - 1] if place else 0)

    def tokens(self, place: int) -> int:
        """Return what a unit counts, the newest user message as it is shown."""
        return self.room.newest if place == self.newest else self._stored(place)

    def from_cut(self, cut: int) -> int:
        """Return what is kept from a cut on, the message that opens its exchange included."""
        total = self.ends[-1] - (self.ends[cut - 1] if cut else 0)
        if cut <= self.newest:
            total += self.extra
        head = self.head_before(cut)
        return total + (self.tokens(head) if head >= 0 else 0)

    def head_before(self, cut: int) -> int:
        """Return the place of the user message that must stand before the cut, -1 where none must."""
        head = self.layout.heads[cut] if cut < len(self.layout.heads) else self.newest
        return head if head < cut else -1

    def window(self) -> Chosen:
        """Keep the end of the conversation from a cut, and what survives from before it."""
        count = len(self.layout.units)
        if self._all_fits():
            return Chosen(tuple(range(self.first, count)))
        spare = self._spare()
        cut = max(self._token_cut(self.space - spare), self._size_cut())
        head = self.head_before(cut)
        kept = {head} if head >= 0 else set()
        summary = 0 < self.room.summary <= spare
        before = self._survivors(cut, kept, spare - self.room.summary * summary)
        return Chosen((*sorted(before), *range(cut, count)), summary, exhausted=cut >= count)

    def _all_fits(self) -> bool:
        return not self.room.advance and self._size_cut() <= self.first and self.from_cut(self.first) <= self.space

    def _spare(self) -> int:
        """Return how much is set aside for what is kept from before a cut: the same at every call until pins change.

        Nothing is, where the newest user message takes most of the room.
        """
        pinned = sum(self._stored(i) for i in self._pinned_places())
        share = int(self.policy.survivor_share * self.space)
        spare = min(max(share, pinned + self.room.summary), self.space // 2)
        return spare if self.room.survivors and self.room.newest <= (self.space - spare) // 2 else 0

    def _pinned_places(self) -> list[int]:
        pinned = self.room.pinned
        if not pinned:
            return []
        return [i for i, unit in enumerate(self.layout.units) if any(turn.id in pinned for turn in unit.turns)]

    def _token_cut(self, space: int) -> int:
        """Return the cut: the first unit behind the fewest steps after which the rest fits."""
        step = max(1, int(self.policy.step * space))
        over = self.ends[-1] + min(0, self.extra) - space
        steps = max(0, math.ceil(over / step) - 1)
        left = self.room.advance
        previous = -1
        while True:
            behind = self._behind(steps * step)
            cut = max(self.first, behind)
            if cut >= len(self.ends):
                return cut
            if self.from_cut(cut) <= space and cut != previous:
                if left == 0:
                    return cut
                left, previous = left - 1, cut
            steps = max(steps + 1, self.ends[behind - 1] // step + 1 if behind else 1)

    def _behind(self, tokens: int) -> int:
        """Return the place of the first unit before which at least that many tokens stand."""
        return min(len(self.ends), bisect_left(self.ends, tokens) + 1) if tokens > 0 else 0

    def _size_cut(self) -> int:
        """Return the first place from which no more messages are kept than the window's size."""
        size = self.policy.window_size
        if size is None:
            return 0
        before = self.layout.turns_before
        cut = bisect_left(before, before[-1] - size)
        while cut < len(self.ends) and before[-1] - before[cut] + (self.head_before(cut) >= 0) > size:
            cut += 1
        return cut

    def _survivors(self, cut: int, kept: set[int], room: int) -> frozenset[int]:
        """Return `kept` and what else is kept from before the cut: pinned units first, then by rank."""
        known = self.layout.survivors
        chosen_by = (self.policy.keep_rate, self.policy.start, self.policy.window_size is None, self.room.pinned)
        key = (cut, frozenset(kept), room, self.cap, chosen_by)
        if key not in known:
            if len(known) >= MOST_KNOWN:
                known.clear()
            known[key] = frozenset(self._chosen_survivors(cut, kept, room))
        return known[key]

    def _chosen_survivors(self, cut: int, kept: set[int], room: int) -> set[int]:
        kept, room = self._fill(reversed([i for i in self._pinned_places() if i < cut]), kept, room)
        if self.policy.window_size is not None or self.policy.keep_rate == 0 or room <= 0:
            return kept
        exchanges = self._exchanges(max(self.first, cut - MOST_SURVIVORS), cut)
        ranks = {i: self._rank(cut - 1 - i, salience(self.layout.units[i])) for i in exchanges if i not in kept}
        for opening in sorted(ranks, key=lambda i: (-ranks[i], -i)):
            cost = sum(self.tokens(i) for i in exchanges[opening] - kept)
            if cost <= room:
                kept, room = kept | exchanges[opening], room - cost
        return kept

    def _exchanges(self, start: int, end: int) -> dict[int, set[int]]:
        """Return whole exchanges by the place that opens each: a question never survives without its answer."""
        found: dict[int, set[int]] = {}
        for place in range(start, end):
            head = self.layout.heads[place]
            if head >= start or (head < 0 and self.policy.start == "any"):
                found.setdefault(head if head >= 0 else place, set()).add(place)
        return {opening: places for opening, places in found.items() if not self._goes_on(max(places), end)}

    def _goes_on(self, last: int, end: int) -> bool:
        """Tell whether the exchange of the unit before a cut goes on behind it."""
        heads = self.layout.heads
        return last == end - 1 and end < len(heads) and heads[end] == heads[last] >= 0

    def _fill(self, places: Iterable[int], kept: set[int], room: int) -> tuple[set[int], int]:
        """Keep each unit that still fits, with the user message that opens its exchange."""
        kept = set(kept)
        for place in places:
            if room <= 0:
                break
            head = self.layout.heads[place]
            wanted = {place, head} - kept if head >= 0 else {place} - kept
            if head < 0 and self.policy.start == "user":
                continue
            cost = sum(self.tokens(i) for i in wanted)
            if cost <= room:
                kept, room = kept | wanted, room - cost
        return kept, room

    def _rank(self, age: int, relevance: float) -> float:
        """Return the logarithm of keep_rate to the power of age, times relevance: 0.1 to 1.1."""
        rate = self.policy.keep_rate
        decay = age * math.log(rate) if rate > 0 else 0.0 if age == 0 else -math.inf
        return decay + math.log(0.1 + relevance)

    def scored(self, relevance: Relevance) -> Chosen:
        """Keep the newest user message, pinned units, and the units that rank best, until nothing more fits."""
        count = len(self.layout.units)
        if self._all_fits():
            return Chosen(tuple(range(self.first, count)))
        kept = {self.newest} if self.newest >= 0 else set()
        room = self.space - sum(self.tokens(i) for i in kept)
        summary = 0 < self.room.summary <= room // 2 and self.room.survivors
        room -= self.room.summary * summary + self.room.advance * max(1, self.space // 8)
        kept, room = self._fill(reversed(self._pinned_places()), kept, room)
        oldest = max(self.first, self._size_cut())
        ranks = {i: self._rank(count - 1 - i, relevance(self.layout.units[i])) for i in range(oldest, count)}
        kept, _ = self._fill(sorted(ranks, key=lambda i: (-ranks[i], -i)), kept, room)
        return Chosen(tuple(sorted(kept)), summary, exhausted=self.room.advance >= 8)


def salience(unit: Unit) -> float:
    """Return how much a unit is worth keeping by itself: what a user said most, a tool's exchange least."""
    if len(unit.turns) > 1:
        return 0.2
    said = words(content_text(unit.turns[0].message.get("content"))[:400])
    return (1.0 if unit.role == "user" else 0.5) * min(1.0, len(said) / 8)
