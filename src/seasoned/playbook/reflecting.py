"""Reflecting by rules: what the steps of a run say without any model, and what its reward says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from seasoned.playbook.deltas import Add, DeltaEntry
from seasoned.playbook.entries import Outcome
from seasoned.playbook.quoting import arguments_shown, cut, one_line, quoted, value_shown
from seasoned.playbook.traces import Trace, TraceStep, calls_in, status_in, text_in
from seasoned.records import JSON

TOOL_USE: Final = "tool_use"
FINAL_ANSWER: Final = "final_answer"
RUN: Final = "run"
FEEDBACK: Final = "feedback"

NOTE_CHARS: Final = 240
"""Longest note of what a model did, as in the package `agent-episodic-memory`."""

QUOTED_CHARS: Final = 240
"""Longest quotation of an error."""

FEEDBACK_CHARS: Final = 600
"""Longest quotation of feedback."""

MAX_LESSONS: Final = 24
"""Most lessons of one run; failures come before notes."""

Verdict: TypeAlias = Callable[[str], Outcome]
"""Reads what feedback says of a run: success, failure, or neutral where it says neither."""


def reflect_message(message: Mapping[str, JSON]) -> list[DeltaEntry]:
    """Return what one message of a conversation gives: a neutral note, or a failure where a tool says so.

    A model's message with tool calls is `tool_use`, without them `final_answer`; the note is its text, up to 240
    characters, or "tool call: a, b". Nothing where it is empty. A tool's message is `tool_use`, a failure, where it
    has `status` "error" or a true `is_error`; else nothing. Rule and words of `agent-episodic-memory`, but for errors.
    """
    if message.get("role") in ("tool", "function"):
        if status_in(message) != "error":
            return []
        name = message.get("name")
        return [_entry(failure_of(TraceStep(kind="tool", name=name if isinstance(name, str) else "",
                                            output=text_in(message), status="error")))]  # fmt: skip
    note = note_of(text_in(message), [name for _, name, _ in calls_in(message)])
    return [_entry(note)] if note is not None else []


def _entry(add: Add) -> DeltaEntry:
    return DeltaEntry(add.section, add.content, add.outcome)


def note_of(text: str, calls: Sequence[str]) -> Add | None:
    """Return the neutral note of what a model said and called; None where it did neither."""
    said = text.strip()
    if not said and not calls:
        return None
    note = said or f"tool call: {', '.join(calls) or '?'}"
    note = note if len(note) <= NOTE_CHARS else note[: NOTE_CHARS - 3] + "..."
    return Add(section=TOOL_USE if calls else FINAL_ANSWER, content=note)


def failure_of(step: TraceStep) -> Add:
    """Return the lesson of a call that failed or was refused: the tool, its arguments shortened, the error quoted."""
    who = f"tool {one_line(step.name, 80) or '?'}" if step.kind == "tool" else "the model"
    given = arguments_shown(step.arguments) if step.kind == "tool" and step.input not in ("", None) else ""
    became = "was refused" if step.status == "refused" else "failed"
    said = f": {quoted(step.message, QUOTED_CHARS)}" if step.message.strip() else ""
    section = TOOL_USE if step.kind == "tool" else RUN
    return Add(section=section, outcome=Outcome.FAILURE, content=f"{who}{given and f' with {given}'} {became}{said}")


def lessons_of(trace: Trace, *, notes: bool = True) -> tuple[list[Add], int]:
    """Return what a run gives without a model, each lesson once, and how many were left out above `MAX_LESSONS`.

    Failures of its tools and of the run itself; for a call that failed and then succeeded with other arguments what
    changed, a success since the tool said "ok"; and, with `notes`, a neutral note of each step of a model.
    """
    found = [*_from_tools(trace.steps), *_from_run(trace), *(_notes(trace) if notes else ())]
    lessons = {(add.section, add.content, add.outcome): add for add in reversed(found)}
    kept = list(reversed(lessons.values()))
    return kept[:MAX_LESSONS], max(len(kept) - MAX_LESSONS, 0)


def _from_tools(steps: Sequence[TraceStep]) -> Iterator[Add]:
    for place, step in enumerate(steps):
        if not step.failed:
            continue
        if step.kind == "model":
            yield failure_of(step)
            continue
        later = _next_of(step, steps[place + 1 :])
        if later is None or (later.failed and later.arguments != step.arguments):
            yield failure_of(step)
        elif not later.failed:
            yield _passing(step) if later.arguments == step.arguments else _changed(step, later)


def _next_of(step: TraceStep, later: Iterable[TraceStep]) -> TraceStep | None:
    """Return the next call of the same tool of which it is known how it ended."""
    return next((each for each in later if each.kind == "tool" and each.name == step.name and each.status != "unknown"),
                None)  # fmt: skip


def _passing(step: TraceStep) -> Add:
    """Return the lesson of an error that went by itself: no failure of the call."""
    name, given = one_line(step.name, 80) or "?", arguments_shown(step.arguments)
    said = f" ({quoted(step.message, QUOTED_CHARS)})" if step.message.strip() else ""
    return Add(section=TOOL_USE, content=f"tool {name} with {given} failed once{said} and worked when called again")


def _changed(failed: TraceStep, worked: TraceStep) -> Add:
    name, said = one_line(failed.name, 80) or "?", failed.message.strip()
    became = "was refused" if failed.status == "refused" else "failed"
    before, after = _difference(failed.arguments, worked.arguments)
    because = f": {quoted(said, QUOTED_CHARS)}" if said else ""
    return Add(section=TOOL_USE, outcome=Outcome.SUCCESS,
               content=f"tool {name} worked with {after}; it {became} with {before}{because}")  # fmt: skip


def _difference(before: JSON, after: JSON) -> tuple[str, str]:
    """Return the arguments in which two calls differ, as each had them."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return arguments_shown(before), arguments_shown(after)
    names = [name for name in {**before, **after} if before.get(name, _NOT) != after.get(name, _NOT)]
    return _those(before, names), _those(after, names)


_NOT: Final = "\0absent"


def _those(arguments: Mapping[str, JSON], names: Iterable[str]) -> str:
    shown = [f"{one_line(name, 40)}={value_shown(name, arguments[name])}" if name in arguments
             else f"no {one_line(name, 40)}" for name in names]  # fmt: skip
    return cut(", ".join(shown), QUOTED_CHARS)


def _from_run(trace: Trace) -> Iterator[Add]:
    """Return the lesson of an exception that ended the run, unless a step has told of it."""
    error = (trace.error or "").strip()
    told = any(step.failed and step.message == trace.error for step in trace.steps)
    if trace.status == "failed" and error and not told:
        task = f" on {quoted(trace.task, 120)}" if trace.task.strip() else ""
        yield Add(section=RUN, outcome=Outcome.FAILURE, content=f"a run{task} failed: {quoted(error, QUOTED_CHARS)}")


def _notes(trace: Trace) -> Iterator[Add]:
    for step in trace.steps:
        if step.kind == "model" and not step.failed and (note := note_of(step.output, step.calls)) is not None:
            yield note
    if trace.answer and not any(step.kind == "model" for step in trace.steps):
        note = note_of(trace.answer, ())
        if note is not None:
            yield note


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """From where on a reward or rating says that a run went well, and until where that it went badly.

    A rating is 0 to 10. `verdict` reads feedback; by default only plain verdicts such as "Correct." count.
    """

    good_reward: float = 0.5
    bad_reward: float = 0.0
    good_rating: float = 7.0
    bad_rating: float = 3.0
    verdict: Verdict | None = None

    def outcome(self, trace: Trace) -> Outcome | None:
        """Return how a run went: by its rating, else its reward, else a verdict, else an error; None: nobody says.

        Neutral is what lies between good and bad.
        """
        if trace.rating is not None:
            return _judged(trace.rating, self.good_rating, self.bad_rating)
        if trace.reward is not None:
            return _judged(trace.reward, self.good_reward, self.bad_reward)
        said = (self.verdict or verdict)(trace.feedback) if trace.feedback else Outcome.NEUTRAL
        if said is not Outcome.NEUTRAL:
            return said
        return Outcome.FAILURE if trace.status == "failed" else None


def _judged(value: float, good: float, bad: float) -> Outcome:
    if value >= good:
        return Outcome.SUCCESS
    return Outcome.FAILURE if value <= bad else Outcome.NEUTRAL


_CLAUSE: Final = re.compile(r"[\s.,;:!\n]*([^.,;:!\n]+)")
_LEAD: Final = r"(?:(?:yes|no|that|this|it|the|your|answer|response|result|is|was|prediction|predicted)\s+)*"
_GOOD: Final = re.compile(
    _LEAD + r"(?:correct|right|true|good|great|perfect|well done|success(?:ful)?|passed|solved|yes|👍|✅)", re.I
)
_BAD: Final = re.compile(
    _LEAD + r"(?:incorrect|wrong|not (?:correct|right|good)|false|bad|fail(?:ed|ure)?|unsolved|no|👎|❌"
    r"|does not match(?: the)?(?: ground truth| expected answer)?)",
    re.I,
)


def verdict(feedback: str) -> Outcome:
    """Return what feedback says in so many words: its first clause is a verdict and nothing else, or it is neutral."""
    found = _CLAUSE.match(feedback[:2_000])
    clause = found[1].strip() if found else ""
    if _BAD.fullmatch(clause):
        return Outcome.FAILURE
    return Outcome.SUCCESS if _GOOD.fullmatch(clause) and " but " not in f" {feedback.lower()} " else Outcome.NEUTRAL


def feedback_of(trace: Trace) -> Add | None:
    """Return what was said of a run as an entry: neutral, quoted, with its task; None where it is only a verdict."""
    said = (trace.feedback or "").strip()
    if not said or (_is_one_clause(said) and verdict(said) is not Outcome.NEUTRAL):
        return None
    about = f" on {quoted(trace.task, 160)}" if trace.task.strip() else ""
    return Add(section=FEEDBACK, content=f"feedback{about}: {quoted(said, FEEDBACK_CHARS)}")


def _is_one_clause(text: str) -> bool:
    return not _CLAUSE.sub("", text, count=1).strip(" .!")
