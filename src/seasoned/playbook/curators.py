"""Curators: what becomes of a reflection, by rules or by a model; each may be subclassed, overriding `curate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.asking import Ask, Flow
from seasoned.errors import InvalidInput, ModelError, SeasonedError
from seasoned.models.replies import json_from
from seasoned.playbook.deltas import Add, Delta, Merge, Remove, Tag, Update
from seasoned.playbook.entries import MAX_SECTION, OTHERS, Entry, Outcome
from seasoned.playbook.fields import first_of, id_of, ids_of, mark_of, objects_of, text_of, why_useless
from seasoned.playbook.prompts import Desk, curator_messages
from seasoned.playbook.quoting import one_line
from seasoned.playbook.reflecting import Signals
from seasoned.playbook.reflections import Curated, Decided, Reflection, known_ids
from seasoned.playbook.traces import Trace
from seasoned.records import JSON

TAG: Final = "playbook-curate"

MAX_OPERATIONS: Final = 32
"""Most operations that one reply may have; the rest is ignored with a warning."""


class DeterministicCurator:
    """Takes over what a reflection suggests, each thing once, and its marks; asks no model."""

    def curate(self, reflection: Reflection, entries: Sequence[Entry], trace: Trace) -> Decided | Flow[Decided]:  # noqa: ARG002  # the protocol's
        """Return the marks and the suggested changes, equal ones folded into one."""
        return taken_over(reflection)


def taken_over(reflection: Reflection) -> Curated:
    """Return the marks and suggestions of a reflection as changes."""
    return Curated(deltas=(*reflection.marks, *folded(reflection.deltas)))


def folded(deltas: Iterable[Delta]) -> list[Delta]:
    """Return deltas without repetition; of additions that are alike but for case and spaces one stays."""
    kept = dict[object, Delta]()
    for delta in deltas:
        key = _sameness(delta)
        known = kept.get(key)
        if isinstance(known, Add) and isinstance(delta, Add):
            kept[key] = replace(known, sources=tuple(dict.fromkeys((*known.sources, *delta.sources))))
        else:
            kept.setdefault(key, delta)
    return list(kept.values())


def _sameness(delta: Delta) -> object:
    if isinstance(delta, Add):
        return delta.section.casefold(), " ".join(delta.content.split()).casefold(), delta.outcome
    return delta


class ModelCurator:
    """Decides by a model, as the curator of Agentic Context Engineering (arXiv 2510.04618): all its operations work.

    It is shown the reflection, the playbook with its figures and the task, and replies with operations: ADD, UPDATE,
    MERGE, DELETE (or REMOVE), TAG. What is unknown in them is ignored with a warning. `budget_tokens` tells it how long
    the playbook may become; nothing is cut here. A reply that cannot be read is asked for again `retries` times; where
    the model fails, `DeterministicCurator` decides, and `degraded` says so. A reflection that says nothing is not asked
    about. Only where `signals` tell that the run went well may an operation call an advice a success.
    """

    def __init__(
        self,
        *,
        budget_tokens: int | None = 16_000,
        retries: int = 1,
        max_tokens: int = 2_000,
        temperature: float = 0.0,
        signals: Signals | None = None,
    ) -> None:
        least = (("budget_tokens", budget_tokens, 1), ("retries", retries, 0), ("max_tokens", max_tokens, 1))
        for what, value, lowest in least:
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < lowest):
                raise InvalidInput(f"{what} is an integer of {lowest} or more, not {value!r}")
        self.budget_tokens = budget_tokens
        self.retries = retries
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.signals = Signals() if signals is None else signals

    def curate(self, reflection: Reflection, entries: Sequence[Entry], trace: Trace) -> Decided | Flow[Decided]:
        """Return what the model decides, and the marks of the reflection."""
        return self.asking(reflection, entries, trace)

    def asking(self, reflection: Reflection, entries: Sequence[Entry], trace: Trace) -> Flow[Curated]:
        """Return the flow that asks the model."""
        if not reflection.insights and not reflection.deltas:
            return taken_over(reflection)
        desk = Desk(reflection=reflection, entries=entries, trace=trace, budget_tokens=self.budget_tokens)
        succeeded, reason = self.signals.outcome(trace) is Outcome.SUCCESS, ""
        for _ in range(self.retries + 1):
            messages = curator_messages(desk, reason)
            try:
                reply = yield Ask(messages=messages, max_tokens=self.max_tokens, temperature=self.temperature, tag=TAG)
            except ModelError as error:
                reason = str(error)
                break
            read = read_operations(reply, entries, succeeded=succeeded)
            if isinstance(read, Curated):
                return replace(read, deltas=(*reflection.marks, *read.deltas))
            reason = read
        why = f"curated without the model: model: {reason}"
        return replace(taken_over(reflection), warnings=(why,), degraded=why)


def read_operations(reply: str, entries: Sequence[Entry], *, succeeded: bool = False) -> Curated | str:
    """Return the operations in a model's reply; a text says why there are none. Never raises, whatever the reply.

    Words are read without case; `type` may be `op`, `operation` or `action`. An operation that is unknown, damaged, or
    names an entry that does not exist is ignored with a warning. An outcome "success" counts only if `succeeded`.
    """
    parsed = json_from(reply)
    value = parsed.value
    if isinstance(value, dict):
        known = any(_has(value, name) for name in ("operations", "ops", "reasoning"))
        listed: JSON = first_of(value, "operations", "ops") if known else (value if _kind_of(value) else None)
        if not known and listed is None:
            return "the reply has no operations"
    elif isinstance(value, list):
        listed = value
    else:
        return parsed.reason
    reading = _Reading(known_ids(entries), _sections(entries), succeeded)
    deltas, warnings = _read(listed, reading)
    reasoning = text_of(first_of(value, "reasoning")) if isinstance(value, dict) else ""
    return Curated(deltas=tuple(folded(deltas)), warnings=tuple(warnings), reasoning=reasoning)


def _has(value: Mapping[str, JSON], name: str) -> bool:
    return any(key.strip().casefold() == name for key in value)


def _sections(entries: Sequence[Entry]) -> dict[str, str]:
    return {entry.section.casefold(): entry.section for entry in reversed(entries)}


@dataclass(frozen=True, slots=True)
class _Reading:
    """What operations are read against: ids that resolve, sections by their folded names, whether the run succeeded."""

    names: Mapping[str, str]
    sections: Mapping[str, str]
    succeeded: bool


def _read(listed: JSON, reading: _Reading) -> tuple[list[Delta], list[str]]:
    operations, deltas, warnings = objects_of(listed), list[Delta](), list[str]()
    for number, operation in enumerate(operations[:MAX_OPERATIONS], 1):
        kind = _kind_of(operation)
        try:
            read = _READERS.get(kind)
            if read is None:
                raise InvalidInput("there is no such operation")
            deltas.append(read(operation, reading))
        except SeasonedError as error:
            warnings.append(f"operation {number}, {one_line(kind, 40) or '?'}, was ignored: {error!s:.200}")
    if len(operations) > MAX_OPERATIONS:
        warnings.append(f"{len(operations) - MAX_OPERATIONS} operations above {MAX_OPERATIONS} were ignored")
    if isinstance(listed, list) and len(listed) > len(operations):
        warnings.append(f"{len(listed) - len(operations)} operations were ignored: they are no objects")
    return deltas, warnings


def _kind_of(operation: Mapping[str, JSON]) -> str:
    return text_of(first_of(operation, "type", "op", "operation", "action")).upper()


def _add(operation: Mapping[str, JSON], reading: _Reading) -> Delta:
    return Add(
        section=_section(operation, reading) or OTHERS,
        content=_content(operation),
        outcome=_outcome(operation, reading) or Outcome.NEUTRAL,
    )


def _update(operation: Mapping[str, JSON], reading: _Reading) -> Delta:
    content = _content(operation) if _written(operation) else None
    section, outcome = _section(operation, reading), _outcome(operation, reading)
    if content is None and section is None and outcome is None:
        raise InvalidInput("it changes nothing")
    return Update(id=_known(operation, reading), content=content, section=section, outcome=outcome)


def _merge(operation: Mapping[str, JSON], reading: _Reading) -> Delta:
    given = ids_of(first_of(operation, "ids", "bullet_ids", "source_ids", "entry_ids", "id"))
    found = [*dict.fromkeys(reading.names[name] for name in given if name in reading.names)]
    if len(found) < 2:
        raise InvalidInput(f"a merge needs two entries that exist, found {found} of {given}"[:200])
    return Merge(ids=tuple(found), content=_content(operation), section=_section(operation, reading))


def _remove(operation: Mapping[str, JSON], reading: _Reading) -> Delta:
    return Remove(id=_known(operation, reading))


def _tag(operation: Mapping[str, JSON], reading: _Reading) -> Delta:
    mark = mark_of(first_of(operation, "tag", "mark", "label"))
    if mark is None:
        raise InvalidInput("its tag is neither helpful, harmful nor neutral")
    return Tag(id=_known(operation, reading), mark=mark)


_READERS: Final[Mapping[str, Callable[[Mapping[str, JSON], _Reading], Delta]]] = {
    "ADD": _add, "CREATE": _add, "UPDATE": _update, "MODIFY": _update, "MERGE": _merge, "DELETE": _remove,
    "REMOVE": _remove, "TAG": _tag,
}  # fmt: skip


def _known(operation: Mapping[str, JSON], reading: _Reading) -> str:
    name = id_of(first_of(operation, "id", "bullet_id", "entry_id", "target_id"))
    if name not in reading.names:
        raise InvalidInput(f"there is no entry {name!r:.80}")
    return reading.names[name]


def _written(operation: Mapping[str, JSON]) -> JSON:
    return first_of(operation, "content", "new_content", "merged_content", "text")


def _content(operation: Mapping[str, JSON]) -> str:
    text = text_of(_written(operation))
    why = why_useless(text) if text else "it has no content"
    if why:
        raise InvalidInput(why)
    return text


def _section(operation: Mapping[str, JSON], reading: _Reading) -> str | None:
    given = one_line(text_of(first_of(operation, "section", "category")), MAX_SECTION).strip("# ")
    return reading.sections.get(given.casefold(), given) or None


def _outcome(operation: Mapping[str, JSON], reading: _Reading) -> Outcome | None:
    word = text_of(first_of(operation, "outcome")).casefold()
    if word not in Outcome._value2member_map_:
        return None
    outcome = Outcome(word)
    return None if outcome is Outcome.SUCCESS and not reading.succeeded else outcome
