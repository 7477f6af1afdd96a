"""What became of each example in each phase: answered, or learned from; as one line of the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from seasoned.errors import InvalidInput, StoreCorrupt, WrongType
from seasoned.playbook.adapt.stored_deltas import delta_from, delta_json
from seasoned.playbook.deltas import Delta
from seasoned.playbook.traces import TraceStep
from seasoned.records import JSON

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One answer to an example: what was said, with which entries, what it is worth.

    `parts` is (right parts, all parts). `error` says why there is no answer: a call that failed. `feedback` is what
    the task said of it.
    """

    answer: str = ""
    reasoning: str = ""
    used: tuple[str, ...] = ()
    steps: tuple[TraceStep, ...] = ()
    right: bool = False
    parts: tuple[int, int] = (0, 1)
    feedback: str = ""
    error: str | None = None
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        return {
            "answer": self.answer,
            "right": self.right,
            "parts": [*self.parts],
            "used": [*self.used],
            "reasoning": self.reasoning,
            "feedback": self.feedback,
            "error": self.error,
            "warnings": [*self.warnings],
            "steps": [_step_json(step) for step in self.steps],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One example, tested: the phase, its place in the data, its id, its target, and the attempt."""

    phase: str
    place: int
    id: str
    target: str
    attempt: Attempt

    def to_json(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        return {"type": "answered", "phase": self.phase, "place": self.place, "id": self.id, "target": self.target,
                **self.attempt.to_json()}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """One example, learned from: its first attempt, the last, how many there were, and the changes that it gives.

    `error` says which call failed: then it gives no changes.
    """

    phase: str
    place: int
    id: str
    target: str
    first: Attempt
    last: Attempt
    attempts: int = 1
    deltas: tuple[Delta, ...] = ()
    error: str | None = None
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        return {
            "type": "learned",
            "phase": self.phase,
            "place": self.place,
            "id": self.id,
            "target": self.target,
            "attempts": self.attempts,
            "first": self.first.to_json(),
            "last": self.last.to_json(),
            "deltas": [delta_json(delta) for delta in self.deltas],
            "error": self.error,
            "warnings": [*self.warnings],
        }


def answered_from(row: Mapping[str, JSON]) -> Answered:
    """Return what `Answered.to_json` wrote.

    Raises:
        StoreCorrupt: it is damaged.
    """
    return Answered(
        phase=field(row, "phase", str), place=field(row, "place", int), id=field(row, "id", str),
        target=field(row, "target", str), attempt=_attempt(row),
    )  # fmt: skip


def learned_from(row: Mapping[str, JSON]) -> Learned:
    """Return what `Learned.to_json` wrote.

    Raises:
        StoreCorrupt: it is damaged.
    """
    error = row.get("error")
    return Learned(
        phase=field(row, "phase", str),
        place=field(row, "place", int),
        id=field(row, "id", str),
        target=field(row, "target", str),
        first=_attempt(field(row, "first", dict)),
        last=_attempt(field(row, "last", dict)),
        attempts=field(row, "attempts", int),
        deltas=tuple(delta_from(each) for each in field(row, "deltas", list)),
        error=error if isinstance(error, str) else None,
        warnings=_words(row, "warnings"),
    )


def field(row: Mapping[str, JSON], name: str, kind: type[T]) -> T:
    """Return a field of a line.

    Raises:
        StoreCorrupt: it is missing or of another type.
    """
    value: object = row.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise StoreCorrupt(f"{name!r} of a line of the checkpoint is of {kind.__name__}, found {value!r:.80}")
    return value


def _attempt(row: Mapping[str, JSON]) -> Attempt:
    parts, error = field(row, "parts", list), row.get("error")
    found, total = (each if isinstance(each, int) else 0 for each in [*parts, 0, 1][:2])
    return Attempt(
        answer=field(row, "answer", str),
        reasoning=field(row, "reasoning", str),
        used=_words(row, "used"),
        right=field(row, "right", bool),
        parts=(found, total),
        feedback=field(row, "feedback", str),
        steps=tuple(_step(each) for each in field(row, "steps", list)),
        error=error if isinstance(error, str) else None,
        warnings=_words(row, "warnings"),
    )


def _step_json(step: TraceStep) -> dict[str, JSON]:
    return {"kind": step.kind, "name": step.name, "input": step.input, "output": step.output, "status": step.status,
            "error": step.error, "calls": [*step.calls]}  # fmt: skip


def _step(given: JSON) -> TraceStep:
    if not isinstance(given, dict):
        raise StoreCorrupt(f"a step of the checkpoint is an object, found {given!r:.80}")
    fields: dict[str, object] = {**given, "calls": tuple(field(given, "calls", list))}
    try:
        return TraceStep(**fields)  # type: ignore[arg-type]  # checked when made
    except (InvalidInput, WrongType, TypeError) as error:
        raise StoreCorrupt(f"a step of the checkpoint is damaged: {error}") from error


def _words(row: Mapping[str, JSON], name: str) -> tuple[str, ...]:
    return tuple(each for each in field(row, name, list) if isinstance(each, str))
