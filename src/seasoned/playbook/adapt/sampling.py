"""One example: answered with the playbook, and learned from as in Agentic Context Engineering (arXiv 2510.04618).

Generate; where the answer is wrong reflect and try again, up to `rounds` times, where it is right reflect once; then
curate. With the generation after the step that is 4 calls for an answer that is right at once, and 9 for one that is
never right in 3 rounds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from seasoned.asking import Flow
from seasoned.errors import ModelError, WrongType
from seasoned.playbook.adapt.generating import Generator, ModelGenerator, as_generated
from seasoned.playbook.adapt.outcomes import Attempt
from seasoned.playbook.adapt.showing import Shown
from seasoned.playbook.adapt.tasks import Check, Example, Task
from seasoned.playbook.curators import ModelCurator
from seasoned.playbook.deltas import Delta, Tag
from seasoned.playbook.entries import Entry, Mark
from seasoned.playbook.learning import safe
from seasoned.playbook.reflections import Curated, Curator, Reflection, Reflector, as_curated, as_reflection, driven
from seasoned.playbook.reflectors import DeterministicReflector, ModelReflector
from seasoned.playbook.traces import Trace, TraceStep

MAX_ERROR: Final = 300
"""Most characters of an error that are kept."""

MAX_KEPT: Final = 20_000
"""Most characters of an answer or a reasoning that are kept."""

_LOG: Final = logging.getLogger("seasoned.playbook")


def _reflector() -> Reflector:
    return ModelReflector(otherwise=DeterministicReflector(notes=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Who answers, who reflects, who curates; each by a model unless another is given."""

    generator: Generator = field(default_factory=ModelGenerator)
    reflector: Reflector = field(default_factory=_reflector)
    curator: Curator = field(default_factory=ModelCurator)


@dataclass(frozen=True, slots=True)
class Sample:
    """An example at its place, with the playbook it is shown and the entries that roles are given."""

    task: Task
    roles: Roles
    example: Example
    place: int
    of: int
    shown: Shown
    entries: Sequence[Entry] = ()
    rounds: int = 3
    name: str = "sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What learning from one example gives: its attempts, in order, and the changes.

    `error` says what failed; `degraded` that a role had to do without its model.
    """

    attempts: tuple[Attempt, ...]
    deltas: tuple[Delta, ...] = ()
    error: str | None = None
    degraded: bool = False
    warnings: tuple[str, ...] = ()


def attempted(sample: Sample, reflection: Reflection | None = None) -> Flow[Attempt]:
    """Answer an example once; a call that fails, or whatever the caller's own code raises, is said in the attempt."""
    example = sample.example
    try:
        given = yield from driven(sample.roles.generator.generate(example, sample.shown, reflection))
        made = as_generated(given)
        check = checked(sample.task.check(example, made.answer))
    except ModelError as error:
        return Attempt(error=str(error)[:MAX_ERROR])
    except Exception as error:  # noqa: BLE001  # the caller's generator or task: the run goes on, and says so
        _LOG.warning("example %r was not answered or not checked: %s", example.id, type(error).__name__)
        return Attempt(error=_said(error))
    return Attempt(
        answer=made.answer[:MAX_KEPT],
        reasoning=made.reasoning[:MAX_KEPT],
        used=made.used,
        steps=made.steps,
        right=check.right,
        parts=check.parts,
        feedback=check.feedback,
        warnings=made.warnings,
    )


def learning(sample: Sample, first: Attempt | None) -> Flow[Lesson]:
    """Learn from an example, from its `first` attempt if it was answered before."""
    attempts, reflections = [(yield from attempted(sample)) if first is None else first], list[Reflection]()
    if attempts[0].error is not None:
        return Lesson(attempts=tuple(attempts), error=attempts[0].error)
    try:
        yield from _reflecting(sample, attempts, reflections)
        if attempts[-1].error is not None:
            return Lesson(attempts=tuple(attempts), error=attempts[-1].error)
        given = sample.roles.curator.curate(reflections[-1], sample.entries, _trace(sample, attempts[-1]))
        curated = as_curated((yield from driven(given)))
    except Exception as error:  # noqa: BLE001  # the caller's reflector or curator: the run goes on, and says so
        _LOG.warning("example %r was not learned from: %s", sample.example.id, type(error).__name__)
        return Lesson(attempts=tuple(attempts), error=_said(error))
    deltas, unsafe = safe(marked_once(attempts, reflections, curated.deltas), _whole_trace(sample, attempts))
    roles: list[Reflection | Curated] = [*reflections, curated]
    said = [text for role in roles for text in (*role.warnings, role.degraded or "") if text]
    return Lesson(
        attempts=tuple(attempts),
        deltas=tuple(deltas),
        degraded=any(role.degraded is not None for role in roles),
        warnings=tuple(dict.fromkeys((*said, *unsafe))),
    )


def _reflecting(sample: Sample, attempts: list[Attempt], reflections: list[Reflection]) -> Flow[None]:
    """Reflect, and try again while the answer is wrong."""
    for _ in range(1 if attempts[0].right else sample.rounds):
        given = sample.roles.reflector.reflect(_trace(sample, attempts[-1]), sample.entries)
        reflections.append(as_reflection((yield from driven(given))))
        if attempts[-1].right:
            return
        attempts.append((yield from attempted(sample, reflections[-1])))
        if attempts[-1].right or attempts[-1].error is not None:
            return


def marked_once(
    attempts: Sequence[Attempt], reflections: Sequence[Reflection], curated: Sequence[Delta]
) -> Iterator[Delta]:
    """Yield the changes of one example, with one mark for each entry: however many rounds it took, it counts once.

    The last word stands: the curator's before the reflector's, a later round's before an earlier one's. An entry that
    was used and of which nobody said anything is marked neutral.
    """
    marks = {name: Tag(id=name, mark=Mark.NEUTRAL) for attempt in attempts for name in attempt.used}
    for delta in (*(mark for reflection in reflections for mark in reflection.marks), *curated):
        if isinstance(delta, Tag):
            marks[delta.id] = replace(delta, times=1)
    yield from marks.values()
    yield from (delta for delta in curated if not isinstance(delta, Tag))


def checked(given: object) -> Check:
    """Return what a task of the caller's returned.

    Raises:
        WrongType: it is no `Check`.
    """
    if not isinstance(given, Check):
        raise WrongType(f"a task's check returns a Check, not {given!r:.80}")
    return given


def _trace(sample: Sample, attempt: Attempt) -> Trace:
    example = sample.example
    step = TraceStep(kind="model", name="generator", output=attempt.reasoning or attempt.answer)
    return Trace(
        id=sample.name,
        task="\n\n".join(part for part in (example.context, example.question) if part.strip()),
        steps=attempt.steps or (step,),
        answer=attempt.answer,
        expected=example.target or None,
        reward=1.0 if attempt.right else 0.0,
        feedback=attempt.feedback or None,
        status="completed",
        used=attempt.used,
        sample=sample.place + 1,
        samples=sample.of,
    )


def _whole_trace(sample: Sample, attempts: Sequence[Attempt]) -> Trace:
    """Return the trace of the last attempt with the steps of all."""
    steps = tuple(step for attempt in attempts for step in attempt.steps)
    return replace(_trace(sample, attempts[-1]), steps=steps)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error!s}"[:MAX_ERROR]
