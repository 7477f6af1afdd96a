"""The state that `ACEMiddleware` keeps in a thread: plain JSON, bounded, whatever the number of turns.

`ace_playbook` is `{"entries": […]}`, and a stamp that tells who wrote it. What a middleware wrote has a stamp that
fits; what the application wrote by `update_state` has none, and stands as it is. So an edit is told from a mirror that
is out of date, and the playbook that a subagent hands back is joined with that of its caller.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, NotRequired, TypedDict

from seasoned.integrations.langchain.framework import AgentState, OmitFromInput, PrivateStateAttr
from seasoned.playbook import DeltaEntry
from seasoned.records import JSON

PENDING: Final = 64
"""Most deltas that wait for the end of a run; the oldest neutral ones go first."""

Plain = dict[str, Any]
"""An object of plain JSON: the recursive `JSON` cannot be resolved by who reads the schema of a state."""


class PlaybookState(TypedDict):
    """A playbook in the state of a thread."""

    entries: list[Plain]
    stamp: NotRequired[str]


class RunState(TypedDict, total=False):
    """The run under way, or the last one.

    `owner` names the thread's middleware, `status` is "running" or "ended", `home` the tenant whose playbook it is,
    None where nobody is named. `after` is the id of the last message before the run. `block` is what the model is
    shown, `used` the entries in it. `mirror` are the ids that `ace_playbook` had when it was written here, `layout`
    says how the block was laid out.
    """

    id: str
    owner: str
    status: str
    home: list[str] | None
    task: str
    after: str | None
    block: str
    used: list[str]
    mirror: list[str]
    layout: Plain | None


class SeenState(TypedDict, total=False):
    """What was seen of a run: the id of the last message of the model that was noted, and calls that failed."""

    noted: str | None
    steps: list[Plain]


def joined(left: PlaybookState | None, right: PlaybookState | None) -> PlaybookState:
    """Return what a thread's playbook becomes: what is new, or both where another agent of the same run wrote it."""
    if right is None:
        return {"entries": []}
    mine, other = owner_of(left), owner_of(right)
    if not mine or not other or mine == other:
        return right
    kept = entries_in(left)
    taken = {str(each.get("id")) for each in kept}
    return stamped([*kept, *(_renamable(each, taken) for each in entries_in(right))], mine)


def pending(
    left: Sequence[Mapping[str, JSON]] | None, right: Sequence[Mapping[str, JSON]] | None
) -> list[dict[str, JSON]]:
    """Return the deltas that wait, each once, at most `PENDING`."""
    found = {_sameness(each): dict(each) for each in [*(left or []), *(right or [])] if isinstance(each, Mapping)}
    waiting = list(found.values())
    spare = len(waiting) - PENDING
    for each in [each for each in waiting if each.get("outcome", "neutral") == "neutral"][: max(spare, 0)]:
        waiting.remove(each)
    return waiting[-PENDING:]


class ACEState(AgentState[Any]):
    """What the middleware adds to the state of an agent."""

    ace_playbook: NotRequired[Annotated[PlaybookState, OmitFromInput, joined]]
    ace_pending_deltas: NotRequired[Annotated[list[Plain], PrivateStateAttr, pending]]
    ace_run: NotRequired[Annotated[RunState, PrivateStateAttr]]
    ace_seen: NotRequired[Annotated[SeenState, PrivateStateAttr]]


def entries_in(given: object) -> list[dict[str, JSON]]:
    """Return the entries of a playbook in a state; none where it is of another form."""
    listed = given.get("entries") if isinstance(given, Mapping) else None
    return [dict(each) for each in listed if isinstance(each, Mapping)] if isinstance(listed, (list, tuple)) else []


def stamped(entries: Iterable[Mapping[str, JSON]], owner: str) -> PlaybookState:
    """Return a playbook as a middleware writes it into the state, each entry once."""
    found = dict[tuple[str, ...], dict[str, JSON]]()
    for each in entries:
        found.setdefault(_sameness(each), dict(each))
    kept = list(found.values())
    return {"entries": kept, "stamp": f"{owner}:{digest(kept)}"}


def owner_of(given: object) -> str:
    """Return who wrote a playbook; "" where its stamp does not fit, since somebody changed it."""
    stamp = given.get("stamp") if isinstance(given, Mapping) else None
    if not isinstance(stamp, str):
        return ""
    owner, _, known = stamp.partition(":")
    return owner if known == digest(entries_in(given)) else ""


def deltas_in(given: object) -> list[DeltaEntry]:
    """Return the deltas that wait in a state; what is damaged is left out."""
    found = list[DeltaEntry]()
    for each in given if isinstance(given, (list, tuple)) else ():
        try:
            found.append(DeltaEntry.from_dict(each))
        except (ValueError, TypeError):
            continue
    return found


def _renamable(entry: dict[str, JSON], taken: set[str]) -> dict[str, JSON]:
    """Return an entry without an id that another entry has, so that it is given one."""
    return {name: value for name, value in entry.items() if name != "id"} if str(entry.get("id")) in taken else entry


def _sameness(entry: Mapping[str, JSON]) -> tuple[str, ...]:
    return tuple(str(entry.get(name, "")) for name in ("category", "content", "outcome"))


def digest(entries: Sequence[Mapping[str, JSON]]) -> str:
    """Return what tells entries from others."""
    return hashlib.sha256(json.dumps(entries, sort_keys=True, default=str).encode()).hexdigest()[:32]
