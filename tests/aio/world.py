"""A small memory with something in each part, and one call of every async verb."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seasoned import CallableEmbedder, HashingEmbedder, Memory, MemoryStore, Retention, TurnRecord
from seasoned.aio import AsyncConversationMemory, AsyncExperienceMemory, AsyncMemory, AsyncPlaybook, AsyncRunMemory
from seasoned.conversation import ConversationMemory
from seasoned.experience import ExperienceMemory, ExperiencePolicy, OutcomeFeedback
from seasoned.experience.forms import Draft
from seasoned.playbook import Playbook
from seasoned.playbook.deltas import Add
from seasoned.playbook.traces import Trace
from seasoned.records import instant
from seasoned.runs import RunMemory, RunPolicy
from seasoned.testing import FakeClock

TWINS = {
    AsyncMemory: Memory,
    AsyncConversationMemory: ConversationMemory,
    AsyncRunMemory: RunMemory,
    AsyncExperienceMemory: ExperienceMemory,
    AsyncPlaybook: Playbook,
}
"""Each async class and the one whose verbs it has."""

LEFT_OUT = {
    Playbook: {"close", "from_text", "from_dict"},  # for a playbook of its own: this one is the memory's
}
"""Sync names that have no async form."""

VIEWS = {"store", "conversation", "runs", "experience", "playbook", "within", "with_policy"}
"""Names that are no verbs: they do no work, and give what has verbs."""

SPELLING = HashingEmbedder(64)


class Watched(MemoryStore):
    """A store that notes in which thread each call came, and can hold the next one at a gate."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.threads: list[int] = []
        self.at_gate = threading.Event()
        self.gate: threading.Event | None = None

    def note(self) -> None:
        """Note the thread, and wait at the gate if there is one."""
        self.threads.append(threading.get_ident())
        gate, self.gate = self.gate, None
        if gate is not None:
            self.at_gate.set()
            assert gate.wait(30), "nobody opened the gate"

    def find(self, query):
        self.note()
        return super().find(query)

    def apply(self, changes):
        self.note()
        return super().apply(changes)

    def check(self):
        self.note()
        return super().check()

    def rebuild(self):
        self.note()
        return super().rebuild()

    def purge(self, keys):
        self.note()
        return super().purge(keys)

    def stats(self):
        self.note()
        return super().stats()

    def close(self):
        self.note()
        super().close()


class Slow:
    """An embedding function that notes its threads, and while it is `held` waits as for a service that hangs."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.waiting = threading.Semaphore(0)
        self.free = threading.Event()
        self.free.set()

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.threads.append(threading.get_ident())
        if not self.free.is_set():
            self.waiting.release()
            assert self.free.wait(30), "nobody let the embedder go on"
        return SPELLING.embed(texts)


@dataclass(frozen=True)
class World:
    """A memory with something in each part, its store, embedding function and clock, and a folder for files."""

    store: Watched
    slow: Slow
    memory: Memory
    folder: Path
    clock: FakeClock
    trace: str

    def wrapped(self) -> AsyncMemory:
        """Return the memory in its async form."""
        return AsyncMemory.wrap(self.memory)

    def close(self) -> None:
        """Close memory and store."""
        self.slow.free.set()
        self.memory.close()
        self.store.close()


def world(folder: Path) -> World:
    """Return a new world; its memory has read nothing yet, as in a process that starts."""
    clock, slow = FakeClock(), Slow()
    store = Watched(clock)
    memory = Memory(store, embedder=CallableEmbedder(slow, "slow", dimension=64), clock=clock)
    trace = fill(memory)
    memory.export(folder / "bundle.jsonl")
    another = Memory(store, embedder=CallableEmbedder(slow, "slow", dimension=64), clock=clock)
    another.runs.configure(policy=RunPolicy(extract_every=1, episode_every=1))
    store.threads.clear()
    slow.threads.clear()
    return World(store, slow, another, folder, clock, trace)


def fill(memory: Memory) -> str:
    """Put something in each part, and return the trace of a context."""
    memory.remember("tea is green", id="note")
    memory.conversation.add(
        [{"role": "user", "content": "tea?"}, {"role": "assistant", "content": "Yes."}], ids=["m", "n"]
    )
    memory.runs.start_run("run")
    memory.runs.record_turn(turn(1))
    memory.experience.record("a storm", "wait", 0.5, id="decision", episode="ep")
    memory.experience.record_trajectory("a storm", "harbour", 1.0, episode="ep", id="way")
    memory.playbook.add("Ask before you buy.", id="entry")
    memory.playbook.add("Check the price.", id="other")
    trace = memory.context("tea?").trace
    assert trace is not None
    return trace


def turn(number: int) -> TurnRecord:
    """Return a turn."""
    return TurnRecord(turn=number, reward=-1.0, reward_unit="EUR", events=[], actions_taken=[])


def feedback() -> OutcomeFeedback:
    """Return what a person said of an episode."""
    return OutcomeFeedback("ep", instant("2026-01-02T00:00:00+00:00"), 8.0, [], [], "", 0.0)


async def turns(number: int) -> None:
    """Let the loop go round so many times."""
    for _ in range(number):
        await asyncio.sleep(0)


def said(*texts: str) -> list[dict[str, object]]:
    """Return messages of a user."""
    return [{"role": "user", "content": text} for text in texts]


async def held(w: World, number: int) -> None:
    """Return when so many verbs wait for the embedder."""
    for _ in range(number):
        assert await asyncio.to_thread(w.slow.waiting.acquire, timeout=30)


Call = Callable[[AsyncMemory, World], Awaitable[object]]

MEMORY: dict[str, Call] = {
    "context": lambda a, w: a.context("tea?"),
    "outcome": lambda a, w: a.outcome(w.trace, reward=1.0),
    "pin": lambda a, w: a.pin("note"),
    "unpin": lambda a, w: a.unpin("note"),
    "remember_all": lambda a, w: a.remember_all(["bread is brown", "rice is white"]),
    "remember": lambda a, w: a.remember("milk is white", tags=["drink"]),
    "get": lambda a, w: a.get("note"),
    "list": lambda a, w: a.list(k=3),
    "count": lambda a, w: a.count(),
    "update": lambda a, w: a.update("note", text="tea is black"),
    "history": lambda a, w: a.history("note"),
    "explain": lambda a, w: a.explain("note"),
    "recall": lambda a, w: a.recall("tea", k=2),
    "scopes": lambda a, w: a.scopes(),
    "forget": lambda a, w: a.forget("note", hard=True),
    "sweep": lambda a, w: a.sweep(Retention()),
    "rotate_key": lambda a, w: a.rotate_key(),
    "forget_key": lambda a, w: a.forget_key(),
    "reembed": lambda a, w: a.reembed(),
    "export": lambda a, w: a.export(w.folder / "again.jsonl"),
    "import_": lambda a, w: a.import_(w.folder / "bundle.jsonl"),
    "copy_to": lambda a, w: a.copy_to(AsyncMemory(embedder="hashing", clock=w.clock)),
    "stats": lambda a, w: a.stats(),
    "warm": lambda a, w: a.warm(),
    "check": lambda a, w: a.check(),
    "rebuild": lambda a, w: a.rebuild(),
    "close": lambda a, w: a.close(),
}

CONVERSATION: dict[str, Call] = {
    "add": lambda a, w: a.conversation.add({"role": "user", "content": "milk"}),
    "search": lambda a, w: a.conversation.search("tea"),
    "context": lambda a, w: a.conversation.context(500, query=True),
    "sessions": lambda a, w: a.conversation.sessions(),
    "messages": lambda a, w: a.conversation.messages(),
    "turns": lambda a, w: a.conversation.turns(),
    "pin": lambda a, w: a.conversation.pin("m"),
    "unpin": lambda a, w: a.conversation.unpin("m"),
    "clear": lambda a, w: a.conversation.clear(),
    "forget": lambda a, w: a.conversation.forget("m"),
    "summarise": lambda a, w: a.conversation.summarise(budget=20),
}

RUNS: dict[str, Call] = {
    "start_run": lambda a, w: a.runs.start_run("next"),
    "record_turn": lambda a, w: a.runs.record_turn(turn(2)),
    "extract_atoms": lambda a, w: a.runs.extract_atoms(1),
    "update_episode": lambda a, w: a.runs.update_episode(None, 1),
    "memory_block": lambda a, w: a.runs.memory_block(),
    "observed": lambda a, w: a.runs.observed(),
    "summarise_run": lambda a, w: a.runs.summarise_run(None),
    "load_prior_run_notes": lambda a, w: a.runs.load_prior_run_notes(),
    "list_runs": lambda a, w: a.runs.list_runs(),
    "turns": lambda a, w: a.runs.turns("run"),
    "atoms": lambda a, w: a.runs.atoms("run"),
    "episodes": lambda a, w: a.runs.episodes("run"),
    "lessons": lambda a, w: a.runs.lessons(),
    "add_lessons": lambda a, w: a.runs.add_lessons("Sleep on it."),
    "state": lambda a, w: a.runs.state(),
    "explain": lambda a, w: a.runs.explain("run"),
    "last_error": lambda a, w: a.runs.last_error(),
    "configure": lambda a, w: a.runs.configure(policy=RunPolicy()),
}

EXPERIENCE: dict[str, Call] = {
    "record": lambda a, w: a.experience.record("fog", "wait", 0.1),
    "record_trajectory": lambda a, w: a.experience.record_trajectory("fog", "harbour", 0.2),
    "rate": lambda a, w: a.experience.rate(7, episode="ep", note="Went well."),
    "feedback": lambda a, w: a.experience.feedback(episode="ep"),
    "feedback_history": lambda a, w: a.experience.feedback_history(episode="ep"),
    "similar": lambda a, w: a.experience.similar("a storm", n=1),
    "similar_trajectories": lambda a, w: a.experience.similar_trajectories("a storm", n=1),
    "newest": lambda a, w: a.experience.newest(2),
    "few_shot": lambda a, w: a.experience.few_shot("a storm"),
    "stats": lambda a, w: a.experience.stats(),
    "preseed": lambda a, w: a.experience.preseed(str(w.folder / "none*.json")),
    "export_preseed": lambda a, w: a.experience.export_preseed(w.folder / "seed.json"),
    "store_draft": lambda a, w: a.experience.store_draft(
        "decision", Draft(situation="fog", action="wait", reward=None)
    ),
    "store_rating": lambda a, w: a.experience.store_rating(feedback(), "ep", ()),
    "store_decision": lambda a, w: a.experience.store_decision("fog", "wait", None, 0.5),
    "store_trajectory": lambda a, w: a.experience.store_trajectory("fog", "harbour", 0.5),
    "store_feedback": lambda a, w: a.experience.store_feedback(feedback()),
    "store_feedback_on_loose": lambda a, w: a.experience.store_feedback_on_loose(feedback()),
    "retrieve_feedback": lambda a, w: a.experience.retrieve_feedback("ep"),
    "retrieve_similar": lambda a, w: a.experience.retrieve_similar("a storm"),
    "retrieve_similar_trajectories": lambda a, w: a.experience.retrieve_similar_trajectories("a storm"),
    "build_few_shot_prompt": lambda a, w: a.experience.build_few_shot_prompt("a storm"),
    "get_stats": lambda a, w: a.experience.get_stats(),
    "reward_human_feedback": lambda a, w: a.experience.reward_human_feedback(["a storm"], ["wait"]),
    "with_policy": lambda a, w: a.experience.with_policy(ExperiencePolicy()).newest(1),
}

PLAYBOOK: dict[str, Call] = {
    "add": lambda a, w: a.playbook.add("Sleep on it."),
    "update": lambda a, w: a.playbook.update("entry", content="Ask first."),
    "tag": lambda a, w: a.playbook.tag("entry", "helpful"),
    "merge": lambda a, w: a.playbook.merge([Add(content="Sleep on it.")]),
    "merge_entries": lambda a, w: a.playbook.merge_entries(["entry", "other"]),
    "remove": lambda a, w: a.playbook.remove("entry"),
    "search": lambda a, w: a.playbook.search("price"),
    "refine": lambda a, w: a.playbook.refine(),
    "contradictions": lambda a, w: a.playbook.contradictions(),
    "prune": lambda a, w: a.playbook.prune(1),
    "render": lambda a, w: a.playbook.render(),
    "block": lambda a, w: a.playbook.block("run", "buy"),
    "learn": lambda a, w: a.playbook.learn(Trace(id="t", task="buy", steps=())),
    "to_text": lambda a, w: a.playbook.to_text(),
    "load_text": lambda a, w: a.playbook.load_text("## OTHERS\n[a-1] helpful=0 harmful=0 :: Sleep on it.\n"),
    "to_dict": lambda a, w: a.playbook.to_dict(),
    "load_dict": lambda a, w: a.playbook.load_dict({"entries": [{"content": "Sleep on it."}]}),
    "get": lambda a, w: a.playbook.get("entry"),
    "knows": lambda a, w: a.playbook.knows("t"),
    "has_change": lambda a, w: a.playbook.has_change(1),
    "last_id": lambda a, w: a.playbook.last_id(),
    "resolve": lambda a, w: a.playbook.resolve("entry"),
    "entries": lambda a, w: a.playbook.entries(),
    "history": lambda a, w: a.playbook.history(),
    "apply": lambda a, w: a.playbook.apply([Add(content="Sleep on it.")]),
    "bring": lambda a, w: a.playbook.bring([Add(content="Sleep on it.")]),
    "join": lambda a, w: a.playbook.join([Add(content="Sleep on it.")]),
    "rollback": lambda a, w: a.playbook.rollback(1),
    "clear": lambda a, w: a.playbook.clear(),
    "number": lambda a, w: a.playbook.number(),
    "seq": lambda a, w: a.playbook.seq(),
}

CALLS: dict[type, dict[str, Call]] = {
    AsyncMemory: MEMORY,
    AsyncConversationMemory: CONVERSATION,
    AsyncRunMemory: RUNS,
    AsyncExperienceMemory: EXPERIENCE,
    AsyncPlaybook: PLAYBOOK,
}
"""One call of each verb, by class and name."""

EACH = [(cls, name) for cls, calls in CALLS.items() for name in calls]
"""Every verb that has a call here; that these are all is a test."""


def called(cls: type, name: str) -> str:
    """Return how a verb is called in the output of pytest."""
    return f"{cls.__name__}.{name}"


NAMES = [called(*each) for each in EACH]


def verbs(cls: type) -> Iterator[str]:
    """Yield the public names of a sync class that an async one should have.

    Not generators, which are flows or hold a lock of their thread, and not the async forms that it has itself.
    """
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        inner = inspect.unwrap(value) if callable(value) else value
        other = inspect.isgeneratorfunction(inner) or inspect.iscoroutinefunction(inner)
        if not name.startswith("_") and not other and name not in LEFT_OUT.get(cls, ()):
            yield name
