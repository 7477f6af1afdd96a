"""Reflections: what a reflector says of a run, and the forms in which reflectors of one's own may say it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias

from seasoned.asking import Ask, Flow
from seasoned.errors import ModelError, WrongType
from seasoned.playbook.deltas import Add, Delta, DeltaEntry, Merge, Remove, Tag, Update
from seasoned.playbook.entries import Entry
from seasoned.playbook.traces import Trace

INSIGHTS: Final = ("reasoning", "error_identification", "root_cause_analysis", "correct_approach", "key_insight")
"""The fields of a reflection that are text, named as in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What a reflector says of a run.

    `deltas` are changes that it suggests; a curator decides. `marks` say what the entries did for the run. The texts
    are the reflector's findings ("" where it has none). `degraded` says why rules stand in for a model that was to
    speak, `warnings` what was ignored.
    """

    deltas: tuple[Delta, ...] = ()
    marks: tuple[Tag, ...] = ()
    reasoning: str = ""
    error_identification: str = ""
    root_cause_analysis: str = ""
    correct_approach: str = ""
    key_insight: str = ""
    warnings: tuple[str, ...] = ()
    degraded: str | None = None

    @property
    def insights(self) -> Mapping[str, str]:
        """The texts that are not empty, by their names."""
        return {name: text for name in INSIGHTS if (text := getattr(self, name))}

    @property
    def empty(self) -> bool:
        """Whether it says nothing that a playbook could change by."""
        return not (self.deltas or self.marks or self.insights)


Reflected: TypeAlias = Reflection | Iterable[Delta | DeltaEntry] | DeltaEntry | Delta | None
"""What a reflector may return: a reflection, or only the changes that it suggests; None for nothing."""


class Reflector(Protocol):
    """Says what a run teaches; a function `(trace, entries) -> …` will do as well.

    Called with positional arguments. One that needs a model is a generator that yields `Ask`.
    """

    def reflect(self, trace: Trace, entries: Sequence[Entry]) -> Reflected | Flow[Reflected]:
        """Return what a run teaches; `entries` are the playbook's, in the order of their writing."""
        ...


ReflectFunction: TypeAlias = Callable[[Trace, Sequence[Entry]], Reflected | Flow[Reflected]]
"""A reflector that is only a function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curated:
    """What a curator decided: the changes, why, and what it ignored."""

    deltas: tuple[Delta, ...] = ()
    reasoning: str = ""
    warnings: tuple[str, ...] = ()
    degraded: str | None = None


Decided: TypeAlias = Curated | Iterable[Delta | DeltaEntry] | DeltaEntry | Delta | None
"""What a curator may return."""


class Curator(Protocol):
    """Decides how a playbook changes by a reflection; a function `(reflection, entries, trace) -> …` will do as well.

    Called with positional arguments. One that needs a model is a generator that yields `Ask`.
    """

    def curate(self, reflection: Reflection, entries: Sequence[Entry], trace: Trace) -> Decided | Flow[Decided]:
        """Return the changes; `entries` are the playbook's, in the order of their writing."""
        ...


CurateFunction: TypeAlias = Callable[[Reflection, Sequence[Entry], Trace], Decided | Flow[Decided]]
"""A curator that is only a function."""


def driven(given: object, asked: Callable[[], object] = bool) -> Flow[object]:
    """Return what a caller's code gave; where that is a flow, what it ends in, its questions passed on.

    `asked` is called at each question.

    Raises:
        WrongType: it is async, or yields something else than `Ask`.
    """
    if inspect.isawaitable(given):
        if inspect.iscoroutine(given):
            given.close()
        raise WrongType("it is async: let it be a generator that yields Ask instead")
    if not isinstance(given, Generator):
        return given
    try:
        question: object = next(given)
        while True:
            if not isinstance(question, Ask):
                raise WrongType(f"a flow yields Ask, not {question!r:.80}")
            asked()
            try:
                reply = yield question
            except ModelError as error:
                question = given.throw(error)
            else:
                question = given.send(reply)
    except StopIteration as end:
        return end.value
    finally:
        given.close()


def as_reflection(given: object) -> Reflection:
    """Return what a reflector returned as a reflection; what is no delta in it is a warning.

    Raises:
        WrongType: neither a reflection nor deltas.
    """
    if isinstance(given, Reflection):
        deltas, strange = deltas_in(given.deltas)
        marks, others = deltas_in(given.marks)
        tags = tuple(mark for mark in marks if isinstance(mark, Tag))
        warned = [*strange, *others, *(f"{mark!r:.80} is no Tag" for mark in marks if not isinstance(mark, Tag))]
        return replace(given, deltas=tuple(deltas), marks=tags, warnings=(*given.warnings, *warned))
    deltas, strange = deltas_in(given)
    return Reflection(
        deltas=tuple(each for each in deltas if not isinstance(each, Tag)),
        marks=tuple(each for each in deltas if isinstance(each, Tag)),
        warnings=tuple(strange),
    )


def as_curated(given: object) -> Curated:
    """Return what a curator returned; what is no delta in it is a warning.

    Raises:
        WrongType: neither deltas nor `Curated`.
    """
    deltas, strange = deltas_in(given.deltas if isinstance(given, Curated) else given)
    made = given if isinstance(given, Curated) else Curated()
    return replace(made, deltas=tuple(deltas), warnings=(*made.warnings, *strange))


def deltas_in(given: object) -> tuple[list[Delta], list[str]]:
    """Return the deltas among what a caller's code gave, a `DeltaEntry` as an `Add`, and what else there was.

    Raises:
        WrongType: no deltas at all.
    """
    if given is None:
        return [], []
    if isinstance(given, (DeltaEntry, Add, Update, Tag, Merge, Remove)):
        given = [given]
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise WrongType(f"a reflector or curator returns deltas, not {given!r:.80}")
    deltas, strange = list[Delta](), list[str]()
    for each in given:
        if isinstance(each, DeltaEntry):
            deltas.append(Add(content=each.content, section=each.category, outcome=each.outcome, at=each.created_at))
        elif isinstance(each, (Add, Update, Tag, Merge, Remove)):
            deltas.append(each)
        else:
            strange.append(f"{each!r:.80} is no delta")
    return deltas, strange


def known_ids(entries: Sequence[Entry]) -> dict[str, str]:
    """Return from every id that resolves, those of merged entries included, the id of its entry."""
    names = dict[str, str]()
    for entry in entries:
        names.update(dict.fromkeys(entry.aliases, entry.id))
    names.update({entry.id: entry.id for entry in entries})
    return names
