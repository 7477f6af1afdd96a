"""The head of a run: what has been read of it, written last in every batch, from which a process goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from seasoned.records import JSON, Hit, Key, Record
from seasoned.runs.rows import Ids, texts, whole

NOTHING: Final = -1
"""The turn before the first."""


class Status(StrEnum):
    """Where a run stands."""

    OPEN = "open"
    """It takes turns."""
    WAITING = "waiting"
    """It is closed, and no retrospective was written yet."""
    CLOSED = "closed"
    """Its retrospective is written."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A window that the extractor failed at: its first and last new turn, and how often it was tried."""

    first: int
    last: int
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What is known of a run.

    `extracted`, `covered`, `tried`: the last turn that extraction read, that an episode covers, at which an episode
    failed. `ring`, `since`: ids of the atoms at hand, and of those that no episode has read yet. `errors`: by verb,
    what went wrong the last time, in the order it did.
    """

    ids: Ids
    number: int
    at: datetime
    status: Status = Status.OPEN
    extracted: int = NOTHING
    covered: int = NOTHING
    tried: int = NOTHING
    episodes: int = 0
    failed: tuple[Failed, ...] = ()
    ring: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    calls: int = 0
    retries: int = 0
    refused: int = 0
    errors: tuple[tuple[str, str], ...] = ()
    profile: str = ""
    outcome: str = ""
    retrospective: str = ""
    sources: tuple[Key, ...] = ()
    version: int = 0

    def failing(self, verb: str, reason: str) -> Head:
        """Return the head after a verb went wrong."""
        return replace(self, errors=(*self.clear(verb).errors, (verb, reason)))

    def clear(self, verb: str) -> Head:
        """Return the head after a verb went well."""
        return replace(self, errors=tuple(each for each in self.errors if each[0] != verb))

    @property
    def error(self) -> str | None:
        """What went wrong last and was not put right since."""
        return self.errors[-1][1] if self.errors else None

    def row(self) -> Record:
        """Return the record of the run."""
        data: dict[str, JSON] = {
            "run": self.ids.run,
            "number": self.number,
            "status": self.status.value,
            "extracted": self.extracted,
            "covered": self.covered,
            "tried": self.tried,
            "episodes": self.episodes,
            "failed": [[each.first, each.last, each.tries] for each in self.failed],
            "ring": [*self.ring],
            "since": [*self.since],
            "calls": self.calls,
            "retries": self.retries,
            "refused": self.refused,
            "errors": [[verb, reason] for verb, reason in self.errors],
            "profile": self.profile,
            "outcome": self.outcome,
        }
        return Record(key=self.ids.head(), text=self.retrospective, at=self.at, data=data, sources=self.sources)


def head_of(hit: Hit) -> Head | None:
    """Return the head that a record holds, None where it holds none."""
    data, record = hit.record.data, hit.record
    status = data.get("status")
    if status not in tuple(Status) or whole(data, "number") is None:
        return None
    return Head(
        ids=Ids(record.key.scope, record.key.id),
        number=_number(data, "number", 1),
        at=record.at,
        status=Status(status),
        extracted=_number(data, "extracted", NOTHING),
        covered=_number(data, "covered", NOTHING),
        tried=_number(data, "tried", NOTHING),
        episodes=_number(data, "episodes", 0),
        failed=_failed(data.get("failed")),
        ring=texts(data, "ring"),
        since=texts(data, "since"),
        calls=_number(data, "calls", 0),
        retries=_number(data, "retries", 0),
        refused=_number(data, "refused", 0),
        errors=_errors(data.get("errors")),
        profile=str(data.get("profile") or ""),
        outcome=str(data.get("outcome") or ""),
        retrospective=record.text,
        sources=record.sources,
        version=record.version,
    )


def _number(data: Mapping[str, JSON], name: str, default: int) -> int:
    value = whole(data, name)
    return default if value is None else value


def _failed(value: JSON) -> tuple[Failed, ...]:
    made = list[Failed]()
    for each in value if isinstance(value, list) else []:
        if isinstance(each, list) and len(each) == 3 and all(isinstance(number, int) for number in each):
            made.append(Failed(*(int(str(number)) for number in each)))
    return tuple(made)


def _errors(value: JSON) -> tuple[tuple[str, str], ...]:
    pairs = [each for each in value if isinstance(each, list) and len(each) == 2] if isinstance(value, list) else []
    return tuple((str(verb), str(reason)) for verb, reason in pairs)
