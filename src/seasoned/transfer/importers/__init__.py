"""Readers of what other programs remember; the format is told by structure, never by a file's name.

Each yields messages in OpenAI form with their session, or notes, with their time and an id that is the same at every
reading. They write nothing: `seasoned.transfer.importing.import_file` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from sqlite3 import Connection
from typing import Final, TextIO

from seasoned.errors import BundleError
from seasoned.transfer.importers import (
    chatgpt,
    claude,
    databases,
    langgraph,
    letta,
    locomo,
    mem0,
    mempalace,
    messages,
    openai_sessions,
)
from seasoned.transfer.importers.documents import Broken, Layout, begins, layout, values
from seasoned.transfer.importers.fields import Json, is_object
from seasoned.transfer.importers.files import Part, opened, parts
from seasoned.transfer.importers.items import Imported, Item, Noted, Place, Progress, Refused, Skipped


class Format(StrEnum):
    """What wrote it."""

    LOCOMO = "locomo"
    MESSAGES = "messages"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    LETTA = "letta"
    MEMPALACE = "mempalace"
    OPENAI_SESSIONS = "openai-sessions"


KNOWN: Final = (
    "LoCoMo samples, messages in OpenAI form (JSON or JSON Lines), exports of ChatGPT and Claude (JSON or zip), "
    "memories of mem0 and agent files of Letta (JSON), and SQLite files of LangGraph stores, MemPalace and OpenAI "
    "Agents sessions"
)
"""The formats that are understood, in words."""

_FITS: Final[dict[Format, Callable[[object], bool]]] = {
    Format.LOCOMO: locomo.fits,
    Format.CHATGPT: chatgpt.fits,
    Format.CLAUDE: claude.fits,
    Format.LETTA: letta.fits,
    Format.MEM0: mem0.fits,
    Format.MESSAGES: messages.fits,
}
_READERS: Final[dict[Format, Callable[[Json, Place], Iterator[Item]]]] = {
    Format.LOCOMO: locomo.items,
    Format.CHATGPT: chatgpt.items,
    Format.CLAUDE: claude.items,
    Format.LETTA: letta.items,
    Format.MEM0: mem0.items,
}
_HOLDS: Final[dict[Format, Callable[[databases.Tables], bool]]] = {
    Format.LANGGRAPH: langgraph.holds,
    Format.MEM0: mem0.holds,
    Format.MEMPALACE: mempalace.holds,
    Format.OPENAI_SESSIONS: openai_sessions.holds,
}
_ROWS: Final[dict[Format, Callable[[Connection, Place], Iterator[Item]]]] = {
    Format.LANGGRAPH: langgraph.rows,
    Format.MEMPALACE: mempalace.rows,
    Format.OPENAI_SESSIONS: openai_sessions.rows,
}
_CHECKS: Final[dict[Format, Callable[[Connection], None]]] = {
    Format.MEM0: mem0.check,
    Format.MEMPALACE: mempalace.check,
}
"""What some formats refuse in a database of theirs; mem0's all of them, so it has no rows."""

_TRIED: Final = 100
_NAMED: Final = 8
_PIECE: Final = 2**20


def detect(path: str | PathLike[str]) -> Format:
    """Return the format of a file, told by the structure of its first values or by a database's tables.

    Where a database holds several, it is the first of them.

    Raises:
        BundleError: it cannot be read, is damaged, or is in no format that is known; it says what was found.
    """
    return _sources(Path(path), None).known[0].format


def read(
    path: str | PathLike[str],
    format: Format | None = None,  # noqa: A002 - the word that callers expect
    *,
    session: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Item]:
    """Return an iterator over the messages and notes of a file, and over what was refused or left out of it.

    A file that is one JSON text, or a database, is checked to its end before anything is yielded, and so is each of an
    archive or folder; in JSON Lines a broken line is `Refused` and the rest goes on. What lies beside in a format that
    is not known is `Skipped`. Lists, lines and rows are read one value at a time.

    Args:
        path: a file in one of the known formats, a zip archive of such, or a folder with databases of such.
        format: told by structure when None.
        session: names what has no session of its own; None: the file's name without suffix.
        progress: called as the reading goes on.

    Raises:
        BundleError: it cannot be read, is damaged, or is in no format that is known; nothing was yielded.
    """
    sources = _sources(Path(path), None if format is None else Format(format))
    for source in sources.known:
        _check(source)
    return _items(sources, session, progress)


@dataclass(frozen=True, slots=True)
class _Source:
    """One part in one format; `layout` says how its values lie, None for a database."""

    part: Part
    format: Format
    layout: Layout | None


@dataclass(frozen=True, slots=True)
class _Sources:
    """The parts whose format is known, and what is said of the others."""

    known: list[_Source]
    left: list[Skipped]


def _sources(path: Path, wanted: Format | None) -> _Sources:
    """Return what is read of a path; what is damaged stops it, what is in no known format is left out."""
    known: list[_Source] = []
    left: list[Skipped] = []
    reasons: list[str] = []
    for part in parts(path):
        found = part.left or (_in_database(part, wanted) if part.database else _in_text(part, wanted))
        if isinstance(found, str):
            reasons.append(f"{part.name!r} cannot be imported: {found}")
            left.append(Skipped(file=part.name, place="the whole file", reason=part.left or f"not in {_in(wanted)}"))
        else:
            known += found
    if not known:
        raise BundleError(f"{'; '.join(reasons)}; known are {KNOWN}")
    return _Sources(known, left)


def _in(wanted: Format | None) -> str:
    return f"the format {wanted.value!r}" if wanted else "a format that is known"


def _in_database(part: Part, wanted: Format | None) -> list[_Source] | str:
    """Return a source for each format whose tables a database has, since several may share one, or why there is none.

    Raises:
        BundleError: it is damaged or cannot be read.
    """
    tables = databases.tables_of(part.path)
    found = [format_ for format_, holds in _HOLDS.items() if wanted in (None, format_) and holds(tables)]
    if not found:
        return f"it is a database with {_listed(tables)}, not in {_in(wanted)}"
    return [_Source(part, format_, None) for format_ in found]


def _listed(tables: databases.Tables) -> str:
    names = [repr(name) for name in tables]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"the tables {', '.join(names[:_NAMED])}{more}" if names else "no table"


def _in_text(part: Part, wanted: Format | None) -> list[_Source] | str:
    """Return the source that a text is, or why it is none.

    Raises:
        BundleError: it is damaged or cannot be read.
    """
    try:
        with opened(part) as file:
            how = layout(file.text)
            if how is None:
                return begins(file.text)
        with opened(part) as file:
            found = _told(file.text, how, wanted)
    except BundleError as error:
        raise BundleError(f"{part.name!r} cannot be imported: {error}; known are {KNOWN}") from error
    return [_Source(part, found, how)] if isinstance(found, Format) else found


def _told(text: TextIO, how: Layout, wanted: Format | None) -> Format | str:
    """Return the format that the first values have, or the wanted one where it is given; else what was found."""
    seen = ""
    for _, value in islice(_unwrapped(text, how), _TRIED):
        if wanted is not None:
            return wanted
        for format_, fits in _FITS.items():
            if fits(value):
                return format_
        seen = seen or _described(value)
    return f"no conversation was found; the first {how.value} is {seen}" if seen else "it is an empty list"


def _described(value: object) -> str:
    if isinstance(value, Broken):
        return ""
    if not is_object(value):
        return f"{value!r:.40}"
    names = [repr(name) for name in value][:8]
    return f"an object with the fields {', '.join(names)}" if names else "an empty object"


def _unwrapped(text: TextIO, how: Layout) -> Iterator[tuple[int, object]]:
    """Yield the values; an object that only wraps a list of `conversations` is opened."""
    for number, value in values(text, how):
        inner = value.get("conversations") if how is Layout.ONE and is_object(value) else None
        if isinstance(inner, list) and not any(fits(value) for fits in _FITS.values()):
            yield from enumerate(inner, 1)
        else:
            yield number, value


def _check(source: _Source) -> None:
    """Check one part to its end; lines, which stand each by itself, only for damage of their archive."""
    try:
        if source.layout is None:
            databases.check(source.part.path, _CHECKS.get(source.format))
            return
        with opened(source.part) as file:
            if source.layout is not Layout.LINES:
                for _ in values(file.text, source.layout):
                    pass
            elif source.part.member is not None:
                while file.raw.read(_PIECE):
                    pass
    except BundleError as error:
        raise BundleError(f"{source.part.name!r} cannot be imported: {error}") from error


def _items(sources: _Sources, session: str | None, progress: Progress | None) -> Iterator[Item]:
    """Yield the items of all parts; databases are copied before the first, so that none of them fails after it."""
    done, total = 0, sum(source.part.size for source in sources.known)
    report = progress or (lambda _done, _total: None)
    with databases.copies(source.part.path for source in sources.known if source.layout is None) as copies:
        yield from sources.left
        for source in sources.known:
            name = session or source.part.stem
            if source.layout is None:
                yield from _rows(source, copies[source.part.path], name)
            else:
                yield from _values(source, source.layout, name, partial(_report, report, done, total))
            done += source.part.size
            report(done, total)
    report(total, total)


def _report(report: Progress, done: int, total: int, read: int) -> None:
    report(min(done + read, total), total)


def _rows(source: _Source, copy: Path, session: str) -> Iterator[Item]:
    with databases.opened(copy, source.part.path) as connection:
        yield from _ROWS[source.format](connection, Place(file=source.part.name, index=1, unit="row", session=session))


def _values(source: _Source, how: Layout, session: str, report: Callable[[int], None]) -> Iterator[Item]:
    """Yield the items of a text; `report` is called with the number of bytes that are read."""
    reader = messages.Reader().items if source.format is Format.MESSAGES else _READERS[source.format]
    unit = "line" if how is Layout.LINES else "item"
    with opened(source.part) as file:
        for number, value in _unwrapped(file.text, how):
            place = Place(file=source.part.name, index=number, unit=unit, session=session)
            yield from _read_value(value, source.format, reader, place)
            report(file.tell())


def _read_value(
    value: object, format_: Format, reader: Callable[[Json, Place], Iterator[Item]], place: Place
) -> Iterator[Item]:
    if isinstance(value, Broken):
        yield place.refused(value.reason)
    elif is_object(value) and (format_ is Format.MESSAGES or _FITS[format_](value)):
        yield from reader(value, place)
    elif isinstance(value, list) and format_ is Format.MESSAGES:
        yield from reader({"messages": value}, place)
    else:
        yield place.refused(f"not in the format {format_.value!r}: {_described(value)}")


__all__ = ["KNOWN", "Format", "Imported", "Item", "Noted", "Progress", "Refused", "Skipped", "detect", "read"]
