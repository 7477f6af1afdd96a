"""Items of the Responses API and messages, one into the other; what a message does not say is kept beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.conversation.assembly import without_block
from seasoned.conversation.following import stored_message
from seasoned.conversation.messages import content_text, is_blank, parse_message
from seasoned.errors import InvalidInput, WrongType
from seasoned.ports import Message
from seasoned.records import JSON, Record, clean_text

ITEM: Final = "openai_item"
"""The kind of what holds an item that is no message: reasoning, a search, a click."""

FIELD: Final = "item"
"""The field of `data` that holds an item as JSON text, where its message alone would not give it back."""

_SPEAKERS: Final = ("user", "system", "developer", "assistant")
_CALLS: Final = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
"""By the type of a call, the type that it has in a message, and the field that holds what the tool is given."""
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")


@dataclass(frozen=True, slots=True)
class Drafted:
    """An item on its way into the store: the message that it is, None where it is none, and what must be kept of it."""

    message: Message | None
    text: str | None


def drafted(item: object) -> Drafted:
    """Return what is stored of an item.

    Raises:
        WrongType: it is no mapping, or holds something that is not JSON.
    """
    if not isinstance(item, Mapping):
        raise WrongType(f"an item is a mapping in the form of the Responses API, not {item!r:.80}")
    text = _written(item)
    message = _message(item)
    return Drafted(message, None if message is not None and items_of(message) == [item] else text)


def _written(item: Mapping[str, JSON]) -> str:
    """Return an item as JSON that every engine stores as it is: what cannot be stored is escaped."""
    try:
        text = json.dumps(item, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongType(f"an item is plain JSON: {error}") from error
    return text if clean_text(text) == text else json.dumps(item)


def _message(item: Mapping[str, JSON]) -> Message | None:
    """Return the message that an item is; None where it is none, or none that a conversation would take."""
    made = _translated(item)
    if made is None:
        return None
    try:
        message = without_block(parse_message(made).message)
    except (InvalidInput, WrongType):
        return None
    return None if is_blank(message) else message


def _translated(item: Mapping[str, JSON]) -> Message | None:
    kind = item.get("type", "message" if "role" in item else None)
    if kind == "message" and item.get("role") in _SPEAKERS:
        return _said(str(item["role"]), item.get("content"))
    if kind in _CALLS:
        return _call(str(kind), item)
    if kind in _RESULTS:
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": _parts(item.get("output"))}
    return None


def _said(role: str, content: JSON) -> Message:
    if role != "assistant" or not isinstance(content, list):
        return {"role": role, "content": _parts(content)}
    refused = [part["refusal"] for part in content if isinstance(part, dict) and isinstance(part.get("refusal"), str)]
    texts = [part for part in content if isinstance(part, dict) and part.get("type") == "output_text"]
    said: Message = {"role": role, "content": content_text(texts) or None}
    return {**said, "refusal": "\n".join(map(str, refused))} if refused else said


def _call(kind: str, item: Mapping[str, JSON]) -> Message:
    form, given = _CALLS[kind]
    inner: dict[str, JSON] = {"name": item.get("name"), given: item.get(given)}
    call: dict[str, JSON] = {"id": item.get("call_id"), "type": form, form: inner}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _parts(content: JSON) -> JSON:
    return (
        [_part(part) if isinstance(part, dict) else part for part in content] if isinstance(content, list) else content
    )


def _part(part: Mapping[str, JSON]) -> JSON:
    """Return a part of an input as a message has it."""
    kind = part.get("type")
    rest = {name: value for name, value in part.items() if name != "type"}
    if kind == "input_text":
        return {"type": "text", **rest}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": rest.pop("image_url"), **rest}}
    if kind == "input_file":
        return {"type": "file", "file": rest}
    return dict(part)


def items_of(message: Message) -> list[dict[str, JSON]]:
    """Return the items that a message is: one, or several where it calls several tools."""
    content = message.get("content")
    if message["role"] in ("tool", "function"):
        call = message.get("tool_call_id", message.get("name"))
        return [{"type": "function_call_output", "call_id": call, "output": _inputs(content)}]
    refusal = message.get("refusal")
    said = content if message["role"] != "assistant" else content_text(content) or refusal
    items: list[dict[str, JSON]] = [{"role": message["role"], "content": _inputs(said)}] if said else []
    calls, legacy = message.get("tool_calls"), message.get("function_call")
    items += [_called(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    items += [_called({"id": legacy.get("name"), "function": legacy})] if isinstance(legacy, dict) else []
    return items


def _called(call: Mapping[str, JSON]) -> dict[str, JSON]:
    kind = "custom_tool_call" if call.get("type") == "custom" else "function_call"
    form, given = _CALLS[kind]
    inner = call.get(form)
    asked: Mapping[str, JSON] = inner if isinstance(inner, dict) else {}
    return {"type": kind, "call_id": call.get("id"), "name": asked.get("name"), given: asked.get(given)}


def _inputs(content: JSON) -> JSON:
    return [_input(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else content


def _input(part: Mapping[str, JSON]) -> JSON:
    """Return a part of a message as an input has it."""
    kind = part.get("type")
    inner = part.get(str(kind))
    if kind == "text":
        return {**part, "type": "input_text"}
    if kind == "image_url" and isinstance(inner, (dict, str)):
        image: Mapping[str, JSON] = inner if isinstance(inner, dict) else {"url": inner}
        rest = {name: value for name, value in image.items() if name != "url"}
        return {"type": "input_image", "image_url": image.get("url"), "detail": "auto", **rest}
    if kind == "file" and isinstance(inner, dict):
        return {"type": "input_file", **inner}
    return dict(part)


def items_in(record: Record) -> Sequence[dict[str, JSON]]:
    """Return the items that a record holds; () where it is damaged."""
    text = record.data.get(FIELD)
    if isinstance(text, str):
        try:
            item = json.loads(text)
        except (ValueError, RecursionError):
            item = None
        if isinstance(item, dict):
            return (item,)
    message = stored_message(record)
    return items_of(message) if message is not None else ()
