"""Recording: what is said in a run goes into its tenant's memory, each message once, and what the run was worth."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, NotRequired, TypedDict

from seasoned.errors import SeasonedError
from seasoned.integrations.langchain.framework import AgentState, AIMessage, BaseMessage, PrivateStateAttr, ToolMessage
from seasoned.integrations.langchain.runs import newest_id, since, steps_in
from seasoned.integrations.langchain.tenants import Tenants
from seasoned.playbook import Trace
from seasoned.records import Key, finite

OutcomeOf = Callable[[Trace], float | None]
"""Says what a run was worth; None where nobody knows."""

ANSWER_CHARS: Final = 500
"""How much of a run's answer is kept with its outcome."""

_LOG: Final = logging.getLogger("seasoned.langchain")


class RecallState(TypedDict, total=False):
    """The run under way, or the last one.

    `after` is the id of the last message before it. `system` and `user` are the blocks that the model is shown,
    `message` is the id of the user's message that holds the second. `trace` names the context for its outcome.
    """

    id: str
    status: str
    scope: list[str] | None
    session: str
    task: str
    after: str | None
    system: str
    user: str
    message: str | None
    trace: str | None


class MemoryState(AgentState[Any]):
    """What the middleware adds to the state of an agent; `memory_recorded` is the id of the last message stored."""

    memory_run: NotRequired[Annotated[RecallState, PrivateStateAttr]]
    memory_recorded: NotRequired[Annotated[str | None, PrivateStateAttr]]


class Recorder:
    """Stores messages and outcomes of runs; what cannot be stored is logged, and tried again with the next message."""

    def __init__(self, memories: Tenants, outcome: OutcomeOf | None) -> None:
        self._memories = memories
        self._outcome = outcome

    def messages(self, run: RecallState, messages: Sequence[BaseMessage], recorded: str | None) -> str | None:
        """Store the messages after the last one that is stored, and return which one that is then."""
        new = [each for each in since(messages, recorded) if "lc_source" not in each.additional_kwargs]
        scope = run.get("scope")
        if not scope or not new:
            return recorded
        try:
            conversation = self._memories.of(scope).conversation
            conversation.add(new, run["session"], ids=[stored_id(run, each.id) for each in new])
        except SeasonedError:
            _LOG.warning("%d messages of run %s were not stored", len(new), run.get("id"), exc_info=True)
            return recorded
        return newest_id(messages)

    def outcome(self, run: RecallState, messages: Sequence[BaseMessage], *, ended: bool) -> None:
        """Store what a run was worth, once, where it is known."""
        scope = run.get("scope")
        if self._outcome is None or not scope or not run.get("task", "").strip():
            return
        trace = _trace(run, messages, ended=ended)
        reward = self._reward(self._outcome, trace)
        if reward is None:
            return
        try:
            self._store(run, scope, trace, reward)
        except SeasonedError:
            _LOG.warning("the outcome of run %s was not stored", trace.id, exc_info=True)

    def _reward(self, outcome: OutcomeOf, trace: Trace) -> float | None:
        try:
            reward = outcome(trace)
            return None if reward is None else finite(reward, "a reward")
        except Exception:  # noqa: BLE001  # the caller's own code: whatever it raises, the run goes on
            _LOG.warning("outcome failed; run %s has no reward", trace.id, exc_info=True)
            return None

    def _store(self, run: RecallState, scope: Sequence[str], trace: Trace, reward: float) -> None:
        memory, asked = self._memories.of(scope), run.get("message")
        called = [step.name for step in trace.steps if step.kind == "tool" and step.name]
        memory.experience.record(
            trace.task,
            " > ".join(dict.fromkeys(called)) or "answered without a tool",
            reward,
            reasoning=(trace.answer or "")[:ANSWER_CHARS],
            episode=trace.id,
            id=f"run-{trace.id}",
            sources=[Key(memory.scope, "message", stored_id(run, asked))] if asked else [],
        )
        if shown := run.get("trace"):
            memory.outcome(shown, reward=reward, by="outcome")


def stored_id(run: RecallState, name: str | None) -> str:
    """Return the id under which a message is stored: two threads may have messages of the same id."""
    return hashlib.sha256(f"{run['session']}\0{name}".encode()).hexdigest()[:32]


def before_input(messages: Sequence[BaseMessage], old: RecallState) -> Sequence[BaseMessage]:
    """Return the messages without those that came in last.

    The old run ends with its own input, or with the last message of the model or a tool.
    """
    begun = old.get("after")
    ends = (
        at
        for at in range(len(messages) - 1, -1, -1)
        if isinstance(messages[at], (AIMessage, ToolMessage)) or (begun is not None and messages[at].id == begun)
    )
    return messages[: next(ends, -1) + 1]


def _trace(run: RecallState, messages: Sequence[BaseMessage], *, ended: bool) -> Trace:
    steps = steps_in(since(messages, run.get("after")))
    answers = [step.output for step in steps if step.kind == "model" and not step.calls]
    return Trace(
        id=run["id"],
        task=run.get("task", ""),
        steps=steps,
        answer=answers[-1] if answers and ended else None,
        status="completed" if ended else "interrupted",
    )
