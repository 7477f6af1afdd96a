"""Contradictions: advice and its opposite, found among entries, and settled where the evidence is clear.

Two entries contradict each other where one works and the other fails at the same advice, or where one tells what the
other forbids ("always retry", "never retry"). What is marked as failing counts as advice against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Update
from seasoned.playbook.entries import Entry, Outcome
from seasoned.playbook.likeness import Sentence, folded, forbids, sentences
from seasoned.playbook.pruning import brought_back

ALIKE: Final = 0.85
"""From which share of their words on two sentences speak for and against the same thing."""

LEAD: Final = 3
"""How many marks more one side needs, and at least twice as many, for its evidence to be clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two entries that contradict each other, in what; `retired` is the id of the one that had to go, if one had."""

    ids: tuple[str, str]
    reason: str
    retired: str | None = None


def find(core: Core) -> list[Contradiction]:
    """Return the contradictions among all entries that are shown, in order of first writing; nothing is changed."""
    return among(core.entries())


def among(entries: Sequence[Entry]) -> list[Contradiction]:
    """Return the contradictions among entries, in their order.

    Only entries with a rare word in common are compared, so that it takes well below the square of their number.
    """
    place = {entry.id: number for number, entry in enumerate(entries)}
    found = dict[tuple[str, str], Contradiction]()
    for one, other in _candidates(entries):
        first, second = sorted((one, other), key=lambda entry: place[entry.id])
        reason = opposed(first, second) if (first.id, second.id) not in found else None
        if reason is not None:
            found[first.id, second.id] = Contradiction(ids=(first.id, second.id), reason=reason)
    return sorted(found.values(), key=lambda each: (place[each.ids[0]], place[each.ids[1]]))


def opposed(one: Entry, other: Entry) -> str | None:
    """Return how two entries contradict each other; None where they do not."""
    outcomes = {one.outcome, other.outcome} == {Outcome.SUCCESS, Outcome.FAILURE}
    if not outcomes and not forbids(one.content) and not forbids(other.content):
        return None
    if outcomes and folded(one.content) == folded(other.content):
        return "the same advice works in one and fails in the other"
    against = (one.outcome is Outcome.FAILURE) != (other.outcome is Outcome.FAILURE)
    for left in sentences(one.content):
        for right in sentences(other.content):
            if _about_the_same(left, right):
                if left.forbids != right.forbids and not against:
                    return f"one says {_short(left.text)}, the other {_short(right.text)}"
                if left.forbids == right.forbids and outcomes:
                    return f"{_short(left.text)} works in one and fails in the other"
    return None


def _about_the_same(left: Sentence, right: Sentence) -> bool:
    return (
        (left.logic, left.names, left.numbers, left.bound) == (right.logic, right.names, right.numbers, right.bound)
        and bool(left.terms)
        and left.nearness(right) >= ALIKE
    )


_SHOWN: Final = 80


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _candidates(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield pairs with the same text, and pairs of which a sentence each may be about the same."""
    by_text: dict[str, list[Entry]] = {}
    for entry in entries:
        by_text.setdefault(folded(entry.content), []).append(entry)
    for alike in by_text.values():
        yield from combinations(alike, 2)
    said = [(entry, sentence.terms) for entry in entries for sentence in sentences(entry.content)]
    common = Counter(term for _, terms in said for term in set(terms))
    waiting: dict[str, list[tuple[Entry, int]]] = {}
    for entry, terms in said:
        rarest = _rarest(Counter(terms), common)
        for other, length in (each for term in rarest for each in waiting.get(term, ())):
            if other is not entry and _lengths_fit(length, len(terms)):
                yield other, entry
        for term in rarest:
            waiting.setdefault(term, []).append((entry, len(terms)))


def _rarest(terms: Counter[str], common: Mapping[str, int]) -> list[str]:
    """Return the rarest terms of a sentence, of which it shares one with any other that is alike enough."""
    left, least = terms.total(), ALIKE / (2 - ALIKE) * terms.total()
    found = list[str]()
    for term in sorted(terms, key=lambda each: (common[each], each)):
        if left < least:
            break
        found.append(term)
        left -= terms[term]
    return found


def _lengths_fit(one: int, other: int) -> bool:
    return 2 * min(one, other) >= ALIKE * (one + other)


def settled(
    core: Core, found: Iterable[Contradiction], entries: Mapping[str, Entry]
) -> tuple[list[Contradiction], list[Update]]:
    """Return contradictions as they end, and the deltas that retire the side with clearly less evidence.

    Where the evidence is not clear both sides stay, and so does one that someone brought back.
    """
    ended, deltas, gone = list[Contradiction](), list[Update](), set[str]()
    for each in found:
        if gone.intersection(each.ids):
            continue
        low, high = sorted((entries[name] for name in each.ids), key=evidence)
        clear = evidence(high) - evidence(low) >= LEAD and evidence(high) >= 2 * evidence(low)
        if clear and brought_back(core, low.id) is None:
            gone.add(low.id)
            reason = f"contradicted by {high.id}, which has more evidence: {each.reason}"
            deltas.append(Update(id=low.id, retired=reason))
        ended.append(replace(each, retired=low.id if low.id in gone else None))
    return ended, deltas


def evidence(entry: Entry) -> int:
    """Return how many more marks speak for an entry than against it; a known outcome counts as one."""
    return entry.counts.helpful - entry.counts.harmful + (entry.outcome is not Outcome.NEUTRAL)
