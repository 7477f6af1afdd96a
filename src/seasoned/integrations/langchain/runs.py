"""Runs: what the messages of a thread say of one run of an agent, as a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

from seasoned.integrations.langchain.framework import AIMessage, BaseMessage, HumanMessage, ToolMessage
from seasoned.playbook import TraceStep
from seasoned.playbook.traces import StepStatus, steps_of
from seasoned.records import JSON, clean_json

STEPS: Final = 32
"""How many calls of one run are kept in the state for the case that a summary takes their messages away."""

KEPT_CHARS: Final = 500
"""How much of each of their results."""

TASK_CHARS: Final = 2_000
"""How much of the task of a run is kept in the state."""


def newest_answer(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """Return what the model said last."""
    return next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)


def task_in(messages: Sequence[BaseMessage]) -> str:
    """Return what the user asked last, cut to `TASK_CHARS`."""
    asked = next((each for each in reversed(messages) if is_said(each)), None)
    return "" if asked is None else str(asked.text)[:TASK_CHARS]


def is_said(message: BaseMessage) -> bool:
    """Tell whether a message is what a user said, and not a summary that a middleware put there."""
    return isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs


def newest_id(messages: Sequence[BaseMessage]) -> str | None:
    """Return the id of the newest message."""
    return messages[-1].id if messages else None


def since(messages: Sequence[BaseMessage], last: str | None) -> Sequence[BaseMessage]:
    """Return the messages after the one with an id; all of them where it is gone: those left came after it."""
    at = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].id == last), -1)
    return messages[at + 1 :]


def steps_in(messages: Sequence[BaseMessage], kept: Sequence[Mapping[str, JSON]] = ()) -> tuple[TraceStep, ...]:
    """Return the steps that messages tell of, before them `kept` ones whose messages are gone.

    A call that never returned is a step of which nothing is known.
    """
    answered = {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
    told = [_told(each) for each in messages if isinstance(each, (AIMessage, ToolMessage))]
    gone = [each for each in kept if each.get("call") not in answered]
    return (*(_step(each) for each in gone), *steps_of(told), *_open_calls(messages, answered))


def _told(message: AIMessage | ToolMessage) -> dict[str, JSON]:
    if isinstance(message, ToolMessage):
        return {"role": "tool", "content": str(message.text), "name": message.name,
                "tool_call_id": message.tool_call_id, "status": message.status}  # fmt: skip
    calls: list[JSON] = [
        {"id": call["id"], "name": call["name"], "args": _plain(call["args"])} for call in message.tool_calls
    ]
    return {"role": "assistant", "content": str(message.text), "tool_calls": calls}


def told(message: AIMessage) -> dict[str, JSON]:
    """Return what a model said and called, as `reflect_message` reads it."""
    return _told(message)


def _open_calls(messages: Sequence[BaseMessage], answered: set[str]) -> Iterator[TraceStep]:
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            if call["id"] not in answered:
                yield TraceStep(kind="tool", name=call["name"], input=_plain(call["args"]))


def failures(messages: Sequence[BaseMessage], kept: Sequence[Mapping[str, JSON]]) -> list[dict[str, JSON]]:
    """Return `kept` with the calls before the newest answer that failed, and those that then did what had failed.

    So the lessons of a long run outlive a summary of its messages.
    """
    found = [dict(each) for each in kept]
    known = {each.get("call") for each in found}
    for message, given in _returned(messages):
        tried = any(each.get("name") == message.name and each.get("status") == "error" for each in found)
        if message.tool_call_id not in known and (message.status == "error" or tried):
            found.append({"call": message.tool_call_id, "name": message.name or "", "input": given,
                          "output": str(message.text)[:KEPT_CHARS], "status": message.status})  # fmt: skip
    return found[-STEPS:]


def _returned(messages: Sequence[BaseMessage]) -> list[tuple[ToolMessage, JSON]]:
    """Return the results that the newest answer was given, in order, each with the arguments of its call."""
    newest = next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], AIMessage)), 0)
    before = messages[:newest]
    results = list(takewhile(lambda each: isinstance(each, ToolMessage), reversed(before)))[::-1]
    asked = before[len(before) - len(results) - 1] if len(results) < len(before) else None
    calls = {call["id"]: call["args"] for call in asked.tool_calls} if isinstance(asked, AIMessage) else {}
    return [(each, _plain(calls.get(each.tool_call_id, ""))) for each in results if isinstance(each, ToolMessage)]


def _step(given: Mapping[str, JSON]) -> TraceStep:
    status: StepStatus = "error" if given.get("status") == "error" else "ok"
    return TraceStep(kind="tool", name=str(given.get("name", "")), input=given.get("input"),
                     output=str(given.get("output", "")), status=status)  # fmt: skip


def _plain(value: object) -> JSON:
    try:
        return clean_json(value)
    except (ValueError, TypeError):
        return str(value)
