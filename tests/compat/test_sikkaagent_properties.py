"""What always holds of a context of Sikka Agent's memory, whatever was said and however it is set."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from seasoned.compat.sikkaagent.agents.base import BaseMessage
from seasoned.compat.sikkaagent.memories import Memory, MemoryRecord
from seasoned.compat.sikkaagent.storages import InMemoryStorage
from seasoned.compat.sikkaagent.utils.enums import RoleType
from seasoned.errors import BudgetTooSmall
from seasoned.tokens import EstimatedCounter

from ..conversation.checking import check_valid, steep_counter
from .test_sikkaagent_memory import calling, words
from .test_sikkaagent_storages import ListStorage


@st.composite
def conversations(draw):
    """Records as they are found: calls with all, some or none of their results, orphans, images, long texts."""
    made: list[MemoryRecord] = []
    for place in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(["user", "user", "assistant", "system", "call", "orphan", "image", "blank"]))
        text = "word " * draw(st.sampled_from([1, 3, 20, 300])) + "."
        if kind == "call":
            names = [f"c{place}-{i}" for i in range(draw(st.integers(1, 3)))]
            made.append(MemoryRecord(calling(*names), RoleType.ASSISTANT))
            made.extend(
                MemoryRecord(BaseMessage(text, "Tool", meta={"tool_call_id": name}), RoleType.TOOL)
                for name in draw(st.permutations(names))[: draw(st.integers(0, 3))]
            )
        elif kind == "orphan":
            made.append(MemoryRecord(BaseMessage(text, "look"), RoleType.FUNCTION))
        elif kind == "image":
            made.append(
                MemoryRecord(BaseMessage(text, images=["https://example.org/a.png"], image_detail="low"), "user")
            )
        elif kind == "blank":
            made.append(MemoryRecord(BaseMessage(" "), RoleType.USER))
        else:
            made.append(MemoryRecord(BaseMessage(text + str(place) * (kind == "system")), kind))
    return made


def asked_for(memory, query, prompt):
    """A context, or the error that says what it would need."""
    try:
        return memory.context(query, system_prompt=prompt), None
    except BudgetTooSmall as error:
        return None, error


def always_shown(stored, prompt):
    """The system messages, each once, and the newest user message, in a list or none."""
    texts = [*([prompt] if prompt else []), *(each.message.content for each in stored if each.role_type == "system")]
    users = [each.to_openai_message() for each in stored if each.role_type is RoleType.USER]
    return [{"role": "system", "content": text} for text in dict.fromkeys(texts)], users[-1:]


@given(
    said=conversations(),
    limit=st.integers(1, 3000),
    size=st.none() | st.integers(0, 8),
    rate=st.floats(0, 1),
    counter=st.sampled_from([None, words, steep_counter]),
    query=st.sampled_from([None, True, "word"]),
    prompt=st.sampled_from([None, "be kind"]),
    storage=st.sampled_from([InMemoryStorage, ListStorage]),
)
def test_a_context_is_always_valid_and_never_over_the_limit(said, limit, size, rate, counter, query, prompt, storage):
    """System messages and newest user message are kept, or else the error says what they need; in any storage."""
    memory = Memory(storage(), size, rate, counter, limit)
    memory.add_records(said)
    system, newest = always_shown(memory.records(), prompt)
    context, missing = asked_for(memory, query, prompt)
    if context is None:
        assert missing.needed > missing.budget <= limit
        assert (counter or EstimatedCounter())([*system, *newest]) > limit
        return
    messages, again = context.messages, memory.context(query, system_prompt=prompt)
    assert (again.messages, again.tokens) == (messages, context.tokens)
    assert context.tokens <= limit
    assert not messages or context.tokens == (counter or EstimatedCounter())(messages)
    check_valid(messages)
    assert [message for message in messages if message["role"] == "system"] == system
    asked = [message for message in messages if message["role"] == "user"]
    assert bool(asked) == bool(newest)
    if newest and asked[-1] != newest[0]:
        assert context.recalled or any(cut in json.dumps(asked[-1]) for cut in context.truncated)
    if size is not None:
        assert len(messages) - len(system) <= max(1, size)
