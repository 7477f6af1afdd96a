"""The agent, and what a run of it looked like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from examples.langchain_agent.courier import Courier
from seasoned import Memory
from seasoned.integrations.langchain import ACEMiddleware

PROMPT = "You are a clerk who books couriers. When a booking fails, find out why from the error and book again."


@dataclass(frozen=True)
class Tenant:
    """Whose run it is, as the server knows it."""

    tenant: str


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What one run did: its thread and tenant, the days that were refused and booked, the answer, what it was shown."""

    thread: str
    tenant: str
    refused: tuple[str, ...]
    booked: tuple[str, ...]
    answer: str
    learned: tuple[str, ...]


class Clerk:
    """An agent with a courier, whose playbook lies in a memory, by tenant."""

    def __init__(self, model: Any, memory: Memory) -> None:
        self.memory = memory
        self.courier = Courier()
        self.agent = create_agent(
            model,
            [self.courier.tool()],
            system_prompt=PROMPT,
            middleware=[ACEMiddleware(memory=memory), ToolRetryMiddleware(max_retries=0)],
            checkpointer=InMemorySaver(),
            context_schema=Tenant,
        )

    def run(self, task: str, *, thread: str, tenant: str) -> Ran:
        """Do a task on a thread, for a tenant."""
        before = len(self.courier.refused), len(self.courier.booked)
        config = {"configurable": {"thread_id": thread}}
        out = self.agent.invoke({"messages": [HumanMessage(task)]}, config, context=Tenant(tenant))
        proven = [entry.content for entry in self.memory.within(tenant).playbook if entry.proven]
        return Ran(
            thread=thread,
            tenant=tenant,
            refused=tuple(self.courier.refused[before[0] :]),
            booked=tuple(self.courier.booked[before[1] :]),
            answer=str(out["messages"][-1].text),
            learned=tuple(proven),
        )
