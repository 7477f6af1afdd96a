"""`MemoryCapability`: an agent of Pydantic AI's is shown what its memories say, and its runs are recorded."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from seasoned.aio.threads import Lane, Threads
from seasoned.arguments import check_type
from seasoned.context import budget_left
from seasoned.conversation.messages import session_name
from seasoned.errors import WrongType
from seasoned.integrations.pydantic_ai.framework import (
    AbstractCapability,
    AgentDepsT,
    AgentRunResult,
    ModelMessage,
    ModelRequestContext,
    RunContext,
    UserPromptPart,
)
from seasoned.integrations.pydantic_ai.recording import Recorder
from seasoned.integrations.pydantic_ai.showing import Asking, Shown, prompt_with, shown, swapped, with_system
from seasoned.joined.policy import ContextPolicy
from seasoned.memory import Memory
from seasoned.ports import new_id
from seasoned.records import Scope, finite
from seasoned.runs.profiles import safe_id

CONVERSATION: Final = "pydantic-ai-conversation"
"""The first part of the scope of a conversation without a tenant, its id being the second."""

FIELDS: Final = ("tenant", "tenant_id")
"""The fields of a run's dependencies that name the tenant, where nothing else is said."""

AT_HAND: Final = 1_024
"""Of how many runs `trace_of` knows the trace."""

Parts: TypeAlias = Sequence[str]
TenantOf: TypeAlias = Callable[[RunContext[Any]], str | Parts | None]
"""Returns the tenant of a run: a name, or the parts of a scope, outermost first; None where there is none."""

Tenant: TypeAlias = str | Parts | TenantOf | None
"""How a tenant is found: the name of a field of the dependencies, the parts themselves, a function, or None."""

OutcomeOf: TypeAlias = Callable[[AgentRunResult[Any]], float | None]
"""Says what a run was worth, from -1 to 1; None where nobody knows."""

_THREADS: Final = Threads()
_LOG: Final = logging.getLogger("seasoned.pydantic_ai")


class MemoryCapability(AbstractCapability[AgentDepsT]):
    """Shows an agent what its memories say of a prompt, and records what is said: `Agent(…, capabilities=[…])`.

    At the first request of a run a context is made, once for all of its requests. Pinned notes, the lessons of
    `profile` and the playbook stand after the agent's instructions; decisions in similar situations and what is
    recalled stand inside the newest prompt, before its own text, and are not in the history that the run returns.
    `budget` is the most that all of it takes, in tokens, and `policy` says how it is shared out. Messages are stored as
    they come, each once, in the session named after the conversation's id: a run that failed or was cancelled loses
    none. With `outcome`, a function from the result to its reward, each run is recorded as a decision with that reward,
    and what its context showed is credited.

    All of it is the tenant's: a field of the dependencies named `tenant` or `tenant_id`, or as `tenant` says: the name
    of another field, a function of the run's context, or the parts of a scope below the memory's, () for that of the
    memory itself. A run without a tenant uses a memory of its conversation alone. A memory that fails is logged, and
    the run goes on. No store is called on the event loop's thread.

    Raises:
        InvalidInput: a budget below 1, or a blank profile.
        WrongType: an argument of another type.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        tenant: Tenant = None,
        budget: int = 4_000,
        profile: str = "default",
        policy: ContextPolicy | None = None,
        outcome: OutcomeOf | None = None,
    ) -> None:
        if not isinstance(memory, Memory):
            raise WrongType(f"memory is a Memory, not {memory!r:.80}")
        check_type(policy, ContextPolicy, "policy")
        self._memory = memory
        self._tenant = _checked_tenant(tenant)
        self._budget = budget_left(budget, 0)
        self._profile = safe_id(profile)
        self._policy = policy or ContextPolicy()
        self._outcome = outcome
        self._traces = OrderedDict[str, str]()

    def trace_of(self, run: str) -> str | None:
        """Return the trace of what a run was shown, for `Memory.outcome`; None where none is known.

        `run` is `result.run_id`. The last 1,024 runs of this process are known.
        """
        return self._traces.get(run)

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """Return what does it for one run.

        Raises:
            InvalidScope: the tenant's parts break the rule of scopes.
        """
        session, run = session_name(ctx.conversation_id or new_id()), ctx.run_id or new_id()
        tenant = _tenant_of(ctx, self._tenant)
        parts = (CONVERSATION, session) if tenant is None else tenant
        memory = self._memory.within(*parts) if parts else self._memory
        asking = Asking(memory=memory, budget=self._budget, profile=self._profile, policy=self._policy)
        return _RunMemory(asking, Recorder(memory, session, run), session, self._ended(run))

    def _ended(self, run: str) -> Ended:
        """Return what is done when a run has ended well: its trace is kept at hand, and it is rated."""

        def ended(seen: Shown, recorder: Recorder, result: AgentRunResult[Any]) -> None:
            if seen.trace is not None:
                self._traces[run] = seen.trace
                while len(self._traces) > AT_HAND:
                    self._traces.popitem(last=False)
            reward = self._reward(result)
            if reward is not None:
                recorder.outcome(seen.task, result.new_messages(), seen.trace, reward)

        return ended

    def _reward(self, result: AgentRunResult[Any]) -> float | None:
        if self._outcome is None:
            return None
        try:
            reward = self._outcome(result)
            return None if reward is None else finite(reward, "a reward")
        except Exception:  # noqa: BLE001  # the caller's own code: whatever it raises, the run goes on
            _LOG.warning("outcome failed; run %s has no reward", result.run_id, exc_info=True)
            return None


Ended: TypeAlias = Callable[[Shown, Recorder, AgentRunResult[Any]], None]


class _RunMemory(AbstractCapability[AgentDepsT]):
    """The capability for one run."""

    def __init__(self, asking: Asking, recorder: Recorder, session: str, ended: Ended) -> None:
        self._asking = asking
        self._recorder = recorder
        self._session = session
        self._ended = ended
        self._history = False
        self._live = list[ModelMessage]()
        self._prompt: UserPromptPart | None = None
        self._seen: Shown | None = None

    async def wrap_run(
        self, ctx: RunContext[AgentDepsT], *, handler: Callable[[], Awaitable[AgentRunResult[Any]]]
    ) -> AgentRunResult[Any]:
        """Store what is left to store when the run ends, however it ends, and rate one that ended well."""
        self._live, self._history = ctx.messages, bool(ctx.messages)
        self._recorder.know([part for message in ctx.messages for part in message.parts])
        result: AgentRunResult[Any] | None = None
        try:
            result = await handler()
            return result
        finally:
            self._live[:] = swapped(self._live, self._prompt, self._seen.target if self._seen else None)
            messages = list(self._live if result is None else result.all_messages())
            await _THREADS.run(Lane.WORK, lambda: self._end(messages, result))

    def _end(self, messages: Sequence[ModelMessage], result: AgentRunResult[Any] | None) -> None:
        self._recorder.record(messages)
        if result is not None and self._seen is not None:
            self._ended(self._seen, self._recorder, result)

    async def before_model_request(
        self,
        ctx: RunContext[AgentDepsT],
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Store what was said since the last request, and show what the memories say."""
        self._live = ctx.messages
        messages = list(request_context.messages)
        seen = await _THREADS.run(Lane.WORK, lambda: self._begun(messages))
        request = with_system(request_context, seen.system)
        if not seen.user or seen.target is None:
            return request
        if self._prompt is None:
            self._prompt = prompt_with(seen.target, seen.user)
            self._recorder.know([self._prompt])  # the first releases of 2.x keep what a request is given in the history
        return replace(request, messages=swapped(request.messages, seen.target, self._prompt))

    def _begun(self, messages: Sequence[ModelMessage]) -> Shown:
        stored = self._recorder.record(messages)
        if self._seen is None:
            self._seen = shown(self._asking, messages, self._session if stored and self._history else None)
        return self._seen


def _checked_tenant(given: object) -> Tenant:
    if given is None or callable(given) or (isinstance(given, str) and given):
        return given
    if isinstance(given, (list, tuple)):
        return tuple(Scope(given)) if given else ()
    raise WrongType(
        f"tenant is the name of a field of the dependencies, a tuple of strings or a function, not {given!r:.80}"
    )


def _tenant_of(ctx: RunContext[Any], tenant: Tenant) -> tuple[str, ...] | None:
    """Return the tenant of a run as the parts of a scope; None where none is named, or "" is."""
    if isinstance(tenant, tuple):
        return tenant
    if callable(tenant):
        found: object = tenant(ctx)
    else:
        found = _named(ctx.deps, FIELDS if tenant is None else (str(tenant),))
    if found is None or found == "":
        return None
    return tuple(Scope(found)) if found != () else ()  # type: ignore[arg-type]  # checked there


def _named(deps: object, names: Sequence[str]) -> object:
    for name in names:
        found = deps.get(name) if isinstance(deps, Mapping) else getattr(deps, name, None)
        if found is not None:
            return found
    return None
