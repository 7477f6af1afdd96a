"""What the tests of joined contexts say shortly: messages, counters, and a memory with something of everything."""

from __future__ import annotations

import json
from collections.abc import Sequence

from seasoned import Memory
from seasoned.context import Context
from seasoned.ports import Message
from seasoned.runs import TurnRecord


def say(role: str, text: str, **more: object) -> Message:
    return {"role": role, "content": text, **more}  # type: ignore[dict-item]


def call(*ids: str, text: str | None = None) -> Message:
    made = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": text, "tool_calls": made}  # type: ignore[dict-item]


def result(name: str, text: str = "found") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}


def letters(messages: Sequence[Message]) -> int:
    """Count the letters of the JSON form: additive."""
    return sum(len(json.dumps(message)) for message in messages)


letters.fingerprint = "letters/1"  # type: ignore[attr-defined]


def steep(messages: Sequence[Message]) -> int:
    """Count a list more than its parts: each message costs its place besides. It has no name."""
    return sum(place * place + len(json.dumps(message)) // 4 for place, message in enumerate(messages))


def rounded(messages: Sequence[Message]) -> int:
    """Count a list less than its parts, in whole sixteens. It has no name."""
    return -(-sum(len(str(message)) for message in messages) // 64) * 16


def text_of(context: Context) -> str:
    """The system message's text, "" without one."""
    first = context.messages[0]
    return str(first["content"]) if first["role"] == "system" else ""


def asked(context: Context) -> str:
    """The text of the newest user message."""
    return str(next(each["content"] for each in reversed(context.messages) if each["role"] == "user"))


def parts(context: Context) -> dict[str, list[str]]:
    """The ids of what is shown, by the part that it stands in."""
    found: dict[str, list[str]] = {}
    for used in context.used:
        found.setdefault(used.part, []).append(used.key.id)
    return found


def furnish(memory: Memory) -> None:
    """Give a memory something of everything that a context can show: note n1 is pinned, note n2 is not."""
    memory.remember("Alice is allergic to peanuts.", id="n1")
    memory.pin("n1")
    memory.remember("The harbour office in Lisbon opens at nine.", id="n2")
    memory.playbook.add("Confirm the delivery address before booking a courier.", "shipping", "success", id="e1")
    memory.playbook.add("Ask the harbour before you promise a day.", "shipping", id="e2")
    memory.experience.record("a late parcel", "refund", 0.9, domain="support", reasoning="A fast refund.", id="d1")
    memory.conversation.add(say("user", "My parcel for Lisbon left Hamburg on Monday."), "old", ids="m1")
    learn(memory, "r0", 5.0)


def learn(memory: Memory, run: str, reward: float) -> None:
    """Play a run of ten turns to its end, so that it leaves lessons."""
    memory.runs.start_run(run)
    for turn in range(1, 11):
        sold = {"type": "sell" if turn % 2 else "hold"}
        memory.runs.record_turn(TurnRecord(turn, reward if turn % 2 else -reward, "EUR", ["storm"], [sold], {}))
        memory.runs.extract_atoms(turn)
        memory.runs.update_episode(None, turn)
    memory.runs.summarise_run(None)
