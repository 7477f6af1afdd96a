"""Reflectors: by rules, by reward and feedback, by a model; each may be subclassed, overriding `reflect`."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from seasoned.asking import Ask, Flow
from seasoned.errors import InvalidInput, ModelError
from seasoned.models.replies import json_from
from seasoned.playbook.deltas import Add, Delta, Tag
from seasoned.playbook.entries import Entry, Mark, Outcome
from seasoned.playbook.fields import first_of, marks_of, text_of, why_useless
from seasoned.playbook.prompts import reflector_messages
from seasoned.playbook.reflecting import FINAL_ANSWER, MAX_LESSONS, Signals, feedback_of, lessons_of
from seasoned.playbook.reflections import INSIGHTS, Reflected, Reflection, Reflector, as_reflection, known_ids
from seasoned.playbook.traces import Trace
from seasoned.records import JSON

TAG: Final = "playbook-reflect"

INSIGHT_SECTION: Final = "STRATEGIES & INSIGHTS"
"""Where the key insight of a model's reflection goes, unless a curator decides otherwise."""


class DeterministicReflector:
    """Reflects without a model: notes are neutral, an error or a refused call is a failure.

    What changed between a failed call and one that its tool says was ok is a success; nothing else ever is. With
    `notes=False` only these lessons are given, no notes of what the model did.
    """

    def __init__(self, *, notes: bool = True) -> None:
        self.notes = notes

    def reflect(self, trace: Trace, entries: Sequence[Entry]) -> Reflected | Flow[Reflected]:  # noqa: ARG002  # the protocol's
        """Return the lessons of a run, at most 24."""
        return by_rules(trace, notes=self.notes)


def by_rules(trace: Trace, *, notes: bool = True) -> Reflection:
    """Return what a run gives without a model."""
    found, left = lessons_of(trace, notes=notes)
    warnings = (f"{left} lessons above {MAX_LESSONS} of one run were left out",) if left else ()
    return Reflection(deltas=tuple(found), warnings=warnings)


class FeedbackReflector:
    """Reflects by what is known of the result: the rating, else the reward, else a verdict in words, else an error.

    `signals` says from where on a run went well. Every entry that it used is marked once: helpful where it went well,
    harmful where it went badly, neutral in between; none where nobody said. Final answers carry the outcome; feedback
    of more than a verdict is an entry of its own, neutral and quoted (`feedback=False`: is not). `notes=False` leaves
    out notes of what the model did.
    """

    def __init__(self, signals: Signals | None = None, *, notes: bool = True, feedback: bool = True) -> None:
        self.signals = Signals() if signals is None else signals
        self.notes = notes
        self.feedback = feedback

    def reflect(self, trace: Trace, entries: Sequence[Entry]) -> Reflected | Flow[Reflected]:
        """Return the lessons of a run with its outcome, and marks for the entries that it used."""
        outcome = self.signals.outcome(trace)
        rules = by_rules(trace, notes=self.notes)
        deltas: list[Delta] = [_with_outcome(delta, outcome or Outcome.NEUTRAL) for delta in rules.deltas]
        said = feedback_of(trace) if self.feedback else None
        marks, unknown = _marks_for(trace, entries, outcome)
        return replace(
            rules,
            deltas=(*deltas, *([said] if said is not None else [])),
            marks=marks,
            warnings=(*rules.warnings, *unknown),
        )


def _with_outcome(delta: Delta, outcome: Outcome) -> Delta:
    if isinstance(delta, Add) and delta.section == FINAL_ANSWER:
        return replace(delta, outcome=outcome)
    return delta


_MARK_OF: Final[Mapping[Outcome, Mark]] = {
    Outcome.SUCCESS: Mark.HELPFUL,
    Outcome.FAILURE: Mark.HARMFUL,
    Outcome.NEUTRAL: Mark.NEUTRAL,
}


def _marks_for(
    trace: Trace, entries: Sequence[Entry], outcome: Outcome | None
) -> tuple[tuple[Tag, ...], tuple[str, ...]]:
    names = known_ids(entries)
    used = dict.fromkeys(names[name] for name in trace.used if name in names)
    marks = tuple(Tag(id=name, mark=_MARK_OF[outcome]) for name in used) if outcome is not None else ()
    return marks, tuple(f"no entry {name!r:.80}: it was not marked" for name in trace.used if name not in names)


class ModelReflector:
    """Reflects by a model, as the reflector of Agentic Context Engineering (arXiv 2510.04618).

    It is shown the task, the steps, the result and the entries used, and replies with its findings and a mark for each
    entry. `rounds` above 1 show it its own view again to improve it. A reply that cannot be read is asked for again
    `retries` times. Where the model fails or cannot be understood, `otherwise` (rules) reflects, and `degraded` says
    so. The key insight is suggested as a neutral entry: a model's word proves nothing.
    """

    def __init__(
        self,
        *,
        rounds: int = 1,
        retries: int = 1,
        max_tokens: int = 1_500,
        temperature: float = 0.0,
        otherwise: Reflector | None = None,
    ) -> None:
        for what, value, least in (("rounds", rounds, 1), ("retries", retries, 0), ("max_tokens", max_tokens, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInput(f"{what} is an integer of {least} or more, not {value!r}")
        self.rounds = rounds
        self.retries = retries
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.otherwise = DeterministicReflector() if otherwise is None else otherwise

    def reflect(self, trace: Trace, entries: Sequence[Entry]) -> Reflected | Flow[Reflected]:
        """Return what the model finds in a run, after `rounds` rounds."""
        return self.asking(trace, entries)

    def asking(self, trace: Trace, entries: Sequence[Entry]) -> Flow[Reflection]:
        """Return the flow that asks the model."""
        names = known_ids(entries)
        shown = {names[name] for name in trace.used if name in names}
        used = [entry for entry in entries if entry.id in shown]
        view: Reflection | None = None
        warnings = [f"no entry {name!r:.80}: it was not shown" for name in trace.used if name not in names]
        for number in range(1, self.rounds + 1):
            found = yield from self._round(trace, used, view)
            if isinstance(found, str):
                warnings.append(f"round {number}: {found}")
                break
            view = found
        if view is None:
            return (yield from self._otherwise(trace, entries, warnings))
        return replace(view, warnings=(*warnings, *view.warnings))

    def _round(self, trace: Trace, used: Sequence[Entry], view: Reflection | None) -> Flow[Reflection | str]:
        """Return what one round finds; a text says why it finds nothing."""
        reason = ""
        for _ in range(self.retries + 1):
            messages = reflector_messages(trace, used, view, reason)
            try:
                reply = yield Ask(messages=messages, max_tokens=self.max_tokens, temperature=self.temperature, tag=TAG)
            except ModelError as error:
                return f"model: {error}"
            found = read_reflection(reply, used)
            if isinstance(found, Reflection):
                return found
            reason = found
        return f"model: {reason}"

    def _otherwise(self, trace: Trace, entries: Sequence[Entry], warnings: list[str]) -> Flow[Reflection]:
        given = self.otherwise.reflect(trace, entries)
        made = as_reflection((yield from given) if isinstance(given, Generator) else given)
        why = warnings[-1]
        return replace(made, warnings=(*warnings, *made.warnings), degraded=f"reflected without the model: {why}")


def read_reflection(reply: str, used: Sequence[Entry]) -> Reflection | str:
    """Return the reflection in a model's reply; a text says why there is none. Never raises, whatever the reply.

    A text of over 2,000 characters, one that repeats itself or is itself JSON is left out with a warning; so is a mark
    for an id that is not among the entries used. Each entry is marked once.
    """
    parsed = json_from(reply)
    value = _lone(parsed.value)
    if not isinstance(value, dict):
        return parsed.reason or "the reply's JSON is no object"
    warnings = list[str]()
    texts = {name: _kept(name, text_of(first_of(value, name)), warnings) for name in INSIGHTS}
    marks = _read_marks(first_of(value, "bullet_tags", "tags", "bullets"), used, warnings)
    if not any(texts.values()) and not marks:
        return "; ".join(warnings) or "the reply has none of the fields asked for"
    insight = texts["key_insight"]
    suggested = (Add(section=INSIGHT_SECTION, content=insight),) if insight else ()
    return Reflection(deltas=suggested, marks=marks, warnings=tuple(warnings), **texts)


def _lone(value: JSON) -> JSON:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _kept(name: str, text: str, warnings: list[str]) -> str:
    why = why_useless(text) if text else ""
    if why:
        warnings.append(f"{name} was left out: {why}")
    return "" if why else text


def _read_marks(given: JSON, used: Sequence[Entry], warnings: list[str]) -> tuple[Tag, ...]:
    names, marks = known_ids(used), dict[str, Tag]()
    for name, mark in marks_of(given) if given is not None else []:
        if name not in names:
            warnings.append(f"a mark for {name!r:.80} was ignored: the run used no such entry")
        elif mark is None:
            warnings.append(f"a mark for {name!r:.80} was ignored: neither helpful, harmful nor neutral")
        else:
            marks.setdefault(names[name], Tag(id=names[name], mark=mark))
    return tuple(marks.values())
