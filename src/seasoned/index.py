"""The in-process index of one scope: postings, vectors and what ranking reads of each record, following the rows.

Rows are the truth: an index is loaded from stored blobs or built from rows, then told what changed. A record whose
text changes gets a new slot that takes the place of the old one; slots are never reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.columns import Column
from seasoned.ports import Fingerprint
from seasoned.postings import Postings
from seasoned.ranking import Layout
from seasoned.records import from_micros
from seasoned.text import Analyser, chunks
from seasoned.vectors import DenseSpace

NEVER: Final = np.iinfo(np.int64).max
"""The `until` of a record that does not expire."""

MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
"""How the month of a record is indexed, so that "in May 2023" finds it."""

MACHINES: Final = ("assistant", "tool", "function", "system", "developer")
"""Roles that do not speak for a person."""

TOOLS: Final = ("tool", "function")
"""Roles whose name is that of a tool, which no question asks for as a speaker."""

_DAY: Final = 86_400_000_000

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the index reads of a record. `row` numbers records in the order they were first written; times in µs.

    `odd` tells that its session or role is there but is no text, or an empty one, so that filters must ask the rows.
    """

    row: int
    kind: str
    text: str
    at: int
    until: int = NEVER
    worth: float = 0.0
    session: str | None = None
    role: str | None = None
    name: str | None = None
    odd: bool = False


class Names:
    """Strings as small numbers; None is -1."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.strings = list(strings)
        self._codes = {string: code for code, string in enumerate(self.strings)}

    def code(self, string: str | None) -> int:
        """Return the number of `string`, a new one if it is new."""
        if string is None:
            return -1
        if string not in self._codes:
            self._codes[string] = len(self.strings)
            self.strings.append(string)
        return self._codes[string]

    def known(self, string: str) -> int:
        """Return the number of `string`, or -2 if there is none."""
        return self._codes.get(string, -2)


PASSAGE_CHARS: Final = 700
"""Longest passage of a text that is matched by words on its own; the best passage counts for the whole."""

_COLUMNS: Final[Mapping[str, str]] = {
    "passage": "<i4",
    "length": "<i4",
    "said": "<i8",
    "odd": "|b1",
    "rows": "<i8",
    "at": "<i8",
    "until": "<i8",
    "digest": "<i8",
    "worth": "<f8",
    "kind": "<i4",
    "session": "<i4",
    "role": "<i4",
    "name": "<i4",
    "alive": "|b1",
}
_TABLES: Final = ("kind", "session", "role", "name")


class ScopeIndex:
    """Postings and vectors of one scope. Not thread safe: the store holds `lock` of its own around it.

    `seq` is the last change it has seen.
    """

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self.seq = 0
        self.saved_seq = 0
        self.postings = Postings()
        self.columns: dict[str, Column[np.generic]] = {name: Column(dtype) for name, dtype in _COLUMNS.items()}
        self.tables = {name: Names() for name in _TABLES}
        self._slots: dict[int, int] = {}
        self._layout: Layout | None = None
        self._human: Bools | None = None
        self._spread: dict[str, Floats | None] = {}
        self._dense: dict[str, DenseSpace] = {}
        self._names_by_term: dict[str, list[int]] = {}
        self._names_read = 0
        self._headings: dict[tuple[str, int], list[str]] = {}

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def unsaved(self) -> int:
        """How many changes it took in since it was stored."""
        return self.seq - self.saved_seq

    @property
    def nbytes(self) -> int:
        """About how many bytes it holds."""
        columns = sum(column.nbytes for column in self.columns.values())
        return (
            columns
            + self.postings.nbytes
            + sum(space.nbytes for space in self._dense.values())
            + 100 * len(self._slots)
        )

    @property
    def wasted(self) -> bool:
        """Whether so many slots are dead that building it anew pays."""
        return len(self.columns["rows"]) > max(1_000, 2 * len(self._slots))

    def array(self, name: str) -> NDArray[np.generic]:
        """Return one column, a value a slot."""
        return self.columns[name].view

    @property
    def alive(self) -> Bools:
        """Which slots stand for a record that exists."""
        return self.columns["alive"].view  # type: ignore[return-value]  # its dtype is bool

    def slot_of(self, row: int) -> int | None:
        """Return the slot of a row."""
        return self._slots.get(row)

    def follow(self, changed: Iterable[Row], gone: Iterable[int], seq: int) -> None:
        """Take in what was written and removed up to `seq`."""
        for row in changed:
            self._take(row)
        for number in gone:
            self._drop(number)
        self._layout = self._human = None
        self._spread.clear()
        self.seq = seq

    def _take(self, row: Row) -> None:
        if row.role in TOOLS and row.name is not None:
            row = replace(row, name=None)
        digest = text_digest(row)
        slot = self._slots.get(row.row)
        if slot is None or self.array("digest")[slot] != digest:
            self._replace(row, slot, digest)
        else:
            self._update(row, slot)

    def _update(self, row: Row, slot: int) -> None:
        for name, value in self._features(row).items():
            self.array(name)[slot] = value

    def _replace(self, row: Row, old: int | None, digest: int) -> None:
        slot, passage = len(self.columns["rows"]), len(self.postings)
        length, said = self._add_passages(row), said_digest(row.text)
        place = {"rows": row.row, "digest": digest, "alive": True, "passage": passage, "length": length, "said": said}
        for name, value in (self._features(row) | place).items():
            self.columns[name].append(value)
        if old is not None:
            self.alive[old] = False
        self._slots[row.row] = slot

    def _add_passages(self, row: Row) -> int:
        """Add a row's text in passages, each with the terms of who spoke and when; return its length in words.

        Those terms do not count in the length.
        """
        if not row.text:
            self.postings.add((), 0)
            return 0
        heading, total = self._heading(row.name or "", row.at // _DAY), 0
        for piece in chunks(row.text, PASSAGE_CHARS):
            terms, length = self.analyser.analyse(piece)
            self.postings.add([*terms, *heading], length)
            total += length
        return total

    def _heading(self, name: str, day: int) -> list[str]:
        if (name, day) not in self._headings:
            if len(self._headings) > 4096:
                self._headings.clear()
            date = from_micros(day * _DAY)
            self._headings[name, day] = self.analyser.terms(f"{name} {date.day} {MONTHS[date.month - 1]} {date.year}")
        return self._headings[name, day]

    def _features(self, row: Row) -> dict[str, float | int]:
        codes = {name: self.tables[name].code(getattr(row, name)) for name in _TABLES}
        return {"at": row.at, "until": row.until, "worth": row.worth, "odd": row.odd, **codes}

    def _drop(self, number: int) -> None:
        slot = self._slots.pop(number, None)
        if slot is not None:
            self.alive[slot] = False

    def per_passage(self, mask: Bools) -> Bools:
        """Return a mask over slots as one over passages."""
        return mask if len(mask) == len(self.postings) else np.repeat(mask, self._passages())

    def best_passage(self, scores: Floats) -> Floats:
        """Return scores of passages as scores of slots: the best of each."""
        if len(scores) == len(self.columns["rows"]):
            return scores
        best: Floats = np.maximum.reduceat(scores, self.array("passage").astype(np.int64))
        return best

    def _passages(self) -> NDArray[np.int64]:
        """Return how many passages each slot has."""
        ends = np.append(self.array("passage").astype(np.int64), len(self.postings))
        sizes: NDArray[np.int64] = ends[1:] - ends[:-1]
        return sizes

    @property
    def human(self) -> Bools:
        """Which slots a person speaks in: every role but those of `MACHINES`, no role included."""
        if self._human is None:
            codes = [self.tables["role"].known(role) for role in MACHINES]
            self._human = ~np.isin(self.array("role"), codes)
        return self._human

    def spread(self, name: str) -> Floats | None:
        """Return a column from 0, its least value among living records with a text, to 1; None where all are equal.

        What the memories note for themselves has no text, and must not change how texts rank.
        """
        if name not in self._spread:
            said = self.alive & (self.array("said") != 0)
            self._spread[name] = _spread(self.array(name).astype(np.float64), said)
        return self._spread[name]

    @property
    def odd(self) -> bool:
        """Whether a living record has a session or role that is no plain text."""
        return bool(self.array("odd")[self.alive].any())

    @property
    def layout(self) -> Layout:
        """Where the sessions stand, in the order their records were first written."""
        if self._layout is None:
            sessions = np.where(self.alive, self.array("session"), -1)
            self._layout = Layout.of(sessions, self.array("rows"))
        return self._layout

    def dense(self, fingerprint: Fingerprint) -> DenseSpace:
        """Return the vectors of one space, empty where none were loaded yet."""
        return self._dense.setdefault(str(fingerprint), DenseSpace(fingerprint.dimension))

    def take_vectors(self, space: DenseSpace, found: Iterable[Sequence[tuple[int, bytes]]], seq: int) -> None:
        """Take in vectors (row, float32 bytes) written up to `seq`."""
        space.reserve(len(self.columns["rows"]))
        for some in found:
            space.take([(slot, data) for row, data in some if (slot := self._slots.get(row)) is not None])
        space.seq = seq

    def named(self, words: Iterable[str]) -> Bools | None:
        """Tell for each slot whether a word of the speaker's name is among `words` (terms); None where none is."""
        names = self.tables["name"].strings
        for code in range(self._names_read, len(names)):
            for term in self.analyser.terms(names[code]):
                self._names_by_term.setdefault(term, []).append(code)
        self._names_read = len(names)
        codes = [code for word in words for code in self._names_by_term.get(word, ())]
        return np.isin(self.array("name"), codes) if codes else None

    def dump(self) -> dict[str, bytes]:
        """Return all but the vectors as named blobs; what only removed records had is not in them."""
        alive = self.alive.copy()
        blobs = {f"postings.{name}": data for name, data in self.postings.dump(self.per_passage(alive)).items()}
        columns = {name: self.array(name)[alive] for name in _COLUMNS}
        numbers = self._passages()[alive]
        columns["passage"] = np.cumsum(numbers) - numbers
        for name, table in self.tables.items():
            used, columns[name] = _recoded(columns[name])
            blobs[f"table.{name}"] = "\0".join(table.strings[code] for code in used).encode()
        return blobs | {name: columns[name].astype(dtype).tobytes() for name, dtype in _COLUMNS.items()}

    def canonical(self) -> bytes:
        """Return a digest that two indexes of the same records share, however they were made."""
        alive = np.flatnonzero(self.alive)
        order = alive[np.argsort(self.array("rows")[alive], kind="stable")]
        place = np.full(len(self.columns["rows"]), -1, np.int64)
        place[order] = np.arange(len(order))
        total = blake2b(self.postings.canonical(np.repeat(place, self._passages())))
        for name in ("rows", "digest", "at", "until", "worth", "length"):
            total.update(self.array(name)[order].tobytes())
        for name, table in self.tables.items():
            strings = [*table.strings, ""]
            total.update("\0".join(strings[code] for code in self.array(name)[order].tolist()).encode())
        return total.digest()

    @classmethod
    def load(cls, blobs: Mapping[str, bytes], analyser: Analyser, seq: int) -> ScopeIndex:
        """Return what `dump` wrote.

        Raises:
            ValueError, KeyError: the blobs do not fit together.
        """
        made = cls(analyser)
        prefix = "postings."
        made.postings = Postings.load(
            {name[len(prefix) :]: data for name, data in blobs.items() if name.startswith(prefix)}
        )
        for name, dtype in _COLUMNS.items():
            made.columns[name] = Column(dtype, start=np.frombuffer(blobs[name], dtype).copy())
        sizes = {len(column) for column in made.columns.values()}
        passages = made.array("passage")
        if len(sizes) != 1 or not _rises(passages, len(made.postings)):
            raise ValueError("the stored columns do not fit the postings")
        for name in _TABLES:
            text = blobs[f"table.{name}"].decode()
            made.tables[name] = Names(text.split("\0") if text else ())
        made._restore(seq)
        return made

    def _restore(self, seq: int) -> None:
        alive = np.flatnonzero(self.alive)
        self._slots = dict(zip(self.array("rows")[alive].tolist(), alive.tolist(), strict=True))
        self.seq = self.saved_seq = seq


def _rises(starts: NDArray[np.generic], end: int) -> bool:
    """Tell whether numbers rise from 0 to below `end`; none do where the end is 0."""
    steps = np.diff(starts.astype(np.int64), append=end)
    return (int(starts[0]) == 0 and bool((steps > 0).all())) if len(starts) else end == 0


def _recoded(codes: NDArray[np.generic]) -> tuple[list[int], NDArray[np.generic]]:
    """Return the codes in use, and the column with each replaced by its place among them; -1 stays."""
    used = np.unique(codes)
    used = used[used >= 0]
    return used.tolist(), np.where(codes >= 0, np.searchsorted(used, codes), -1)  # type: ignore[operator]


def _spread(values: NDArray[np.float64], alive: Bools) -> Floats | None:
    chosen = values[alive]
    low, high = (float(chosen.min()), float(chosen.max())) if len(chosen) else (0.0, 0.0)
    return np.clip((values - low) / (high - low), 0, 1).astype(np.float32) if high > low else None


def said_digest(text: str) -> int:
    """Return 63 bits that tell texts apart, white space around them left out; 0 for a blank one."""
    said = text.strip()
    return int.from_bytes(blake2b(said.encode(), digest_size=8).digest(), "big") >> 1 if said else 0


def text_digest(row: Row) -> int:
    """Return 63 bits that tell apart what is indexed of rows: day, speaker and text."""
    indexed = f"{row.at // _DAY}\0{row.name or ''}\0{row.text}".encode()
    return int.from_bytes(blake2b(indexed, digest_size=8).digest(), "big") >> 1
