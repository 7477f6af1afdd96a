"""Messages in OpenAI form: checked, copied, and read as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.errors import InvalidInput, InvalidMessage, WrongType
from seasoned.ports import Message
from seasoned.records import JSON, checked_id, clean_json, clean_text

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
"""The roles a message may have."""

SYSTEM_ROLES: Final = ("system", "developer")
"""Roles that stand first in a context and do not count in a window."""

MAX_ARGUMENTS: Final = 2_000
"""Characters of a call's arguments that are searched; the message keeps them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A message as it is stored: a checked copy without its `id`, that id, whether it is blank, and notes."""

    message: Message
    id: str | None = None
    blank: bool = False
    notes: tuple[str, ...] = ()


def parse_message(given: object) -> Parsed:
    """Return a checked deep copy of a message; what was given is not changed.

    A message is a mapping with a `role` and `content` (text, a list of parts, or None), and whatever else belongs to
    it: `name`, `tool_calls`, `tool_call_id`, `refusal` and unknown keys are kept. A LangChain message is converted.
    A part that is malformed is left out and named in `notes`; so are arguments that are not JSON, which are kept.
    Arguments given as an object are written as JSON.

    Ids of a provider: `id` names the message here and is not sent back, `id` of a content part is dropped, for no
    provider takes another's; the ids of tool calls and of their results are kept, for they join them.

    Raises:
        InvalidMessage: no role or an unknown one, a tool result without `tool_call_id`, a call without an id or
            name, two calls with the same id, calls in another message than the assistant's, or a number that is
            not finite.
        WrongType: not a message, or a field of another type.
    """
    message = _copied(given)
    role = message.get("role")
    if role not in ROLES:
        raise InvalidMessage(f"a message has a role, one of {', '.join(ROLES)}; found {role!r}")
    given_id = message.pop("id", None)
    notes: list[str] = []
    message["content"] = _checked_content(message.get("content"), notes)
    _check_name(message)
    _check_calls(message, notes)
    _check_result(message)
    return Parsed(
        message=message,
        id=None if given_id is None else checked_id(given_id, "a message's id"),
        blank=is_blank(message),
        notes=tuple(notes),
    )


def _copied(given: object) -> Message:
    if isinstance(given, Mapping):
        try:
            copied = clean_json(given)
        except InvalidInput as error:
            raise InvalidMessage(f"a message is plain JSON: {error}") from error
        assert isinstance(copied, dict)  # noqa: S101  # a mapping gives a dict
        return copied
    if hasattr(given, "type") and hasattr(given, "content") and not isinstance(given, type):
        from seasoned.conversation.langchain_messages import to_openai  # LangChain is loaded only where it is used

        return _copied(to_openai(given))
    raise WrongType(f"a message is a mapping in OpenAI form or a LangChain message, not {given!r:.80}")


def _checked_content(content: JSON, notes: list[str]) -> JSON:
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WrongType(f"content is a text, a list of parts or None, not {content!r:.80}")
    return [part for place, given in enumerate(content) if (part := _checked_part(given, place, notes)) is not None]


def _checked_part(part: JSON, place: int, notes: list[str]) -> JSON:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    wrong = _wrong_part(part)
    if wrong:
        notes.append(f"part {place} was left out: {wrong}")
        return None
    assert isinstance(part, dict)  # noqa: S101  # else it is wrong
    return {name: value for name, value in part.items() if name != "id"}


def _wrong_part(part: JSON) -> str | None:
    if not isinstance(part, dict):
        return f"a part is an object, not {part!r:.40}"
    kind = part.get("type")
    if not isinstance(kind, str) or not kind:
        return f"a part has a type, found {kind!r:.40}"
    if kind in ("text", "refusal") and not isinstance(part.get(kind), str):
        return f"its {kind} is {part.get(kind)!r:.40}"
    if kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url.strip():
            return f"its image_url is {image!r:.40}"
    return None


def _check_name(message: Message) -> None:
    name = message.get("name")
    if name is not None and not isinstance(name, str):
        raise WrongType(f"a name is a string, not {name!r:.80}")
    if message["role"] == "function" and not name:
        raise InvalidMessage("a function's result names its function; found no name")


def _check_calls(message: Message, notes: list[str]) -> None:
    legacy = message.get("function_call")
    calls = message.get("tool_calls")
    for key, empty in (("tool_calls", not calls), ("function_call", not legacy)):
        if empty:
            message.pop(key, None)
    if not calls and not legacy:
        return
    if message["role"] != "assistant":
        raise InvalidMessage(f"only an assistant calls tools, not the role {message['role']!r}")
    if legacy:
        _check_function(legacy, "function_call", notes)
    if calls:
        _check_list(calls, notes)


def _check_list(calls: JSON, notes: list[str]) -> None:
    if not isinstance(calls, list):
        raise WrongType(f"tool_calls are a list, not {calls!r:.80}")
    seen: set[str] = set()
    for call in calls:
        if not isinstance(call, dict):
            raise WrongType(f"a tool call is an object, not {call!r:.80}")
        name = call.get("id")
        if not isinstance(name, str) or not name.strip():
            raise InvalidMessage(f"a tool call has an id, which its result repeats; found {name!r}")
        if name in seen:
            raise InvalidMessage(f"two tool calls of one message have the id {name!r}")
        seen.add(name)
        kind = call.setdefault("type", "function")
        if kind not in ("function", "custom"):
            raise InvalidMessage(f"a tool call is of type function or custom, found {kind!r}")
        _check_function(call.get(str(kind)), f"tool call {name!r}", notes)


def _check_function(inner: JSON, what: str, notes: list[str]) -> None:
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str) or not inner["name"]:
        raise InvalidMessage(f"{what} names what it calls; found {inner!r:.80}")
    if "input" in inner and "arguments" not in inner:
        return
    arguments = inner.get("arguments")
    if not isinstance(arguments, str):
        inner["arguments"] = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
        return
    try:
        json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        notes.append(f"the arguments of {what} are not JSON; they are kept as they are")


def _check_result(message: Message) -> None:
    if message["role"] not in ("tool", "function"):
        return
    if message["content"] is None:
        message["content"] = ""
    call = message.get("tool_call_id")
    if message["role"] == "tool" and (not isinstance(call, str) or not call.strip()):
        raise InvalidMessage(f"a tool result has the tool_call_id of its call; found {call!r}")


def is_blank(message: Message) -> bool:
    """Tell whether a message says nothing: no text, part, call or refusal; a tool's result may be empty."""
    if message["role"] in ("tool", "function"):
        return False
    if any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")):
        return False
    content = message["content"]
    if isinstance(content, list):
        return not any(_says_something(part) for part in content)
    return not content or not str(content).strip()


def _says_something(part: JSON) -> bool:
    assert isinstance(part, dict)  # noqa: S101  # checked when parsed
    return part["type"] not in ("text", "refusal") or bool(str(part[str(part["type"])]).strip())


def message_text(message: Message) -> str:
    """Return what is searched of a message: its text parts, what it calls with which arguments, a tool's result."""
    pieces = [content_text(message.get("content"))]
    if isinstance(refusal := message.get("refusal"), str):
        pieces.append(refusal)
    pieces.extend(_call_text(call) for call in tool_calls(message))
    return "\n".join(piece for piece in pieces if piece.strip())


def content_text(content: object) -> str:
    """Return the text of a message's content; parts are joined by line breaks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    found = [part.get("text") or part.get("refusal") for part in content if isinstance(part, Mapping)]
    return "\n".join(text for text in found if isinstance(text, str))


def tool_calls(message: Message) -> list[Mapping[str, JSON]]:
    """Return the function or custom tool of each call that a message makes."""
    calls = message.get("tool_calls")
    found = [_called(call) for call in calls] if isinstance(calls, list) else []
    legacy = message.get("function_call")
    return [*found, legacy] if isinstance(legacy, dict) else found


def _called(call: JSON) -> Mapping[str, JSON]:
    inner = (call.get("function") or call.get("custom")) if isinstance(call, dict) else None
    return inner if isinstance(inner, dict) else {}


def _call_text(inner: Mapping[str, JSON]) -> str:
    given = inner.get("arguments", inner.get("input", ""))
    return f"{inner.get('name', '')}({str(given)[:MAX_ARGUMENTS]})"


def call_ids(message: Message) -> tuple[str, ...]:
    """Return the ids that the results of a message's calls must have; () where it calls nothing.

    A call in the old form, `function_call`, has no id; it is joined to its result by the function's name.
    """
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return tuple(str(call["id"]) for call in calls if isinstance(call, dict))
    legacy = message.get("function_call")
    return (f"function_call:{legacy['name']}",) if isinstance(legacy, dict) else ()


def result_id(message: Message) -> str | None:
    """Return the id of the call that a message is the result of; None where it is no result."""
    if message.get("role") == "tool":
        return str(message["tool_call_id"])
    if message.get("role") == "function":
        return f"function_call:{message['name']}"
    return None


def copied(message: Message) -> Message:
    """Return a copy that shares nothing that can be changed."""
    return {name: _copied_value(value) for name, value in message.items()}


def _copied_value(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {name: _copied_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_copied_value(item) for item in value]
    return value


def session_name(session: object) -> str:
    """Return the name of a session if it can be one.

    Raises:
        InvalidInput: blank, too long, or with a control character.
        WrongType: not a string.
    """
    return clean_text(checked_id(session, "a session"))
