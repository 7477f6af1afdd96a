"""Readers of conversations that other programs wrote; the format is told by structure, never by a file's name.

Each yields messages in OpenAI form with their session, time and an id that is the same at every reading. They write
nothing: `seasoned.transfer.importing.import_messages` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Final, TextIO

from seasoned.errors import BundleError
from seasoned.transfer.importers import chatgpt, claude, locomo, messages
from seasoned.transfer.importers.documents import Broken, Layout, layout, values
from seasoned.transfer.importers.fields import Json, is_object
from seasoned.transfer.importers.files import Part, opened, parts
from seasoned.transfer.importers.items import Imported, Item, Place, Progress, Refused, Skipped


class Format(StrEnum):
    """What wrote the conversations."""

    LOCOMO = "locomo"
    MESSAGES = "messages"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"


KNOWN: Final = (
    "LoCoMo samples, messages in OpenAI form (JSON or JSON Lines), ChatGPT's export and Claude's export (JSON or zip)"
)
"""The formats that are understood, in words."""

_FITS: Final[dict[Format, Callable[[object], bool]]] = {
    Format.LOCOMO: locomo.fits,
    Format.CHATGPT: chatgpt.fits,
    Format.CLAUDE: claude.fits,
    Format.MESSAGES: messages.fits,
}
_TRIED: Final = 100


def detect(path: str | PathLike[str]) -> Format:
    """Return the format of a file, told by the structure of its first values.

    Raises:
        BundleError: it cannot be read, is damaged, or is in no format that is known; it says what was found.
    """
    return _sources(Path(path), None)[0].format


def read(
    path: str | PathLike[str],
    format: Format | None = None,  # noqa: A002 - the word that callers expect
    *,
    session: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Item]:
    """Return an iterator over the messages of a file, and over what was refused or left out of it.

    A file that is one JSON text is checked to its end before anything is yielded; in JSON Lines a broken line is
    `Refused` and the rest goes on. Lists and lines are read one value at a time.

    Args:
        path: a file in one of the known formats, or a zip archive of such.
        format: told by structure when None.
        session: names what has no session of its own; None: the file's name without suffix.
        progress: called as the reading goes on.

    Raises:
        BundleError: it cannot be read, is damaged, or is in no format that is known; nothing was yielded.
    """
    sources = _sources(Path(path), None if format is None else Format(format))
    for source in sources:
        if source.layout is not Layout.LINES:
            _check(source)
    return _items(sources, session, progress)


@dataclass(frozen=True, slots=True)
class _Source:
    part: Part
    format: Format
    layout: Layout


def _sources(path: Path, wanted: Format | None) -> list[_Source]:
    found, reasons = [], []
    for part in parts(path):
        try:
            found.append(_source(part, wanted))
        except BundleError as error:
            reasons.append(error)
    if not found:
        raise reasons[0] if len(reasons) == 1 else BundleError("; ".join(map(str, reasons)))
    return found


def _source(part: Part, wanted: Format | None) -> _Source:
    try:
        with opened(part) as file:
            how = layout(file.text)
        with opened(part) as file:
            format_ = _told(file.text, how, wanted)
    except BundleError as error:
        raise BundleError(f"{part.name!r} cannot be imported: {error}; known are {KNOWN}") from error
    return _Source(part, format_, how)


def _told(text: TextIO, how: Layout, wanted: Format | None) -> Format:
    """Return the format that the first values have, or the wanted one where it is given."""
    seen = ""
    for _, value in islice(_unwrapped(text, how), _TRIED):
        if wanted is not None:
            return wanted
        for format_, fits in _FITS.items():
            if fits(value):
                return format_
        seen = seen or _described(value)
    raise BundleError(f"no conversation was found; the first {how.value} is {seen}" if seen else "it is an empty list")


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
    try:
        with opened(source.part) as file:
            for _ in values(file.text, source.layout):
                pass
    except BundleError as error:
        raise BundleError(f"{source.part.name!r} cannot be imported: {error}") from error


def _items(sources: list[_Source], session: str | None, progress: Progress | None) -> Iterator[Item]:
    done, total = 0, sum(source.part.size for source in sources)
    report = progress or (lambda _done, _total: None)
    for source in sources:
        reader = _reader(source.format)
        unit = "line" if source.layout is Layout.LINES else "item"
        with opened(source.part) as file:
            for number, value in _unwrapped(file.text, source.layout):
                place = Place(file=source.part.name, index=number, unit=unit, session=session or source.part.stem)
                yield from _read_value(value, source.format, reader, place)
                report(min(done + file.tell(), total), total)
        done += source.part.size
    report(total, total)


def _reader(format_: Format) -> Callable[[Json, Place], Iterator[Item]]:
    if format_ is Format.LOCOMO:
        return locomo.items
    if format_ is Format.CHATGPT:
        return chatgpt.items
    return claude.items if format_ is Format.CLAUDE else messages.Reader().items


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


__all__ = ["KNOWN", "Format", "Imported", "Item", "Progress", "Refused", "Skipped", "detect", "read"]
