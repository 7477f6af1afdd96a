"""ACEMiddleware and MemoryMiddleware in deep agents, and in their subagents."""

from __future__ import annotations

import pytest

pytest.importorskip("deepagents", reason="deepagents is not installed")
import deepagents  # only where it is installed
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from seasoned import Memory
from seasoned.integrations.langchain import ACEMiddleware, MemoryMiddleware

from .langchain_agents import Context, ask, calls, contents, scripted

BLOCK = "<playbook>"


def task(identity, kind, text):
    return {"name": "task", "args": {"description": text, "subagent_type": kind}, "id": identity}


def test_in_a_deep_agent():
    """It learns across threads, after the long system prompt of a deep agent, in its last block."""
    model = scripted(calls("ls", path="/"), "done", "again")
    agent = deepagents.create_deep_agent(
        model=model,
        middleware=[ACEMiddleware()],
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
        context_schema=Context,
    )
    out = ask(agent, "hi", tenant="acme")
    assert contents(out) == ["tool call: ls", "done"]
    ask(agent, "again", "t2", tenant="acme")
    assert BLOCK not in model.systems[1]
    assert "[o] done" in model.systems[2]


def test_what_subagents_learn_side_by_side_is_joined_with_what_the_agent_knows():
    """Two subagents with middleware of their own end in one step; nothing of the three playbooks is lost."""
    experts = [
        {
            "name": name,
            "description": f"knows {name}",
            "system_prompt": "You know.",
            "tools": [],
            "model": scripted(f"{name} is known"),
            "middleware": [ACEMiddleware()],
        }
        for name in ("tea", "coffee")
    ]
    both = AIMessage("", tool_calls=[task("1", "tea", "ask"), task("2", "coffee", "ask")])
    model = scripted("before", both, "both are known", "end")
    agent = deepagents.create_deep_agent(
        model=model,
        middleware=[ACEMiddleware()],
        subagents=experts,
        checkpointer=InMemorySaver(),
        context_schema=Context,
    )
    ask(agent, "hello")
    out = ask(agent, "what is known?")
    assert set(contents(out)) == {
        "before", "tool call: task, task", "both are known", "tea is known", "coffee is known",
    }  # fmt: skip
    ask(agent, "and now?")
    assert "[o] tea is known" in model.systems[-1]


def test_both_middlewares_stand_beside_those_of_a_deep_agent():
    """Neither takes the place of one of the same name there; what was said is recalled on another thread."""
    with Memory(embedder="hashing") as memory:
        model = scripted("noted", "oolong")
        agent = deepagents.create_deep_agent(
            model=model,
            middleware=[ACEMiddleware(memory=memory), MemoryMiddleware(memory)],
            checkpointer=InMemorySaver(),
            context_schema=Context,
        )
        ask(agent, "my favourite tea is oolong", "t1", tenant="acme")
        ask(agent, "which tea do I like?", "t2", tenant="acme")
        assert "my favourite tea is oolong" in str(model.seen[1][1].content)
        assert "[o] noted" in model.systems[1]
