r"""Rendering: a playbook as a model is shown it.

    <playbook>
      <tool_use>
        [+] read_file on config.json succeeded
        [-] grep without a file type returned too many hits
      </tool_use>
    </playbook>

One line an entry, whatever it holds: line breaks and control characters are written as in Python (`\n`, `\x1b`,
`\u2028`), angle brackets as in HTML, and `plain` gives the content back. So no content can start a line, close a tag or
open one. A section's name is the tag where that is a plain one and no block's, else `<section name="…">`.

Source: agent-episodic-memory 0.1.0; for text without control characters the block is the same.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from seasoned.playbook.entries import Entry, Outcome

WORKS: Final = "[+]"
"""Marks what has worked, or has helped more often than harmed."""
FAILS: Final = "[-]"
"""Marks what to avoid: it fails, or has harmed more often than helped."""
UNKNOWN: Final = "[o]"
"""Marks what nobody knows yet."""

_TAG: Final = re.compile(
    r"(?!xml|(?:playbook|section|memory|item|summary|notes|lessons)\Z)[a-z_][a-z0-9_.-]*", re.IGNORECASE | re.ASCII
)
"""A section's name that is a tag as it is; not one that could pass for another block of a context."""
_BREAKS: Final = r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]"
_CODE: Final = r"n|r|x[0-9a-f]{2}|u[0-9a-f]{4}"
_UNSAFE: Final = re.compile(rf"\\+(?={_CODE}|{_BREAKS})|{_BREAKS}")
_CODED: Final = re.compile(rf"(\\+)({_CODE})")
_AMBIGUOUS: Final = re.compile(r"&(?=(?:amp;)*(?:lt|gt);)")
_REFERENCE: Final = re.compile(r"&(?:lt|gt);|&amp;(?=(?:amp;)*(?:lt|gt);)")
_OPENING: Final = re.compile(r'  <(?:section name="(?P<name>.*)"|(?P<tag>[^/"]+))>')
_INDENT: Final = "    "


@dataclass(frozen=True, slots=True)
class Line:
    """One entry as it is shown: its id, its section, and its mark with the content."""

    id: str
    section: str
    text: str

    @property
    def mark(self) -> str:
        """The mark that the line begins with."""
        return self.text[:3]


def xml(entries: Iterable[Entry]) -> str:
    """Return the block of entries: a tag for each section, in order of first appearance; "" for no entries."""
    return block(by_section(line(entry) for entry in entries))


def line(entry: Entry) -> Line:
    """Return an entry as it is shown."""
    return Line(entry.id, entry.section, f"{mark(entry)} {safe(entry.content)}")


def mark(entry: Entry) -> str:
    """Return the mark of an entry: its outcome, or what its counts say where it has none or they speak against it.

    A success counts as one helpful mark; what fails stays what fails.
    """
    balance = entry.counts.helpful - entry.counts.harmful + (entry.outcome is Outcome.SUCCESS)
    if entry.outcome is Outcome.FAILURE or balance < 0:
        return FAILS
    return WORKS if entry.outcome is Outcome.SUCCESS or balance > 0 else UNKNOWN


def by_section(lines: Iterable[Line]) -> list[Line]:
    """Return the lines of one section together, the sections in order of first appearance."""
    found: dict[str, list[Line]] = {}
    for each in lines:
        found.setdefault(each.section, []).append(each)
    return [each for section in found.values() for each in section]


def block(lines: Iterable[Line]) -> str:
    """Return the block of lines in their order, a section opened anew wherever it changes; "" for no lines."""
    shown = list[str]()
    for section, of_section in groupby(lines, key=lambda each: each.section):
        opening, closing = _tags(section)
        shown += [f"  {opening}", *(_INDENT + each.text for each in of_section), f"  {closing}"]
    return "\n".join(["<playbook>", *shown, "</playbook>"]) if shown else ""


def opened(lines: Iterable[Line]) -> str:
    """Return the block of lines without the tags that close it: what a block that goes on after them begins with."""
    return block(lines).rpartition("\n  </")[0]


def read_lines(text: str, ids: Iterable[str]) -> Iterator[Line]:
    """Yield the lines of a block that `block` made, given their ids in order."""
    names, section = iter(ids), ""
    for each in text.split("\n"):
        found = _OPENING.fullmatch(each)
        if each.startswith(_INDENT):
            yield Line(next(names, ""), section, each[len(_INDENT) :])
        elif found:
            section = found["tag"] or html.unescape(found["name"])


def safe(content: str) -> str:
    """Return a text on one line, without angle brackets."""
    text = _UNSAFE.sub(_escape, content)
    if "&" in text:
        text = _AMBIGUOUS.sub("&amp;", text)
    return text.replace("<", "&lt;").replace(">", "&gt;")


def plain(shown: str) -> str:
    """Return the text that `safe` was given."""
    text = _REFERENCE.sub(lambda found: html.unescape(found[0]), shown)
    return _CODED.sub(_unescape, text)


def _escape(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] == "\\":
        return text * 2
    if text in "\n\r":
        return "\\n" if text == "\n" else "\\r"
    return f"\\x{ord(text):02x}" if ord(text) < 256 else f"\\u{ord(text):04x}"


def _unescape(found: re.Match[str]) -> str:
    slashes, code = found[1], found[2]
    kept = "\\" * (len(slashes) // 2)
    if len(slashes) % 2 == 0:
        return kept + code
    return kept + ({"n": "\n", "r": "\r"}.get(code) or chr(int(code[1:], 16)))


def _tags(section: str) -> tuple[str, str]:
    if _TAG.fullmatch(section):
        return f"<{section}>", f"</{section}>"
    return f'<section name="{html.escape(section)}">', "</section>"
