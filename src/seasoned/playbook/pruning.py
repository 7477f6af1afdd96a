"""Pruning: entries that do harm or that there is no room for are retired; nothing is lost, all can be brought back."""

from __future__ import annotations

from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Changed, Update
from seasoned.playbook.entries import NONE, Counts, Entry, Outcome

HARMFUL: Final = 5
"""From how many harmful marks on an entry may be retired for them."""


def prune(core: Core, keep: int | None = None, *, harmful: int = HARMFUL) -> Changed:
    """Retire the entries that clearly do harm, and with `keep` the least useful ones beyond so many.

    An entry does harm where `harmful` marks or more say so and at most half as many say that it helped (a success is
    one of those); after it was brought back, only marks given since count. A proven entry never goes before one that
    is not. All of it is one change.

    Raises:
        InvalidInput: `keep` below 0, or `harmful` below 1.
        WrongType: another type than an integer.
    """
    _check(keep, harmful)
    shown = core.entries()
    reasons = {entry.id: reason for entry in shown if (reason := _harm(core, entry, harmful)) is not None}
    left = [entry for entry in shown if entry.id not in reasons]
    if keep is not None and len(left) > keep:
        place = {entry.id: number for number, entry in enumerate(left)}
        ranked = sorted(left, key=lambda entry: (_worth(entry), place[entry.id]), reverse=True)
        reasons |= {entry.id: f"pruned: no room among the {keep} most useful" for entry in ranked[keep:]}
    deltas = [Update(id=name, retired=reason) for name, reason in reasons.items()]
    versions = {entry.id: entry.version for entry in shown if entry.id in reasons}
    return core.apply(deltas, reason="pruned", expect=versions)


def brought_back(core: Core, name: str) -> Entry | None:
    """Return an entry as it was when it was last brought back from being retired; None where it never was."""
    for change in reversed(core.history(name)):
        for step in change.steps:
            before, after = step.before, step.after
            if before is not None and after is not None and before.retired is not None and after.retired is None:
                return after
    return None


def _check(keep: object, harmful: object) -> None:
    for name, value, least in (("keep", keep, 0), ("harmful", harmful, 1)):
        if value is None and name == "keep":
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise WrongType(f"{name} is a number of them, not {value!r:.80}")
        if value < least:
            raise InvalidInput(f"{name} is {least} or more, found {value}")


def _harm(core: Core, entry: Entry, least: int) -> str | None:
    """Return why an entry is to be retired for what it did; None where it is not."""
    if not _harms(entry.counts, entry.outcome, least):
        return None
    back = brought_back(core, entry.id)
    counts = _since(entry.counts, NONE if back is None else back.counts)
    if not _harms(counts, entry.outcome, least):
        return None
    return f"harmful: {counts.harmful} marks against it, {counts.helpful} for it"


def _harms(counts: Counts, outcome: Outcome, least: int) -> bool:
    return counts.harmful >= least and counts.harmful >= 2 * (counts.helpful + (outcome is Outcome.SUCCESS))


def _since(now: Counts, then: Counts) -> Counts:
    return Counts(helpful=max(0, now.helpful - then.helpful), harmful=max(0, now.harmful - then.harmful))


def _worth(entry: Entry) -> tuple[bool, float, int]:
    """Return what is kept first: proven, then useful, then with more marks."""
    return entry.proven, entry.usefulness, entry.counts.helpful + entry.counts.neutral
