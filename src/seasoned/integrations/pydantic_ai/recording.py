"""Recording: what is said in a run goes into its session, each message once, and what the run was worth."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from typing import Final

from seasoned.errors import SeasonedError
from seasoned.integrations.pydantic_ai.framework import ModelMessage
from seasoned.integrations.pydantic_ai.transcribing import spoken
from seasoned.memory import Memory
from seasoned.ports import Message
from seasoned.records import Key

ANSWER_CHARS: Final = 500
"""How much of a run's answer is kept with its outcome."""

_LOG: Final = logging.getLogger("seasoned.pydantic_ai")


class Recorder:
    """Stores the messages of one run; what cannot be stored is logged, and tried again with the next message."""

    def __init__(self, memory: Memory, session: str, run: str) -> None:
        self._memory = memory
        self._session = session
        self._run = run
        self._known = dict[int, object]()  # by identity, each kept alive: equal parts are said twice
        self._count = 0
        self.prompt: str | None = None
        """The id of the first message of a user that was stored."""

    def know(self, parts: Sequence[object]) -> None:
        """Take parts as stored: the history that a run begins with, or what we put in place of a part."""
        self._known.update((id(part), part) for part in parts)

    def record(self, messages: Sequence[ModelMessage]) -> bool:
        """Store what was said since the last time; return whether all is stored."""
        fresh, said = list[object](), list[Message]()
        for message in messages:
            if getattr(message, "run_id", None) in (None, self._run):
                parts = [part for part in message.parts if id(part) not in self._known]
                fresh += parts
                said += spoken(message, parts)
        if said and not self._stored(said):
            return False
        self.know(fresh)
        return True

    def _stored(self, said: Sequence[Message]) -> bool:
        ids = [self._name(self._count + place) for place in range(len(said))]
        try:
            self._memory.conversation.add(said, self._session, ids=ids)
        except SeasonedError:
            _LOG.warning("%d messages of run %s were not stored", len(said), self._run, exc_info=True)
            return False
        users = (name for name, message in zip(ids, said, strict=True) if message["role"] == "user")
        self.prompt = self.prompt or next(users, None)
        self._count += len(said)
        return True

    def _name(self, place: int) -> str:
        """Return the id of a message: a run that an engine plays again gives the same."""
        return hashlib.sha256(f"{self._session}\0{self._run}\0{place}".encode()).hexdigest()[:32]

    def outcome(self, task: str, messages: Sequence[ModelMessage], trace: str | None, reward: float) -> None:
        """Store what the run was worth as a decision, and credit what its context showed."""
        memory = self._memory
        said = [each for message in messages for each in spoken(message, message.parts)]
        called = [name for message in said for name in _called(message)]
        answers = [str(message["content"]) for message in said if message["role"] == "assistant" and message["content"]]
        try:
            memory.experience.record(
                task,
                " > ".join(dict.fromkeys(called)) or "answered without a tool",
                reward,
                reasoning=answers[-1][:ANSWER_CHARS] if answers else "",
                episode=self._run,
                id=f"run-{self._run}",
                sources=[Key(memory.scope, "message", self.prompt)] if self.prompt else [],
            )
            if trace is not None:
                memory.outcome(trace, reward=reward, by=f"run {self._run}")
        except SeasonedError:
            _LOG.warning("the outcome of run %s was not stored", self._run, exc_info=True)


def _called(message: Message) -> Sequence[str]:
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [str(function.get("name")) for function in functions if isinstance(function, dict)]
