r"""The paper's text format: sections of bullets, read and written without loss.

    ## STRATEGIES & INSIGHTS
    [si-00001] helpful=3 harmful=0 :: Read the specification of a call before making it.
    [si-00002] Bullets without counters are read as well.

A line is a header where it begins with two hashes, and a bullet where it begins with an id in brackets and its
counters, or with an id such as [shr-00001] alone. Any other line goes on with what stands above it, so content may have
many lines; a line of content that looks like a header or bullet is written with a backslash before it. What the format
has no place for (neutral marks, outcomes, sources, times) is not in it.

Source: the playbooks of arXiv 2510.04618 and of its published code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.entries import NONE, OTHERS, Counts, Entry, number_of
from seasoned.records import MAX_ID, checked_id

_COUNTS: Final = r"helpful=(?P<helpful>[0-9]{1,15})[^\S\n]*harmful=(?P<harmful>[0-9]{1,15})[^\S\n]*::"
_COUNTED: Final = re.compile(r"[^\S\n]*\[(?P<id>[^\[\]\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,2000})\][^\S\n]*" + _COUNTS)
_BARE: Final = re.compile(r"\[(?P<id>[^\s\[\]\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,400}-[0-9]{5,12})\](?=\s|\Z)")
_HEADER: Final = re.compile(r"##(?!#)[^\n]*\S[^\n]*")
_LOOKS_COUNTED: Final = re.compile(r"(\\*)" + _COUNTS)
_BACKSLASHES: Final = re.compile(r"([^\S\n]*)(\\*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperEntry:
    """One bullet: its id, content and counters (None where it is written without).

    `head` is how the bullet begins where it is not written in the usual way, all up to the content; `tail` is the blank
    text behind the content, the end of its last line left out; where there is no content, it begins with a line end.

    Raises:
        InvalidInput: blank text around the content, a head that says something else than the other fields, a tail that
            is not blank, or no counters and an id unlike "shr-00001".
    """

    id: str
    content: str
    counts: Counts | None = NONE
    head: str | None = None
    tail: str = ""

    def __post_init__(self) -> None:
        checked_id(self.id)
        if self.content != self.content.strip() or self.tail.strip():
            raise InvalidInput(f"the content of {self.id!r} has blank text around it, or its tail is not blank")
        if self.counts is not None and self.counts.neutral:
            object.__setattr__(self, "counts", replace(self.counts, neutral=0))
        if self.head == self._usual_head:
            object.__setattr__(self, "head", None)
        found = _bullet(self._head + ("x" if self.content else self.tail))
        if found is None or (found.id, found.counts) != (self.id, self.counts) or found._head != self._head:
            raise InvalidInput(f"{self._head!r} is not how a bullet of {self.id!r} and {self.counts!r} begins")

    @property
    def _usual_head(self) -> str:
        name = _encoded(self.id)
        if self.counts is None:
            return f"[{name}] "
        return f"[{name}] helpful={self.counts.helpful} harmful={self.counts.harmful} :: "

    @property
    def _head(self) -> str:
        return self._usual_head if self.head is None else self.head

    @property
    def text(self) -> str:
        """The bullet as it is written, the end of its last line left out."""
        content = self.content
        if self.counts is None and "\n" not in self._head and _LOOKS_COUNTED.match(content):
            content = "\\" + content
        first, *others = f"{self._head}{content}{self.tail}".split("\n")
        return "\n".join([first, *map(_guarded, others)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperSection:
    """One section: its name, its bullets in order, its header line where that is not `## NAME`, and what follows it.

    `header` "" is for bullets above the first header. `after` is what stands between the header and the first bullet.

    Raises:
        InvalidInput: a header of another name, or something in `after` that would be read as a header or bullet.
    """

    name: str
    entries: tuple[PaperEntry, ...] = ()
    header: str | None = None
    after: str = ""

    def __post_init__(self) -> None:
        if self.header == _usual_header(self.name):
            object.__setattr__(self, "header", None)
        if self.header == "":
            if self.name != OTHERS or self.after or not self.entries:
                raise InvalidInput(f"bullets without a header are of {OTHERS!r}, with nothing before them")
            return
        line = _usual_header(self.name) if self.header is None else self.header
        if not _HEADER.fullmatch(line) or _name(line) != self.name:
            raise InvalidInput(f"{line!r} is not the header of a section {self.name!r}")
        if self.after and (self.after[0] != "\n" or any(map(_starts, self.after.split("\n")))):
            raise InvalidInput(
                f"what follows a header begins on a new line and has no bullet, found {self.after!r:.80}"
            )

    @property
    def text(self) -> str:
        """The section as it is written, the end of its last line left out."""
        line = _usual_header(self.name) if self.header is None else self.header
        return "\n".join([*([line + self.after] if line else []), *(entry.text for entry in self.entries)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperBook:
    """A playbook in the paper's format: what stands before the first header or bullet, and the sections in order.

    Raises:
        InvalidInput: a preamble that holds a header or bullet, or does not end its last line; a section without a
            header that is not the first.
    """

    preamble: str = ""
    sections: tuple[PaperSection, ...] = ()

    def __post_init__(self) -> None:
        unended = self.sections and self.preamble and not self.preamble.endswith("\n")
        if unended or any(map(_starts, self.preamble.split("\n"))):
            raise InvalidInput(
                f"a preamble ends with a line end and has no header or bullet, found {self.preamble!r:.80}"
            )
        if any(section.header == "" for section in self.sections[1:]):
            raise InvalidInput("only the first section can be without a header")

    def __iter__(self) -> Iterator[tuple[str, PaperEntry]]:
        """Yield each bullet with the name of its section, in order."""
        return ((section.name, entry) for section in self.sections for entry in section.entries)

    @property
    def next_number(self) -> int:
        """The number that new ids continue with: one above the highest of any id."""
        return 1 + max((number_of(entry.id) for _, entry in self), default=0)


def read(text: str) -> PaperBook:
    """Return the playbook of a text; `write` gives back the same text, byte for byte.

    Raises:
        WrongType: no text.
    """
    if not isinstance(text, str):
        raise WrongType(f"a playbook is read from a text, not {text!r:.80}")
    preamble, *blocks = _blocks(text)
    sections = list[PaperSection]()
    entries = list[PaperEntry]()
    header, after = "", ""
    for block in blocks:
        line, *_ = block.split("\n", 1)
        entry = _bullet(block)
        if entry is not None:
            entries.append(entry)
            continue
        if header or entries:
            sections.append(_section(header, after, entries))
        header, after, entries = line, block[len(line) :], []
    if header or entries:
        sections.append(_section(header, after, entries))
    return PaperBook(preamble=preamble, sections=tuple(sections))


def write(book: PaperBook) -> str:
    """Return the text of a playbook; `read` gives back the same playbook."""
    return book.preamble + "\n".join(section.text for section in book.sections)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperStyle:
    """What a playbook's file has besides its entries: the preamble and the sections' headers in order.

    `counted` tells whether bullets that nobody has marked are written with counters.
    """

    preamble: str = ""
    sections: tuple[PaperSection, ...] = ()
    counted: bool = True


def style_of(book: PaperBook) -> PaperStyle:
    """Return the style of a playbook that was read; its bullets that nobody marked say whether counters are written."""
    kinds = [entry.counts is not None for _, entry in book if entry.counts in (None, NONE)]
    headed = (section for section in book.sections if section.header != "")
    return PaperStyle(
        preamble=book.preamble,
        sections=tuple({section.name: replace(section, entries=()) for section in headed}.values()),
        counted=not kinds or 2 * sum(kinds) >= len(kinds),
    )


def book_of(entries: Iterable[Entry], style: PaperStyle | None = None) -> PaperBook:
    """Return the playbook of entries: the sections of the style first, then others in order of first appearance.

    A blank line ends each section. What a style has is kept also where it now has no entries.
    """
    style = style or PaperStyle()
    by_section: dict[str, list[PaperEntry]] = {section.name: [] for section in style.sections}
    for entry in entries:
        by_section.setdefault(entry.section, []).append(_written(entry, style))
    known = {section.name: section for section in style.sections}
    made = [_ended(known.get(name) or PaperSection(name=name), found) for name, found in by_section.items()]
    preamble = style.preamble
    if made and preamble and not preamble.endswith("\n"):
        preamble += "\n"
    return PaperBook(preamble=preamble, sections=tuple(made))


def _written(entry: Entry, style: PaperStyle) -> PaperEntry:
    counts = Counts(helpful=entry.counts.helpful, harmful=entry.counts.harmful)
    bare = not style.counted and counts == NONE and _BARE.fullmatch(f"[{_encoded(entry.id)}]") is not None
    return PaperEntry(id=entry.id, content=entry.content.strip(), counts=None if bare else counts)


def _ended(section: PaperSection, entries: Sequence[PaperEntry]) -> PaperSection:
    if not entries:
        after = section.after if section.after.endswith("\n") else section.after + "\n"
        return replace(section, entries=(), after=after)
    return replace(section, entries=(*entries[:-1], replace(entries[-1], tail="\n")))


def _blocks(text: str) -> Iterator[str]:
    """Yield the preamble with its last line end, then each header or bullet with the lines that go on with it."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if _starts(line)]
    if not starts:
        yield text
        return
    yield "".join(line + "\n" for line in lines[: starts[0]])
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield "\n".join(lines[start:end])


def _section(header: str, after: str, entries: Sequence[PaperEntry]) -> PaperSection:
    name = _name(header) if header else OTHERS
    return PaperSection(name=name, entries=tuple(entries), header=header, after=after)


def _starts(line: str) -> bool:
    """Tell whether a line is a header or the first of a bullet."""
    return _HEADER.match(line) is not None or _marker(line) is not None


def _marker(line: str) -> tuple[str, str, Counts | None] | None:
    """Return how a bullet begins: the marker, its id and its counters; None where the line begins none."""
    found = _COUNTED.match(line) or _BARE.match(line)
    name = _decoded(found["id"]) if found else ""
    if found is None or not name.strip() or len(name) > MAX_ID:
        return None
    said = found.groupdict()
    counts = None if "helpful" not in said else Counts(helpful=int(said["helpful"]), harmful=int(said["harmful"]))
    return found[0], name, counts


def _bullet(block: str) -> PaperEntry | None:
    """Return the bullet of a block; None where it is none."""
    first, *others = block.split("\n")
    found = _marker(first)
    if found is None:
        return None
    marker, name, counts = found
    body = "\n".join([first[len(marker) :], *map(_unguarded, others)])
    content = body.strip()
    lead = body[: body.index(content)] if content else body.split("\n", 1)[0]
    tail = body[len(lead) + len(content) :]
    looks = _LOOKS_COUNTED.match(content) if counts is None and "\n" not in lead else None
    plain = content[1:] if looks and looks[1] else content
    return _made(name, plain, counts, marker + lead, tail)


def _made(name: str, content: str, counts: Counts | None, head: str, tail: str) -> PaperEntry:
    """Return a bullet that was just read, without reading it again to check it."""
    made = object.__new__(PaperEntry)
    put = object.__setattr__
    for field, value in (("id", name), ("content", content), ("counts", counts), ("head", head), ("tail", tail)):
        put(made, field, value)
    if head == made._usual_head:
        put(made, "head", None)
    return made


def _guarded(line: str) -> str:
    """Return a line of content as it is written below the first: with a backslash more where it would start a block."""
    found = _BACKSLASHES.match(line)
    indent, slashes = (found[1], found[2]) if found else ("", "")
    rest = line[len(indent) + len(slashes) :]
    return f"{indent}\\{slashes}{rest}" if _starts(indent + rest) else line


def _unguarded(line: str) -> str:
    """Return the line that `_guarded` wrote."""
    found = _BACKSLASHES.match(line)
    indent, slashes = (found[1], found[2]) if found else ("", "")
    rest = line[len(indent) + len(slashes) :]
    return f"{indent}{slashes[1:]}{rest}" if slashes and _starts(indent + rest) else line


def _usual_header(name: str) -> str:
    return f"## {name}:" if name.endswith(":") else f"## {name}"


def _name(header: str) -> str:
    """Return the name in a header line: one colon at its end is not part of it."""
    said = header[2:].strip()
    return said.removesuffix(":").strip() or said


_ENCODED: Final = {"%": "%25", "[": "%5B", "]": "%5D"}
_DECODED: Final = {code: char for char, code in _ENCODED.items()}


def _encoded(name: str) -> str:
    """Return an id as it stands in brackets: "%", "[" and "]" are written as in a URL."""
    return re.sub(r"[%\[\]]", lambda found: _ENCODED[found[0]], name)


def _decoded(name: str) -> str:
    return re.sub("%25|%5B|%5D", lambda found: _DECODED[found[0]], name)
