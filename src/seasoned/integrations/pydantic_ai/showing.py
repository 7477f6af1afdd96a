"""Showing: what the memories say of a task, as the two texts that a run's requests are given."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.errors import SeasonedError
from seasoned.integrations import beside
from seasoned.integrations.beside import said
from seasoned.integrations.pydantic_ai.framework import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestContext,
    UserPromptPart,
)
from seasoned.integrations.pydantic_ai.transcribing import text_of, transcribed
from seasoned.joined.policy import ContextPolicy
from seasoned.memory import Memory

NO_WORDS: Final = "…"
"""The task where a prompt has no text: what does not depend on it is shown all the same."""

_LOG: Final = logging.getLogger("seasoned.pydantic_ai")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is asked for a run: `budget` is in tokens, for all that the memories add."""

    memory: Memory
    budget: int
    profile: str
    policy: ContextPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a run is shown.

    `system` stands after the instructions, `user` in the prompt `target` before its own text. `trace` names the context
    for an outcome.
    """

    task: str
    system: str = ""
    user: str = ""
    target: UserPromptPart | None = None
    trace: str | None = None


def shown(asking: Asking, messages: Sequence[ModelMessage], session: str | None) -> Shown:
    """Return what the memories say; nothing, logged, where they cannot be asked.

    `session` is that of the history among `messages`, None where they are the prompt alone: what the model sees anyway
    is not recalled.
    """
    target = _newest(messages)
    task = (text_of(target) if target else "").strip() or NO_WORDS
    try:
        found = said(asking.memory, _beside(asking, messages, session, task))
    except SeasonedError:
        _LOG.warning("the memory could not be asked; the run goes on without", exc_info=True)
        return Shown(task=task, target=target)
    return Shown(task=task, system=found.system, user=found.user, target=target, trace=found.trace)


def _beside(asking: Asking, messages: Sequence[ModelMessage], session: str | None, task: str) -> beside.Asking:
    counter = asking.memory.conversation.policy.counter
    return beside.Asking(
        task=task,
        budget=asking.budget,
        held=sum(counter.one(message) for message in transcribed(messages)),
        session=session,
        profile=asking.profile,
        policy=asking.policy,
    )


def _newest(messages: Sequence[ModelMessage]) -> UserPromptPart | None:
    requests = (message for message in reversed(messages) if isinstance(message, ModelRequest))
    prompts = (part for request in requests for part in reversed(request.parts) if isinstance(part, UserPromptPart))
    return next(prompts, None)


def with_system(request: ModelRequestContext, text: str) -> ModelRequestContext:
    """Return a request whose instructions go on with a text."""
    if not text:
        return request
    parameters = request.model_request_parameters
    parts = [*(parameters.instruction_parts or []), InstructionPart(content=text, dynamic=True)]
    return replace(request, model_request_parameters=replace(parameters, instruction_parts=parts))


def swapped(
    messages: Sequence[ModelMessage], old: UserPromptPart | None, new: UserPromptPart | None
) -> list[ModelMessage]:
    """Return messages with one prompt in place of another; as they are where the old one is not in them."""
    return [
        replace(message, parts=[new if part is old else part for part in message.parts])
        if new is not None and isinstance(message, ModelRequest) and any(part is old for part in message.parts)
        else message
        for message in messages
    ]


def prompt_with(part: UserPromptPart, text: str) -> UserPromptPart:
    """Return a prompt with a text before its own."""
    if isinstance(part.content, str):
        return replace(part, content=f"{text}\n\n{part.content}")
    return replace(part, content=[f"{text}\n\n", *part.content])
