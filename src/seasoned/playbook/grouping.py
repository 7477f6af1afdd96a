"""Groups of entries that say the same: exact duplicates, and stars of near ones around the best proven.

A group is a star: each member is near the head itself, so that it is no chain in which the last has little to do with
the first. Complete linkage would ask that of every two members, and would part wordings that vary around one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from seasoned.playbook.entries import NONE, Entry, Outcome
from seasoned.playbook.likeness import folded
from seasoned.playbook.wording import Combined, combined

Pairs: TypeAlias = Mapping[tuple[str, str], float]
"""How near two entries are to each other, by their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Two entries that are near each other and stay apart: how near, and why.

    `open` tells that nothing speaks against one text but that the rules found none; a model may.
    """

    ids: tuple[str, str]
    similarity: float
    reason: str
    open: bool = False


@dataclass(slots=True, kw_only=True)
class Star:
    """Entries that become one, the head first, and the text that says what all of them say."""

    members: list[Entry]
    text: str
    outcome: Outcome
    similarity: float = 1.0


def exact(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries with the same advice, two or more each, in the order given.

    Advice that works and advice that fails stay apart, whatever they say; one of which nothing is known joins the side
    with more evidence.
    """
    by_text: dict[str, list[Entry]] = {}
    for entry in entries:
        by_text.setdefault(folded(entry.content), []).append(entry)
    return [side for alike in by_text.values() if len(alike) > 1 for side in _sides(alike) if len(side) > 1]


def _sides(alike: list[Entry]) -> list[list[Entry]]:
    works = [entry for entry in alike if entry.outcome is Outcome.SUCCESS]
    fails = [entry for entry in alike if entry.outcome is Outcome.FAILURE]
    if not works or not fails:
        return [alike]
    weaker = fails if _net(works) >= _net(fails) else works
    return [[entry for entry in alike if entry not in weaker], weaker]


def _net(entries: Sequence[Entry]) -> int:
    return sum(entry.counts.helpful - entry.counts.harmful for entry in entries)


def as_one(alike: Sequence[Entry]) -> Entry:
    """Return the entry that exact duplicates become: the first with the counts of all and a known outcome."""
    known = next((entry.outcome for entry in alike if entry.outcome is not Outcome.NEUTRAL), Outcome.NEUTRAL)
    return replace(alike[0], counts=sum((entry.counts for entry in alike), NONE), outcome=known)


def stars(entries: Sequence[Entry], pairs: Pairs) -> tuple[list[Star], list[Kept]]:
    """Return the groups that near entries make, and the pairs that stay apart; no entry is in two groups.

    `entries` stand in the order of first writing. Heads are the best proven, then the longest, then the oldest.
    """
    place = {entry.id: number for number, entry in enumerate(entries)}
    near = _neighbours(pairs, place)
    made, kept, taken = list[Star](), dict[tuple[str, str], Kept](), set[str]()
    heads = sorted((entries[place[name]] for name in near), key=lambda each: (*_rank(each), place[each.id]))
    for head in heads:
        if head.id in taken:
            continue
        star = Star(members=[head], text=head.content, outcome=head.outcome)
        others = sorted(near[head.id].items(), key=lambda each: (-each[1], place[each[0]]))
        for name, similarity in others:
            first, second = sorted((head.id, name), key=place.__getitem__)
            if name in taken or (first, second) in kept:
                continue
            found = _taken_in(star, entries[place[name]], similarity)
            if found.text is None:
                reason, ids = found.reason, (first, second)
                kept[ids] = Kept(ids=ids, similarity=similarity, reason=reason, open=found.open)
        if len(star.members) > 1:
            made.append(star)
            taken |= {entry.id for entry in star.members}
    gone = taken - {min((entry.id for entry in star.members), key=place.__getitem__) for star in made}
    return made, [each for each in kept.values() if not gone.intersection(each.ids)]


def _neighbours(pairs: Pairs, known: Mapping[str, int]) -> dict[str, dict[str, float]]:
    near: dict[str, dict[str, float]] = {}
    for (one, other), similarity in pairs.items():
        if one in known and other in known and one != other:
            near.setdefault(one, {})[other] = similarity
            near.setdefault(other, {})[one] = similarity
    return near


def _rank(entry: Entry) -> tuple[float, int, int]:
    marks = entry.counts.helpful + entry.counts.harmful + entry.counts.neutral
    return -entry.usefulness, -marks, -len(entry.content)


def _taken_in(star: Star, entry: Entry, similarity: float) -> Combined:
    """Take an entry into a star if it fits; return the text of both, or why it stays apart."""
    found = fitting(star.text, star.outcome, entry)
    if found.text is not None:
        star.members.append(entry)
        star.text, star.similarity = found.text, min(star.similarity, similarity)
        star.outcome = entry.outcome if star.outcome is Outcome.NEUTRAL else star.outcome
    return found


def fitting(text: str, outcome: Outcome, entry: Entry) -> Combined:
    """Return the one text of a text with this outcome and an entry, or why they stay apart.

    What is known of one is not said of more than it says: an unknown outcome joins a known one where it adds no text.
    """
    if {outcome, entry.outcome} == {Outcome.SUCCESS, Outcome.FAILURE}:
        return Combined(reason="opposite outcomes")
    found = combined(text, entry.content)
    known = text if entry.outcome is Outcome.NEUTRAL else entry.content
    if found.text is not None and outcome is not entry.outcome and found.text != known:
        return Combined(reason="only of one is the outcome known, and the other says more")
    return found
