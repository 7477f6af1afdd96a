"""The playbook as the generator is shown it: one text for all examples of a phase, with the ids in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seasoned.playbook.core import Core
from seasoned.playbook.entries import Entry
from seasoned.playbook.paper import book_of, write
from seasoned.tokens import estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A playbook's text in the paper's format, the ids of the entries in it, and the change it was taken after."""

    text: str = ""
    ids: tuple[str, ...] = ()
    number: int = 0


def shown(core: Core, budget: int | None) -> Shown:
    """Return the playbook's text, at most `budget` tokens of it: proven entries first, then the most useful.

    Those that are kept stand in the order of their writing, so that the text grows at its end.
    """
    number, entries = core.number, core.entries()
    if budget is not None and entries:
        kept = _within(entries, budget)
        entries = [entry for entry in entries if entry.id in kept]
    text = write(book_of(entries)).strip("\n") if entries else ""
    return Shown(text=text, ids=tuple(entry.id for entry in entries), number=number)


def _within(entries: Sequence[Entry], budget: int) -> set[str]:
    places = {entry.id: place for place, entry in enumerate(entries)}
    ranked = sorted(entries, key=lambda entry: (not entry.proven, -entry.usefulness, -places[entry.id]))
    kept, sections, spent = set[str](), set[str](), 0
    for entry in ranked:
        heading = 0 if entry.section in sections else estimate(f"\n## {entry.section}\n")
        cost = heading + estimate(f"[{entry.id}] helpful=1000 harmful=1000 :: {entry.content}\n")
        if spent + cost <= budget:
            spent += cost
            kept.add(entry.id)
            sections.add(entry.section)
    return kept
