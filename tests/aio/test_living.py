"""Opening, closing, loops and forks: all off the loop, bound to none, and nothing is left behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from seasoned import Memory
from seasoned.aio import AsyncMemory
from seasoned.errors import InvalidScope, StoreClosed, StoreError, WrongType
from seasoned.locked import bare

from .world import held, said, turns

FILES = """
import asyncio, sys, threading
seen = []
sys.addaudithook(lambda event, arguments: seen.append((event, arguments, threading.get_ident())))
from seasoned.aio import AsyncMemory
path = sys.argv[1]

async def live():
    async with AsyncMemory(path, embedder="hashing") as memory:
        await memory.remember("tea", id="tea")
        await memory.recall("tea")
        await memory.forget("tea", hard=True)
        await memory.export(path + ".bundle")

before = len(seen)
asyncio.run(live())
mine = threading.get_ident()
touched = [(event, thread) for event, arguments, thread in seen[before:] if path in str(arguments)]
assert {event for event, _ in touched} >= {"sqlite3.connect", "open"}, touched
assert [each for each in touched if each[1] == mine] == []
"""

FORK = """
import asyncio, os, sys, threading
from seasoned.aio import AsyncMemory

async def add(text):
    await asyncio.gather(*(memory.remember(f"{text} {number}") for number in range(5)))
    return await memory.count()

memory = AsyncMemory(sys.argv[1], embedder="hashing")
assert asyncio.run(add("parent")) == 5
child = os.fork()
if child == 0:
    code = 1
    try:
        code = 0 if asyncio.run(add("child")) == 10 else 2
        asyncio.run(memory.close())
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert asyncio.run(add("parent again")) == 15
asyncio.run(memory.close())
"""

FORK_WITH_VERBS_UNDER_WAY = """
import asyncio, os, sys, threading
import numpy as np
from seasoned import CallableEmbedder
from seasoned.aio import AsyncMemory

free, waiting, parent = threading.Event(), threading.Semaphore(0), os.getpid()

def embed(texts):
    if os.getpid() == parent:
        waiting.release()
        free.wait(30)
    return np.ones((len(texts), 4), np.float32)

async def many():
    return await asyncio.gather(*(memory.remember(f"parent {number}") for number in range(40)))

async def one():
    await memory.remember("child")
    return [hit.text for hit in (await memory.list()).hits]

memory = AsyncMemory(sys.argv[1], embedder=CallableEmbedder(embed, "ones", dimension=4))
asyncio.run(memory.open())
other = threading.Thread(target=lambda: asyncio.run(many()))
other.start()
for _ in range(32):
    waiting.acquire()
child = os.fork()
if child == 0:
    code = 1
    try:
        code = 0 if asyncio.run(one()) == ["child"] else 2
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
free.set()
other.join()
assert asyncio.run(memory.count()) == 41
asyncio.run(memory.close())
"""


def ran(code, path):
    """Run code in a process of its own, and return what it complains of; forking beside threads is what is tested."""
    options = ["-W", "error", "-W", "ignore::DeprecationWarning", "-c", code, str(path)]
    done = subprocess.run([sys.executable, *options], capture_output=True, text=True, timeout=120, check=False)
    return done.stderr or ("" if done.returncode == 0 else f"ended with {done.returncode}")


def test_no_file_is_opened_or_read_on_the_loop(tmp_path):
    """Neither when the memory is opened, nor when it is closed, nor between."""
    assert ran(FILES, tmp_path / "agent.db") == ""


@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="this system does not fork")
@pytest.mark.parametrize("code", [FORK, FORK_WITH_VERBS_UNDER_WAY], ids=["idle", "busy"])
def test_a_child_goes_on_with_threads_of_its_own(tmp_path, code):
    """And the parent with its own; what was under way there is not repeated here."""
    assert ran(code, tmp_path / "agent.db") == ""


def test_the_first_verb_opens_it(tmp_path):
    """Without `async with`; what was written is there for the next."""

    async def write():
        memory = AsyncMemory(tmp_path / "agent.db", scope="alice", embedder="hashing")
        with pytest.raises(StoreClosed, match="not open"):
            _ = memory.store
        await memory.remember("tea", id="tea")
        assert memory.store is memory.memory.store
        await memory.close()

    asyncio.run(write())
    with Memory(tmp_path / "agent.db", scope="alice", embedder="hashing") as memory:
        assert memory.get("tea").text == "tea"


def test_it_is_opened_once(w):
    """However many verbs come first, in one loop or in several."""

    async def at_once():
        return {id((await each).memory) for each in [asyncio.ensure_future(memory.open()) for _ in range(60)]}

    memory, seen = AsyncMemory(w.store, embedder="hashing"), []
    loops = [threading.Thread(target=lambda: seen.append(asyncio.run(at_once()))) for _ in range(3)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()
    assert seen == [{id(memory.memory)}] * 3
    asyncio.run(memory.close())


def test_a_wrong_scope_is_said_at_once_and_the_rest_when_it_is_opened(tmp_path):
    """Looking at the other arguments may read files."""
    with pytest.raises(InvalidScope):
        AsyncMemory(scope="")

    async def opened():
        with pytest.raises(WrongType, match="policy"):
            await AsyncMemory(policy="long").open()

    asyncio.run(opened())


@pytest.fixture
def new_threads():
    """Names the threads of memories that were not there before."""
    before = {*threading.enumerate()}

    def names():
        return [each.name for each in {*threading.enumerate()} - before if each.name.startswith("seasoned-")]

    return names


def test_a_memory_that_cannot_be_opened_leaves_no_thread(tmp_path, new_threads):
    """The error is that of `Memory`."""
    (tmp_path / "text.db").write_text("no store at all, only a text " * 200)

    async def opened():
        with pytest.raises(StoreError):
            async with AsyncMemory(tmp_path / "text.db", embedder="hashing"):
                pytest.fail("it was opened")

    asyncio.run(opened())
    assert new_threads() == []


def test_no_thread_is_left_after_closing(tmp_path, new_threads):
    """Of forty that there were."""

    async def live():
        async with AsyncMemory(tmp_path / "agent.db", embedder="hashing") as memory:
            await asyncio.gather(*(memory.remember(f"drink {number}") for number in range(60)))
            assert new_threads()

    asyncio.run(live())
    assert new_threads() == []


def test_closing_waits_for_what_is_under_way_and_takes_nothing_new(w):
    """What was called before is all there; what is called after raises."""

    async def closed():
        memory = w.wrapped()
        w.slow.free.clear()
        adds = [asyncio.create_task(memory.remember(f"drink {number}")) for number in range(40)]
        await held(w, 32)
        closing = asyncio.create_task(memory.close())
        await turns(3)
        with pytest.raises(StoreClosed):
            await memory.remember("late")
        assert not closing.done()
        w.slow.free.set()
        await closing
        assert all(task.done() for task in adds)
        await asyncio.gather(*adds)

    asyncio.run(closed())
    assert w.memory.count(kinds=("note",)) == 41


def test_closing_that_is_cancelled_closes(tmp_path):
    """It is waited for, like any verb."""

    async def closed():
        memory = await AsyncMemory(tmp_path / "agent.db", embedder="hashing").open()
        store = memory.store
        closing = asyncio.create_task(memory.close())
        await turns(1)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        with pytest.raises(StoreClosed):
            store.stats()

    asyncio.run(closed())


def test_a_wrapped_memory_stays_open(w):
    """Who opened it closes it; closed there, the async form says so."""

    async def used():
        async with w.wrapped() as memory:
            await memory.remember("milk")
        w.memory.remember("juice")
        other = w.wrapped()
        w.memory.close()
        with pytest.raises(StoreClosed):
            await other.count()
        await other.close()

    asyncio.run(used())


def test_only_a_memory_is_wrapped():
    """An engine or a path is given to the constructor."""
    with pytest.raises(WrongType, match=r"agent\.db"):
        AsyncMemory.wrap("agent.db")


def test_a_store_that_was_given_stays_open(w):
    """As with `Memory`."""

    async def used():
        async with AsyncMemory(w.store, embedder="hashing") as memory:
            await memory.count()

    asyncio.run(used())
    assert w.memory.count() > 0


def test_it_belongs_to_no_loop(tmp_path):
    """One after the other, as in tests with a loop each, and several at once."""
    memory = AsyncMemory(tmp_path / "agent.db", embedder="hashing")

    async def add(name):
        await asyncio.gather(*(memory.conversation.add(said(f"{name} {number}")) for number in range(10)))
        return len(await memory.conversation.messages())

    assert [asyncio.run(add("a")), asyncio.run(add("b"))] == [10, 20]
    loops = [threading.Thread(target=asyncio.run, args=(add(f"loop {number}"),)) for number in range(3)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()
    assert asyncio.run(add("last")) == 60
    asyncio.run(memory.close())


def test_it_says_what_it_is():
    """Without opening anything."""
    assert repr(AsyncMemory(scope=("acme", "alice"))) == "AsyncMemory(scope=('acme', 'alice'))"


def test_closing_after_the_memory_above_is_harmless(w):
    """The memory below was closed with it."""

    async def used():
        async with w.wrapped() as memory:
            below = memory.within("tenant")
            assert below.store is memory.store
            assert bare(memory.store) is w.store
            await below.remember("milk")
        with pytest.raises(StoreClosed):
            await below.count()
        await below.close()

    asyncio.run(used())


def test_a_scope_below_that_was_closed_before_its_first_verb_stays_closed(w):
    """It is not opened by the verb."""

    async def used():
        async with w.wrapped() as memory:
            below = memory.within("tenant")
            await below.close()
            with pytest.raises(StoreClosed):
                await below.remember("milk")
            await below.close()

    asyncio.run(used())
