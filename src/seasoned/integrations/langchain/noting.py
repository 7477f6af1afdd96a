"""Noting: what one message of a model gives, told by the caller's own `reflect`, which may fail but not stop a run."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Final

from seasoned.integrations.langchain.runs import failures, newest_answer
from seasoned.integrations.langchain.state import ACEState
from seasoned.integrations.langchain.visits import Update
from seasoned.playbook import DeltaEntry

_LOG: Final = logging.getLogger("seasoned.langchain")


def noted(state: ACEState, found: Sequence[DeltaEntry]) -> Update | None:
    """Return the deltas of the newest message, and the calls before it that failed."""
    update: Update = {"ace_pending_deltas": [each.to_dict() for each in found]} if found else {}
    latest = newest_answer(state["messages"])
    seen = state.get("ace_seen") or {}
    steps = failures(state["messages"], seen.get("steps") or [])
    after = {"noted": None if latest is None else latest.id, "steps": steps}
    return {**update, "ace_seen": after} if after != seen else update or None


def guarded(reflect: Callable[[], object]) -> object:
    """Return what the caller's code returns; nothing where it raises, which is logged."""
    try:
        return reflect()
    except Exception:  # noqa: BLE001  # the caller's own code: whatever it raises, the run goes on
        _LOG.warning("reflect failed; nothing is noted of this message", exc_info=True)
        return []


async def awaited(given: object) -> object:
    """Return what the caller's code returned, awaited where it must be."""
    if not inspect.isawaitable(given):
        return given
    try:
        return await given
    except Exception:  # noqa: BLE001  # as above
        _LOG.warning("reflect failed; nothing is noted of this message", exc_info=True)
        return []


def entries_of(given: object) -> list[DeltaEntry]:
    """Return the delta entries among what `reflect` returned; anything else is logged."""
    if inspect.iscoroutine(given):
        given.close()
        _LOG.warning("reflect is async, but the agent was run by a sync call; nothing is noted")
        return []
    found = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    for each in found:
        if not isinstance(each, DeltaEntry):
            _LOG.warning("reflect returned a %s, which is no DeltaEntry", type(each).__name__)
    return [each for each in found if isinstance(each, DeltaEntry)]
