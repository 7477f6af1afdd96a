"""LangChain's messages, converted to OpenAI form by LangChain itself."""

from __future__ import annotations

from collections.abc import Mapping

from seasoned.errors import InvalidMessage, MissingExtra, WrongType


def to_openai(message: object) -> Mapping[str, object]:
    """Return a LangChain message in OpenAI form, its id included.

    Raises:
        MissingExtra: langchain-core is not installed.
        InvalidMessage: LangChain cannot convert it.
        WrongType: it is not a message of LangChain's.
    """
    try:
        from langchain_core.messages import BaseMessage, convert_to_openai_messages
    except ImportError as error:
        raise MissingExtra("langchain", "langchain-core") from error
    if not isinstance(message, BaseMessage):
        raise WrongType(f"a message is a mapping in OpenAI form or a LangChain message, not {message!r:.80}")
    try:
        converted = convert_to_openai_messages(message)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidMessage(f"a LangChain message of type {message.type!r} has no OpenAI form: {error}") from error
    if not isinstance(converted, dict):
        raise InvalidMessage(f"a LangChain message of type {message.type!r} has no OpenAI form")
    return {**converted, "id": message.id} if message.id else converted
