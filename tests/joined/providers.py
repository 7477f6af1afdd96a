"""The rules that three providers have for a list of messages, each as a function that fails where one is broken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from seasoned.context import Context
from seasoned.ports import Message

SYSTEM = ("system", "developer")


def check_everywhere(context: Context) -> None:
    """Fail unless OpenAI, Anthropic and Gemini take the messages."""
    check_openai(context.messages)
    check_anthropic(context.messages)
    check_gemini(context.messages)


def _split(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the system part and the rest, which must hold no system message."""
    first = next((i for i, each in enumerate(messages) if each["role"] not in SYSTEM), len(messages))
    head, body = list(messages[:first]), list(messages[first:])
    assert all(each["role"] not in SYSTEM for each in body), "a system message in the middle"
    assert body, "there is something to answer"
    assert body[0]["role"] == "user", "the first message that is not the system's is a user's"
    return head, body


def _texts(message: Message) -> list[str]:
    """Return the texts of a message."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [str(part["text"]) for part in content or () if part["type"] == "text"]  # type: ignore[union-attr,index,call-overload]  # parts


def check_openai(messages: Sequence[Message]) -> None:
    """Fail unless calls are followed by their results and by nothing else, and every message says something."""
    head, body = _split(messages)
    assert all(text.strip() for message in head for text in _texts(message)), "an empty system message"
    waiting: list[str] = []
    for message in body:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in waiting, "a result stands right behind its call, once"
            waiting.remove(message["tool_call_id"])
            assert isinstance(message["content"], (str, list))
            continue
        assert not waiting, "all results of a call stand before anything else"
        assert role in ("user", "assistant")
        calls = message.get("tool_calls") or []
        assert calls or message["content"], "a message says something"
        assert role == "assistant" or not calls
        waiting = [call["id"] for call in calls]
    assert not waiting, "no call is without its results"


def check_anthropic(messages: Sequence[Message]) -> None:
    """Fail unless user and assistant alternate once equal neighbours are merged, results first, no empty text block."""
    head, body = _split(messages)
    assert all(text.strip() for message in head for text in _texts(message))
    turns: list[tuple[str, list[dict[str, object]]]] = []
    for message in body:
        role, blocks = "assistant" if message["role"] == "assistant" else "user", _anthropic_blocks(message)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    assert [role for role, _ in turns] == [("user", "assistant")[i % 2] for i in range(len(turns))]
    asked: list[str] = []
    for _, blocks in turns:
        assert blocks, "a turn has content"
        results = [str(block["id"]) for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(asked), "the turn after a call has its results, all of them and no others"
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)]), "results stand first"
        assert all(block["text"] for block in blocks if block["type"] == "text"), "no empty text block"
        asked = [str(block["id"]) for block in blocks if block["type"] == "tool_use"]
    assert not asked


def _anthropic_blocks(message: Message) -> list[dict[str, object]]:
    if message["role"] == "tool":
        return [{"type": "tool_result", "id": message["tool_call_id"]}]
    texts: list[dict[str, object]] = [{"type": "text", "text": text} for text in _texts(message) if text]
    return [*texts, *({"type": "tool_use", "id": call["id"]} for call in message.get("tool_calls") or ())]


def check_gemini(messages: Sequence[Message]) -> None:
    """Fail unless calls come after a user's or a function's turn, and as many responses as calls after them."""
    head, body = _split(messages)
    assert all(text.strip() for message in head for text in _texts(message))
    turns: list[tuple[str, int, int]] = []
    for message in body:
        role = {"assistant": "model", "tool": "function"}.get(str(message["role"]), "user")
        calls = message.get("tool_calls") or []
        for call in calls:
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
        responses = 1 if role == "function" else 0
        if turns and turns[-1][0] == role:
            turns[-1] = (role, turns[-1][1] + len(calls), turns[-1][2] + responses)
        else:
            turns.append((role, len(calls), responses))
    assert turns[0][0] == "user"
    for before, after in pairwise(turns):
        assert after[2] == before[1], "as many responses as calls, right behind them"
    assert turns[-1][1] == 0, "no call waits for its response"
