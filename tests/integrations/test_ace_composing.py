"""ACEMiddleware beside LangChain's own middleware: both do what they do alone."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed")
from langchain.agents import create_agent  # only where it is installed
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from seasoned.integrations.langchain import ACEMiddleware

from .langchain_agents import Context, ask, calls, config_of, contents, divide_tool, lookup, scripted

BLOCK = "<playbook>"
BOTH_ORDERS = pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
SYNC_AND_ASYNC = pytest.mark.parametrize("run", ["sync", "async"])


def agent_of(model, *others, first=True, tools=(divide_tool, lookup), **more):
    stack = [ACEMiddleware(), *others] if first else [*others, ACEMiddleware()]
    return create_agent(
        model, list(tools), middleware=stack, checkpointer=InMemorySaver(), context_schema=Context, **more
    )


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_summaries(first, run):
    """Messages are summarised as without it, and the playbook is in the system message all the while."""
    summary = SummarizationMiddleware(scripted(*["so far: sums"] * 9), trigger=("messages", 4), keep=("messages", 2))
    model = scripted(*(f"answer {number}" for number in range(5)))
    agent = agent_of(model, summary, first=first)
    for number in range(5):
        out = ask(agent, f"question {number}", run=run)
    assert any("so far: sums" in str(message.content) for message in out["messages"])
    assert len(out["messages"]) <= 6
    assert [BLOCK in system for system in model.systems] == [False, True, True, True, True]
    assert "so far" not in "".join(contents(out))


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_context_editing(first, run):
    """Old results are cleared for the model alone; the trace of the run has them."""
    edit = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1, placeholder="[cleared]")])
    model = scripted("start", calls("lookup", city="Rome"), calls("lookup", city="Oslo"), "sunny")
    agent = agent_of(model, edit, first=first)
    ask(agent, "hello", run=run)
    out = ask(agent, "weather?", run=run)
    assert any(message.content == "[cleared]" for message in model.seen[3])
    assert "sunny in Rome" in [message.content for message in out["messages"]]
    assert all(BLOCK in system for system in model.systems[1:])


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_a_human_in_the_loop(first, run):
    """An approved call runs, and the run is noted once, when it ends."""
    agent = agent_of(
        scripted(calls(a=1, b=2), "a half"), HumanInTheLoopMiddleware(interrupt_on={"divide": True}), first=first
    )
    assert "__interrupt__" in ask(agent, "1/2?", run=run)
    out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config_of(), context=Context())
    assert contents(out) == ["tool call: divide", "a half"]


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_a_fallback_model(first, run):
    """The other model is shown the playbook once, and a model that came through is no failure of the run."""
    other = scripted("b", "c")
    model = scripted(RuntimeError("down"), RuntimeError("down"), "d")
    agent = agent_of(model, ModelFallbackMiddleware(other), first=first)
    ask(agent, "one", run=run)
    out = ask(agent, "two", run=run)
    assert other.systems[0] == ""
    assert other.systems[1].count(BLOCK) == 1
    assert contents(out) == ["b", "c"]
    assert "failed" not in str(ask(agent, "three", run=run)["ace_playbook"])


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_retries_of_tools(first, run):
    """A tool that fails for good gives its message back, and one failure is learned."""
    agent = agent_of(
        scripted(calls("lookup", city="rome"), "no luck"),
        ToolRetryMiddleware(max_retries=1, initial_delay=0.0, backoff_factor=0.0),
        first=first,
    )
    out = ask(agent, "weather?", run=run)
    failures = [each["content"] for each in out["ace_playbook"]["entries"] if each["outcome"] == "failure"]
    assert len(failures) == 1
    assert failures[0].startswith('tool lookup with city="rome" failed')


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_retries_of_the_model(first, run):
    """The model is asked again with the block once, and its message noted once."""
    model = scripted("one", RuntimeError("down"), "two")
    agent = agent_of(model, ModelRetryMiddleware(max_retries=1, initial_delay=0.0), first=first)
    ask(agent, "a", run=run)
    out = ask(agent, "b", run=run)
    assert [system.count(BLOCK) for system in model.systems] == [0, 1, 1]
    assert contents(out) == ["one", "two"]


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_a_limit_of_model_calls(first, run):
    """A run that is ended by the limit is learned from, and is over."""
    agent = agent_of(
        scripted(calls(a=1, b=2), "never", "hello"),
        ModelCallLimitMiddleware(run_limit=1, exit_behavior="end"),
        first=first,
    )
    out = ask(agent, "1/2?", run=run)
    assert "limit" in str(out["messages"][-1].content)
    assert "tool call: divide" in contents(out)


@BOTH_ORDERS
@SYNC_AND_ASYNC
def test_with_limits_of_tools_todos_and_personal_data(first, run):
    """Three more of LangChain's in one stack; the e-mail is redacted before the run is noted."""
    others = [ToolCallLimitMiddleware(run_limit=3), TodoListMiddleware(), PIIMiddleware("email", apply_to_output=True)]
    model = scripted(calls(a=1, b=2), "write to ann@example.org", "bye")
    agent = agent_of(model, *others, first=first)
    ask(agent, "1/2?", run=run)
    out = ask(agent, "thanks", run=run)
    assert model.systems[2].count(BLOCK) == 1
    assert "ann@example.org" not in str(out["messages"])


def test_with_a_selector_of_tools():
    """Its own call of a model is not shown the playbook, nor noted."""
    chooser = scripted(*[calls("ToolSelectionResponse", tools=["divide"])] * 4)
    model = scripted("one", "two")
    agent = agent_of(model, LLMToolSelectorMiddleware(model=chooser, max_tools=1))
    ask(agent, "a")
    ask(agent, "b")
    assert BLOCK not in "".join(chooser.systems)


class Weather(BaseModel):
    """A weather report."""

    city: str
    sunny: bool


@SYNC_AND_ASYNC
def test_with_structured_output(run):
    """The answer by a tool is the model's message; nothing is lost of either."""
    model = scripted(calls("Weather", city="Rome", sunny=True), calls("Weather", city="Oslo", sunny=False))
    agent = agent_of(model, response_format=Weather)
    ask(agent, "weather?", run=run)
    out = ask(agent, "and in Oslo?", run=run)
    assert out["structured_response"] == Weather(city="Oslo", sunny=False)
    assert "[o] tool call: Weather" in model.systems[1]


def test_an_unknown_tool_is_still_told_to_the_model():
    """LangChain checks the names of tools as it does without the middleware, and the failure is learned."""
    agent = agent_of(scripted(calls("nosuch", a=1), "sorry"))
    out = ask(agent, "go")
    assert "nosuch is not a valid tool" in str(out["messages"][2].content)
    assert any(each["outcome"] == "failure" for each in out["ace_playbook"]["entries"])


@SYNC_AND_ASYNC
def test_all_of_the_documented_stack_together(run):
    """The stack of the seed's document: noted, summarised, retried, with a fallback and a person."""
    stack = [
        SummarizationMiddleware(scripted(*["short"] * 9), trigger=("messages", 8), keep=("messages", 2)),
        ToolRetryMiddleware(max_retries=0),
        ModelFallbackMiddleware(scripted("from the other")),
        HumanInTheLoopMiddleware(interrupt_on={"divide": True}),
    ]
    agent = agent_of(scripted(calls("lookup", city="rome"), "no luck", RuntimeError("down"), calls(a=1, b=2)), *stack)
    ask(agent, "weather?", run=run)
    out = ask(agent, "anything?", run=run)
    assert out["messages"][-1].content == "from the other"
    assert "__interrupt__" in ask(agent, "1/2?", run=run)
