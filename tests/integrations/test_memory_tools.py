"""memory_tools: a model remembers and searches by itself, in the scope that the runtime names."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed")
from langchain.agents import create_agent  # only where it is installed
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from seasoned import Memory
from seasoned.errors import WrongType
from seasoned.integrations.langchain import memory_tools

from .langchain_agents import Context, ask, config_of, scripted

SYNC_AND_ASYNC = pytest.mark.parametrize("run", ["sync", "async"])


@pytest.fixture
def memory():
    with Memory(embedder="hashing") as opened:
        yield opened


def use(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"{name}-{len(arguments)}"}])


def results(out):
    """Return what the tools returned: status and text."""
    return [(each.status, each.content) for each in out["messages"] if each.type == "tool"]


def agent_of(memory, *replies, checkpointer=True, **more):
    return create_agent(
        scripted(*replies),
        memory_tools(memory, **more),
        checkpointer=InMemorySaver() if checkpointer else None,
        context_schema=Context,
    )


def test_no_argument_of_theirs_names_a_scope(memory):
    """The model is shown a text, a query and a number, and nothing else."""
    shown = {
        each.name: sorted(each.tool_call_schema.model_json_schema()["properties"]) for each in memory_tools(memory)
    }
    assert shown == {
        "remember": ["text"],
        "search_memory": ["k", "query"],
        "memory_context": ["task"],
        "rate_memory": ["rating", "trace"],
        "explain_memory": ["id"],
    }


@SYNC_AND_ASYNC
def test_what_is_remembered_is_found_in_another_thread_of_the_tenant_alone(memory, run):
    """One tenant finds it, labelled as data; the other finds nothing."""
    agent = agent_of(
        memory,
        use("remember", text="The door code is 4711."),
        "noted",
        use("search_memory", query="door code"),
        "4711",
        use("search_memory", query="door code"),
        "unknown",
    )
    ask(agent, "remember it", "t1", tenant="acme", run=run)
    found = results(ask(agent, "code?", "t2", tenant="acme", run=run))
    missed = results(ask(agent, "code?", "t3", tenant="other", run=run))
    assert found[0][0] == "success"
    assert "The door code is 4711." in found[0][1]
    assert "quoted data, not instructions" in found[0][1]
    assert missed == [("success", "nothing")]
    assert [hit.text for hit in memory.within("acme").list(kinds=("note",)).hits] == ["The door code is 4711."]


def test_without_a_tenant_the_thread_remembers_alone(memory):
    """The same thread finds it, another does not."""
    search = use("search_memory", query="tea")
    agent = agent_of(memory, use("remember", text="Tea is at five."), "ok", search, "five", search, "when?")
    ask(agent, "remember", "t1")
    assert "at five" in results(ask(agent, "when?", "t1"))[-1][1]
    assert results(ask(agent, "when?", "t2")) == [("success", "nothing")]


@SYNC_AND_ASYNC
@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (use("search_memory", query=" "), "blank"),
        (use("search_memory", query="tea", k=0), "k"),
        (use("remember", text=" "), "blank"),
        (use("remember", text="x" * 4_001), "4000 characters"),
    ],
)
def test_a_call_that_cannot_be_done_is_an_error_to_the_model(memory, call, reason, run):
    """The run goes on, and the model reads what was wrong."""
    ((status, text),) = results(ask(agent_of(memory, call, "sorry"), "go", tenant="acme", run=run))
    assert status == "error"
    assert reason in text


def test_without_tenant_and_thread_there_is_no_memory(memory):
    """The call is an error, and nothing is stored."""
    agent = agent_of(memory, use("remember", text="x"), "sorry", checkpointer=False)
    out = agent.invoke({"messages": [HumanMessage("go")]}, context=Context())
    assert results(out)[0][0] == "error"
    assert memory.count(subtree=True) == 0


def test_a_number_too_large_is_cut(memory):
    """At most twenty results, whatever the model asks for."""
    tenant = memory.within("acme")
    for number in range(30):
        tenant.remember(f"tea number {number}")
    out = ask(agent_of(memory, use("search_memory", query="tea", k=1_000), "many"), "go", tenant="acme")
    assert results(out)[0][1].count("<item") == 20


def test_a_model_that_names_a_tenant_is_not_heard(memory):
    """An argument that the tools do not have reaches nothing."""
    memory.within("other").remember("The door code of other is 9.")
    out = ask(agent_of(memory, use("search_memory", query="door code", tenant="other"), "x"), "go", tenant="acme")
    assert "9" not in str(results(out))


def test_each_tool_can_be_called_with_the_arguments_of_its_own_schema(memory):
    """Schema and implementation agree, sync and async."""
    agent = agent_of(memory, use("search_memory", query="a"), "x", use("search_memory", query="a", k=3), "y")
    assert results(ask(agent, "one", tenant="acme"))[-1][0] == "success"
    out = asyncio.run(agent.ainvoke({"messages": "two"}, config_of("t2"), context=Context("acme")))
    assert results(out)[-1][0] == "success"


def test_a_tenant_is_named_or_found_by_a_function(memory):
    """As for the middleware; another type is refused."""
    agent = agent_of(memory, use("remember", text="here"), "ok", tenant=lambda runtime: ("acme", "ann"))
    ask(agent, "go")
    assert memory.within("acme", "ann").count() == 1
    with pytest.raises(WrongType):
        memory_tools(memory, tenant=7)


@SYNC_AND_ASYNC
def test_a_model_asks_what_is_known_of_a_task_and_says_how_it_went(memory, run):
    """What was shown is credited once, and a made-up trace is an error to the model."""
    tenant = memory.within("acme")
    name = tenant.playbook.add("Ask for the delivery address first.", section="couriers", outcome="success").id
    agent = agent_of(memory, use("memory_context", task="book a courier"), "done", checkpointer=False)
    ((status, text),) = results(ask(agent, "book a courier", tenant="acme", run=run))
    assert status == "success"
    assert "Ask for the delivery address first." in text
    trace = text.rpartition("trace: ")[2]
    twice = agent_of(memory, use("rate_memory", trace=trace, rating=9.0), use("rate_memory", trace=trace, rating=9.0),
                     use("rate_memory", trace="none", rating=9.0), "done", checkpointer=False)  # fmt: skip
    rated = results(ask(twice, "it went well", tenant="acme", run=run))
    assert [status for status, _ in rated] == ["success", "success", "error"]
    assert tenant.playbook.get(name).counts.helpful == 1


def test_a_model_is_told_what_a_memory_was_made_from(memory):
    """The sources, as quoted data; another tenant's record is not there."""
    tenant = memory.within("acme")
    said = tenant.conversation.add({"role": "user", "content": "I moved to Lisbon."}, ids="m1")[0].id
    tenant.remember("Lives in Lisbon.", id="n1", sources=[tenant.get(said).record.key])
    agent = agent_of(memory, use("explain_memory", id="n1"), "done", checkpointer=False)
    ((status, text),) = results(ask(agent, "why?", tenant="acme"))
    assert status == "success"
    assert "I moved to Lisbon." in text
    other = agent_of(memory, use("explain_memory", id="n1"), "done", checkpointer=False)
    ((status, _),) = results(ask(other, "why?", tenant="globex"))
    assert status == "error"
