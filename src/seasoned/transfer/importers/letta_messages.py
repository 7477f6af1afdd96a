"""Messages of a Letta agent in OpenAI form: unpacked, what was sent by a tool as what was said, calls with results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from seasoned.transfer.importers.fields import Json, as_object, is_object, joined, objects, text

_SEND: Final = "send_message"
_MEMGPT: Final = ("memgpt", "sleeptime")
_OPEN: Final = "letta_v1_agent"
_CONTROL: Final = frozenset(("request_heartbeat", "thinking", "inner_thoughts"))
_ROLES: Final = frozenset(("user", "assistant", "tool", "function", "system", "approval", "summary"))
_EVENTS: Final = {"heartbeat": "a heartbeat", "login": "a login", "system_alert": "an alert of the system"}
_SUMMARY: Final = "following is a summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message; `number` counts the file's messages from 1, `session` is "" where the message names none."""

    number: int
    message: Json
    at: object = None
    session: str = ""
    summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A message, or a part of one, that is left out, or `broken` and refused."""

    number: int
    reason: str
    broken: bool = False


Found: TypeAlias = Said | Left


def converted(messages: list[object], agent_type: str) -> Iterator[Found]:
    """Yield the messages of an agent one by one; a tool message with several results becomes as many."""
    sends = agent_type.startswith(_MEMGPT) or (
        agent_type != _OPEN and any(_calls(message, _SEND) for message in objects(messages))
    )
    sent: set[str] = set()
    for number, message in enumerate(messages, 1):
        if not is_object(message):
            yield Left(number=number, reason=f"a message is an object, not {message!r:.80}", broken=True)
            continue
        session, at = text(message, "conversation_id"), message.get("created_at")
        for found in _converted(message, number, sends, sent):
            yield replace(found, at=at, session=session) if isinstance(found, Said) else found


def paired(found: Iterable[Found]) -> Iterator[Found]:
    """Yield the same, each call followed by its result: results of no call and calls without result are left out."""
    rest = list(found)
    open_: set[str] = set()
    for place, item in enumerate(rest):
        if isinstance(item, Left) or item.summary:
            yield item
        elif item.message["role"] == "tool":
            call = str(item.message["tool_call_id"])
            yield item if call in open_ else Left(number=item.number, reason="the result of a call that is not there")
            open_.discard(call)
        else:
            kept, dropped = _answered(item, rest, place)
            open_ = {str(call["id"]) for call in objects(kept.message.get("tool_calls"))}
            if dropped and not open_ and not kept.message.get("content"):
                yield Left(number=item.number, reason="a call without a result")
            else:
                yield kept


def _answered(item: Said, found: Sequence[Found], place: int) -> tuple[Said, bool]:
    """Return the message at `place` with those calls whose result comes before the next, and whether some went."""
    calls = list(objects(item.message.get("tool_calls")))
    if not calls:
        return item, False
    results: set[str] = set()
    for index in range(place + 1, len(found)):
        after = found[index]
        if isinstance(after, Said) and not after.summary:
            if after.message["role"] != "tool":
                break
            results.add(str(after.message["tool_call_id"]))
    kept = [call for call in calls if call["id"] in results]
    message = {name: value for name, value in item.message.items() if name != "tool_calls"}
    return replace(item, message=message | ({"tool_calls": kept} if kept else {})), len(kept) < len(calls)


def _converted(message: Json, number: int, sends: bool, sent: set[str]) -> Iterator[Found]:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        reason = f"a message has a role of {', '.join(sorted(_ROLES))}, not {role!r:.80}"
        yield Left(number=number, reason=reason, broken=True)
    elif role == "system":
        yield Left(number=number, reason="a system prompt, which Letta makes of the instructions and blocks")
    elif role == "summary":
        yield _as_summary(_content(message), number)
    elif role == "user":
        yield _user(_content(message), number)
    elif role == "assistant" or _tool_calls(message):
        yield _assistant(message, number, sends or _calls(message, _SEND), sent)
    else:
        yield from _results(message, number, sent)


def _user(said: str, number: int) -> Found:
    """Return what a user said, unpacked; events that Letta packs in the same way are none."""
    packed = _unpacked(said)
    kind = text(packed, "type")
    if kind == "system_alert" and _SUMMARY in text(packed, "message"):
        return _as_summary(text(packed, "message"), number)
    if kind in _EVENTS:
        return Left(number=number, reason=_EVENTS[kind])
    if kind == "user_message" and isinstance(packed.get("message"), str):
        said = text(packed, "message")
    if not said.strip():
        return Left(number=number, reason="a user message without text")
    return Said(number=number, message={"role": "user", "content": said})


def _as_summary(said: str, number: int) -> Found:
    packed = _unpacked(said)
    said = text(packed, "message") or said
    if not said.strip():
        return Left(number=number, reason="a summary without text")
    return Said(number=number, message={"role": "summary", "content": said}, summary=True)


def _assistant(message: Json, number: int, sends: bool, sent: set[str]) -> Found:
    """Return what the assistant said: by `send_message`, or where the agent speaks without it, its text."""
    said = [] if sends else [_content(message)]
    calls: list[Json] = []
    for call in _tool_calls(message):
        function = as_object(call.get("function"))
        written = function.get("arguments")
        arguments = _arguments(written)
        if text(function, "name") == _SEND and isinstance(arguments.get("message"), str):
            said.append(text(arguments, "message"))
            sent.add(text(call, "id"))
        elif text(call, "id") and text(function, "name"):
            told = {"name": text(function, "name"), "arguments": _without_control(written, arguments)}
            calls.append({"id": text(call, "id"), "type": "function", "function": told})
    content = joined(*said)
    if calls:
        return Said(number=number, message={"role": "assistant", "content": content or None, "tool_calls": calls})
    if content:
        return Said(number=number, message={"role": "assistant", "content": content})
    thought = sends and _content(message).strip()
    return Left(number=number, reason="a thought of the agent" if thought else "an assistant message without text")


def _results(message: Json, number: int, sent: set[str]) -> Iterator[Found]:
    """Yield the results of tools that a message holds; the receipt of what was sent is none."""
    returned = [*objects(message.get("tool_returns")), *objects(message.get("approvals"))]
    results = {call: _returned(each) for each in returned if (call := text(each, "tool_call_id")) and _is_result(each)}
    if (call := text(message, "tool_call_id")) and len(results) < 2:
        results = {call: _content(message) or results.get(call, "")}
    if not results:
        broken = message.get("role") != "approval"
        reason = "a tool message has a tool_call_id" if broken else "an approval"
        yield Left(number=number, reason=reason, broken=broken)
    for call, said in results.items():
        if call in sent:
            yield Left(number=number, reason=f"the receipt of {_SEND}")
        else:
            told: Json = {"role": "tool", "tool_call_id": call, "content": _result(said)}
            name = text(message, "name")
            yield Said(number=number, message=told | ({"name": name} if name else {}))


def _is_result(value: Json) -> bool:
    return value.get("type") != "approval"


def _returned(value: Json) -> str:
    found = value.get("func_response", value.get("tool_return"))
    return found if isinstance(found, str) else _parts(found)


def _result(said: str) -> str:
    """Return what a tool answered, unpacked; a failure says so."""
    packed = _unpacked(said)
    if not {"status", "message"} <= packed.keys():
        return said
    found = packed["message"]
    told = found if isinstance(found, str) else _dumped(found)
    return told if packed["status"] == "OK" else f"{packed['status']}: {told}"


def _content(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else _parts(content) or text(message, "text")


def _parts(content: object) -> str:
    """Return the texts of a list of parts; pictures stand as `[image]`, thoughts are left out."""
    shown = (text(part, "text") if part.get("type") == "text" else _other(part) for part in objects(content))
    return joined(*shown)


def _other(part: Json) -> str:
    return "[image]" if part.get("type") == "image" else ""


def _tool_calls(message: Json) -> list[Json]:
    return list(objects(message.get("tool_calls")))


def _calls(message: Json, name: str) -> bool:
    return any(text(as_object(call.get("function")), "name") == name for call in _tool_calls(message))


def _arguments(value: object) -> Json:
    """Return a call's arguments as the object that they are; what is none stands under `input`."""
    if not isinstance(value, str):
        return as_object(value)
    found = _parsed(value)
    return found if is_object(found) else ({"input": value} if value.strip() else {})


def _without_control(written: object, arguments: Json) -> str:
    """Return the arguments as JSON without what steers Letta's loop; as they were written where nothing does."""
    if isinstance(written, str) and not _CONTROL & arguments.keys() and is_object(_parsed(written)):
        return written
    return _dumped({name: value for name, value in arguments.items() if name not in _CONTROL})


def _dumped(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "{}"


def _unpacked(said: str) -> Json:
    return as_object(_parsed(said)) if said.lstrip().startswith("{") else {}


def _parsed(said: str) -> object:
    try:
        value: object = json.loads(said)
    except (ValueError, RecursionError):
        return None
    return value
