"""`MemoryMiddleware`: an agent of LangChain's is shown what its memories say, and its runs are recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seasoned.conversation.langchain_messages import to_openai
from seasoned.errors import InvalidInput, SeasonedError, WrongType
from seasoned.integrations.beside import Asking, said
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
)
from seasoned.integrations.langchain.runs import is_said, newest_id, task_in
from seasoned.integrations.langchain.tenants import Tenant, Tenants, checked_tenant, scope_of, tenant_of, thread_of
from seasoned.joined.policy import ContextPolicy
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

    The joined context is asked at the beginning of a run, once for all of its calls. Pinned notes, lessons of earlier
    runs and the playbook stand at the end of the system message; decisions in similar situations, and what was said or
    noted on the task, inside the user's newest message, before its text. `lessons`, `playbook`, `examples` and
    `recalled` are the most tokens of each, 0 for none; what the examples leave goes to what is recalled, `k` at most.
    Beside an `ACEMiddleware` over the same memory leave the playbook at 0, or it is shown twice.

    Messages are stored as they come, each once, in the session named after the thread: a run that raised, was
    interrupted or cancelled loses none. With `outcome`, a function from the run to its reward (or None), each run is
    recorded as a decision with that reward, which later runs are shown as an example or as what to avoid, and what the
    run was shown is credited with it (from -1 to 1; beyond counts as the end).

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
        playbook: int = 0,
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
        given = {"lessons": lessons, "playbook": playbook, "examples": examples, "recalled": recalled, "k": k}
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int):
                raise WrongType(f"{name} is an integer, not {value!r:.80}")
            if value < 0:
                raise InvalidInput(f"{name} is 0 or more, found {value}")
        self.tools = []
        self._memories = Tenants(memory)
        self._budget = lessons + playbook + examples + recalled
        self._policy = _policy(given, self._budget)
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
        recorded = self._recorder.messages(run, messages, recorded)
        return {"memory_run": self._with_blocks(run, messages), "memory_recorded": recorded}

    def _with_blocks(self, run: RecallState, messages: Sequence[BaseMessage]) -> RecallState:
        scope = run.get("scope")
        if not scope or not self._budget or not run["task"].strip():
            return run
        try:
            memory = self._memories.of(scope)
            found = said(memory, self._asking(memory, run, messages))
        except SeasonedError:
            _LOG.warning("the memory could not be asked; the run goes on without", exc_info=True)
            return run
        return {**run, "system": found.system, "user": found.user, "trace": found.trace}

    def _asking(self, memory: Memory, run: RecallState, messages: Sequence[BaseMessage]) -> Asking:
        counter = memory.conversation.policy.counter
        return Asking(
            task=run["task"],
            budget=self._budget,
            held=sum(counter.one(to_openai(message)) for message in messages),
            session=run["session"],
            profile=self._profile,
            policy=self._policy,
        )

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


def _policy(given: Mapping[str, int], budget: int) -> ContextPolicy:
    """Return the shares of a budget that give each part its tokens."""
    changing = given["examples"] + given["recalled"]
    return ContextPolicy(
        lessons=given["lessons"] / budget if budget else 0.0,
        playbook=given["playbook"] / budget if budget else 0.0,
        changing=changing / budget if budget else 0.0,
        observations=0.0,
        examples=given["examples"] / changing if changing else 0.0,
        examples_k=3 if given["examples"] else 0,
        recall_k=given["k"] if given["recalled"] else 0,
    )


def _shown(request: ModelRequest[Any]) -> ModelRequest[Any]:
    run = request.state.get("memory_run")
    if not isinstance(run, dict):
        return request
    if run.get("system"):
        request = request.override(system_message=after_system(request.system_message, run["system"]))
    if run.get("user"):
        request = request.override(messages=inside_user(request.messages, run.get("message"), run["user"]))
    return request
