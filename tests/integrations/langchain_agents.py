"""What the tests of LangChain's middleware share: a model that speaks from a script, a tool, ways to run an agent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool


@dataclass
class Context:
    """A runtime context with a tenant."""

    tenant: object = None


class Scripted(GenericFakeChatModel):
    """Gives its replies in order, an exception among them is raised; `seen` has what it was asked."""

    seen: list = []  # noqa: RUF012  # a field of a pydantic model

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, *args, **kwargs):
        self.seen.append(list(messages))
        reply = next(self.messages)
        if isinstance(reply, BaseException):
            raise reply
        return super(Scripted, self.model_copy(update={"messages": iter([reply])}))._generate(messages, *args, **kwargs)

    @property
    def systems(self) -> list[str]:
        """The system message of each call, "" where there was none."""
        return [str(asked[0].text) if asked and asked[0].type == "system" else "" for asked in self.seen]


def scripted(*replies) -> Scripted:
    """Return a model that replies so; a text is a final answer."""
    made = [AIMessage(each) if isinstance(each, str) else each for each in replies]
    return Scripted(messages=iter(made), seen=[])


def calls(name="divide", **arguments) -> AIMessage:
    """Return a message that calls a tool."""
    identity = "call-" + "-".join(str(value) for value in arguments.values())
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": identity}])


def divide(a: int, b: int) -> str:
    """Divide a by b."""
    return str(a / b)


divide_tool = tool(divide)


@tool
def lookup(city: str) -> str:
    """Look up the weather of a city."""
    if not city.istitle():
        raise ValueError(f"unknown city {city}: names begin with a capital letter")
    return f"sunny in {city}"


def ask(agent, text, thread="t1", *, tenant=None, context=True, run=None, **more):
    """Run an agent, sync or async, on a thread and for a tenant."""
    config = {"configurable": {"thread_id": thread}}
    given = {"messages": [HumanMessage(text)]}
    extra = {"context": Context(tenant), **more} if context else more
    if run == "async":
        return asyncio.run(agent.ainvoke(given, config, **extra))
    return agent.invoke(given, config, **extra)


def config_of(thread="t1"):
    """Return the configuration of a thread."""
    return {"configurable": {"thread_id": thread}}


def contents(state) -> list[str]:
    """Return the contents of the playbook in a state or an output."""
    values = state.values if hasattr(state, "next") else state
    return [entry["content"] for entry in values["ace_playbook"]["entries"]]
