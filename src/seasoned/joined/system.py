"""The system part of a context: pinned notes, lessons and playbook; for a run the same from call to call.

The first context of a run decides, its task included, and is kept as a record, so that every later call, another
process and a restart give the same bytes. It is derived from what it shows: forgetting any of it takes it along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.context import (
    LESSONS,
    LESSONS_SAY,
    NOTES,
    NOTES_SAY,
    PLAYBOOK,
    PLAYBOOK_SAYS,
    Item,
    LeftOut,
    Used,
    block,
)
from seasoned.joined.said import Said
from seasoned.joined.sources import Sources, Wanted
from seasoned.pins import pinned_notes
from seasoned.playbook.entries import ENTRY, Entry
from seasoned.playbook.rendering import Line, read_lines
from seasoned.playbook.rendering import block as playbook_block
from seasoned.playbook.snapshots import Block
from seasoned.records import Key
from seasoned.runs import Lesson
from seasoned.runs.rows import LESSON
from seasoned.trust import TRUST, Origin, trusted

NO_ROOM: Final = "{}: no room for it"
SAID: Final = "{}: said elsewhere in the context"
CONTRADICTED: Final = "lessons: a later run says the opposite"


@dataclass(frozen=True, slots=True)
class Part:
    """One block of the system part: the records that it shows, what they say, and what it leaves out."""

    name: str
    text: str = ""
    keys: tuple[Key, ...] = ()
    says: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """The system part besides the instruction and the conversation's own system messages."""

    parts: tuple[Part, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All blocks, "" for none."""
        return "\n\n".join(part.text for part in self.parts if part.text)

    @property
    def used(self) -> tuple[Used, ...]:
        """The records that it shows."""
        return tuple(Used(key, part.name) for part in self.parts for key in part.keys)

    @property
    def says(self) -> tuple[str, ...]:
        """What they say."""
        return tuple(text for part in self.parts for text in part.says)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What could not be shown, and why."""
        return tuple(out for part in self.parts for out in part.left_out if out.ids)

    def forms(self) -> Iterator[System]:
        """Give it whole, then ever shorter, for budgets that are too small: the playbook yields first, then lessons."""
        yield self
        left = self
        for name in (PLAYBOOK, LESSONS):
            if any(part.name == name and part.text for part in left.parts):
                left = left.without(name)
                yield left

    def without(self, name: str) -> System:
        """Return it without one block, whose records are left out for want of room."""
        return System(tuple(_emptied(part) if part.name == name else part for part in self.parts), self.degraded)


def _emptied(part: Part) -> Part:
    out = LeftOut(NO_ROOM.format(part.name), tuple(key.id for key in part.keys))
    return Part(part.name, left_out=(*part.left_out, out))


def made(sources: Sources, wanted: Wanted) -> System:
    """Return a new system part: all pinned notes, then as many of the best lessons and entries as their shares hold."""
    whole = wanted.budget
    notes = _notes(sources)
    said, room = Said(notes.says), int(wanted.policy.lessons * whole)
    lessons = _lessons(sources, wanted, room, said)
    said.add(*lessons.says)
    spent = wanted.tokens(lessons.text) if lessons.text else 0
    playbook, degraded = _playbook(sources, wanted, int(wanted.policy.playbook * whole) + max(0, room - spent), said)
    return System((notes, lessons, playbook), degraded)


def _notes(sources: Sources) -> Part:
    found = pinned_notes(sources.store, sources.scope)
    items = [
        Item(
            text=hit.text,
            labels=(
                ("from", f"a {hit.record.key.kind}"),
                ("date", hit.record.at.date().isoformat()),
                ("trust", trusted(hit.record)),
            ),
        )
        for hit in found
    ]
    text = block(NOTES, NOTES_SAY, items) if items else ""
    return Part(NOTES, text, tuple(hit.record.key for hit in found), tuple(hit.text for hit in found))


def _lessons(sources: Sources, wanted: Wanted, room: int, said: Said) -> Part:
    """Return the lessons that stand, as many of the best as fit."""
    known = sources.lessons.of(wanted.profile)
    standing, repeated = list[Lesson](), list[str]()
    shown = Said()
    for lesson in known:
        if lesson.contradicted_by is None:
            again = said.has(lesson.text) or shown.has(lesson.text)
            repeated.append(lesson.id) if again else standing.append(lesson)
            shown.add(lesson.text)

    def text(count: int) -> str:
        return block(LESSONS, LESSONS_SAY, [_lesson_item(each) for each in standing[:count]]) if count else ""

    count = _most(len(standing), lambda some: wanted.tokens(text(some)) <= room)
    taken, left = standing[:count], standing[count:]
    return Part(
        LESSONS,
        text(count),
        tuple(Key(sources.scope, LESSON, each.id) for each in taken),
        tuple(each.text for each in taken),
        (
            LeftOut(NO_ROOM.format(LESSONS), tuple(each.id for each in left)),
            LeftOut(SAID.format(LESSONS), tuple(repeated)),
            LeftOut(CONTRADICTED, tuple(each.id for each in known if each.contradicted_by is not None)),
        ),
    )


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from 0 to `count` that fits; 0 always does."""
    low, high = 0, count + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _lesson_item(lesson: Lesson) -> Item:
    times = f"{lesson.times} run{'' if lesson.times == 1 else 's'}"
    labels = (("from", times), ("date", lesson.at.date().isoformat()), ("trust", TRUST[Origin.MODEL]))
    return Item(text=lesson.text, labels=labels)


def _playbook(sources: Sources, wanted: Wanted, room: int, said: Said) -> tuple[Part, tuple[str, ...]]:
    """Return the block of the playbook without what is said elsewhere, and what was degraded."""
    says = wanted.tokens(f"{PLAYBOOK_SAYS}0000-00-00.")
    task = None if wanted.run is None and wanted.session is not None else wanted.task
    found = sources.playbook.block(wanted.run, task, max(0, room - says), counter=wanted.counter)
    if not found.text and not found.left_out:
        return Part(PLAYBOOK), found.degraded
    entries = {entry.id: entry for entry in sources.playbook.entries(retired=True)}
    lines, repeated = _distinct_lines(found, entries, said)
    shown = [entries[line.id] for line in lines if line.id in entries]
    ids = set(found.ids)
    missing = [name for name, entry in entries.items() if entry.retired is None and name not in ids]
    part = Part(
        PLAYBOOK,
        f"{PLAYBOOK_SAYS}{_newest(shown)}.\n{playbook_block(lines) if repeated else found.text}" if lines else "",
        tuple(Key(sources.scope, ENTRY, line.id) for line in lines),
        tuple(entry.content for entry in shown),
        (LeftOut(NO_ROOM.format(PLAYBOOK), tuple(missing)), LeftOut(SAID.format(PLAYBOOK), tuple(repeated))),
    )
    return part, found.degraded


def _distinct_lines(found: Block, entries: dict[str, Entry], said: Said) -> tuple[list[Line], list[str]]:
    lines, repeated = list[Line](), list[str]()
    for line in read_lines(found.text, found.ids):
        entry = entries.get(line.id)
        if entry is not None and said.has(entry.content):
            repeated.append(line.id)
        else:
            lines.append(line)
    return lines, repeated


def _newest(entries: Sequence[Entry]) -> str:
    dates = [entry.created_at.date().isoformat() for entry in entries]
    return max(dates, default="an unknown date")
