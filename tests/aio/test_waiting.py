"""Many verbs at once: nothing stands behind an embedder or a model that it does not need."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading

import pytest

from seasoned.aio import (
    AsyncConversationMemory,
    AsyncExperienceMemory,
    AsyncMemory,
    AsyncPlaybook,
    AsyncRunMemory,
)
from seasoned.playbook.traces import Trace, TraceStep

from .world import CALLS, EACH, called, held, said, turn

READERS = {
    AsyncMemory: ("get", "list", "count", "history", "explain", "scopes"),
    AsyncConversationMemory: ("messages", "turns"),
    AsyncRunMemory: ("load_prior_run_notes", "list_runs", "lessons"),
    AsyncPlaybook: (
        "to_dict",
        "get",
        "resolve",
        "knows",
        "has_change",
        "entries",
        "history",
        "number",
        "last_id",
        "seq",
    ),
}
"""What reads a few rows: it is never behind what waits, however much that is."""

EMBEDDING = {
    AsyncMemory: ("remember", "update", "recall", "context"),
    AsyncConversationMemory: ("add", "search", "context"),
    AsyncRunMemory: ("update_episode",),
    AsyncExperienceMemory: ("record", "similar", "few_shot", "rate"),
    AsyncPlaybook: ("add", "update", "search"),
}
"""What waits for the embedder, and changes nothing that readers look for."""


def calls_of(memory, w, table):
    """Return one coroutine of each verb in a table."""
    return [CALLS[cls][name](memory, w) for cls, names in table.items() for name in names]


def test_readers_never_stand_behind_an_embedder(w):
    """With the embedder of a hundred adds and of every other verb hanging, each of them is answered."""

    async def crowded():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            adds = [asyncio.create_task(memory.conversation.add(said(f"message {n}"))) for n in range(100)]
            await held(w, 32)
            others = [asyncio.ensure_future(call) for call in calls_of(memory, w, EMBEDDING)]
            try:
                async with asyncio.timeout(20):
                    await asyncio.gather(*calls_of(memory, w, READERS))
                assert not any(task.done() for task in adds)
            finally:
                w.slow.free.set()
                await asyncio.gather(*adds, *others)
            return len(await memory.conversation.messages())

    assert asyncio.run(crowded()) == 103


EACH_EMBEDDING = [(cls, name) for cls, names in EMBEDDING.items() for name in names]


@pytest.mark.parametrize(("cls", "name"), EACH_EMBEDDING, ids=[called(*each) for each in EACH_EMBEDDING])
def test_readers_never_stand_behind_a_verb_that_embeds(w, cls, name):
    """Nor behind a lock that it holds meanwhile."""

    async def beside():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            task = asyncio.ensure_future(CALLS[cls][name](memory, w))
            await held(w, 1)
            try:
                async with asyncio.timeout(20):
                    await asyncio.gather(*calls_of(memory, w, READERS))
                assert not task.done()
            finally:
                w.slow.free.set()
                await task

    asyncio.run(beside())


def test_twenty_adds_with_a_slow_embedder_delay_no_other_verb(w):
    """Writes that embed nothing, and contexts without a query."""

    async def beside():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            adds = [asyncio.create_task(memory.conversation.add(said(f"message {n}"), "other")) for n in range(20)]
            await held(w, 20)
            try:
                async with asyncio.timeout(20):
                    await memory.conversation.pin("m")
                    await memory.conversation.context(500)
                    await memory.forget("note", hard=True)
                assert not any(task.done() for task in adds)
            finally:
                w.slow.free.set()
                await asyncio.gather(*adds)

    asyncio.run(beside())


def test_hundreds_of_verbs_at_once_all_end(tmp_path):
    """On one file, in at most forty threads; every add is there, in whole."""

    async def at_once():
        async with AsyncMemory(tmp_path / "agent.db", embedder="hashing", durability="normal") as memory:
            adds = [memory.conversation.add(said(f"message {number} of tea")) for number in range(100)]
            reads = [memory.conversation.search("tea") for _ in range(100)]
            counts = [memory.count() for _ in range(100)]
            running = asyncio.gather(*adds, *reads, *counts)
            async with asyncio.timeout(120):
                await running
            mine = {each for each in threading.enumerate() if each.name.startswith("seasoned-")} - before
            return len(await memory.conversation.messages()), len(mine)

    before = set(threading.enumerate())  # what other memories of this process left
    stored, threads = asyncio.run(at_once())
    assert stored == 100
    assert threads <= 40


def test_three_appends_at_once_are_all_kept(tmp_path):
    """In one session, each with an order of its own."""

    async def at_once():
        async with AsyncMemory(tmp_path / "agent.db", embedder="hashing") as memory:
            await memory.conversation.add(said("ONE"))
            await asyncio.gather(*(memory.conversation.add(said(text)) for text in ("TWO", "THREE", "FOUR")))
            return [message["content"] for message in await memory.conversation.messages()]

    texts = asyncio.run(at_once())
    assert texts[0] == "ONE"
    assert sorted(texts[1:]) == ["FOUR", "THREE", "TWO"]


TRACE = Trace(id="t", task="buy", steps=(TraceStep(kind="tool", name="shop", output="sold out", error="sold out"),))

ASKING = {
    (AsyncConversationMemory, "summarise"): lambda a, m: a.conversation.summarise(model=m, budget=100),
    (AsyncRunMemory, "update_episode"): lambda a, m: a.runs.update_episode(m, 1),
    (AsyncRunMemory, "summarise_run"): lambda a, m: a.runs.summarise_run(m),
    (AsyncPlaybook, "refine"): lambda a, m: a.playbook.refine(m),
    (AsyncPlaybook, "learn"): lambda a, m: a.playbook.learn(TRACE, model=m),
}
"""The verbs that ask a model, each with something to ask."""


def test_every_verb_that_takes_a_model_is_asked_below():
    """So that a new one is not forgotten."""
    assert {each for each in EACH if "model" in inspect.signature(getattr(*each)).parameters} == set(ASKING)


LONG = "Before every purchase in any shop, look at the price in at least three other shops and only then decide"


@pytest.fixture
def busy(w):
    """A world in which every verb that asks has a reason to."""
    w.memory.conversation.add(said(*(f"message number {number} about tea" for number in range(20))))
    w.memory.playbook.add(f"{LONG} carefully.", id="near")
    w.memory.playbook.add(f"{LONG} quickly.", id="nearer")
    w.store.threads.clear()
    w.slow.threads.clear()
    return w


@pytest.mark.parametrize("verb", ASKING, ids=[called(*each) for each in ASKING])
def test_an_async_model_runs_on_the_loop_and_the_store_does_not(busy, verb):
    """So a client's connections stay on the loop that they were opened on."""

    async def once():
        loop, seen = asyncio.get_running_loop(), []

        async def model(messages):
            seen.append((asyncio.get_running_loop() is loop, threading.get_ident()))
            return "Tea was talked about."

        async with busy.wrapped() as memory:
            await ASKING[verb](memory, model)
        return seen

    assert set(asyncio.run(once())) == {(True, threading.get_ident())}
    assert threading.get_ident() not in {*busy.store.threads, *busy.slow.threads}
    assert busy.store.threads


@pytest.mark.parametrize("verb", ASKING, ids=[called(*each) for each in ASKING])
def test_a_sync_model_runs_in_a_thread(busy, verb):
    """The loop goes on meanwhile, and so do all other verbs."""

    async def once():
        seen, free = set(), threading.Event()

        def model(messages):
            seen.add(threading.get_ident())
            assert free.wait(30)
            return "Tea was talked about."

        async with busy.wrapped() as memory:
            task = asyncio.ensure_future(ASKING[verb](memory, model))
            while not seen:
                await asyncio.sleep(0)
            await memory.get("note")
            free.set()
            await task
        return seen

    assert threading.get_ident() not in asyncio.run(once())


WHO = contextvars.ContextVar("WHO", default="nobody")


def test_a_verb_sees_the_callers_context(w):
    """Such as the span of a trace; its own changes to it stay its own."""
    seen = []

    async def once():
        WHO.set("alice")
        async with w.wrapped() as memory:
            await memory.rebuild(lambda what: (seen.append(WHO.get()), WHO.set("thread")))
        return WHO.get()

    assert asyncio.run(once()) == "alice"
    assert seen == ["alice", "thread"]


def test_a_callers_function_that_stops_iteration_hangs_nothing(w):
    """A future cannot carry StopIteration, so it becomes what a coroutine makes of it."""

    def progress(what):
        raise StopIteration(what)

    async def once():
        async with w.wrapped() as memory, asyncio.timeout(20):
            await memory.rebuild(progress)

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(once())


def test_a_run_is_played_by_turns_while_others_read(w):
    """The verbs of one task keep their order; those of others come between."""

    async def played():
        async with w.wrapped() as memory:

            async def play():
                for number in range(2, 12):
                    await memory.runs.record_turn(turn(number))
                    await memory.runs.extract_atoms(number)

            async def look():
                return [len(await memory.runs.turns("run")) for _ in range(20)]

            _, seen = await asyncio.gather(play(), look())
            return seen, [each.turn for each in await memory.runs.turns("run")]

    seen, turns = asyncio.run(played())
    assert turns == list(range(1, 12))
    assert seen == sorted(seen)
