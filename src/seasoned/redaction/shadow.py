"""The text as detectors read it: escapes undone and words set apart, each character knowing where it came from."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_ESCAPE: Final = re.compile(r"%[2-7][0-9A-Fa-f]|\\u[0-9A-Fa-f]{4}|\\[\"\\/bfnrt]")
_SIMPLE: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FIRST_OF_OTHER_SCRIPTS: Final = "\u0370"
"""Where Greek begins: letters below are Latin, and part of the word that they stand in."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """A text to search, and for each of its characters the start and end of what it stands for in the original."""

    text: str
    starts: list[int] | None = None
    ends: list[int] | None = None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original that a range of the shadow stands for."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def shadow(text: str) -> Shadow:
    r"""Return the shadow of a text.

    `%40` and `\u0040` are the characters they stand for. Chinese, Japanese, Thai and other scripts run into an
    address or a key without a space, and every pattern's word boundary fails there, so one is put between.
    """
    if text.isascii() and "%" not in text and "\\" not in text:
        return Shadow(text)
    made, starts, ends = list[str](), list[int](), list[int]()
    before = ""
    for char, start, end in _characters(text):
        if before and _parts(before, char):
            made.append(" ")
            starts.append(start)
            ends.append(start)
        made.append(char)
        starts.append(start)
        ends.append(end)
        before = char
    return Shadow("".join(made), starts, ends)


def _characters(text: str) -> list[tuple[str, int, int]]:
    found = list[tuple[str, int, int]]()
    position = 0
    for match in _ESCAPE.finditer(text):
        found += [(text[at], at, at + 1) for at in range(position, match.start())]
        found.append((_unescaped(match.group()), match.start(), match.end()))
        position = match.end()
    found += [(text[at], at, at + 1) for at in range(position, len(text))]
    return found


def _unescaped(escape: str) -> str:
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    if escape[1] == "u":
        return chr(int(escape[2:], 16))
    return _SIMPLE.get(escape[1], escape[1])


def _parts(left: str, right: str) -> bool:
    if left.isascii() == right.isascii():
        return False
    ascii_one, other = (left, right) if left.isascii() else (right, left)
    return (ascii_one.isalnum() or ascii_one in "+_-") and _is_other_script(other)


@lru_cache(maxsize=4_096)
def _is_other_script(char: str) -> bool:
    """Tell a letter of another script; wide forms of Latin letters and digits are none."""
    return char >= _FIRST_OF_OTHER_SCRIPTS and char.isalnum() and not unicodedata.normalize("NFKC", char).isascii()
