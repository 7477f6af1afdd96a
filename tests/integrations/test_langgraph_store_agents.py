"""SeasonedStore in the hands of its users: a LangGraph graph, and langmem's tools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TypedDict

import pytest

pytest.importorskip("langgraph.graph", reason="langgraph is not installed")
from langgraph.graph import END, START, StateGraph  # only where it is installed
from langgraph.runtime import Runtime

from seasoned.integrations.langgraph import SeasonedStore

DIRECTIONS = {"tea": [1.0, 0.0], "coffee": [0.0, 1.0]}


def embed(texts):
    """A text points to the drinks that it names."""
    return [[sum(DIRECTIONS[word][axis] for word in DIRECTIONS if word in text) for axis in (0, 1)] for text in texts]


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "agent.db" if request.param == "sqlite" else None


class Talk(TypedDict):
    user: str
    said: str
    known: list[str]


def remember(state: Talk, runtime: Runtime) -> dict[str, object]:
    """Recall what the user said before that fits, then remember what is said now."""
    namespace = ("memories", state["user"])
    found = runtime.store.search(namespace, query=state["said"], limit=2)
    runtime.store.put(namespace, state["said"], {"text": state["said"]})
    return {"known": [item.value["text"] for item in found]}


async def aremember(state: Talk, runtime: Runtime) -> dict[str, object]:
    namespace = ("memories", state["user"])
    found = await runtime.store.asearch(namespace, query=state["said"], limit=2)
    await runtime.store.aput(namespace, state["said"], {"text": state["said"]})
    return {"known": [item.value["text"] for item in found]}


def compiled(node, store):
    graph = StateGraph(Talk)
    graph.add_node("talk", node)
    graph.add_edge(START, "talk")
    graph.add_edge("talk", END)
    return graph.compile(store=store)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_graph_remembers_across_runs_and_users(place, asynchronous):
    """What one user said is found by meaning in the next run, and never by another user's."""
    with SeasonedStore(place, index={"dims": 2, "embed": embed, "fields": ["text"]}) as store:
        graph = compiled(aremember if asynchronous else remember, store)

        def run(user, said):
            state = {"user": user, "said": said, "known": []}
            return asyncio.run(graph.ainvoke(state)) if asynchronous else graph.invoke(state)

        assert run("alice", "I like coffee")["known"] == []
        assert run("alice", "I like tea")["known"] == ["I like coffee"]
        assert run("alice", "more tea")["known"] == ["I like tea", "I like coffee"]
        assert run("bob", "more tea")["known"] == []


langmem = pytest.importorskip("langmem", reason="langmem is not installed")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_langmems_tools_manage_and_search(place, asynchronous):
    """Create, search, update and delete a memory, in the namespace of the user of the call."""
    namespace = ("memories", "{langgraph_user_id}")
    with SeasonedStore(place, index={"dims": 2, "embed": embed}) as store:
        manage = langmem.create_manage_memory_tool(namespace, store=store)
        search = langmem.create_search_memory_tool(namespace, store=store)

        def call(tool, user="alice", **given):
            config = {"configurable": {"langgraph_user_id": user}}
            return asyncio.run(tool.ainvoke(given, config)) if asynchronous else tool.invoke(given, config)

        call(manage, action="create", content="Alice likes tea")
        call(manage, action="create", content="Alice dislikes coffee")
        call(manage, user="bob", action="create", content="Bob likes tea")
        found = json.loads(call(search, query="tea", limit=1))
        assert [memory["value"] for memory in found] == [{"content": "Alice likes tea"}]
        call(manage, action="update", id=found[0]["key"], content="Alice likes green tea")
        found = json.loads(call(search, query="tea", limit=1))
        assert [memory["value"]["content"] for memory in found] == ["Alice likes green tea"]
        call(manage, action="delete", id=found[0]["key"])
        assert [memory["value"]["content"] for memory in json.loads(call(search, query="tea"))] == [
            "Alice dislikes coffee"
        ]
        assert len(json.loads(call(search, user="bob", query="tea"))) == 1
