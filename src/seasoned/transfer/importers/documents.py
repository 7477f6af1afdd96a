"""The JSON values of a text, one at a time: the items of a list, the lines of a JSONL file, or one object.

A list is never held whole, so an export of a gigabyte needs no more memory than its longest conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TextIO

from seasoned.errors import BundleError

MAX_VALUE: Final = 2**28
"""Longest single value, in characters; a longer one is refused before memory runs out."""

_CHUNK: Final = 2**18
_HEAD_LINE: Final = 2**20
_LINES_TRIED: Final = 100
_MARGIN: Final = 16
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]")
_DECODER: Final = json.JSONDecoder()
_BROKEN: Final = (ValueError, RecursionError)


class Layout(StrEnum):
    """How the values lie in a text."""

    LIST = "item"
    LINES = "line"
    ONE = "object"


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that is not JSON, and why."""

    reason: str


def layout(text: TextIO) -> Layout | None:
    """Tell how the values lie, from the beginning of a text, which is read from its start.

    None stands for what is neither JSON nor JSON Lines, so that what is no JSON is not taken for damaged JSON.

    Raises:
        BundleError: it is JSON that is damaged or cut short.
    """
    line = _first_line(text)
    start = line[:1]
    if start == "[" and not line.endswith("\n") and len(line) >= _HEAD_LINE:
        return Layout.LIST
    if start == "{" and not line.endswith("\n"):
        line += text.readline(MAX_VALUE)
    if _is_json(line) and start and start in "[{":
        more = any(rest is None or rest.strip() for rest in _bounded(text))
        return Layout.LINES if more else (Layout.LIST if start == "[" else Layout.ONE)
    if start == "[":
        return Layout.LIST
    if start == '"' and _is_quoted(text):
        return Layout.ONE
    return _one_or_lines(text) if start == "{" else _lines_or_nothing(text)


def begins(text: TextIO) -> str:
    """Say of a text without a layout how it begins."""
    text.seek(0)
    start = text.read(40)
    if not _first_line(text):
        return "the file holds nothing but blank lines"
    return f"it is neither JSON nor JSON Lines; it begins with {start!a}"


def values(text: TextIO, how: Layout) -> Iterator[tuple[int, object]]:
    """Yield each value with its line or item number, counted from 1; a broken line comes as `Broken`.

    Raises:
        BundleError: the text of a list or object is damaged or cut short.
    """
    if how is Layout.LINES:
        yield from _lines(text)
        return
    scanner = _Scanner(text)
    if how is Layout.ONE:
        yield 1, _unquoted(scanner.value())
    else:
        yield from scanner.items()
    scanner.finish()


def _first_line(text: TextIO) -> str:
    text.seek(0)
    while line := text.readline(_HEAD_LINE):
        if line.strip():
            return line.lstrip()
    return ""


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except _BROKEN:
        return False
    return True


def _is_quoted(text: TextIO) -> bool:
    """Tell whether a text is one JSON string whose content is a JSON object."""
    text.seek(0)
    scanner = _Scanner(text)
    try:
        value = scanner.value()
        scanner.finish()
    except BundleError:
        return False
    return isinstance(_unquoted(value), dict)


def _unquoted(value: object) -> object:
    """Return the object that a JSON string holds, as some programs write JSON twice; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        inner: object = json.loads(value)
    except _BROKEN:
        return value
    return inner if isinstance(inner, dict) else value


def _one_or_lines(text: TextIO) -> Layout:
    """Decide for a text whose first line begins an object and does not end it, or is broken."""
    text.seek(0)
    scanner = _Scanner(text)
    try:
        scanner.value()
        scanner.finish()
    except BundleError as damaged:
        if scanner.cut:
            raise
        if how := _lines_or_nothing(text):
            return how
        raise damaged
    return Layout.ONE


def _lines_or_nothing(text: TextIO) -> Layout | None:
    text.seek(0)
    for _ in range(_LINES_TRIED):
        line = text.readline(_HEAD_LINE)
        if line.lstrip()[:1] in ("{", "[") and _is_json(line):
            return Layout.LINES
    return None


def _lines(text: TextIO) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(_bounded(text), 1):
        if line is None:
            yield number, Broken(f"the line is longer than {MAX_VALUE} characters")
        elif line.strip():
            yield number, _parsed(line)


def _bounded(text: TextIO) -> Iterator[str | None]:
    """Yield the lines of a text, None for one that is longer than a value may be."""
    while line := text.readline(MAX_VALUE):
        if len(line) < MAX_VALUE or line.endswith("\n"):
            yield line
            continue
        while (rest := text.readline(MAX_VALUE)) and not rest.endswith("\n"):
            pass
        yield None


def _parsed(line: str) -> object:
    if _NOT_UTF8.search(line):
        return Broken("the line is not valid UTF-8")
    try:
        value: object = json.loads(line)
    except _BROKEN as error:
        return Broken(f"the line is not JSON: {error}")
    return value


class _Scanner:
    """Reads one JSON value after the other from a text, by pieces. `cut` tells that the text ended within a value."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._buffer = ""
        self._at = 0
        self._gone = 0
        self._ended = False
        self.cut = False

    def items(self) -> Iterator[tuple[int, object]]:
        """Yield the items of the list that begins here."""
        number = 0
        self._expect("[")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            number += 1
            yield number, self.value()
            if self._expect(",", "]") == "]":
                return

    def value(self) -> object:
        """Return the value that begins here, reading on for as long as it may only be cut by the piece's end."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if not self._may_go_on(error):
                    self.cut = _at_end(error, self._buffer)
                    raise self._damaged(error.msg, error.pos) from error
            except _BROKEN as error:
                raise self._damaged(str(error), self._at) from error
            else:
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    return value
            self._fill()

    def finish(self) -> None:
        """Check that nothing follows."""
        if self._peek():
            raise self._damaged("more text follows the end", self._at)

    def _expect(self, *chars: str) -> str:
        found = self._peek()
        if found not in chars:
            wanted = " or ".join(repr(char) for char in chars)
            raise self._damaged(f"{wanted} is missing" if found else "the text ends early", self._at)
        self._at += 1
        return found

    def _peek(self) -> str:
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if self._ended:
                return ""
            self._fill()

    def _fill(self) -> None:
        """Drop what is done and read as much again as is left, so that a long value is tried a few times only."""
        rest = self._buffer[self._at :]
        if len(rest) > MAX_VALUE:
            raise self._damaged(f"one value is longer than {MAX_VALUE} characters", self._at)
        self._gone += self._at
        piece = self._text.read(max(_CHUNK, len(rest)))
        self._ended = not piece
        self._buffer, self._at = rest + piece, 0
        if bad := _NOT_UTF8.search(piece):
            raise self._damaged("the text is not valid UTF-8", len(rest) + bad.start())

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        near_end = error.pos >= len(self._buffer) - _MARGIN or _at_end(error, self._buffer)
        return near_end and not self._ended

    def _damaged(self, why: str, at: int) -> BundleError:
        return BundleError(f"the JSON is damaged at character {self._gone + at}: {why}")


def _at_end(error: json.JSONDecodeError, buffer: str) -> bool:
    return error.msg.startswith("Unterminated string") or error.pos >= len(buffer.rstrip())
