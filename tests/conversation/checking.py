"""What the tests of contexts share: random conversations, and a checker of the rules that every provider has."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import strategies as st

from seasoned.context import Context
from seasoned.conversation.assembly import Wanted, assemble
from seasoned.conversation.messages import call_ids, parse_message, result_id
from seasoned.conversation.policy import ConversationPolicy
from seasoned.conversation.units import Layout, Turn
from seasoned.ports import Message


def say(role: str, text: str = "x", **more: object) -> Message:
    return {"role": role, "content": text, **more}  # type: ignore[dict-item]


def call(*ids: str, text: str | None = None) -> Message:
    made = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(name: str, text: str = "found") -> Message:
    return {"role": "tool", "tool_call_id": name, "content": text}


def laid_out(messages: Sequence[Message], policy: ConversationPolicy) -> Layout:
    layout = Layout(policy.counter)
    for order, message in enumerate(messages):
        parsed = parse_message(message).message
        layout.add(Turn(f"m{order}", order, parsed, policy.counter.one(parsed)))
    return layout


def context_of(messages: Sequence[Message], budget: int, pinned: Sequence[str] = (), **policy: object) -> Context:
    chosen = ConversationPolicy(**policy)  # type: ignore[arg-type]
    return assemble(
        Wanted(
            layout=laid_out(messages, chosen),
            policy=chosen,
            budget=budget,
            relevance=lambda unit: 0.0,
            pinned=frozenset(pinned),
        )
    )


def check_valid(messages: Sequence[Message], *, start: str = "user") -> None:
    """Fail unless every provider accepts the list: see the rules in each assertion."""
    body = list(messages)
    while body and body[0]["role"] in ("system", "developer"):
        body.pop(0)
    assert all(message["role"] not in ("system", "developer") for message in body), "a system message in the middle"
    if body and start == "user":
        assert body[0]["role"] == "user", "the first message that is not the system's is a user's"
    waiting: set[str] = set()
    for message in body:
        name = result_id(message)
        if name is not None:
            assert name in waiting, "a result stands behind its own call, once"
            waiting.discard(name)
            continue
        assert not waiting, "all results of a call stand before anything else"
        waiting = set(call_ids(message))
    assert not waiting, "no call is without its results"


def words_counter(messages: Sequence[Message]) -> int:
    """Count words of the JSON form: additive but for a constant."""
    return 2 + sum(len(json.dumps(message)) // 4 for message in messages)


def steep_counter(messages: Sequence[Message]) -> int:
    """Count a list more than its parts: each message costs its place besides."""
    return sum(place + len(json.dumps(message)) // 4 for place, message in enumerate(messages))


@st.composite
def conversations(draw: st.DrawFn, most: int = 40) -> list[Message]:
    """Give conversations as they are found: parallel calls, pending ones, orphans, late results, long messages."""
    made: list[Message] = [say("system", "Be kind." * draw(st.integers(0, 3)) + "!")] if draw(st.booleans()) else []
    calls = 0
    for _ in range(draw(st.integers(0, most))):
        kind = draw(
            st.sampled_from(["user", "user", "assistant", "assistant", "call", "call", "orphan", "late", "system"])
        )
        text = "word " * draw(st.sampled_from([1, 2, 5, 20, 200])) + "."
        if kind in ("user", "assistant", "system"):
            made.append(say(kind, text))
            continue
        if kind == "orphan":
            made.append(result(f"none{len(made)}", text))
            continue
        names = [f"c{calls + i}" for i in range(draw(st.integers(1, 3)))]
        calls += len(names)
        made.append(call(*names))
        if kind == "late":
            made.append(say("user", text))
        answered = draw(st.permutations(names))
        made.extend(result(name, text) for name in answered[: draw(st.sampled_from([3, 3, 3, 1, 0]))])
    return made
