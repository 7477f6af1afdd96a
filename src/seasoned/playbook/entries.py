"""Entries: what a playbook holds, one piece of advice each, and how far it is proven."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.query import Compare, Op
from seasoned.records import JSON, Key, Record, Scope, checked_id, clean_text, instant

ENTRY: Final = "entry"
"""The kind of an entry's record."""

SHOWN: Final = Compare("data.retired", Op.EXISTS, False)
"""Tells entries that are shown from retired ones, in a search."""

MAX_SECTION: Final = 64
"""Longest name of a section, in characters."""

MAX_CONTENT: Final = 10_000
"""Longest content of an entry, in characters."""

OTHERS: Final = "OTHERS"
"""The section of what has none."""


class Outcome(StrEnum):
    """What following the advice leads to, as far as is known."""

    SUCCESS = "success"
    """It works: do this. Shown as [+]."""
    FAILURE = "failure"
    """It fails: avoid this. Shown as [-]."""
    NEUTRAL = "neutral"
    """Nobody knows yet. Shown as [o]."""


class Mark(StrEnum):
    """What an entry did for a run that used it."""

    HELPFUL = "helpful"
    """It helped: the run went better for it."""
    HARMFUL = "harmful"
    """It did harm: the run went worse for it."""
    NEUTRAL = "neutral"
    """It was used and made no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often an entry helped, harmed, or did neither; each 0 or more."""

    helpful: int = 0
    harmful: int = 0
    neutral: int = 0

    def __post_init__(self) -> None:
        for name in ("helpful", "harmful", "neutral"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int):
                raise WrongType(f"{name} is an integer, not {count!r:.80}")
            if not 0 <= count < 2**53:
                raise InvalidInput(f"{name} is 0 or more, found {count}")

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            helpful=self.helpful + other.helpful,
            harmful=self.harmful + other.harmful,
            neutral=self.neutral + other.neutral,
        )


NONE: Final = Counts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One piece of advice of a playbook.

    `id` is stable, such as "shr-00012"; `aliases` are ids of entries merged into this one, which resolve to it.
    `retired` says why it is no longer shown (None where it is); it stays in the playbook and can be brought back.
    `sources` are the records that it was learned from. `version` is its record's, 0 before it is written.
    """

    id: str
    section: str
    content: str
    outcome: Outcome = Outcome.NEUTRAL
    counts: Counts = NONE
    created_at: datetime
    updated_at: datetime
    retired: str | None = None
    aliases: tuple[str, ...] = ()
    sources: tuple[Key, ...] = ()
    version: int = 0

    @property
    def usefulness(self) -> float:
        """How far it is proven, from -1 (only ever harmed) to 1; 0 where nothing is known; more evidence counts more.

        The mean of helpful (+1) and harmful (-1) marks over all that said either, as if two more had said nothing; an
        outcome counts as one mark.
        """
        gained = self.counts.helpful + (self.outcome is Outcome.SUCCESS)
        lost = self.counts.harmful
        return (gained - lost) / (gained + lost + 2)

    @property
    def proven(self) -> bool:
        """Whether more speaks for it than against it, a known outcome being one mark: then no note crowds it out."""
        return self.counts.helpful + (self.outcome is not Outcome.NEUTRAL) > self.counts.harmful


def checked_section(section: object) -> str:
    """Return the name of a section: one line of at most `MAX_SECTION` characters that is not blank.

    Raises:
        InvalidInput: it is not.
        WrongType: no string.
    """
    name = checked_id(section, "a section").strip()
    if len(name) > MAX_SECTION:
        raise InvalidInput(f"a section has at most {MAX_SECTION} characters, found {len(name)}")
    if len(name.splitlines()) > 1:
        raise InvalidInput(f"a section is one line, found {name!r}")
    return name


def checked_content(content: object, longest: int = MAX_CONTENT) -> str:
    """Return the content of an entry: any text that is not blank, of at most `longest` characters.

    Raises:
        InvalidInput: it is not.
        WrongType: no string.
    """
    if not isinstance(content, str):
        raise WrongType(f"the content of an entry is a text, not {content!r:.80}")
    text = clean_text(content).strip()
    if not text:
        raise InvalidInput(f"the content of an entry must not be blank, found {content!r:.80}")
    if len(text) > longest:
        raise InvalidInput(f"the content of an entry has at most {longest} characters, found {len(text)}")
    return text


def checked_outcome(outcome: object) -> Outcome:
    """Return an outcome.

    Raises:
        InvalidInput: none of the three.
    """
    try:
        return Outcome(outcome)  # type: ignore[arg-type]  # anything but a word raises
    except ValueError as error:
        raise InvalidInput(f"an outcome is success, failure or neutral, not {outcome!r:.80}") from error


def checked_counts(counts: object) -> Counts:
    """Return counts.

    Raises:
        WrongType: another type.
    """
    if not isinstance(counts, Counts):
        raise WrongType(f"counts are of Counts, not {counts!r:.80}")
    return counts


def checked_sources(sources: object) -> tuple[Key, ...]:
    """Return sources as a tuple of keys.

    Raises:
        WrongType: something else.
    """
    if not isinstance(sources, (list, tuple)) or not all(isinstance(key, Key) for key in sources):
        raise WrongType(f"sources are a tuple of keys, not {sources!r:.80}")
    return tuple(sources)


def checked_retired(retired: object) -> str | None:
    """Return why an entry is retired, None or a text.

    Raises:
        WrongType: another type.
    """
    if retired is not None and not isinstance(retired, str):
        raise WrongType(f"the reason for retiring an entry is a text, not {retired!r:.80}")
    return retired


def checked_entry(entry: Entry) -> Entry:
    """Return an entry of a caller's with each field checked, and as it will be read again.

    Raises:
        InvalidInput, WrongType: a field breaks its rule.
    """
    if not isinstance(entry.aliases, (list, tuple)):
        raise WrongType(f"aliases are a tuple of ids, not {entry.aliases!r:.80}")
    return replace(
        entry,
        id=checked_id(entry.id),
        section=checked_section(entry.section),
        content=checked_content(entry.content),
        outcome=checked_outcome(entry.outcome),
        counts=checked_counts(entry.counts),
        created_at=_moment(entry.created_at),
        updated_at=_moment(entry.updated_at),
        retired=_text(checked_retired(entry.retired)),
        aliases=tuple(checked_id(alias) for alias in entry.aliases),
        sources=checked_sources(entry.sources),
    )


def _moment(when: object) -> datetime:
    if not isinstance(when, datetime):
        raise WrongType(f"the times of an entry are datetimes, not {when!r:.80}")
    return instant(when)


def to_json(entry: Entry) -> dict[str, JSON]:
    """Return an entry as plain JSON, its version left out."""
    return {"id": entry.id, **_data(entry), "content": entry.content, "created_at": entry.created_at.isoformat(),
            "sources": [[list(key.scope), key.kind, key.id] for key in entry.sources]}  # fmt: skip


def from_json(given: Mapping[str, JSON]) -> Entry:
    """Return the entry that `to_json` wrote.

    Raises:
        InvalidInput, WrongType: a field is missing or of another form.
    """
    name, created = checked_id(given.get("id")), instant(given.get("created_at"))
    sources = given.get("sources") or []
    keys = tuple(_key(source) for source in sources) if isinstance(sources, list) else ()
    return _entry(name, checked_content(given.get("content")), given, created, keys, 0)


def to_record(entry: Entry, scope: Scope) -> Record:
    """Return the record of an entry: its text is the content, its worth the usefulness."""
    return Record(key=Key(scope, ENTRY, entry.id), text=entry.content, at=entry.created_at, data=_data(entry),
                  sources=entry.sources, worth=entry.usefulness)  # fmt: skip


def from_record(record: Record) -> Entry:
    """Return the entry of a record; a field that is missing or of another form has its default."""
    return _entry(record.key.id, record.text, record.data, record.at, record.sources, record.version)


def _data(entry: Entry) -> dict[str, JSON]:
    return {
        "section": entry.section,
        "outcome": str(entry.outcome),
        "helpful": entry.counts.helpful,
        "harmful": entry.counts.harmful,
        "neutral": entry.counts.neutral,
        "updated_at": entry.updated_at.isoformat(),
        "retired": entry.retired,
        "aliases": list(entry.aliases),
    }


def _entry(
    name: str, content: str, data: Mapping[str, JSON], created: datetime, sources: tuple[Key, ...], version: int
) -> Entry:
    aliases = data.get("aliases")
    return Entry(
        id=name,
        section=_text(data.get("section")) or OTHERS,
        content=content,
        outcome=next((each for each in Outcome if each == data.get("outcome")), Outcome.NEUTRAL),
        counts=Counts(**{each: _count(data.get(each)) for each in ("helpful", "harmful", "neutral")}),
        created_at=created,
        updated_at=_when(data.get("updated_at")) or created,
        retired=_text(data.get("retired")),
        aliases=tuple(each for each in aliases if isinstance(each, str)) if isinstance(aliases, list) else (),
        sources=sources,
        version=version,
    )


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _count(value: JSON) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else 0


def _when(value: JSON) -> datetime | None:
    try:
        return instant(value)
    except (InvalidInput, WrongType):
        return None


def _key(source: JSON) -> Key:
    if not isinstance(source, list) or len(source) != 3 or not isinstance(source[0], list):
        raise InvalidInput(f"a source is [scope, kind, id], not {source!r:.80}")
    return Key(Scope(tuple(str(part) for part in source[0])), str(source[1]), str(source[2]))


_NUMBERED: Final = re.compile(r"(?P<slug>[^\s\[\]]+)-(?P<number>\d+)\Z")


def number_of(name: str) -> int:
    """Return the number at the end of an id such as "shr-00012": 12; 0 where there is none."""
    found = _NUMBERED.match(name)
    return int(found["number"]) if found and len(found["number"]) <= 12 else 0


def slug_of(section: str) -> str:
    """Return what ids of a section begin with: the first letters of its first three words, three of a single one.

    "STRATEGIES AND HARD RULES" gives "sah"; a section without Latin letters or digits "ent".
    """
    words = re.findall(r"[a-z0-9]+", section.lower())
    if not words:
        return "ent"
    return "".join(word[0] for word in words[:3]) if len(words) > 1 else words[0][:3]


def named(slug: str, number: int) -> str:
    """Return an id as the paper's playbooks write it: "shr-00012"."""
    return f"{slug}-{number:05d}"
