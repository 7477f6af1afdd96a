"""Visits: what happens at the beginning and at the end of a run, for sync and async hooks alike.

At the beginning what an unfinished run left behind is learned, an application's edit of the state is taken over, and
the block of the run is made. At the end the run is learned from. Each is a flow, which only a model makes wait.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from seasoned.asking import Flow
from seasoned.integrations.langchain.framework import AIMessage, BaseStore, Overwrite
from seasoned.integrations.langchain.homes import THREAD_KEPT, Home, Homes
from seasoned.integrations.langchain.plainbooks import edited, kept, written
from seasoned.integrations.langchain.runs import newest_answer, newest_id, since, steps_in, task_in
from seasoned.integrations.langchain.state import (
    ACEState,
    PlaybookState,
    RunState,
    SeenState,
    deltas_in,
    entries_in,
    owner_of,
    stamped,
)
from seasoned.playbook import Curated, DeltaEntry, Entry, Playbook, Reflection, Trace
from seasoned.playbook.curators import taken_over
from seasoned.playbook.learning import AnyReflector, learn
from seasoned.playbook.traces import TraceStatus
from seasoned.ports import new_id
from seasoned.records import JSON

Update: TypeAlias = dict[str, Any]
"""What a hook changes in the state."""

ERRORS: Final = 256
"""Of how many runs the exception that a model raised is at hand."""

ERROR_CHARS: Final = 500
"""How much of it."""

_LOG: Final = logging.getLogger("seasoned.langchain")


class Errors:
    """What models raised, by run: known to this process only."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, run: str, error: BaseException | None) -> None:
        """Keep an exception of a run, or with None forget it: a retry came through."""
        with self._lock:
            self._found.pop(run, None)
            if error is not None:
                self._found[run] = f"{type(error).__name__}: {error!s}"[:ERROR_CHARS]
            while len(self._found) > ERRORS:
                self._found.popitem(last=False)

    def of(self, run: str) -> str | None:
        """Return what ended a run; None where nobody knows."""
        with self._lock:
            return self._found.get(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the visits of one middleware share: where playbooks lie, what is shown of one, who reflects."""

    homes: Homes
    reflect: Callable[[AIMessage], list[DeltaEntry]]
    reflector: AnyReflector
    most: int
    budget: int | None
    errors: Errors = field(default_factory=Errors)


@dataclass(frozen=True, slots=True)
class Found:
    """What a hook finds in the state of a thread."""

    run: RunState
    seen: SeenState
    given: object
    entries: list[dict[str, JSON]]
    waiting: list[DeltaEntry]

    @classmethod
    def of(cls, state: ACEState) -> Found:
        """Read it; whatever is damaged is as if it were not there."""
        run, seen, given = state.get("ace_run") or {}, state.get("ace_seen") or {}, state.get("ace_playbook")
        return cls(run, seen, given, entries_in(given), deltas_in(state.get("ace_pending_deltas")))

    @property
    def tenant(self) -> tuple[str, ...] | None:
        """Whose run it is."""
        home = self.run.get("home")
        return tuple(home) if home else None

    @property
    def edited(self) -> bool:
        """Whether the application wrote the playbook in the state."""
        return isinstance(self.given, Mapping) and "entries" in self.given and not owner_of(self.given)

    @property
    def wiped(self) -> bool:
        """Whether the application wiped it after the last run began."""
        return self.edited and not self.entries and bool(self.run)

    @property
    def unfinished(self) -> bool:
        """Whether the last run never came to its end."""
        return self.run.get("status") == "running"

    def belongs_to(self, home: Home) -> bool:
        """Tell whether what the state holds is of that home's playbook."""
        return not self.run or self.tenant == home.tenant


def beginning(desk: Desk, state: ACEState, tenant: tuple[str, ...] | None, store: BaseStore | None) -> Flow[Update]:
    """Return what the beginning of a run changes; where the playbook cannot be reached, the run goes on without."""
    found, messages = Found.of(state), state["messages"]
    begun: RunState = {
        "id": new_id(),
        "owner": found.run.get("owner") or new_id(),
        "status": "running",
        "home": None if tenant is None else list(tenant),
        "task": task_in(messages),
        "after": newest_id(messages),
        "block": "",
    }
    try:
        return (yield from _beginning(desk, state, found, begun, store))
    except Exception:  # noqa: BLE001  # the caller's store: whatever it raises, the agent runs
        _LOG.warning("the playbook could not be reached; the run goes on without it", exc_info=True)
        return _without(found, begun)


def _without(found: Found, begun: RunState) -> Update:
    """Return the run that begins without its playbook: what an unfinished one of the same tenant left waits on."""
    if found.run and found.tenant != (tuple(begun["home"] or ()) or None):
        return {"ace_run": begun, "ace_pending_deltas": Overwrite([])}
    kept: RunState = {"mirror": found.run.get("mirror") or [], "layout": found.run.get("layout")}
    after = found.run.get("after") if found.unfinished else begun["after"]
    return {"ace_run": {**begun, **kept, "after": after}}


def _beginning(desk: Desk, state: ACEState, found: Found, begun: RunState, store: BaseStore | None) -> Flow[Update]:
    home = desk.homes.of(tuple(begun["home"] or ()) or None, store)
    mine, learned = found.belongs_to(home), list[str]()
    book = home.open(found.entries if mine else [], found.run.get("layout") if mine else None)
    left = home if mine else desk.homes.of(found.tenant, store)
    if (found.unfinished or found.waiting) and not found.wiped and (mine or left.shared):
        of_left = book if mine else left.open([], None)
        trace = _trace(desk, found, state, ended=False)
        yield from _learned(desk, left, of_left, trace, [*found.waiting, *_unnoted(desk, found, state)])
        learned = [trace.id]
        if not mine:
            left.close(of_left, learned)
    if mine and home.shared and found.edited:
        edited(book, found.entries, found.run.get("mirror") or [])
    shown = _block(desk, book, begun)
    home.close(book, learned if mine else [])
    mirror = _mirror(book, begun["owner"])
    begun |= {"mirror": _ids(mirror), "layout": home.layout(book), **shown}
    return _update(state, begun, mirror)


def _unnoted(desk: Desk, found: Found, state: ACEState) -> list[DeltaEntry]:
    """Return what the last message of a run gives that ended before it was noted."""
    latest = newest_answer(since(state["messages"], found.run.get("after"))) if found.unfinished else None
    return [] if latest is None or latest.id == found.seen.get("noted") else desk.reflect(latest)


def _block(desk: Desk, book: Playbook, begun: RunState) -> RunState:
    block = book.block(run=begun["id"], task=begun["task"], budget=desk.budget, max_entries=desk.most)
    return {"block": block.text, "used": list(block.ids)}


def ending(desk: Desk, state: ACEState, tenant: tuple[str, ...] | None, store: BaseStore | None) -> Flow[Update]:
    """Return what the end of a run changes; where the playbook cannot be reached, the next run learns of it."""
    try:
        return (yield from _ending(desk, state, tenant, store))
    except Exception:  # noqa: BLE001  # as above
        _LOG.warning("the playbook could not be reached; the next run will learn from this one", exc_info=True)
        return {}


def _ending(desk: Desk, state: ACEState, tenant: tuple[str, ...] | None, store: BaseStore | None) -> Flow[Update]:
    found = Found.of(state)
    home = desk.homes.of(found.tenant if found.run else tenant, store)
    book = home.open(found.entries, found.run.get("layout"))
    if home.shared and found.edited:
        edited(book, found.entries, found.run.get("mirror") or [])
    trace = _trace(desk, found, state, ended=True)
    yield from _learned(desk, home, book, trace, found.waiting)
    home.close(book, [trace.id])
    owner = found.run.get("owner") or new_id()
    mirror = _mirror(book, owner)
    ended: RunState = {
        "id": trace.id,
        "owner": owner,
        "status": "ended",
        "home": None if home.tenant is None else list(home.tenant),
        "mirror": _ids(mirror),
        "layout": home.layout(book),
    }
    return _update(state, ended, mirror)


def _update(state: ACEState, run: RunState, mirror: PlaybookState) -> Update:
    """Return only what changes: a value that is written again is stored again with the checkpoint."""
    changed: Update = {"ace_run": run}
    if state.get("ace_playbook") != mirror:
        changed["ace_playbook"] = mirror
    if state.get("ace_pending_deltas"):
        changed["ace_pending_deltas"] = Overwrite([])
    seen = state.get("ace_seen") or {}
    if seen.get("steps"):
        changed["ace_seen"] = {**seen, "steps": []}
    return changed


def _mirror(book: Playbook, owner: str) -> PlaybookState:
    return stamped(written(kept(book.entries(retired=True), THREAD_KEPT)), owner)


def _ids(mirror: PlaybookState) -> list[str]:
    return [str(each.get("id")) for each in mirror["entries"]]


def _trace(desk: Desk, found: Found, state: ACEState, *, ended: bool) -> Trace:
    """Return what the messages, and what was kept beside them, say of a run."""
    run = found.run
    name = run.get("id") or new_id()
    messages = since(state["messages"], run.get("after"))
    error = desk.errors.of(name)
    status: TraceStatus = "completed" if ended else "failed" if error else "interrupted"
    steps = steps_in(messages, found.seen.get("steps") or ())
    answers = [step.output for step in steps if step.kind == "model" and not step.calls]
    return Trace(
        id=name,
        task=run.get("task") or "",
        steps=steps,
        answer=answers[-1] if answers and ended else None,
        error=None if ended else error,
        status=status,
        used=tuple(run.get("used") or ()),
    )


def _learned(desk: Desk, home: Home, book: Playbook, trace: Trace, notes: Sequence[DeltaEntry]) -> Flow[None]:
    """Learn from a run once: what was noted of its messages, then what the whole of it says."""
    if home.learned(trace.id):
        return
    if notes:
        yield from learn(book, trace, reflector=_saying(notes), curator=_curator(home), by=home.by(f"{trace.id}/notes"))
    learned = yield from learn(book, trace, reflector=desk.reflector, curator=_curator(home), by=home.by(trace.id))
    for warning in learned.warnings:
        _LOG.info("run %s: %s", trace.id, warning)


def _saying(notes: Sequence[DeltaEntry]) -> Callable[[Trace, Sequence[Entry]], Sequence[DeltaEntry]]:
    def noted(trace: Trace, entries: Sequence[Entry]) -> Sequence[DeltaEntry]:  # noqa: ARG001  # a reflector's form
        return notes

    return noted


def _curator(home: Home) -> Callable[[Reflection, Sequence[Entry], Trace], Curated]:
    def curate(reflection: Reflection, entries: Sequence[Entry], trace: Trace) -> Curated:  # noqa: ARG001  # as above
        return Curated(deltas=tuple(home.prepared(delta) for delta in taken_over(reflection).deltas))

    return curate
