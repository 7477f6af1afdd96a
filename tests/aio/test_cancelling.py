"""A cancelled verb has happened whole or not at all, and which of the two is settled when it raises."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.aio import AsyncMemory

from .world import CALLS, EACH, called, held, said, turns

REACH_THE_STORE = [each for each in EACH if each[1] not in ("configure", "rotate_key", "close")]  # no keys to rotate


@pytest.mark.parametrize(("cls", "name"), REACH_THE_STORE, ids=[called(*each) for each in REACH_THE_STORE])
def test_the_step_under_way_is_waited_for(w, cls, name):
    """Nothing of the verb goes on in a thread after it has raised."""

    async def cancelled():
        memory, gate = w.wrapped(), threading.Event()
        w.store.gate = gate
        task = asyncio.ensure_future(CALLS[cls][name](memory, w))
        assert await asyncio.to_thread(w.store.at_gate.wait, 30)
        task.cancel()
        await turns(5)
        assert not task.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        calls = len(w.store.threads)
        await memory.close()
        assert len(w.store.threads) == calls

    asyncio.run(cancelled())


def test_a_write_under_way_is_whole(w):
    """All three messages are there when the error is raised."""

    async def cancelled():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            task = asyncio.create_task(memory.conversation.add(said("a", "b", "c")))
            await held(w, 1)
            task.cancel()
            await turns(5)
            w.slow.free.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            return [message["content"] for message in w.memory.conversation.messages()]

    assert asyncio.run(cancelled()) == ["tea?", "Yes.", "a", "b", "c"]


def test_a_verb_that_waits_for_a_thread_is_dropped(w):
    """It raises at once, while the others still wait for their embedder, and writes nothing later."""

    async def queued():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            running = [asyncio.create_task(memory.remember(f"drink {number}")) for number in range(32)]
            await held(w, 32)
            late = asyncio.create_task(memory.remember("late"))
            await turns(3)
            late.cancel()
            with pytest.raises(asyncio.CancelledError):
                await late
            assert not any(task.done() for task in running)
            w.slow.free.set()
            await asyncio.gather(*running)
            return {hit.text for hit in (await memory.list(k=200)).hits}

    texts = asyncio.run(queued())
    assert "late" not in texts
    assert {f"drink {number}" for number in range(32)} <= texts


def test_cancelling_twice_is_cancelling(w):
    """The second does not cut the waiting short."""

    async def twice():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            task = asyncio.create_task(memory.remember("milk", id="milk"))
            await held(w, 1)
            for _ in range(2):
                task.cancel()
                await turns(3)
            assert not task.done()
            w.slow.free.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await memory.get("milk")).text

    assert asyncio.run(twice()) == "milk"


def test_a_timeout_is_a_cancelling(w):
    """It raises TimeoutError when the verb has ended."""

    async def late():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            asyncio.get_running_loop().call_later(0.05, w.slow.free.set)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await memory.remember("milk", id="milk")
            return (await memory.get("milk")).text

    assert asyncio.run(late()) == "milk"


def test_a_hundred_cancelled_adds_leave_nothing_behind(w):
    """No thread, no connection and no lock is kept: the next add works, and what was cancelled early is not there."""

    async def many():
        async with w.wrapped() as memory:
            w.slow.free.clear()
            tasks = [asyncio.create_task(memory.remember(f"drink {number}")) for number in range(100)]
            await held(w, 32)
            for task in tasks:
                task.cancel()
            await turns(3)
            w.slow.free.set()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(each) for each in ended} == {asyncio.CancelledError}
            await memory.remember("last")
            return [hit.text for hit in (await memory.list(k=200, kinds=("note",))).hits]

    texts = asyncio.run(many())
    assert sorted(texts) == sorted(["tea is green", "last", *(f"drink {number}" for number in range(32))])


@settings(max_examples=25)
@given(after=st.integers(0, 60), number=st.integers(1, 4))
def test_messages_are_all_there_or_none(tmp_path_factory, after, number):
    """Whenever the cancelling comes; and the next process sees the same."""
    path = tmp_path_factory.mktemp("cancelled") / "agent.db"

    async def cancelled():
        async with AsyncMemory(path, embedder="hashing") as memory:
            task = asyncio.create_task(memory.conversation.add(said(*"abcd"[:number])))
            await turns(after)
            stopped = task.cancel()
            await asyncio.wait([task])
            found = len(await memory.conversation.messages())
            assert found in ((0, number) if stopped else (number,))
            return found

    async def again():
        async with AsyncMemory(path, embedder="hashing") as memory:
            return len(await memory.conversation.messages())

    assert asyncio.run(cancelled()) == asyncio.run(again())


def test_a_summary_cancelled_while_the_model_is_asked_loses_nothing(w):
    """The messages stand, there is no summary, the async model was cancelled too, and the next time it works."""
    w.memory.conversation.add(said(*(f"message number {number} about tea" for number in range(20))))
    before = w.memory.conversation.messages()

    async def cancelled():
        asked, seen = asyncio.Event(), list[str]()

        async def model(messages):
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        async with w.wrapped() as memory:
            task = asyncio.create_task(memory.conversation.summarise(model=model, budget=100))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert seen == ["cancelled"]
            assert await memory.conversation.messages() == before
            assert await memory.count(kinds=("summary",)) == 0
            return await memory.conversation.summarise(budget=100)

    assert asyncio.run(cancelled()).covered > 0


def test_a_verb_that_fails_while_it_is_cancelled_says_nothing_more(w):
    """It has not happened; the loop does not complain of an error that nobody took."""

    async def cancelled():
        complaints, gate = [], threading.Event()
        asyncio.get_running_loop().set_exception_handler(lambda loop, about: complaints.append(about))
        async with w.wrapped() as memory:
            w.store.gate = gate
            task = asyncio.create_task(memory.get("no such note"))
            assert await asyncio.to_thread(w.store.at_gate.wait, 30)
            task.cancel()
            await turns(3)
            gate.set()
            with pytest.raises(asyncio.CancelledError):
                await task
        del task
        gc.collect()
        return complaints

    assert asyncio.run(cancelled()) == []
