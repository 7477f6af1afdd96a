"""Runs that never end: one that raises at any node, is interrupted or cancelled is learned from at the next, once."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed")
from langchain.agents import create_agent  # only where it is installed
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from seasoned import Memory
from seasoned.integrations.langchain import ACEMiddleware
from seasoned.playbook import DeltaEntry

from .langchain_agents import Context, ask, calls, config_of, contents, divide_tool, lookup, scripted

HOOKS = ("before_agent", "before_model", "after_model", "after_agent")


class Raising(AgentMiddleware):
    """Raises in one hook, while it is armed."""

    def __init__(self, hook):
        super().__init__()
        self.tools, self.armed, self.hook = [], True, hook

    def _at(self, hook):
        if self.armed and hook == self.hook:
            raise RuntimeError(f"broken in {hook}")

    def before_agent(self, state, runtime):
        self._at("before_agent")

    def before_model(self, state, runtime):
        self._at("before_model")

    def after_model(self, state, runtime):
        self._at("after_model")

    def after_agent(self, state, runtime):
        self._at("after_agent")


class Once(ACEMiddleware):
    """Notes each message and each run by a text of its own, and counts."""

    def __init__(self, **more):
        super().__init__(**more)
        self.traces = []

    def reflect(self, latest):
        return [DeltaEntry("seen", latest.text or latest.tool_calls[0]["name"])]

    def reflect_run(self, trace, entries):
        self.traces.append(trace)
        return super().reflect_run(trace, entries)


def agent_of(model, stack, tools=(divide_tool, lookup), **more):
    return create_agent(
        model, list(tools), middleware=stack, checkpointer=InMemorySaver(), context_schema=Context, **more
    )


@pytest.fixture(params=["thread", "memory", "LangGraph's store"])
def home(request):
    """Return arguments of the middleware and of the agent, and the tenant, for three places of a playbook."""
    if request.param == "thread":
        yield {}, {}, None
    elif request.param == "memory":
        with Memory(embedder="hashing") as memory:
            yield {"memory": memory}, {}, "acme"
    else:
        yield {}, {"store": InMemoryStore()}, "acme"


@pytest.mark.parametrize("run", ["sync", "async"])
@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_run_that_raises_in_any_hook_is_learned_from_at_the_next_start(home, hook, inner, run):
    """Whatever node raised, before or after ours: what the run noted is in the playbook after the next start, once."""
    more, agent_more, tenant = home
    once, raising = Once(**more), Raising(hook)
    stack = [once, raising] if inner else [raising, once]
    agent = agent_of(scripted("first answer", "second answer", "third"), stack, **agent_more)
    with pytest.raises(RuntimeError, match=hook):
        ask(agent, "one", tenant=tenant, run=run)
    raising.armed = False
    ask(agent, "two", tenant=tenant, run=run)
    out = ask(agent, "three", tenant=tenant, run=run)
    answered = hook in ("after_model", "after_agent")
    assert contents(out) == ["first answer", "second answer", "third"][: 3 if answered else 2]
    assert len({trace.id for trace in once.traces}) == len(once.traces)


def test_a_model_that_raises_is_a_failure_of_the_run(home):
    """What was done before is noted, and the exception is quoted, with the task."""
    more, agent_more, tenant = home
    model = scripted(calls(a=1, b=2), RuntimeError("provider down"), "fine", "more")
    agent = agent_of(model, [ACEMiddleware(**more)], **agent_more)
    with pytest.raises(RuntimeError, match="provider down"):
        ask(agent, "one half?", tenant=tenant)
    ask(agent, "again", tenant=tenant)
    assert "[o] tool call: divide" in model.systems[2]
    assert '[-] a run on "one half?" failed: "RuntimeError: provider down"' in model.systems[2]
    assert contents(ask(agent, "and again", tenant=tenant)).count("tool call: divide") == 1


def test_a_tool_that_raises_leaves_what_was_done(home):
    """A tool's exception ends the run; the call is in the trace as one that never returned, and nothing is guessed."""
    more, agent_more, tenant = home
    once = Once(**more)
    agent = agent_of(scripted(calls(a=1, b=0), "fine"), [once], **agent_more)
    with pytest.raises(ZeroDivisionError):
        ask(agent, "one", tenant=tenant)
    assert contents(ask(agent, "two", tenant=tenant)) == ["divide", "fine"]
    first = once.traces[0]
    assert (first.task, first.status) == ("one", "interrupted")
    call = next(step for step in first.steps if step.kind == "tool")
    assert (call.name, call.input, call.status) == ("divide", {"a": 1, "b": 0}, "unknown")


@pytest.mark.parametrize("run", ["sync", "async"])
def test_a_run_that_is_resumed_is_learned_from_once(home, run):
    """After `invoke(None)` it ends as ever, and the next start has nothing left to do."""
    more, agent_more, tenant = home
    once = Once(**more)
    agent = agent_of(scripted(calls(a=1, b=2), RuntimeError("down"), "a half", "end"), [once], **agent_more)
    with pytest.raises(RuntimeError):
        ask(agent, "one", tenant=tenant, run=run)
    context = Context(tenant)
    if run == "async":
        out = asyncio.run(agent.ainvoke(None, config_of(), context=context))
    else:
        out = agent.invoke(None, config_of(), context=context)
    assert contents(out) == ["divide", "a half"]
    ask(agent, "two", tenant=tenant)
    assert [(trace.task, trace.status) for trace in once.traces] == [("one", "completed"), ("two", "completed")]


def test_an_interrupted_run_keeps_its_block_and_learns_when_it_is_resumed(home):
    """A rejected call is a failure; the system message before and after the interrupt is the same."""
    more, agent_more, tenant = home
    model = scripted("start", calls(a=1, b=2), "as you wish", "end")
    stack = [ACEMiddleware(**more), HumanInTheLoopMiddleware(interrupt_on={"divide": True})]
    agent = agent_of(model, stack, **agent_more)
    ask(agent, "hello", tenant=tenant)
    assert "__interrupt__" in ask(agent, "1/2?", tenant=tenant)
    resume = Command(resume={"decisions": [{"type": "reject", "message": "never divide"}]})
    agent.invoke(resume, config_of(), context=Context(tenant))
    assert model.systems[1] == model.systems[2] != ""
    ask(agent, "thanks", tenant=tenant)
    assert "[-] tool divide with a=1, b=2 failed" in model.systems[3]
    assert "never divide" in model.systems[3]


def test_an_interrupted_run_that_is_never_resumed_is_learned_from(home):
    """The user asks something else instead; what the model wanted to call is in the trace."""
    more, agent_more, tenant = home
    once = Once(**more)
    stack = [once, HumanInTheLoopMiddleware(interrupt_on={"divide": True})]
    agent = agent_of(scripted(calls(a=1, b=2), "hello", "end"), stack, **agent_more)
    ask(agent, "1/2?", tenant=tenant)
    ask(agent, "never mind", tenant=tenant)
    assert [(trace.task, trace.status) for trace in once.traces] == [
        ("1/2?", "interrupted"),
        ("never mind", "completed"),
    ]
    assert [step.name for step in once.traces[0].steps if step.kind == "tool"] == ["divide"]


def test_a_cancelled_run_is_learned_from(home):
    """A run that waits in a tool is cancelled; what it did before is in the playbook after the next start."""
    more, agent_more, tenant = home
    once = Once(**more)

    async def talk():
        waiting = asyncio.Event()

        @tool
        async def wait(hours: int) -> str:
            """Wait for hours."""
            waiting.set()
            await asyncio.Event().wait()
            return "never"

        agent = agent_of(scripted(calls("wait", hours=3), "fine"), [once], tools=[wait], **agent_more)
        begun = asyncio.create_task(
            agent.ainvoke({"messages": [HumanMessage("one")]}, config_of(), context=Context(tenant))
        )
        await waiting.wait()
        begun.cancel()
        with pytest.raises(asyncio.CancelledError):
            await begun
        return await agent.ainvoke({"messages": [HumanMessage("two")]}, config_of(), context=Context(tenant))

    assert contents(asyncio.run(talk())) == ["wait", "fine"]
    assert [trace.task for trace in once.traces] == ["one", "two"]


def test_what_a_run_left_goes_to_its_own_tenant():
    """A run of acme's that raised is learned by acme, although another tenant has the thread next."""
    store = InMemoryStore()
    model = scripted(calls(a=1, b=2), RuntimeError("down"), "hello", "fine")
    agent = agent_of(model, [ACEMiddleware()], store=store)
    with pytest.raises(RuntimeError):
        ask(agent, "acme's task", tenant="acme")
    out = ask(agent, "other's task", tenant="other")
    assert model.systems[2] == ""
    assert contents(out) == ["hello"]
    ask(agent, "back", "t2", tenant="acme")
    assert "acme's task" in model.systems[3]
    assert "hello" not in model.systems[3]


class Broken(InMemoryStore):
    """A store that fails while it is down."""

    down = False

    def batch(self, ops):
        if self.down:
            raise ConnectionError("no route to the store")
        return super().batch(ops)


def test_what_a_run_left_goes_to_no_other_tenant_while_the_store_is_down():
    """Rather than that, it is dropped: other's run begins without a playbook, and other learns of itself alone."""
    store, model = Broken(), scripted(calls("lookup", city="acme"), RuntimeError("down"), "hello", "fine", "end")
    agent = agent_of(model, [ACEMiddleware(), ToolRetryMiddleware(max_retries=0)], store=store)
    with pytest.raises(RuntimeError):
        ask(agent, "acme's task", tenant="acme")
    store.down = True
    ask(agent, "other's task", tenant="other")
    store.down = False
    ask(agent, "again", tenant="other")
    ask(agent, "and again", "t2", tenant="other")
    assert "hello" in model.systems[4]
    assert "acme" not in model.systems[3] + model.systems[4]


def test_a_wipe_after_an_unfinished_run_wipes_what_it_left():
    """The application wipes the playbook of a run that raised: none of it comes back at the next start."""
    model = scripted("start", calls(a=1, b=2), RuntimeError("down"), "fine")
    agent = agent_of(model, [ACEMiddleware()])
    ask(agent, "one")
    with pytest.raises(RuntimeError):
        ask(agent, "two")
    agent.update_state(config_of(), {"ace_playbook": {"entries": []}})
    assert contents(ask(agent, "three")) == ["fine"]
    assert model.systems[3] == ""


def test_a_wipe_after_the_first_run_raised_wipes_what_it_left():
    """Nothing was learned yet, only noted; none of it comes back."""
    agent = agent_of(scripted(calls(a=1, b=2), RuntimeError("down"), "fine"), [ACEMiddleware()])
    with pytest.raises(RuntimeError):
        ask(agent, "one")
    agent.update_state(config_of(), {"ace_playbook": {"entries": []}})
    assert contents(ask(agent, "two")) == ["fine"]


def test_a_wipe_while_a_run_is_interrupted_takes_its_block_away():
    """What was wiped is not shown again when the run goes on."""
    model = scripted("secret", calls(a=1, b=2), "a half")
    stack = [ACEMiddleware(), HumanInTheLoopMiddleware(interrupt_on={"divide": True})]
    agent = agent_of(model, stack)
    ask(agent, "one")
    ask(agent, "1/2?")
    agent.update_state(config_of(), {"ace_playbook": {"entries": []}})
    out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config_of(), context=Context())
    assert "secret" in model.systems[1]
    assert model.systems[2] == ""
    assert "secret" not in contents(out)


def test_failures_outlive_a_summary_of_their_messages():
    """In a long run whose messages are summarised away, the tool's error is learned all the same."""
    summary = SummarizationMiddleware(scripted(*["short"] * 20), trigger=("messages", 4), keep=("messages", 2))
    stack = [ACEMiddleware(), summary, ToolRetryMiddleware(max_retries=0)]
    model = scripted(calls("lookup", city="paris"), *(calls(a=number, b=2) for number in range(6)), "done")
    agent = agent_of(model, stack)
    out = ask(agent, "weather?")
    assert not any(isinstance(each, AIMessage) and "paris" in str(each.tool_calls) for each in out["messages"])
    failures = [each["content"] for each in out["ace_playbook"]["entries"] if each["outcome"] == "failure"]
    assert len(failures) == 1
    assert failures[0].startswith('tool lookup with city="paris" failed')
