"""Every verb of every memory has an async form of the same signature, and none of them touches the loop's thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
from contextlib import nullcontext

import pytest

from seasoned import Memory
from seasoned.aio import AsyncMemory
from seasoned.errors import InvalidInput, StoreClosed, WrongType
from seasoned.experience import ExperiencePolicy

from .world import CALLS, EACH, NAMES, TWINS, VIEWS, verbs

OF_ITS_OWN = {AsyncMemory: {"open", "wrap", "memory"}}
GIVE_A_SHELL = {"within", "with_policy", "configure", "merge"}
NO_STORE = {"configure", "rotate_key", "close"}  # close of a memory that was only wrapped
NEED_KEYS = {"rotate_key", "forget_key"}  # what they do with keys is in test_locked.py

TWIN_NAMES = [cls.__name__ for cls in TWINS]


@pytest.mark.parametrize(("cls", "sync"), TWINS.items(), ids=TWIN_NAMES)
def test_every_name_of_a_memory_is_there(cls, sync):
    """Verbs, properties and views; and no name more."""
    names = {name for name in dir(cls) if not name.startswith("_")}
    assert names - OF_ITS_OWN.get(cls, set()) == set(verbs(sync))


@pytest.mark.parametrize(("cls", "sync"), TWINS.items(), ids=TWIN_NAMES)
def test_every_verb_is_called_in_these_tests(cls, sync):
    """Whoever adds a verb adds a call of it in `world.py`, so that all that follows holds for it too."""
    assert set(CALLS[cls]) - VIEWS == set(verbs(sync)) - VIEWS


@pytest.mark.parametrize(("cls", "name"), EACH, ids=NAMES)
def test_a_verb_has_the_signature_of_the_sync_one(cls, name):
    """Names, order, defaults, types and result; a property is a verb without arguments."""
    verb, sync = getattr(cls, name), inspect.getattr_static(TWINS[cls], name)
    wanted = inspect.signature(sync.fget if isinstance(sync, property) else sync)
    found = inspect.signature(verb)
    assert [*found.parameters.values()] == [async_form(each) for each in wanted.parameters.values()]
    assert name in GIVE_A_SHELL or found.return_annotation == wanted.return_annotation
    assert inspect.iscoroutinefunction(verb) or name in VIEWS


def async_form(parameter):
    """The parameter, where it takes a memory one that takes its async form."""
    return parameter.replace(annotation="AsyncMemory") if parameter.annotation == "Memory" else parameter


def test_the_constructor_takes_the_same_arguments():
    """So code changes by one word."""
    assert inspect.signature(AsyncMemory.__init__) == inspect.signature(Memory.__init__)


@pytest.mark.parametrize(("cls", "name"), EACH, ids=NAMES)
def test_a_verb_is_documented_and_named_for_its_place(cls, name):
    """As tracebacks, warnings and help() show it."""
    verb = inspect.getattr_static(cls, name)
    assert verb.__doc__
    assert (verb.__module__, verb.__qualname__) == (cls.__module__, f"{cls.__name__}.{name}")


@pytest.mark.parametrize(("cls", "name"), EACH, ids=NAMES)
def test_no_call_of_the_store_runs_on_the_loop(w, cls, name):
    """Nor of the embedder; the verb does reach the store, so the watch saw it."""

    async def once():
        async with w.wrapped() as memory:
            with pytest.raises(InvalidInput, match="not encrypted") if name in NEED_KEYS else nullcontext():
                await CALLS[cls][name](memory, w)

    asyncio.run(once())
    assert threading.get_ident() not in {*w.store.threads, *w.slow.threads}
    assert bool(w.store.threads) != (name in NO_STORE)


@pytest.mark.parametrize(("cls", "name"), EACH, ids=NAMES)
def test_a_verb_raises_after_close(w, cls, name):
    """Also where its memory was taken before; closing twice is harmless."""

    async def late():
        memory = w.wrapped()
        await memory.open()
        await memory.close()
        with nullcontext() if name == "close" else pytest.raises(StoreClosed):
            await CALLS[cls][name](memory, w)

    asyncio.run(late())


def test_results_and_errors_are_those_of_the_sync_verb(w):
    """A note that is there, and one that is not."""

    async def both():
        async with w.wrapped() as memory:
            assert (await memory.get("note")).text == w.memory.get("note").text == "tea is green"
            with pytest.raises(WrongType):
                await memory.remember(5)

    asyncio.run(both())


def test_views_do_no_work(w):
    """`within` and `with_policy` are not awaited, so they must not touch the store."""
    memory = w.wrapped()
    memory.experience.with_policy(ExperiencePolicy())
    assert tuple(memory.within("tenant").scope) == ("default", "tenant")
    assert w.store.threads == []


def test_a_scope_below_is_another_one(w):
    """Nothing of it is seen above, and closing it closes nothing else."""

    async def two():
        async with w.wrapped() as memory:
            async with memory.within("tenant") as below:
                assert await below.count() == 0
                await below.remember("milk")
                assert await below.count() == 1
            with pytest.raises(StoreClosed):
                await below.count()
            assert "milk" not in [hit.text for hit in (await memory.list()).hits]

    asyncio.run(two())


def test_a_memory_is_copied_into_another_async_one(w, tmp_path):
    """A `Memory` is wrapped first."""

    async def copied():
        copy = AsyncMemory(tmp_path / "copy.db", embedder="hashing", clock=w.clock)
        async with w.wrapped() as memory, copy as other:
            await memory.copy_to(other)
            with pytest.raises(WrongType, match="AsyncMemory"):
                await memory.copy_to(w.memory)
            return (await other.get("note")).text

    assert asyncio.run(copied()) == "tea is green"


def test_whether_a_playbook_has_entries_is_awaited(w):
    """`if memory.playbook` would always be true, so it says what to write instead."""
    with pytest.raises(WrongType, match="entries"):
        bool(w.wrapped().playbook)


def test_verbs_that_return_their_memory_return_the_async_one(w):
    """So that calls can be chained."""

    async def chained():
        async with w.wrapped() as memory:
            assert await memory.runs.configure() is memory.runs
            assert await memory.playbook.merge([]) is memory.playbook

    asyncio.run(chained())
