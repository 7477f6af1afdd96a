"""Models: those that LangChain runs, asked so that nothing of it reaches the agent's own stream."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeAlias

from seasoned.asking import Ask, Model, ResolvedModel, resolve_model
from seasoned.integrations.langchain.framework import (
    INTERNAL,
    TAG_NOSTREAM,
    BaseChatModel,
    Runnable,
    RunnableConfig,
    init_chat_model,
)

SOURCE: Final = "seasoned"
"""The `lc_source` of the calls made here."""

AnyModel: TypeAlias = Model | BaseChatModel | str
"""A LangChain chat model, a name such as "openai:gpt-5" for `init_chat_model`, or any model of `seasoned.asking`."""


def resolved(model: AnyModel | None) -> ResolvedModel | None:
    """Return how a model is asked; None where there is none.

    Raises:
        WrongType: it is no model.
        ImportError, ValueError: a name that `init_chat_model` does not know.
    """
    if model is None:
        return None
    found: object = init_chat_model(model) if isinstance(model, str) else model
    return _quiet(found) if isinstance(found, Runnable) else resolve_model(found)  # type: ignore[arg-type]  # checked there


def _quiet(model: Runnable[object, object]) -> ResolvedModel:
    def call(ask: Ask) -> object:
        return model.invoke([dict(message) for message in ask.messages], config=_config(ask))

    def acall(ask: Ask) -> Awaitable[object]:
        return model.ainvoke([dict(message) for message in ask.messages], config=_config(ask))

    return ResolvedModel(call, acall, has_coroutine=True)


def _config(ask: Ask) -> RunnableConfig:
    tags = [TAG_NOSTREAM, ask.tag] if ask.tag else [TAG_NOSTREAM]
    return {"metadata": {"lc_source": SOURCE, **INTERNAL}, "tags": tags}
