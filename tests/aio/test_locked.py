"""Every verb of every memory in a scope whose key is gone: a clear error, or records that say that they are locked."""

from __future__ import annotations

import asyncio
import threading

import pytest

from seasoned import Hit, Page
from seasoned.aio import AsyncMemory, AsyncPlaybook, AsyncRunMemory
from seasoned.embedders import CallableEmbedder
from seasoned.errors import InvalidInput, StoreError, StoreLocked
from seasoned.memory import Memory
from seasoned.runs import RunPolicy
from seasoned.stores.encrypted import KeyRing, LockedHit
from seasoned.testing import FakeClock

from .world import CALLS, EACH, NAMES, Slow, Watched, World, fill

SHUT = {
    "forgotten": "the key was forgotten in the memory that is asked",
    "dropped": "the memory was opened after its key was dropped",
    "unnamed": "the memory was opened without keys",
}

NEED_NO_CONTENT = {
    (AsyncMemory, "count"): 9,
    (AsyncMemory, "scopes"): [("default",)],
    (AsyncMemory, "reembed"): 0,  # there is nothing here to embed
    (AsyncMemory, "warm"): None,
    (AsyncMemory, "rebuild"): 18,
    (AsyncMemory, "close"): None,
    (AsyncRunMemory, "lessons"): [],  # there was none before, and kinds are readable
    (AsyncPlaybook, "knows"): False,  # likewise: no record has that id
}
"""Verbs that answer what the engine can say without the key, and what that is."""


def says_so(cls: type, name: str, found: object) -> bool:
    """Whether an answer says that the scope is locked, or is one of those that need no content."""
    if (cls, name) in NEED_NO_CONTENT:
        return found == NEED_NO_CONTENT[cls, name]
    match name, found:
        case "check", [finding]:
            return finding.where == "locked" and finding.what.startswith("18 records")
        case "sweep", swept:
            return swept.total == 0  # nothing was past its time
        case "forget_key", forgotten:
            return forgotten.total == 18 and forgotten.readable == 0
        case "import_", done:
            return (done.written, done.changed, done.duplicate, len(done.refused)) == (0, 0, 0, done.read)
        case "configure", runs:
            return isinstance(runs, AsyncRunMemory)
        case "history", [revision]:
            return revision.record.data == {"locked": True}
    hits = [found] if isinstance(found, Hit) else found.hits if isinstance(found, Page) else found
    return len(hits) > 0 and all(isinstance(hit, LockedHit) and hit.locked and hit.name == "1" for hit in hits)


def shut(folder, how: str) -> World:
    """Return a world whose key is gone."""
    clock, slow = FakeClock(), Slow()
    store, keys = Watched(clock), KeyRing({"default": {"1": bytes(32)}})
    embedder = CallableEmbedder(slow, "slow", dimension=64)
    memory = Memory(store, embedder=embedder, clock=clock, keys=keys)
    trace = fill(memory)
    memory.export(folder / "bundle.jsonl")
    if how == "forgotten":
        memory.forget_key()
    else:
        keys.forget(memory.scope)
        memory.close()
        memory = Memory(store, embedder=embedder, clock=clock, keys=keys if how == "dropped" else None)
    memory.runs.configure(policy=RunPolicy(extract_every=1, episode_every=1))
    store.threads.clear()
    return World(store, slow, memory, folder, clock, trace)


@pytest.mark.parametrize("how", SHUT)
@pytest.mark.parametrize(("cls", "name"), EACH, ids=NAMES)
def test_no_verb_takes_a_locked_scope_for_an_empty_one(tmp_path, cls, name, how):
    """It raises `StoreLocked`, or its hits are locked, or it says only what needs no content."""
    w = shut(tmp_path, how)
    found = answered(CALLS[cls][name], w)
    if isinstance(found, StoreLocked):
        assert (found.scope, found.name, "keys=" in str(found)) == (("default",), "1", True)
    elif isinstance(found, InvalidInput):
        assert (name, how) in {("rotate_key", "unnamed"), ("forget_key", "unnamed")}
    elif isinstance(found, StoreError):
        assert name == "copy_to"
        assert "its key is not here" in str(found)
    else:
        assert says_so(cls, name, found), found
    assert threading.get_ident() not in w.store.threads
    w.close()


def answered(call, w: World) -> object:
    """What a verb returns or raises."""
    try:
        return asyncio.run(call(w.wrapped(), w))
    except (InvalidInput, StoreError) as error:
        return error


def test_a_key_is_rotated_and_forgotten_off_the_loop(tmp_path):
    """With progress, in the scope and those below it; the receipt counts what nobody reads any more."""
    clock = FakeClock()
    store, keys = Watched(clock), KeyRing({"default": {"1": bytes(32)}})
    seen = []

    async def rotated():
        async with AsyncMemory(store, embedder="hashing", clock=clock, keys=keys) as memory:
            await memory.remember("tea is green", id="note")
            await memory.within("below").remember("milk is white")
            keys.add("default", "2", bytes([1]) * 32)
            done = await memory.rotate_key(lambda done, total: seen.append((done, total)))
            keys.drop("default", "1")
            text = (await memory.get("note")).text
            return done, text, await memory.forget_key(), (await memory.get("note")).locked

    done, text, forgotten, locked = asyncio.run(rotated())
    assert (done.resealed, done.done, seen[-1]) == (2, True, (2, 2))
    assert (text, locked) == ("tea is green", True)
    assert (forgotten.by_kind, forgotten.readable) == ({"note": 2}, 0)
    assert forgotten.scopes == (("default",), ("default", "below"))
    assert threading.get_ident() not in store.threads
    store.close()
