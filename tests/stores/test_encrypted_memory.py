"""A memory over an encrypted store: all four memories, as if it were not, and nothing of them without the key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from seasoned import Memory
from seasoned.errors import StoreError
from seasoned.ports import Fingerprint
from seasoned.runs import TurnRecord
from seasoned.stores.encrypted import EncryptedStore, KeyRing
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock, sequential_ids

ALICE = ("acme", "alice")
KEY, NEXT = bytes(range(32)), bytes(range(1, 33))


class Letters:
    """Counts four letters: a small embedder."""

    fingerprint = Fingerprint("letters", "1", 4)
    weight = 0.5

    def embed(self, texts: Sequence[str]):
        """One unit row a text."""
        counts = np.array([[1 + text.count(letter) for letter in "aeit"] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def furnish(memory: Memory) -> None:
    """Write something of everything, some of it in scopes below."""
    memory.remember("Alice prefers short answers.", tags=["style"], id="short")
    talk = memory.conversation
    for number in range(30):
        talk.add({"role": "user", "content": f"Parcel {number} went to Riga."}, session="s1", ids=f"u{number}")
        talk.add({"role": "assistant", "content": f"Noted parcel {number}."}, session="s1", ids=f"a{number}")
    memory.experience.record("parcel is late", "call the office", 0.8, metrics={"stress": 60.0}, episode="e1")
    memory.experience.rate(9, episode="e1")
    memory.playbook.add("Ask for the tracking number first.", section="PARCELS", outcome="success", id="p-1")
    memory.playbook.tag("p-1", "helpful", by="run-1")
    memory.runs.start_run("r1")
    for turn in range(1, 26):
        memory.runs.record_turn(TurnRecord(turn, 2.0, "EUR", ["storm"] if turn == 7 else [], [{"type": "sell"}], {}))
        memory.runs.extract_atoms(turn)
        memory.runs.update_episode(None, turn)
    memory.runs.summarise_run(None, profile_id="trader")
    memory.update("short", text="Alice prefers very short answers.")


def seen(memory: Memory) -> list[object]:
    """Return what a caller sees of all of it."""
    context = memory.context("Where did the late parcel go?", 2_000, session="s1")
    credited = memory.outcome(context.trace, reward=0.5)
    return [
        context.messages,
        [(hit.id, hit.text, hit.score) for hit in memory.recall("parcel to Riga", k=10)],
        [(hit.id, hit.record.version) for hit in memory.list(k=500).hits],
        memory.conversation.context(500, session="s1"),
        memory.conversation.sessions(),
        [
            (match.id, match.feedback is not None, match.score)
            for match in memory.experience.similar("late parcel", n=3)
        ],
        memory.experience.stats(),
        memory.playbook.block(run="r2", task="a late parcel").text,
        memory.playbook.entries(),
        memory.runs.memory_block(),
        memory.runs.load_prior_run_notes("trader"),
        [revision.record.text for revision in memory.history("short")],
        memory.count(subtree=True),
        sorted(memory.stats()["by_kind"].items()),
        type(credited),
    ]


def opened(store, clock: FakeClock) -> Memory:
    """Open Alice's memory over a store."""
    return Memory(store, scope=ALICE, embedder=Letters(), clock=clock, ids=sequential_ids())


@pytest.fixture
def clock():
    """A clock that stands still."""
    return FakeClock()


def stores(kind: str, folder, clock):
    """Return a plain store and an encrypted one of the same engine, the second with its keys."""
    keys = KeyRing({ALICE: {"1": KEY}})
    if kind == "memory":
        return MemoryStore(clock=clock), EncryptedStore(MemoryStore(clock=clock), keys, clock=clock), keys
    plain, inner = (SQLiteStore(folder / name, clock=clock) for name in ("plain.db", "sealed.db"))
    return plain, EncryptedStore(inner, keys, clock=clock), keys


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_all_four_memories_give_the_same_as_over_a_plain_store(tmp_path, clock, kind):
    """Contexts, hits with their scores, feedback, blocks, lessons, versions and counts, byte for byte."""
    plain, sealed, _ = stores(kind, tmp_path, clock)
    found = []
    for store in (plain, sealed):
        memory = opened(store, clock)
        furnish(memory)
        found.append(seen(memory))
        assert memory.check() == []
        memory.close()
        store.close()
    for before, after in zip(*found, strict=True):
        assert after == before


def test_followers_in_another_process_see_what_this_one_did(tmp_path, clock):
    """A second store at the file, with memories that had followed before: sessions, experience, playbook and runs."""
    keys = KeyRing({ALICE: {"1": KEY}})
    here, there = (EncryptedStore(SQLiteStore(tmp_path / "agent.db", clock=clock), keys, clock=clock) for _ in "ab")
    writer, reader = opened(here, clock), opened(there, clock)
    assert (reader.conversation.sessions(), reader.playbook.entries(), reader.experience.similar("x")) == ([], [], [])
    furnish(writer)
    assert [info.id for info in reader.conversation.sessions()] == ["s1"]
    assert [entry.id for entry in reader.playbook.entries()] == ["p-1"]
    assert [match.situation for match in reader.experience.similar("late parcel")] == ["parcel is late"]
    assert reader.runs.load_prior_run_notes("trader") == writer.runs.load_prior_run_notes("trader") is not None
    writer.forget(session="s1")
    assert reader.conversation.sessions() == []
    here.close()
    there.close()


VERBS = {
    "context": lambda memory: memory.context("late parcel", 2_000, session="s1"),
    "window": lambda memory: memory.conversation.context(500, session="s1"),
    "sessions": lambda memory: memory.conversation.sessions(),
    "similar": lambda memory: memory.experience.similar("late parcel"),
    "entries": lambda memory: memory.playbook.entries(),
    "block": lambda memory: memory.playbook.block(run="r3"),
    "notes": lambda memory: memory.runs.load_prior_run_notes("trader"),
    "filter": lambda memory: memory.list({"data.tags": "style"}),
    "remember": lambda memory: memory.remember("plain words"),
    "say": lambda memory: memory.conversation.add({"role": "user", "content": "hello"}, session="s1"),
    "forget": lambda memory: memory.forget(session="s1"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("reopened", [True, False], ids=["another process", "the same objects"])
def test_without_the_key_no_memory_looks_empty(tmp_path, clock, verb, reopened):
    """Each verb that would need content says so, in a memory that followed before its key was forgotten, too."""
    plain, sealed, keys = stores("file", tmp_path, clock)
    plain.close()
    memory = opened(sealed, clock)
    furnish(memory)
    seen(memory)
    sealed.forget_key(ALICE)
    if reopened:
        sealed.close()
        sealed = EncryptedStore(SQLiteStore(tmp_path / "sealed.db", clock=clock), keys, clock=clock)
        memory = opened(sealed, clock)
    with pytest.raises(StoreError, match="locked"):
        VERBS[verb](memory)
    assert [hit.record.data for hit in memory.recall("parcel", k=10)] == [{"locked": True}] * 10
    assert len(memory.list(k=500).hits) == memory.count() > 60
    sealed.close()


def test_a_memory_goes_on_through_a_rotation(tmp_path, clock):
    """Before, between and after: the same contexts, and nothing is written with the old key any more."""
    plain, sealed, keys = stores("file", tmp_path, clock)
    plain.close()
    memory = opened(sealed, clock)
    furnish(memory)
    window = memory.conversation.context(500, session="s1")
    keys.add(ALICE, "2", NEXT)
    memory.conversation.add({"role": "user", "content": "Parcel 30 went to Riga."}, session="s2")
    assert memory.conversation.context(500, session="s1") == window
    assert sealed.rotate(ALICE).done
    for below in memory.scopes():
        assert sealed.rotate(below).done
    keys.drop(ALICE, "1")
    assert memory.conversation.context(500, session="s1") == window
    assert memory.check() == []
    sealed.close()


def test_a_memory_in_the_clear_is_copied_into_an_encrypted_one(tmp_path, clock):
    """The new file never holds a byte of it in the clear; the old one is the caller's to remove."""
    plain, sealed, _ = stores("file", tmp_path, clock)
    source, target = opened(plain, clock), opened(sealed, clock)
    source.remember("Quicksilver runs.", tags=["tagbeta"], id="q")
    assert source.copy_to(target).written == 1
    assert target.get("q").text == "Quicksilver runs."
    plain.close()
    sealed.close()
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.name.startswith("sealed"))
    assert [word for word in (b"Quicksilver", b"quicksilv", b"tagbeta") if word in files] == []
