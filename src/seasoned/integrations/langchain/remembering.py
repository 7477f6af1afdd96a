"""`MemoryMiddleware`: an agent of LangChain's is shown what its memories say, and its runs are recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seasoned.errors import InvalidInput, SeasonedError, WrongType
from seasoned.integrations.langchain.blocks import Shares, lessons_block, task_block
from seasoned.integrations.langchain.framework import (
    NO_PAYLOAD,
    AgentMiddleware,
    BaseMessage,
    ModelCallResult,
    ModelRequest,
    ModelResponse,
    Runtime,
)
from seasoned.integrations.langchain.injecting import after_system, inside_user
from seasoned.integrations.langchain.recording import (
    MemoryState,
    OutcomeOf,
    RecallState,
    Recorder,
    before_input,
    stored_id,
)
from seasoned.integrations.langchain.runs import is_said, newest_id, task_in
from seasoned.integrations.langchain.tenants import Tenant, Tenants, checked_tenant, scope_of, tenant_of, thread_of
from seasoned.memory import Memory
from seasoned.ports import new_id

_LOG: Final = logging.getLogger("seasoned.langchain")


@dataclass(frozen=True, slots=True)
class _Place:
    """Whose memory a run uses: the scope below the memory's, and the session, which is the thread."""

    scope: tuple[str, ...]
    session: str


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Shows an agent what its memories say of a task, and records what is said and done.

    At the beginning of a run the blocks are made, once for all of its calls: lessons of earlier runs at the end of the
    system message; decisions in similar situations and messages that answer the task inside the user's newest message,
    before its text. `lessons`, `examples` and `recalled` are the most tokens of each, 0 for none; `k` is the most
    messages. Messages are stored as they come, each once, in the session named after the thread: a run that raised,
    was interrupted or cancelled loses none. With `outcome`, a function from the run to its reward (or None), each run
    is recorded as a decision with that reward, which later runs are shown as an example or as what to avoid.

    All of it is the tenant's, found as in `ACEMiddleware`; a run without a tenant uses a memory of its thread alone,
    and one without a thread none. A memory that fails is logged, and the run goes on.

    Raises:
        InvalidInput: a number below 0.
        WrongType: an argument of another type.
    """

    state_schema = MemoryState
    trace_policy = NO_PAYLOAD

    def __init__(
        self,
        memory: Memory,
        *,
        lessons: int = 600,
        examples: int = 600,
        recalled: int = 1_000,
        k: int = 6,
        profile: str = "default",
        outcome: OutcomeOf | None = None,
        tenant: Tenant = None,
    ) -> None:
        super().__init__()
        if not isinstance(memory, Memory):
            raise WrongType(f"memory is a Memory, not {memory!r:.80}")
        for name, value in (("lessons", lessons), ("examples", examples), ("recalled", recalled), ("k", k)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise WrongType(f"{name} is an integer, not {value!r:.80}")
            if value < 0:
                raise InvalidInput(f"{name} is 0 or more, found {value}")
        self.tools = []
        self._memories = Tenants(memory)
        self._shares = Shares(lessons=lessons, examples=examples, recalled=recalled, k=k)
        self._profile = profile
        self._recorder = Recorder(self._memories, outcome)
        self._tenant = checked_tenant(tenant)

    @property
    def name(self) -> str:
        """The name of its nodes; deepagents has a middleware of the class's name."""
        return "SeasonedMemoryMiddleware"

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store what an unfinished run left and what is asked now, and make the blocks of the run."""
        return self._begun(state, self._place(runtime))

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do it in a thread."""
        return await asyncio.to_thread(self._begun, state, self._place(runtime))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Show the model the blocks of the run."""
        return handler(_shown(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        """Await `wrap_model_call`."""
        return await handler(_shown(request))

    def after_model(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002  # the hook's form
        """Store what was said since the last time."""
        return self._went_on(state)

    async def aafter_model(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002  # as above
        """Do it in a thread."""
        return await asyncio.to_thread(self._went_on, state)

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002  # as above
        """Store the rest, and the outcome of the run."""
        return self._ended(state)

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002  # as above
        """Do it in a thread."""
        return await asyncio.to_thread(self._ended, state)

    def _place(self, runtime: Runtime[Any] | None) -> _Place | None:
        thread = thread_of(runtime)
        scope = scope_of(tenant_of(runtime, self._tenant), thread)
        return None if scope is None else _Place(scope, thread or new_id())

    def _begun(self, state: MemoryState, place: _Place | None) -> dict[str, Any]:
        messages, old, recorded = state["messages"], state.get("memory_run") or {}, state.get("memory_recorded")
        run: RecallState = {
            "id": new_id(),
            "status": "running",
            "scope": None if place is None else list(place.scope),
            "session": "" if place is None else place.session,
            "task": task_in(messages),
            "after": newest_id(messages),
            "message": next((each.id for each in reversed(messages) if is_said(each)), None),
        }
        if old.get("status") == "running":
            left = before_input(messages, old)
            recorded = self._recorder.messages(old, left, recorded)
            self._recorder.outcome(old, left, ended=False)
        if old and old.get("scope") != run["scope"]:  # what stands there is another's
            recorded = newest_id(before_input(messages, old))
        shown = self._with_blocks(run, messages)
        return {"memory_run": shown, "memory_recorded": self._recorder.messages(run, messages, recorded)}

    def _with_blocks(self, run: RecallState, messages: Sequence[BaseMessage]) -> RecallState:
        scope = run.get("scope")
        if not scope:
            return run
        known = {stored_id(run, each.id) for each in messages}
        try:
            memory = self._memories.of(scope)
            system = lessons_block(memory, self._shares, self._profile)
            user = task_block(memory, self._shares, run["task"], known)
        except SeasonedError:
            _LOG.warning("the memory could not be asked; the run goes on without", exc_info=True)
            return run
        return {**run, "system": system, "user": user}

    def _went_on(self, state: MemoryState) -> dict[str, Any] | None:
        run, recorded = state.get("memory_run"), state.get("memory_recorded")
        after = recorded if not run else self._recorder.messages(run, state["messages"], recorded)
        return {"memory_recorded": after} if after != recorded else None

    def _ended(self, state: MemoryState) -> dict[str, Any] | None:
        run = state.get("memory_run")
        if not run:
            return None
        self._recorder.outcome(run, state["messages"], ended=True)
        ended: RecallState = {"id": run["id"], "status": "ended", "scope": run.get("scope"), "after": run.get("after")}
        return {"memory_run": ended, **(self._went_on(state) or {})}


def _shown(request: ModelRequest[Any]) -> ModelRequest[Any]:
    run = request.state.get("memory_run")
    if not isinstance(run, dict):
        return request
    if run.get("system"):
        request = request.override(system_message=after_system(request.system_message, run["system"]))
    if run.get("user"):
        request = request.override(messages=inside_user(request.messages, run.get("message"), run["user"]))
    return request
