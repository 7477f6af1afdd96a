"""What `ACEMiddleware` costs an agent of LangChain's: each call of the model, each run, and the state of its thread.

Calls: the time between the agent's call of the middleware and the middleware's call of the model, with a playbook of
500 entries, and for comparison with none. Runs: 1,000 runs on one thread, each with one call of a tool and an answer
that nobody gave before, so that each run teaches something new. The thread's messages are dropped before each run: they
are not the middleware's, and what is to be seen is whether its own state and time grow. Each place of a playbook is
measured, beside the same agent without the middleware. Times of runs are processor times. The model is a script.

    python benchmarks/middleware.py --json middleware.json
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.memory import InMemoryStore

from common.options import parser
from common.report import Report, Table
from seasoned import Memory
from seasoned.integrations.langchain import ACEMiddleware
from seasoned.playbook import DeltaEntry

ENTRIES = 500
CALLS = 500
RUNS = 1_000
GOAL_MS = 2.0
CONFIG = {"configurable": {"thread_id": "one"}}

Figures = dict[str, float]


@dataclass
class Context:
    """Whose run it is."""

    tenant: str = "acme"


class Model(GenericFakeChatModel):
    """Calls the tool, then answers."""

    def bind_tools(self, tools: object, **kwargs: object) -> Model:  # noqa: ARG002  # the framework's form
        """Return itself: the script decides."""
        return self


class Forgetful(AgentMiddleware):  # type: ignore[type-arg]
    """Drops the messages of the thread before each run, but for what is asked now."""

    def before_agent(self, state: Any, runtime: object) -> dict[str, Any]:  # noqa: ARG002  # the hook's form
        """Keep the newest message."""
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), state["messages"][-1]]}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def script() -> Iterator[AIMessage]:
    """Yield what the model says, without end."""
    for number in count():
        yield AIMessage("", tool_calls=[{"name": "add", "args": {"a": number, "b": 1}, "id": f"c{number}"}])
        yield AIMessage(f"the sum that was asked for, number {number}, is {number + 1}")


def main() -> None:
    """Run it."""
    given = parser(__doc__).parse_args()
    runs = 100 if given.quick else RUNS
    calls = {f"{number} entries": timed_calls(number) for number in (0, ENTRIES)}
    rows = {}
    for name, make in PLACES.items():
        print(name, file=sys.stderr)
        rows[name] = timed_runs(make, runs)
    report(calls, rows, runs).publish(given.json)


def report(calls: Mapping[str, Figures], rows: Mapping[str, Figures], runs: int) -> Report:
    """Return the tables, the time of a call beside its goal."""
    tables = [
        Table("One call of the model, milliseconds of the middleware", ["playbook", *next(iter(calls.values()))],
              [[name, *row.values()] for name, row in calls.items()]),
        Table(f"{runs:,} runs on one thread", ["playbook", *next(iter(rows.values()))],
              [[name, *row.values()] for name, row in rows.items()]),
    ]  # fmt: skip
    notes = [f"goal: {GOAL_MS} ms p50 for a call with {ENTRIES} entries"]
    return Report("middleware", tables, {"calls": calls, "runs": rows, "goal_ms": GOAL_MS}, notes)


def timed_calls(entries: int) -> Figures:
    """Return the time of each call of `wrap_model_call` within one run, the handler's own time taken off."""
    with Memory(embedder="hashing") as memory:
        book = memory.within("acme").playbook
        book.merge(DeltaEntry("advice", f"advice {n}: prefer way {n % 7} of doing thing {n}") for n in range(entries))
        middleware = ACEMiddleware(500, memory=memory, token_budget=20_000)
        messages = [HumanMessage("do thing 7", id="1")]
        state = {"messages": messages, **(middleware.before_agent({"messages": messages}, _Runtime()) or {})}  # type: ignore[arg-type]
        system = SystemMessage("You do things.")
        request = ModelRequest(model=Model(messages=script()), messages=messages, system_message=system, state=state)
        response, shown = ModelResponse(result=[AIMessage("done")]), list[int]()
        times = []
        for _ in range(CALLS):
            start = perf_counter()
            middleware.wrap_model_call(request, lambda asked: shown.append(len(asked.system_prompt)) or response)  # type: ignore[func-returns-value]
            times.append(perf_counter() - start)
        assert (shown[-1] > len("You do things.")) is bool(entries)
    return {**spread(times), "characters shown": float(shown[-1])}


class _Runtime:
    """As much of a runtime as a hook needs."""

    context = Context()
    store = None


def timed_runs(make: Callable[[ExitStack, Path], tuple[list[Any], dict[str, Any]]], runs: int) -> Figures:
    """Return what runs cost at the beginning and at the end, and how large the newest checkpoint is."""
    with ExitStack() as stack, tempfile.TemporaryDirectory() as place:
        middleware, more = make(stack, Path(place))
        saver = InMemorySaver()
        agent = create_agent(Model(messages=script()), [add], middleware=[Forgetful(), *middleware],
                             checkpointer=saver, context_schema=Context, **more)  # fmt: skip
        times, sizes = [], []
        for number in range(runs):
            start = process_time()
            agent.invoke({"messages": [HumanMessage(f"add {number}")]}, CONFIG, context=Context())
            times.append((process_time() - start) * 1e3)
            values = agent.get_state(CONFIG).values
            sizes.append(
                sum(len(JsonPlusSerializer().dumps_typed(values[name])[1]) for name in values if "ace" in name)
            )
            _pruned(saver)
        tenth = runs // 10
        return {
            "CPU ms a run, second tenth": median(times[tenth : 2 * tenth]),
            "last tenth": median(times[-tenth:]),
            "growth": median(times[-tenth:]) / median(times[tenth : 2 * tenth]),
            "kB of state, second tenth": max(sizes[tenth : 2 * tenth]) / 1e3,
            "at the end": max(sizes[-tenth:]) / 1e3,
        }


def _pruned(saver: InMemorySaver) -> None:
    """Drop all but the newest checkpoint, which the saver keeps for ever and no run reads."""
    for thread, namespaces in saver.storage.items():
        for namespace, checkpoints in namespaces.items():
            newest = max(checkpoints)
            for old in [name for name in checkpoints if name != newest]:
                del checkpoints[old]
                saver.writes.pop((thread, namespace, old), None)


def spread(times: list[float]) -> Figures:
    """Return median and 95th percentile in milliseconds."""
    return {"p50": median(times) * 1e3, "p95": quantiles(times, n=20)[-1] * 1e3}


def _without(stack: ExitStack, place: Path) -> tuple[list[Any], dict[str, Any]]:  # noqa: ARG001  # as the others
    return [], {}


def _thread(stack: ExitStack, place: Path) -> tuple[list[Any], dict[str, Any]]:  # noqa: ARG001  # as the others
    return [ACEMiddleware()], {}


def _memory(stack: ExitStack, place: Path) -> tuple[list[Any], dict[str, Any]]:
    memory = stack.enter_context(Memory(place / "a.db", embedder="hashing"))
    return [ACEMiddleware(memory=memory)], {}


def _store(stack: ExitStack, place: Path) -> tuple[list[Any], dict[str, Any]]:  # noqa: ARG001  # as the others
    return [ACEMiddleware()], {"store": InMemoryStore()}


PLACES = {"no middleware": _without, "the thread": _thread, "a file": _memory, "LangGraph's store": _store}

if __name__ == "__main__":
    main()
