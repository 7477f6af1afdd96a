"""Transcribing: from a text in the paper's format into a playbook, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import InvalidInput
from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Add, Changed
from seasoned.playbook.entries import (
    MAX_SECTION,
    NONE,
    OTHERS,
    Entry,
    checked_content,
    checked_section,
    named,
    number_of,
    slug_of,
)
from seasoned.playbook.journal import TITLE
from seasoned.playbook.paper import PaperBook, PaperEntry, PaperSection, PaperStyle, book_of, read, style_of, write
from seasoned.ports import Put
from seasoned.query import Query
from seasoned.records import JSON, Key, Record, checked_id

PAPER: Final = "playbook-paper"
"""The kind of what keeps a playbook's preamble and the order of its sections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcribed:
    """What a text gives to a playbook.

    `deltas` add its bullets, in order. `renamed` are pairs of the id in the text and the new one, for ids that stood
    there before; `skipped` are bullets that cannot be entries, with the reason.
    """

    deltas: tuple[Add, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What became of a text that was loaded: what it gave, and what changed."""

    transcribed: Transcribed
    changed: Changed


def transcribed(book: PaperBook, above: int = 0, there: Iterable[Entry] = ()) -> Transcribed:
    """Return what a playbook in the paper's format gives; new ids continue above its highest, and above `above`.

    A bullet that got a new id at an earlier reading, and is `there` under it, has that again.
    """
    number, given = max(book.next_number, above + 1), _given(there, book.next_number)
    seen, deltas, renamed, skipped = set[str](), list[Add](), list[tuple[str, str]](), list[tuple[str, str]]()
    for section, entry in book:
        try:
            checked_content(entry.content)
        except InvalidInput as error:
            skipped.append((entry.id, str(error)))
            continue
        name = entry.id
        if name in seen:
            slug = _slug(entry, section)
            before = given.get((slug, section_named(section), entry.content), [])
            if before:
                name = before.pop(0)
            else:
                name, number = named(slug, number), number + 1
            renamed.append((entry.id, name))
        seen.add(name)
        deltas.append(Add(id=name, content=entry.content, section=section_named(section), counts=entry.counts or NONE))
    return Transcribed(deltas=tuple(deltas), renamed=tuple(renamed), skipped=tuple(skipped))


def _given(there: Iterable[Entry], least: int) -> dict[tuple[str, str, str], list[str]]:
    """Return the ids of entries with this number or a higher one, lowest first, by slug, section and content."""
    found: dict[tuple[str, str, str], list[str]] = {}
    ids = ((name, entry) for entry in there for name in (entry.id, *entry.aliases) if number_of(name) >= least)
    for name, entry in sorted(ids, key=lambda each: number_of(each[0])):
        found.setdefault((name.rpartition("-")[0], entry.section, entry.content), []).append(name)
    return found


def section_named(name: str) -> str:
    """Return the name that a section of a text has in a playbook: as it is, or what can be kept of it."""
    try:
        return checked_section(name)
    except InvalidInput:
        pass
    printable = "".join(char if char.isprintable() else " " for char in name)
    return " ".join(printable.split())[:MAX_SECTION].strip() or OTHERS


def load(core: Core, text: str, *, by: str | None = None) -> Loaded:
    """Add what a text in the paper's format has to a playbook, and keep its preamble and the order of its sections."""
    if by is not None:
        checked_id(by, "by")
    book = read(text)
    found = transcribed(book, core.last_id, core.entries(retired=True))
    style = _named(style_of(book))
    core.store.apply([Put(_record(core, _joined(style, style_kept(core))))])
    return Loaded(transcribed=found, changed=core.apply(found.deltas, by=by, reason="read from a text"))


def to_text(core: Core) -> str:
    """Return a playbook in the paper's format, with the preamble and sections of the text that was last loaded."""
    return write(book_of(core.entries(), style_kept(core)))


def style_kept(core: Core) -> PaperStyle:
    """Return the preamble and sections that are kept with a playbook; the usual ones where nothing is."""
    hits = core.store.find(Query(scope=core.scope, keys=(_key(core),))).hits
    data = hits[0].record.data if hits else {}
    preamble = data.get("preamble")
    try:
        return PaperStyle(
            preamble=PaperBook(preamble=preamble if isinstance(preamble, str) else "").preamble,
            sections=tuple(_sections(data.get("sections"))),
            counted=data.get("counted") is not False,
        )
    except InvalidInput:
        return PaperStyle()


def _slug(entry: PaperEntry, section: str) -> str:
    slug = entry.id.rpartition("-")[0] if number_of(entry.id) else ""
    return slug or slug_of(section)


def _named(style: PaperStyle) -> PaperStyle:
    """Return a style with its sections named as in the playbook; one that lost its header's name has a usual header."""
    return replace(style, sections=tuple(_renamed(section) for section in style.sections))


def _renamed(section: PaperSection) -> PaperSection:
    name = section_named(section.name)
    return section if name == section.name else PaperSection(name=name, after=section.after)


def _joined(new: PaperStyle, old: PaperStyle) -> PaperStyle:
    """Return a style with the sections of both; where the new text had none, all is as it was."""
    if not new.sections:
        return replace(old, preamble=new.preamble or old.preamble)
    sections = {section.name: section for section in (*new.sections, *old.sections)}
    sections.update((section.name, section) for section in new.sections)
    return replace(new, preamble=new.preamble or old.preamble, sections=tuple(sections.values()))


def _key(core: Core) -> Key:
    return Key(core.scope, PAPER, f"{TITLE}style")


def _record(core: Core, style: PaperStyle) -> Record:
    sections: list[JSON] = [[section.name, section.header, section.after] for section in style.sections]
    data: dict[str, JSON] = {"preamble": style.preamble, "sections": sections, "counted": style.counted}
    return Record(key=_key(core), text="", at=core.clock.now(), data=data)


def _sections(given: JSON) -> Iterator[PaperSection]:
    for each in given if isinstance(given, list) else ():
        match each:
            case [str(name), str() | None as header, str(after)]:
                yield PaperSection(name=name, header=header, after=after)
            case _:
                raise InvalidInput(f"a section is a name, a header and what follows it, not {each!r:.80}")
