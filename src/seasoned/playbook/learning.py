"""Learning: one trace is reflected on, curated and applied, once; whatever goes wrong in between, the run goes on."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from seasoned.asking import Flow, Model
from seasoned.errors import Conflict, WrongType
from seasoned.playbook.core import Core
from seasoned.playbook.curators import DeterministicCurator, ModelCurator, taken_over
from seasoned.playbook.deltas import Add, Applied, Changed, Delta, Merge, Remove, Tag, Update
from seasoned.playbook.entries import Entry, Outcome
from seasoned.playbook.journal import by_key
from seasoned.playbook.quoting import is_copied, labelled, tool_words
from seasoned.playbook.reflections import (
    Curated,
    CurateFunction,
    Curator,
    ReflectFunction,
    Reflection,
    Reflector,
    as_curated,
    as_reflection,
    driven,
)
from seasoned.playbook.reflectors import DeterministicReflector, ModelReflector
from seasoned.playbook.traces import Trace
from seasoned.ports import ABSENT, Put
from seasoned.records import MAX_ID, Record, checked_id

AnyReflector: TypeAlias = Reflector | ReflectFunction
AnyCurator: TypeAlias = Curator | CurateFunction

RULES: Final = " (rules)"
"""What follows the name of a trace under which rules alone have spoken so far."""

MARKED: Final = " (rules, marked)"
"""The same, where they have marked entries: those of that run are not marked again."""

QUOTATION_CHARS: Final = 600
"""Longest quotation that an advice becomes which only repeats a tool's words."""

_LOG: Final = logging.getLogger("seasoned.playbook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What one trace changed: the change, the reflection, what was ignored or failed, how often a model was asked.

    `degraded` says why rules stood in for a model or a reflector; then the trace may be learned from again.
    """

    changed: Changed
    reflection: Reflection = field(default_factory=Reflection)
    warnings: tuple[str, ...] = ()
    calls: int = 0
    degraded: str | None = None


def chosen(
    reflector: AnyReflector | None, curator: AnyCurator | None, model: Model | None
) -> tuple[AnyReflector, AnyCurator]:
    """Return who reflects and curates where none was named: a model where there is one, else rules."""
    rules = model is None
    reflects: AnyReflector = DeterministicReflector() if rules else ModelReflector()
    curates: AnyCurator = DeterministicCurator() if rules else ModelCurator()
    return reflects if reflector is None else reflector, curates if curator is None else curator


def learn(
    core: Core,
    trace: Trace,
    *,
    reflector: AnyReflector | None = None,
    curator: AnyCurator | None = None,
    by: str | None = None,
) -> Flow[Learned]:
    """Reflect on a trace, decide, and change the playbook by it; without reflector and curator by rules.

    Once for each `by` (the trace's id): a second time nothing changes and nobody is asked. Where rules stood in for a
    model, or the reflector failed, only what the rules say counts as learned: a later call asks again, and adds what is
    new. A reflector or curator that raises is logged and reported; what the other said stands. Each entry is marked at
    most once. Entries name the trace's sources; one that only repeats a tool's words becomes a quotation of them.

    Raises:
        WrongType: not a trace, a reflector or a curator.
        StoreError: the store failed; nothing was learned.
    """
    if not isinstance(trace, Trace):
        raise WrongType(f"a playbook learns from a Trace, not {trace!r:.80}")
    reflects, curates = chosen(reflector, curator, None)
    reflect, curate = _method(reflects, "reflect"), _method(curates, "curate")
    name = checked_id(trace.id if by is None else by, "by")
    if core.knows(name):
        return Learned(changed=Changed(number=core.number, duplicate=True))
    entries, tally = core.entries(), _Tally()
    guarded = core.searcher.guarded
    reflection = yield from guarded(_reflected(lambda: reflect(trace, list(entries)), trace, tally))
    curating = _curated(lambda: curate(reflection, list(entries), trace), reflection, trace, tally)
    curated = yield from guarded(curating)
    lesson = _Lesson(trace=trace, name=name, seen=entries, reflection=reflection, curated=curated)
    return replace(_applied(core, lesson), calls=tally.calls)


def safe(deltas: Iterable[Delta], trace: Trace) -> tuple[list[Delta], list[str]]:
    """Return deltas that were learned from a trace as they may be applied, and why others may not.

    Additions name the trace's sources. What only repeats the words of one of its tools is no advice: an addition
    becomes a neutral quotation, an update or merge with such a text is left out.
    """
    said, kept, warnings = tool_words(trace), list[Delta](), list[str]()
    for delta in deltas:
        copied = (
            isinstance(delta, (Add, Update, Merge)) and delta.content is not None and is_copied(delta.content, said)
        )
        if isinstance(delta, Add):
            sourced = replace(delta, sources=tuple(dict.fromkeys((*delta.sources, *trace.sources))))
            quoted = labelled(delta.content, QUOTATION_CHARS)
            kept.append(replace(sourced, content=quoted, outcome=Outcome.NEUTRAL) if copied else sourced)
        elif copied:
            warnings.append(f"{_kind(delta)} of {', '.join(_ids(delta))} was ignored: it only repeats a tool's words")
        else:
            kept.append(delta)
    return kept, warnings


def _method(given: object, name: str) -> Callable[..., object]:
    found = None if isinstance(given, type) else getattr(given, name, given)
    if not callable(found):
        raise WrongType(f"expected an object with a method {name!r} or a function, not {given!r:.80}")
    return found


@dataclass(slots=True)
class _Tally:
    """How often a model was asked."""

    calls: int = 0

    def count(self) -> None:
        """Count a question."""
        self.calls += 1


def _reflected(call: Callable[[], object], trace: Trace, tally: _Tally) -> Flow[Reflection]:
    try:
        return as_reflection((yield from driven(call(), tally.count)))
    except Exception as error:  # noqa: BLE001  # the caller's own code: whatever it raises, the run goes on
        why = f"the reflector failed: {type(error).__name__}: {error!s:.300}"
    _LOG.warning("trace %s: the reflector failed", trace.id)
    return Reflection(warnings=(why,), degraded=why)


def _curated(call: Callable[[], object], reflection: Reflection, trace: Trace, tally: _Tally) -> Flow[Curated]:
    if reflection.empty:
        return Curated()
    try:
        return as_curated((yield from driven(call(), tally.count)))
    except Exception as error:  # noqa: BLE001  # as above
        why = f"the curator failed, so that what was suggested stands: {type(error).__name__}: {error!s:.300}"
    _LOG.warning("trace %s: the curator failed", trace.id)
    return replace(taken_over(reflection), warnings=(why,), degraded=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lesson:
    """What one trace teaches, before it is applied; `seen` are the entries that were shown to who decided."""

    trace: Trace
    name: str
    seen: Sequence[Entry]
    reflection: Reflection
    curated: Curated

    @property
    def degraded(self) -> str | None:
        return self.reflection.degraded or self.curated.degraded


def _applied(core: Core, lesson: _Lesson) -> Learned:
    """Apply a lesson under the trace's name; one of rules alone under another, so that the trace can be read again."""
    rules, marked = _under(lesson.name, RULES), _under(lesson.name, MARKED)
    was_marked = core.knows(marked)
    deltas, warnings = _prepared(core, lesson, marked=was_marked)
    name = lesson.name
    if lesson.degraded is not None:
        marks = any(isinstance(delta, Tag) for delta in deltas)
        name = marked if was_marked or (marks and not core.knows(rules)) else rules
    changed = core.apply(deltas, by=name, reason="learned from a trace")
    if lesson.degraded is None and not core.knows(name):
        _note(core, name, changed)
    refused = [
        f"a delta was refused: {effect.reason}" for effect in changed.effects if effect.status is Applied.REFUSED
    ]
    said = [*lesson.reflection.warnings, *lesson.curated.warnings, *warnings, *refused]
    _LOG.info("trace %s: %d deltas, change %d, %d warnings", lesson.trace.id, len(deltas), changed.number, len(said))
    return Learned(
        changed=changed,
        reflection=lesson.reflection,
        warnings=tuple(dict.fromkeys(said)),
        degraded=lesson.degraded,
    )


def _under(name: str, suffix: str) -> str:
    """Return a name with a suffix; of one that is too long for both a part and its digest stand for it."""
    if len(name) + len(suffix) <= MAX_ID:
        return name + suffix
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{name[: MAX_ID - len(suffix) - len(digest)]}{digest}{suffix}"


def _note(core: Core, name: str, changed: Changed) -> None:
    """Note that a trace was learned from although it changed nothing."""
    record = Record(key=by_key(core.scope, name), text="", at=core.clock.now(), data={"number": changed.number})
    with contextlib.suppress(Conflict):  # another process noted it at the same time
        core.store.apply([Put(record, expect=ABSENT)])


def _prepared(core: Core, lesson: _Lesson, *, marked: bool) -> tuple[list[Delta], list[str]]:
    """Return what is to be applied, marks first, and why other things are not."""
    wanted = (*lesson.reflection.marks, *lesson.curated.deltas)
    tags = [] if marked else _marks(core, wanted)
    seen = {entry.id: entry.content for entry in lesson.seen}
    deltas, warnings = safe((delta for delta in wanted if not isinstance(delta, Tag)), lesson.trace)
    stale = [(delta, moved) for delta in deltas if (moved := _moved(core, delta, seen)) is not None]
    warnings += [f"{_kind(delta)} of {moved} was ignored: it changed meanwhile" for delta, moved in stale]
    return [*tags, *(delta for delta in deltas if all(delta is not each for each, _ in stale))], warnings


def _marks(core: Core, deltas: Iterable[Delta]) -> list[Delta]:
    """Return one mark for each entry, the first: one run counts once, whatever name an entry has in it."""
    marks = dict[str, Delta]()
    for delta in deltas:
        if isinstance(delta, Tag):
            marks.setdefault(core.resolve(delta.id) or delta.id, replace(delta, times=1))
    return list(marks.values())


def _moved(core: Core, delta: Delta, seen: dict[str, str]) -> str | None:
    """Return the id of an entry that a delta rewrites and somebody else has rewritten since it was shown."""
    for name in _ids(delta) if isinstance(delta, (Update, Merge, Remove)) else ():
        found = core.resolve(name)
        if found in seen and core.get(found).content != seen[found]:
            return found
    return None


def _kind(delta: Delta) -> str:
    return type(delta).__name__.lower()


def _ids(delta: Delta) -> tuple[str, ...]:
    if isinstance(delta, Merge):
        return delta.ids
    return () if delta.id is None else (delta.id,)
