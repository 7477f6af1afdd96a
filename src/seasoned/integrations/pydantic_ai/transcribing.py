"""What Pydantic AI's messages say, as messages in OpenAI form: what is stored of a run, and counted of a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seasoned.integrations.pydantic_ai.framework import (
    ImageUrl,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from seasoned.ports import Message
from seasoned.records import JSON


def transcribed(messages: Sequence[ModelMessage]) -> list[Message]:
    """Return what was said: prompts, answers, calls of tools and their results.

    Instructions and system prompts are the agent's own and not among it; nor is what a model thought.
    """
    return [said for message in messages for said in spoken(message, message.parts)]


def spoken(message: ModelMessage, parts: Sequence[object]) -> Iterator[Message]:
    """Give what some parts of one message say."""
    if isinstance(message, ModelResponse):
        yield from _answer(parts)
        return
    for part in parts:
        if isinstance(part, UserPromptPart):
            yield {"role": "user", "content": _content(part)}
        elif isinstance(part, ToolReturnPart):
            yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
        elif getattr(part, "part_kind", None) == "retry-prompt" and getattr(part, "tool_name", None):
            yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}  # type: ignore[attr-defined]  # a part of earlier releases, told by its kind


def _answer(parts: Sequence[object]) -> Iterator[Message]:
    text = "\n".join(part.content for part in parts if isinstance(part, TextPart) and part.content)
    calls: list[JSON] = [_call(part) for part in parts if isinstance(part, ToolCallPart)]
    if text or calls:
        yield {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _call(part: ToolCallPart) -> JSON:
    function: JSON = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _content(part: UserPromptPart) -> JSON:
    """Return the content of a prompt: its texts, the addresses of its pictures, and which other files it has."""
    if isinstance(part.content, str):
        return part.content
    return [said for item in part.content if (said := _item(item)) is not None]


def _item(item: object) -> JSON:
    text = item if isinstance(item, str) else getattr(item, "content", None)
    if isinstance(text, str):
        return {"type": "text", "text": text}
    if isinstance(item, ImageUrl):
        return {"type": "image_url", "image_url": {"url": item.url}}
    media = getattr(item, "media_type", None)
    return {"type": "text", "text": f"[a file: {media}]"} if isinstance(media, str) else None


def text_of(part: UserPromptPart) -> str:
    """Return the text of a prompt, without its files."""
    if isinstance(part.content, str):
        return part.content
    texts = (item if isinstance(item, str) else getattr(item, "content", None) for item in part.content)
    return "\n".join(text for text in texts if isinstance(text, str))
