"""Injecting: text of ours into the messages that a model is given; what the state holds is never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from seasoned.integrations.langchain.framework import AnyMessage, BaseMessage, HumanMessage, SystemMessage

M = TypeVar("M", bound=BaseMessage)


def after_system(old: SystemMessage | None, text: str) -> SystemMessage:
    """Return a system message that goes on with a text; one of blocks gets one more. What it began with stays."""
    if old is None:
        return SystemMessage(content=text)
    if isinstance(old.content, str):
        return _with(old, f"{old.content}\n\n{text}" if old.content else text)
    return _with(old, [*old.content, {"type": "text", "text": text}])


def inside_user(messages: Sequence[AnyMessage], name: str | None, text: str) -> list[AnyMessage]:
    """Return messages with a text at the beginning of the user's one that has an id; as they are where it is gone."""
    return [
        _before(each, text) if isinstance(each, HumanMessage) and name is not None and each.id == name else each
        for each in messages
    ]


def _before(message: HumanMessage, text: str) -> HumanMessage:
    if isinstance(message.content, str):
        return _with(message, f"{text}\n\n{message.content}")
    return _with(message, [{"type": "text", "text": f"{text}\n\n"}, *message.content])


def _with(message: M, content: str | list[str | dict[str, object]]) -> M:
    changed: M = message.model_copy(update={"content": content})
    return changed
