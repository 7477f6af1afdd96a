"""What the words of a record are on the server: its terms in passages, as the in-process index cuts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from seasoned.index import MONTHS, PASSAGE_CHARS, TOOLS, Row, said_digest, text_digest
from seasoned.records import Record, from_micros, text_field, to_micros
from seasoned.text import Analyser, chunks

_DAY = 86_400_000_000
_MOST = 65_535


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage: how often it has each term, and its length in words."""

    times: Mapping[str, int]
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What search reads of a record's text, speaker and day, all of which `digest` stands for."""

    passages: tuple[Passage, ...]
    said: int
    digest: int
    role: str | None
    speaker: str | None

    @property
    def length(self) -> int:
        """How many words it has."""
        return sum(passage.length for passage in self.passages)

    @property
    def counted(self) -> int:
        """How many of its passages have words."""
        return sum(passage.length > 0 for passage in self.passages)


def said_by(record: Record, analyser: Analyser) -> Said:
    """Return what search reads of a record."""
    role = text_field(record.data, "role")
    speaker = None if role in TOOLS else text_field(record.data, "name")
    at = to_micros(record.at)
    return Said(
        passages=_passages(record.text, _heading(analyser, speaker or "", at // _DAY), analyser),
        said=said_digest(record.text),
        digest=text_digest(Row(row=0, kind=record.key.kind, text=record.text, at=at, name=speaker)),
        role=role,
        speaker=speaker,
    )


def _passages(text: str, heading: tuple[str, ...], analyser: Analyser) -> tuple[Passage, ...]:
    if not text.strip():
        return ()
    made = []
    for piece in chunks(text, PASSAGE_CHARS):
        terms, length = analyser.analyse(piece)
        counts = Counter([*terms, *heading])
        made.append(Passage({term: min(count, _MOST) for term, count in counts.items()}, length))
    return tuple(made)


@lru_cache(maxsize=4096)
def _heading(analyser: Analyser, name: str, day: int) -> tuple[str, ...]:
    """Return the terms of who spoke and when, which do not count in the length."""
    date = from_micros(day * _DAY)
    return tuple(analyser.terms(f"{name} {date.day} {MONTHS[date.month - 1]} {date.year}"))
