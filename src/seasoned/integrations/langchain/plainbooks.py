"""Plain books: a playbook whose entries lie as plain JSON in a thread's state or in a LangGraph store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook import Add, Delta, Entry, Playbook, Remove
from seasoned.playbook.entries import slug_of, to_json
from seasoned.playbook.reflecting import FINAL_ANSWER, TOOL_USE
from seasoned.playbook.snapshots import LAYOUT
from seasoned.ports import Put
from seasoned.query import Order, Query
from seasoned.records import JSON, Key, Record, instant

NOTES: Final = 64
"""How many notes of what a model did are kept, the newest: neutral ones that nothing speaks for or against."""

EMBEDDER: Final = "hashing"
"""Plain books are small and made anew for each run: words alone rank them."""


def opened(entries: Iterable[Mapping[str, JSON]], layout: Mapping[str, JSON] | None = None) -> Playbook:
    """Return a playbook of entries, laid out as `layout_of` said; what is damaged is left out, and logged."""
    book = Playbook.from_dict({"entries": [dict(each) for each in entries]}, embedder=EMBEDDER)
    record = None if not layout else _layout_record(book, layout)
    if record is not None:
        book.store.apply([Put(record)])
    return book


def written(entries: Iterable[Entry]) -> list[dict[str, JSON]]:
    """Return entries as plain JSON, each with its `category`, as agent-episodic-memory names a section."""
    return [{"category": entry.section, **to_json(entry)} for entry in entries]


def layout_of(book: Playbook) -> dict[str, JSON] | None:
    """Return how the last block was laid out, so that the next begins like it; None before the first."""
    hits = book.store.find(Query(scope=book.scope, kinds=(LAYOUT,), order=Order.NEWEST, k=1)).hits
    if not hits:
        return None
    record = hits[0].record
    return {"id": record.key.id, "at": record.at.isoformat(), "data": dict(record.data)}


def _layout_record(book: Playbook, layout: Mapping[str, JSON]) -> Record | None:
    data = layout.get("data")
    try:
        key, at = Key(book.scope, LAYOUT, str(layout.get("id"))), instant(layout.get("at"))
        return Record(key=key, text="", at=at, data=data if isinstance(data, dict) else {})
    except (InvalidInput, WrongType):
        return None


def kept(entries: Sequence[Entry], most: int | None) -> list[Entry]:
    """Return the entries to keep, in their order: the newest `NOTES` notes, and of the rest the `most` useful ones.

    What is retired goes before what is shown, and what nobody knows before what is proven.
    """
    notes = sorted((each for each in entries if is_note(each)), key=lambda each: each.updated_at)
    dropped = {each.id for each in notes[: max(len(notes) - NOTES, 0)]}
    left = [each for each in entries if each.id not in dropped]
    if most is None or len(left) <= most:
        return left
    best = {each.id for each in sorted(left, key=_worth, reverse=True)[:most]}
    return [each for each in left if each.id in best]


def is_note(entry: Entry) -> bool:
    """Tell whether an entry only notes what a model did, and nothing speaks for or against it."""
    return entry.section in (TOOL_USE, FINAL_ANSWER) and not entry.proven and not entry.counts.harmful


def _worth(entry: Entry) -> tuple[object, ...]:
    return entry.retired is None, entry.proven, entry.usefulness, entry.updated_at


def trimmed(book: Playbook, most: int | None) -> None:
    """Take out of a playbook what is not to be kept; the history of a store that has one keeps it."""
    entries = book.entries(retired=True)
    stay = {each.id for each in kept(entries, most)}
    gone = [Remove(id=each.id) for each in entries if each.id not in stay]
    if gone:
        book.apply(gone, reason="no room among what is kept")


def named(delta: Delta) -> Delta:
    """Return an addition with an id that follows from what it says, so that two writers never give one id twice."""
    if not isinstance(delta, Add) or delta.id is not None:
        return delta
    said = "\0".join((delta.section, delta.content, str(delta.outcome)))
    return replace(delta, id=f"{slug_of(delta.section)}-{hashlib.sha256(said.encode()).hexdigest()[:10]}")


def edited(book: Playbook, given: Sequence[Mapping[str, JSON]], mirror: Sequence[str]) -> None:
    """Change a playbook as an application changed its mirror in a thread's state; an empty one wipes it.

    `mirror` are the ids that it had. What is missing is removed, what is new added, what reads differently updated.
    """
    if not given:
        if mirror:
            book.clear(reason="wiped in the state of a thread")
        return
    wanted = opened(given).entries(retired=True)
    held = {entry.id: entry for entry in book.entries(retired=True)}
    said = {_said(entry) for entry in wanted}
    ids = {entry.id for entry in wanted}
    gone = [name for name in mirror if name in held and name not in ids and _said(held[name]) not in said]
    book.apply([Remove(id=name) for name in gone], reason="removed in the state of a thread")
    same = [entry for entry in wanted if entry.id in held and entry.id in mirror]
    for entry in (each for each in same if _said(each) != _said(held[each.id])):
        book.update(entry.id, content=entry.content, section=entry.section, outcome=entry.outcome)
    book.merge([_addition(entry) for entry in wanted if entry not in same])


def _said(entry: Entry) -> tuple[str, str, str]:
    return entry.section, entry.content, str(entry.outcome)


def _addition(entry: Entry) -> Add:
    return Add(content=entry.content, section=entry.section, outcome=entry.outcome, at=entry.created_at)
