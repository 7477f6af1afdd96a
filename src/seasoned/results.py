"""What verbs that write and remove answer: nothing is silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from seasoned.records import Key


class Status(StrEnum):
    """What became of something that was to be written."""

    WRITTEN = "written"
    """It is new, and stored."""
    DUPLICATE = "duplicate"
    """It was there before; nothing changed."""
    REFUSED = "refused"
    """It breaks a rule and is not stored; the reason says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of one thing that was to be written: its id ("" where refused), the status, and why.

    A written one may have a reason too: `degraded: …` says what is missing for now, such as its vector.
    """

    id: str
    status: Status
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was forgotten, or with `dry_run` would be.

    `ids` are the records asked for, `derived` those that go with them (old versions, summaries of them). `stale` are
    derived records that stay since another source of them is left, marked for rewriting: `data.stale` is true.
    `rewritten` are records that now stand without what was forgotten, such as a run's retrospective; `files` says what
    became of files that were made from it ("rewritten", "removed", "kept"), and `exports` are the bundles that hold it.
    The counts say what went from where. `pending` names what is not done: "wal" means that a reader still holds the
    write-ahead log, which `Memory.rebuild` empties later. `left` names files where the self-check still found erased
    bytes.
    """

    ids: tuple[str, ...]
    derived: tuple[str, ...] = ()
    by_kind: Mapping[str, int] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    exports: tuple[str, ...] = ()
    dry_run: bool = False
    hard: bool = False
    rows: int = 0
    vectors: int = 0
    postings: int = 0
    log_bytes: int = 0
    pending: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many records it speaks of, derived ones included."""
        return len(self.ids) + len(self.derived)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep removed: how many records of each kind, old versions and other parts included.

    `expired` is how many of them were past their `until`, with their parts. `skipped` are those that another writer
    changed meanwhile: the next sweep looks at them again. `stale` are derived records that were marked for rewriting.
    """

    by_kind: Mapping[str, int] = field(default_factory=dict)
    expired: int = 0
    skipped: int = 0
    stale: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many records it removed."""
        return sum(self.by_kind.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Credited:
    """What became of an outcome: the effect, from -1 to 1, and the records credited.

    `status` is a duplicate where the same rater said the same before. `replaced` is the effect that the rater gave
    before, None at first. `left_out` names records that could not be credited, such as forgotten ones, and why.
    """

    effect: float
    status: Status
    credited: tuple[Key, ...] = ()
    left_out: tuple[tuple[Key, str], ...] = ()
    replaced: float | None = None
