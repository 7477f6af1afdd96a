"""What is reported of one kind of record holds here for every kind, by every verb that writes one."""

from __future__ import annotations

import asyncio
import copy
import inspect
import io
import logging

import pytest

from seasoned import AsyncMemory, CallableEmbedder, Memory, MemoryStore, Status
from seasoned.conversation import ConversationMemory
from seasoned.errors import InvalidInput, WrongType
from seasoned.experience import ExperienceMemory
from seasoned.playbook import Playbook
from seasoned.playbook.traces import Trace, TraceStep
from seasoned.runs import RunMemory

from .layers import WORD, WRITE, Sees, say, stored, turn

KINDS = sorted(WRITE)


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_engine_stores_is_replaced_in_every_kind(memory, kind):
    """A NUL and a lone surrogate become U+FFFD before anything is written, whoever said them, a model included."""
    WRITE[kind](memory, f"bad \ud800 and \0 {WORD}")
    found = stored(memory)
    assert any(f"bad \ufffd and \ufffd {WORD}" in each for each in found)
    assert not any("\\x00" in each or "\\ud800" in each for each in found)


@pytest.mark.parametrize("profile", ["with a file", "without"])
def test_what_a_retrospective_gives_back_can_be_written_anywhere(memory, tmp_path, profile):
    """A model's half character ends neither the run nor the profile file, and what is returned is what was stored."""
    memory.runs.start_run()
    memory.runs.record_turn(turn(1))
    folder = tmp_path / "profiles" if profile == "with a file" else None
    done = memory.runs.summarise_run(lambda _: "## Lessons\n- Mind \ud800 and \0.", "trader", folder)
    assert done is not None
    assert done.text == "## Lessons\n- Mind \ufffd and \ufffd."
    assert [each.text for each in done.lessons] == [each.text for each in memory.runs.lessons("trader")]
    if folder is not None:
        assert "- Mind \ufffd and \ufffd. (1 run)" in (folder / "trader.md").read_text("utf-8")


@pytest.mark.parametrize("blank", ["", "   ", "\n\t\u3000"], ids=repr)
def test_blank_texts_are_stored_by_no_verb(memory, blank):
    """They are refused with an error, or, in a list of messages, with a reason; nothing is there afterwards."""
    for write in (
        lambda: memory.remember(blank),
        lambda: memory.experience.record(blank, "act", 0.5),
        lambda: memory.experience.record("situation", blank, 0.5),
        lambda: memory.experience.record_trajectory(blank, "route", 0.5),
        lambda: memory.playbook.add(blank),
        lambda: Sees(blank).extract([turn(1)], []),
    ):
        with pytest.raises(InvalidInput, match="blank"):
            write()
    assert [each.status for each in memory.conversation.add(say(blank))] == [Status.REFUSED]
    assert stored(memory) == []


@pytest.mark.parametrize("kind", ["note", "message", "decision", "trajectory", "feedback", "entry"])
def test_long_texts_that_begin_alike_are_two_of_every_kind(memory, kind):
    """Two texts of 1,900 characters with the same first 1,880, written at the same instant."""
    alike = "The same beginning. " * 94
    for end in ("the first end.", "another end of it."):
        WRITE[kind](memory, alike + end)
    found = stored(memory)
    assert sum("the first end." in each for each in found) == 1
    assert sum("another end of it." in each for each in found) == 1


READS = {
    "list": lambda memory: memory.list(k=1000, subtree=True),
    "recall": lambda memory: memory.recall(WORD),
    "context": lambda memory: memory.context(f"what of {WORD[:4]}", budget=8000, session="s", trace=False),
    "messages": lambda memory: [memory.conversation.messages(name) for name in ("s", "long")],
    "turns of a session": lambda memory: [memory.conversation.turns(name) for name in ("s", "long")],
    "search": lambda memory: memory.conversation.search(WORD),
    "context of a session": lambda memory: memory.conversation.context(300, session="long"),
    "runs": lambda memory: memory.runs.list_runs(),
    "turns": lambda memory: memory.runs.turns(),
    "atoms": lambda memory: memory.runs.atoms(),
    "episodes": lambda memory: memory.runs.episodes(),
    "lessons": lambda memory: memory.runs.lessons(),
    "block of a run": lambda memory: memory.runs.memory_block(),
    "notes for the next run": lambda memory: memory.runs.load_prior_run_notes(),
    "similar": lambda memory: memory.experience.similar(WORD, min_reward=None),
    "newest": lambda memory: memory.experience.newest(),
    "trajectories": lambda memory: memory.experience.similar_trajectories(WORD, min_reward=None),
    "few-shot": lambda memory: memory.experience.few_shot(WORD),
    "entries": lambda memory: memory.playbook.entries(retired=True),
    "history": lambda memory: memory.playbook.history(),
    "search of entries": lambda memory: memory.playbook.search(WORD),
    "playbook": lambda memory: (memory.playbook.render(), memory.playbook.to_text(), memory.playbook.to_dict()),
}


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_forgotten_is_on_no_read_path(memory, kind, hard):
    """There is no half-forgotten state: every way of reading gives nothing of it, at once."""
    memory.runs.start_run("before")
    WRITE[kind](memory, f"A {WORD} blows.")
    holding = [hit for hit in memory.list(k=1000).hits if WORD in f"{hit.text} {hit.record.data!r}"]
    assert holding
    for hit in holding:
        if memory.list({"id": hit.id, "kind": hit.record.key.kind}).hits:
            memory.forget(where={"id": hit.id, "kind": hit.record.key.kind}, hard=hard)
    for name, read in READS.items():
        assert WORD not in repr(read(memory)), name
    assert memory.check() == []


PUBLIC = (Memory, ConversationMemory, RunMemory, ExperienceMemory, Playbook, AsyncMemory)


def verbs():
    """Every public verb of every memory."""
    for owner in PUBLIC:
        for name, verb in inspect.getmembers(owner, callable):
            if not name.startswith("_"):
                yield pytest.param(owner, name, verb, id=f"{owner.__name__}.{name}")


@pytest.mark.parametrize(("owner", "name", "verb"), [*verbs()])
def test_no_verb_has_a_place_for_a_misspelt_argument(owner, name, verb):
    """None takes arbitrary keywords, but for those that check each name against the fields there are."""
    parameters = inspect.signature(verb).parameters.values()
    loose = [each.name for each in parameters if each.kind is inspect.Parameter.VAR_KEYWORD]
    assert not loose or (owner.__name__.removeprefix("Async"), name) in {
        ("Memory", "context"),
        ("Memory", "update"),
        ("ConversationMemory", "context"),
        ("ExperienceMemory", "reward_human_feedback"),  # a trainer's columns, as GRPO passes them
    }


def test_verbs_that_take_names_of_fields_refuse_the_others(memory):
    """A misspelt value of a policy or field is an error, never dropped."""
    memory.remember("tea", id="n")
    for call in (
        lambda: memory.context("tea", keep_rat=0.5),
        lambda: memory.update("n", txt="x"),
        lambda: memory.conversation.context(500, window=3),
    ):
        with pytest.raises(WrongType):
            call()


def test_no_verb_changes_what_it_is_given(memory):
    """Messages, data, tags, metrics, worlds, traces and dictionaries are deep-equal afterwards."""
    given = {
        "messages": [
            say([{"type": "text", "text": "hi", "id": "p"}, "there"]),
            say("x", "assistant", extra={"a": [1]}),
        ],
        "data": {"list": [1, {"deep": None}]},
        "tags": ["b", "a"],
        "metrics": {"stress": 70.0, "money": 3},
        "world": {"door": True, "n": 2},
        "summary": {"steps": ["a", {"b": 1}]},
        "turn": turn(1),
        "trace": Trace(id="t", steps=(TraceStep(kind="tool", name="f", input={"a": [1]}, output="x", status="error"),)),
        "playbook": {"entries": [{"id": "x-00001", "content": "Ask.", "section": "S"}]},
        "filter": {"and": [{"kind": "note"}, {"data.tags": "a"}]},
    }
    before = copy.deepcopy(given)
    memory.conversation.add(given["messages"], "s")
    memory.conversation.context(500, session="s")
    memory.remember("x", data=given["data"], tags=given["tags"])
    memory.recall("x", where=given["filter"])
    memory.experience.record("s", "a", 0.5, metrics=given["metrics"], tags=given["tags"])
    memory.experience.similar("s", given["metrics"], tags=given["tags"])
    memory.experience.record_trajectory("s", "r", 0.5, world=given["world"], summary=given["summary"])
    memory.runs.start_run()
    memory.runs.record_turn(given["turn"])
    memory.playbook.learn(given["trace"])
    memory.playbook.load_dict(given["playbook"])
    assert given == before


def test_no_log_holds_a_text_of_any_kind():
    """Embedder and model fail all the time, a reply is refused, an atom too: what is logged are ids and counts."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logger = logging.getLogger("seasoned")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with Memory(MemoryStore(), embedder=CallableEmbedder(_down, "service", dimension=8)) as memory:
            _live(memory)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert "is down" in log.getvalue()
    assert WORD not in log.getvalue()


def _down(texts):
    raise ConnectionError("the service is down")


def _failing(messages):
    raise RuntimeError("the model is down")


def _live(memory):
    for write in WRITE.values():
        write(memory, f"{WORD} for ever")
    memory.conversation.add(say([7, {"type": "text"}, WORD]), "s")
    memory.conversation.summarise("s", model=_failing, budget=100)
    memory.runs.start_run()
    for number in range(1, 27):
        memory.runs.record_turn(turn(number, WORD))
        memory.runs.extract_atoms(number)
        memory.runs.update_episode(lambda _: WORD if number % 2 else f"I am sorry, {WORD}", number)  # noqa: B023
    memory.runs.summarise_run(_failing)
    memory.playbook.learn(Trace(id="t", task=WORD, answer=WORD), model=_failing)
    memory.playbook.learn(Trace(id="t2", task=WORD, answer=WORD), model=lambda _: WORD)
    memory.playbook.refine(_failing)
    memory.recall(WORD)
    shown = memory.context(WORD, session="s", run="r")
    memory.outcome(shown.trace, reward=1, note=WORD)
    memory.forget(everything=True, hard=True)


def test_names_are_compared_exactly_in_every_memory(memory):
    """Sessions, runs, profiles, episodes and ids of entries: no verb trims them, none folds their case."""
    names = ("Alice", "alice", " Alice ")
    for name in names:
        memory.conversation.add(say(f"of {name!r}"), name)
        memory.runs.start_run(name)
        memory.runs.record_turn(turn(1, f"of {name!r}"))
        memory.experience.record("s", f"act of {name!r}", 0.5, episode=name)
        memory.playbook.add(f"advice of {name!r}", id=name)
    for name in names:
        assert [each["content"] for each in memory.conversation.messages(name)] == [f"of {name!r}"]
        assert [each.events for each in memory.runs.turns(name)] == [[f"of {name!r}"]]
        assert [each.action for each in memory.experience.similar("s", episode=name)] == [f"act of {name!r}"]
        assert memory.playbook.get(name).content == f"advice of {name!r}"
    memory.conversation.clear("alice")
    memory.playbook.remove("alice")
    assert [memory.conversation.messages(name) == [] for name in names] == [False, True, False]
    assert [entry.id for entry in memory.playbook.entries()] == ["Alice", " Alice "]


ASKS = {
    "conversation.summarise", "conversation.summarising", "runs.summarise_run", "runs.asummarise_run",
    "runs.update_episode", "runs.aupdate_episode", "playbook.learn", "playbook.alearn", "playbook.refine",
    "playbook.arefine",
}  # fmt: skip


def test_only_verbs_that_are_given_a_model_can_ask_one(memory):
    """A memory holds none, so that writing and searching cost no call; each verb that asks has an argument for it."""
    assert not {"model", "llm"} & {*inspect.signature(Memory).parameters, *inspect.signature(AsyncMemory).parameters}
    views = {name: type(getattr(memory, name)) for name in ("conversation", "runs", "experience", "playbook")}
    found = {
        f"{view}.{name}"
        for view, owner in views.items()
        for name, verb in inspect.getmembers(owner, callable)
        if not name.startswith("_") and {"model", "with_model"} & {*inspect.signature(verb).parameters}
    }
    assert found == ASKS
    assert not [
        n for n, verb in inspect.getmembers(Memory, inspect.isfunction) if "model" in inspect.signature(verb).parameters
    ]


def test_what_a_script_wrote_is_there_though_it_never_closed(tmp_path):
    """Every verb has written when it returns, the awaited ones too: there is no queue that could be lost."""
    path = tmp_path / "agent.db"
    left_open = Memory(path, embedder="hashing")
    for write in WRITE.values():
        write(left_open, f"{WORD} for ever")
    kept = stored(left_open)

    async def awaited():
        memory = AsyncMemory(path, embedder="hashing")
        await memory.remember(f"awaited {WORD}")
        with Memory(path, embedder="hashing") as other:
            found = other.recall(f"awaited {WORD}", k=1)[0].text
        await memory.close()
        return found

    with Memory(path, embedder="hashing") as other:
        assert stored(other) == kept
    assert asyncio.run(awaited()) == f"awaited {WORD}"
    left_open.close()


@pytest.mark.parametrize("way", ["merged by id", "refined", "told again"])
def test_what_becomes_one_is_as_old_as_the_oldest(memory, way):
    """The date of an entry that is merged into another is not lost."""
    memory.playbook.add("Look twice before you cross the road.", id="a", at="2026-06-01")
    if way == "told again":
        memory.playbook.add("Look twice before you cross the road.", at="2026-03-01")
    else:
        memory.playbook.add("Look twice before you cross the road.", "walking", id="b", at="2026-03-01")
    if way == "merged by id":
        memory.playbook.merge_entries(["a", "b"])
    elif way == "refined":
        memory.playbook.refine()
    assert [str(entry.created_at.date()) for entry in memory.playbook.entries()] == ["2026-03-01"]
