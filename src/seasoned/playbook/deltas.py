"""Deltas: the five ways in which a playbook changes, and what became of each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeAlias

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.entries import (
    NONE,
    Counts,
    Entry,
    Mark,
    Outcome,
    checked_content,
    checked_counts,
    checked_outcome,
    checked_retired,
    checked_section,
    checked_sources,
)
from seasoned.records import JSON, Key, checked_id, instant

MAX_SEED_CONTENT: Final = 2_000
"""Longest content of a `DeltaEntry`, in characters, as in the package that it comes from."""


@dataclass(frozen=True, slots=True)
class DeltaEntry:
    """What was learned from one step, as `agent-episodic-memory` has it: a category, the content, an outcome, a time.

    Line breaks in the content are kept, and shown escaped. `created_at` is now where none is given.

    Raises:
        InvalidInput: a blank category or content, one of over 64 or 2,000 characters, or no such outcome.
    """

    category: str
    content: str
    outcome: Outcome = Outcome.NEUTRAL
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "category", checked_section(self.category))
        put(self, "content", checked_content(self.content, MAX_SEED_CONTENT))
        put(self, "outcome", checked_outcome(self.outcome))
        put(self, "created_at", instant(self.created_at))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of category, content and outcome, each with its length before it, in hexadecimal digits."""
        digest = hashlib.sha256()
        for part in (self.category, self.content, str(self.outcome)):
            data = part.encode()
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()

    def to_dict(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        return {
            "category": self.category,
            "content": self.content,
            "outcome": str(self.outcome),
            "created_at": self.created_at.isoformat(),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, JSON]) -> DeltaEntry:
        """Return the one that `to_dict` wrote; without a time it is now.

        Raises:
            InvalidInput, WrongType: a field is missing or of another form.
        """
        if not isinstance(given, Mapping):
            raise WrongType(f"a delta entry is a mapping, not {given!r:.80}")
        when = given.get("created_at")
        fields = {"created_at": instant(when)} if when is not None else {}
        category, content = given.get("category"), given.get("content")
        return cls(category, content, checked_outcome(given.get("outcome", "neutral")), **fields)  # type: ignore[arg-type]  # checked when made


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Write a new entry; one of the same section, content and outcome is credited instead (its counts and sources).

    Without `id` it is named after its section, such as "shr-00012", with the next number of the playbook.
    """

    content: str
    section: str = "OTHERS"
    outcome: Outcome = Outcome.NEUTRAL
    id: str | None = None
    counts: Counts = NONE
    sources: tuple[Key, ...] = ()
    at: datetime | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "content", checked_content(self.content))
        put(self, "section", checked_section(self.section))
        put(self, "outcome", checked_outcome(self.outcome))
        put(self, "counts", checked_counts(self.counts))
        put(self, "sources", checked_sources(self.sources))
        put(self, "at", None if self.at is None else instant(self.at))
        if self.id is not None:
            checked_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Change fields of an entry; those that are None stay. `retired` "" brings it back."""

    id: str
    content: str | None = None
    section: str | None = None
    outcome: Outcome | None = None
    retired: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        checked_id(self.id)
        if self.content is not None:
            put(self, "content", checked_content(self.content))
        if self.section is not None:
            put(self, "section", checked_section(self.section))
        if self.outcome is not None:
            put(self, "outcome", checked_outcome(self.outcome))
        checked_retired(self.retired)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Say what an entry did for a run that used it, `times` times (1); below 0 takes marks back, down to none."""

    id: str
    mark: Mark
    times: int = 1

    def __post_init__(self) -> None:
        checked_id(self.id)
        try:
            object.__setattr__(self, "mark", Mark(self.mark))
        except ValueError as error:
            raise InvalidInput(f"a mark is helpful, harmful or neutral, not {self.mark!r:.80}") from error
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times == 0:
            raise InvalidInput(f"an entry is marked 1 time or more, or marks are taken back, not {self.times!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Make one entry of several: counts are summed, sources joined, and the old ids resolve to the first.

    `content` and `section` are the new ones; None keeps those of the first.
    """

    ids: tuple[str, ...]
    content: str | None = None
    section: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "ids", _several(self.ids))
        if len(self.ids) < 2:
            raise InvalidInput(f"a merge needs two entries or more, found {self.ids!r}")
        if self.content is not None:
            put(self, "content", checked_content(self.content))
        if self.section is not None:
            put(self, "section", checked_section(self.section))


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Take an entry out of the playbook; the history keeps it."""

    id: str

    def __post_init__(self) -> None:
        checked_id(self.id)


def _several(ids: object) -> tuple[str, ...]:
    if isinstance(ids, str) or not isinstance(ids, Sequence):
        raise WrongType(f"ids are a list of ids, not {ids!r:.80}")
    return tuple(dict.fromkeys(checked_id(name) for name in ids))


Delta: TypeAlias = Add | Update | Tag | Merge | Remove
"""One change of a playbook."""


class Applied(StrEnum):
    """What became of a delta."""

    WRITTEN = "written"
    """The entry is new, or has changed."""
    CREDITED = "credited"
    """The same advice was there: its counts and sources grew."""
    UNCHANGED = "unchanged"
    """Nothing was to be changed."""
    REFUSED = "refused"
    """There is no such entry, or the entry was not in the expected version; the other deltas stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What became of one delta: the entry it ended in ("" where refused), how, and why."""

    id: str
    status: Applied
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What became of deltas that were applied together: the number of the change, and one effect for each delta.

    `number` is that of the playbook's last change where nothing was written. `duplicate` tells that a change `by` the
    same name was applied before, so that nothing was done now. `skipped` are what was read and is no entry, each with
    the reason.
    """

    number: int
    effects: tuple[Effect, ...] = ()
    duplicate: bool = False
    skipped: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one change did to one entry: its state before (None: it was not there) and after (None: it is gone)."""

    id: str
    before: Entry | None
    after: Entry | None
    merged_into: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of a playbook's history: its number, when, why, by whom, and what it did to each entry."""

    number: int
    at: datetime
    by: str
    reason: str
    steps: tuple[Step, ...]
