"""`ChatAgent`: a model with a memory; each step is a question, its answer, and both remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seasoned.asking import Ask, Flow, Model, arun, run
from seasoned.compat.sikkaagent.memories import Memory
from seasoned.compat.sikkaagent.messages import BaseMessage
from seasoned.compat.sikkaagent.mirroring import MemoryStorage
from seasoned.compat.sikkaagent.models import ModelConfigure
from seasoned.compat.sikkaagent.records import MemoryRecord
from seasoned.compat.sikkaagent.storing import RecordStorage
from seasoned.compat.sikkaagent.utils.enums import RoleType
from seasoned.errors import InvalidInput, WrongType
from seasoned.records import JSON
from seasoned.results import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAgentResponse:
    """What an agent answered: `msgs`, whether it is done, and `info` (`context_tokens`: what the model was shown)."""

    msgs: list[BaseMessage]
    terminated: bool = False
    info: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def msg(self) -> BaseMessage:
        """The answer."""
        return self.msgs[0]


class ChatAgent:
    """Talks to a model and remembers what was said.

    `model` is a `ModelConfigure`, or any model that `seasoned.asking.resolve_model` takes. `memory` is a `Memory`, a
    storage (which is wrapped in one that counts as the model does), or None for one in this process. `system_prompt`
    stands first in every context and is not stored: it is the agent's own, so it outlives `memory.clear()`, can be
    changed, and is not shown to other agents over the same storage. One agent leads one conversation, a step at a time.

    Raises:
        WrongType: a memory that is none, or a prompt that is no text.
    """

    def __init__(
        self,
        model: ModelConfigure | Model,
        memory: Memory | RecordStorage | MemoryStorage | None = None,
        system_prompt: str | None = None,
    ) -> None:
        if system_prompt is not None and not isinstance(system_prompt, str):
            raise WrongType(f"a system prompt is a text, not {system_prompt!r:.80}")
        self.model = model
        self.memory = memory if isinstance(memory, Memory) else Memory(memory, token_counter=_counter(model))
        self.system_prompt = system_prompt
        self._unanswered: MemoryRecord | None = None

    def step(self, message: BaseMessage | str) -> ChatAgentResponse:
        """Say something to the model, and return its answer; both are remembered.

        Where the model fails, what was said stays in memory, and saying the same again does not store it twice.

        Raises:
            ModelError: the model failed.
            BudgetTooSmall: system messages and this message, cut as far as it goes, do not fit the token limit.
            InvalidInput: a message that says nothing.
        """
        return run(self._stepping(message), self.model)

    async def astep(self, message: BaseMessage | str) -> ChatAgentResponse:
        """Do as `step`, without holding up the event loop."""
        return await arun(self._stepping(message), self.model)

    def _stepping(self, message: BaseMessage | str) -> Flow[ChatAgentResponse]:
        self._hear(message if isinstance(message, BaseMessage) else BaseMessage(message, role_name="User"))
        context = self.memory.context(system_prompt=self.system_prompt)
        longest, temperature = (
            (self.model.max_tokens, self.model.temperature) if isinstance(self.model, ModelConfigure) else (1024, 0.0)
        )
        reply = yield Ask(messages=context.messages, max_tokens=longest, temperature=temperature, tag="chat")
        answer = BaseMessage(reply, role_name="Assistant")
        self.memory.add_message(answer, RoleType.ASSISTANT)
        self._unanswered = None
        return ChatAgentResponse(msgs=[answer], info={"context_tokens": context.tokens})

    def _hear(self, said: BaseMessage) -> None:
        """Store what was said, once even where it is said again because no answer came."""
        if self._unanswered is None or self._unanswered.message != said:
            self._unanswered = MemoryRecord(said, RoleType.USER)
        heard = self._unanswered
        if self.memory.add_records([heard])[0].status is Status.REFUSED:
            self._unanswered = None
            raise InvalidInput("a step says something: it has a text or an image")


def _counter(model: object) -> object:
    return model.token_counter if isinstance(model, ModelConfigure) else None
