"""Models for tests that reply from a script and remember what they were asked."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from seasoned.errors import ModelError
from seasoned.ports import Message

ScriptedReply: TypeAlias = str | BaseException | Callable[[list[Message]], str]
"""A reply's text, an exception to raise, or a function from the messages to the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question that a scripted model was asked; the messages are a copy."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    tag: str

    @property
    def text(self) -> str:
        """The text of all messages, joined by line breaks."""
        return "\n".join(str(message.get("content") or "") for message in self.messages)


class _Script:
    """The replies in order, and the calls so far; thread safe."""

    def __init__(self, replies: Iterable[ScriptedReply]) -> None:
        self._replies = [replies] if isinstance(replies, str) else list(replies)
        self._calls: list[Call] = []
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[Call]:
        """What was asked so far, in order, the questions without a reply left included."""
        with self._lock:
            return list(self._calls)

    @property
    def remaining(self) -> int:
        """How many replies are left."""
        with self._lock:
            return max(0, len(self._replies) - len(self._calls))

    def _reply(self, messages: Sequence[Message], max_tokens: int, temperature: float, tag: str) -> str:
        copied = copy.deepcopy(list(messages))
        call = Call(messages=tuple(copied), max_tokens=max_tokens, temperature=temperature, tag=tag)
        with self._lock:
            self._calls.append(call)
            asked, given = len(self._calls), len(self._replies)
            reply = self._replies[asked - 1] if asked <= given else None
        if reply is None:
            raise ModelError(f"the script has {given} replies, but a model was asked for number {asked}, tag {tag!r}")
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, str) else reply(copy.deepcopy(copied))


class ScriptedModel(_Script):
    """A sync model that gives `replies` in order: texts, exceptions to raise, functions from messages to text.

    `calls` has what it was asked, `remaining` how many replies are left. Thread safe.
    """

    def chat(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0, tag: str = ""
    ) -> str:
        """Return the next reply, or raise it.

        Raises:
            ModelError: no reply is left.
        """
        return self._reply(messages, max_tokens, temperature, tag)


class AsyncScriptedModel(_Script):
    """As `ScriptedModel`, with an async `chat`."""

    async def chat(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0, tag: str = ""
    ) -> str:
        """Return the next reply, or raise it.

        Raises:
            ModelError: no reply is left.
        """
        return self._reply(messages, max_tokens, temperature, tag)
