"""Nothing passes: all verbs of a memory, with what the engine, the embedder, the models and the log get to see."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from seasoned import AsyncMemory, Memory
from seasoned.errors import InvalidInput
from seasoned.experience import OutcomeFeedback
from seasoned.playbook import Trace, TraceStep
from seasoned.ports import Applied, Can, Change, Fingerprint
from seasoned.query import Page, Query
from seasoned.redaction import RedactionPolicy
from seasoned.runs import TurnRecord
from seasoned.stores.sqlite import SQLiteStore

MAIL = "zoe.poison@example.com"
SECRET = "sk_test_" + "POISONabcdefghijkl12345678"
WORDS = f"凭证为{SECRET}，邮箱{MAIL}好"
SEEN = ("POISON", "poison")


class Embedder:
    """Keeps what it was asked to embed."""

    weight = 0.5
    fingerprint = Fingerprint("spy", "1", 2)

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.seen.extend(texts)
        return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))


class Engine:
    """A file that keeps what it was told and asked."""

    def __init__(self, inner: SQLiteStore, seen: list[str]) -> None:
        self.inner = inner
        self.seen = seen

    @property
    def can(self) -> Can:
        return self.inner.can

    def find(self, query: Query) -> Page:
        self.seen.append(repr(query))
        return self.inner.find(query)

    def apply(self, changes: Sequence[Change]) -> Applied:
        self.seen.append(repr(changes))
        return self.inner.apply(changes)

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def seen():
    return []


@pytest.fixture
def model(seen):
    def reply(messages):
        seen.append(json.dumps(messages, ensure_ascii=False))
        return f"It was {MAIL} who had {SECRET}."

    return reply


@contextmanager
def watched(place, seen, policy):
    """A memory whose engine, embedder and log write down what they see."""
    engine = Engine(SQLiteStore(place), seen)
    with Memory(engine, scope=("acme", "u1"), embedder=Embedder(seen), redaction=policy) as memory:
        yield memory
    engine.close()


@pytest.fixture
def log(seen):
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record.getMessage())

    handler, logger = Handler(), logging.getLogger("seasoned")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield
    logger.removeHandler(handler)
    logger.setLevel(level)


POLICIES = [RedactionPolicy(stable=stable, key=b"sixteen bytes or more") for stable in ("no", "record", "scope")]


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("policy", POLICIES, ids=["no", "record", "scope"])
def test_no_verb_lets_a_value_through(tmp_path, seen, model, policy):
    """Notes, messages, runs, decisions and playbook: what is stored, embedded, asked, shown to a model or logged."""
    with watched(tmp_path / "m.db", seen, policy) as memory:
        _notes(memory)
        _conversation(memory, model)
        _experience(memory)
        _playbook(memory, model)
        _runs(memory, model, tmp_path / "profiles")
        shown = memory.context(f"Help {WORDS}", session=MAIL, run="r2", budget=3_000)
        memory.outcome(shown.trace, reward=1.0, note=WORDS)
        memory.forget(MAIL)
        assert memory.forget(session=MAIL).total >= 4
    assert len(seen) > 200
    assert [text for text in seen if any(word in text for word in SEEN)] == []
    raw = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(word.encode() in raw for word in SEEN)


def _notes(memory: Memory) -> None:
    memory.remember(WORDS, tags=[MAIL], data={"deep": [{MAIL: WORDS}], "password": "POISON"}, id="n1")
    memory.remember("tea", id=MAIL)
    memory.remember("w" * 980 + f" {WORDS} " + "v" * 900)  # a value at the cut of its pieces
    memory.update("n1", text=f"{WORDS} again")
    memory.history("n1")
    memory.recall(f"who is {MAIL}")
    memory.recall("w" * 990 + f" {SECRET}")
    assert memory.get(MAIL).text == "tea"
    assert len(memory.list(where={"data.tags": MAIL}).hits) == 1


def _conversation(memory: Memory, model: object) -> None:
    call = {"name": "send", "arguments": json.dumps({"to": MAIL, "api_key": "POISON"})}
    memory.conversation.add(
        [
            {"role": "system", "content": WORDS},
            {"role": "user", "content": WORDS, "name": MAIL},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"sent": MAIL})},
            {"role": "user", "content": [{"type": "text", "text": WORDS}]},
        ],
        MAIL,
    )
    for number in range(12):
        memory.conversation.add({"role": "user", "content": f"{number} {WORDS} " + "word " * 60}, MAIL)
        memory.conversation.add({"role": "assistant", "content": "yes " * 60}, MAIL)
    memory.conversation.search(WORDS)
    memory.conversation.summarise(MAIL, budget=600, model=model)  # type: ignore[arg-type]  # a function is a model
    assert len(memory.conversation.messages(MAIL)) == 29


def _experience(memory: Memory) -> None:
    memory.experience.store_decision(WORDS, f"refund {MAIL}", None, 0.9, reasoning=WORDS, episode_id="ep1")
    memory.experience.store_feedback(OutcomeFeedback("ep1", 8, unexpected_effects=WORDS))
    memory.experience.retrieve_similar(WORDS)
    memory.experience.build_few_shot_prompt(WORDS)


def _playbook(memory: Memory, model: object) -> None:
    step = TraceStep(kind="tool", name="send", input={"to": MAIL}, output=WORDS, error=WORDS)
    memory.playbook.add(WORDS, "mail")
    memory.playbook.learn(Trace(id="t1", task=WORDS, steps=(step,), answer=WORDS, feedback=WORDS))
    memory.playbook.learn(Trace(id="t2", task=WORDS, steps=(step,)), model=model)  # type: ignore[arg-type]  # as above
    memory.playbook.search(WORDS)


def _runs(memory: Memory, model: object, profiles: Path) -> None:
    memory.runs.start_run("r1")
    for turn in range(1, 51):
        memory.runs.record_turn(_turn(turn))
        memory.runs.extract_atoms(turn)
        memory.runs.update_episode(model, turn)  # type: ignore[arg-type]  # as above
    memory.runs.summarise_run(model, profiles_dir=profiles)  # type: ignore[arg-type]  # as above
    assert any(profiles.iterdir())


def _turn(number: int) -> TurnRecord:
    reward = 1.0 if number % 2 else -1.0
    return TurnRecord(number, reward, "EUR", [WORDS], [{"type": "sell", "to": MAIL}], {"note": WORDS})


@pytest.fixture
def memory():
    with Memory(embedder="hashing", redaction=RedactionPolicy()) as made:
        yield made


def test_a_context_shows_what_was_stored_and_what_is_asked_now(memory):
    """Earlier messages are redacted; the newest one is the caller's own."""
    memory.conversation.add({"role": "user", "content": f"I am {MAIL}."}, "s1")
    memory.conversation.add({"role": "assistant", "content": "Welcome."}, "s1")
    before = [message["content"] for message in memory.context("Who am I?", session="s1").messages]
    assert before[-2:] == ["I am [email].", "Welcome."]
    assert str(memory.context(f"Am I {MAIL}?").messages[-1]["content"]).endswith(f"Am I {MAIL}?")


def test_the_same_turn_again_is_a_duplicate(memory):
    """What is given is compared as it would be stored, so a repeated call after a crash is harmless."""
    memory.runs.start_run("r1")
    assert memory.runs.record_turn(_turn(1)).status == "written"
    assert memory.runs.record_turn(_turn(1)).status == "duplicate"
    with pytest.raises(InvalidInput, match="other content"):
        memory.runs.record_turn(TurnRecord(1, 1.0, "EUR", ["rain"], [{"type": "sell"}]))


@pytest.mark.parametrize("policy", POLICIES, ids=["no", "record", "scope"])
def test_the_same_advice_again_is_known(policy):
    """An entry that was redacted is found alike, not added a second time."""
    with Memory(embedder="hashing", redaction=policy) as memory:
        memory.playbook.add(f"Write to {MAIL} first.", "mail")
        memory.playbook.add(f"Write to {MAIL} first.", "mail")
        assert len(memory.playbook) == 1


def test_a_value_is_found_by_itself_when_placeholders_are_stable():
    """The query has the same placeholder as the record."""
    with Memory(embedder="hashing", redaction=POLICIES[2]) as memory:
        memory.remember("Write to ann@example.com about tea.", id="n1")
        memory.remember("Write to bob@example.com about tea.", id="n2")
        assert memory.recall("bob@example.com", k=1)[0].id == "n2"


def test_a_scope_below_redacts_too(memory):
    """`within` shares the store and the policy."""
    below = memory.within("child")
    below.remember(WORDS, id="n1")
    assert below.get("n1").text == "凭证为[secret]，邮箱[email]好"


def test_records_from_before_are_embedded_anew(tmp_path):
    """Vectors of texts that were not redacted never meet those that were; `reembed` makes the latter."""
    with Memory(tmp_path / "m.db", embedder="static") as before:
        before.remember("green tea", id="n1")
        dense = before.stats()["without_vector"] == 0
    with Memory(tmp_path / "m.db", embedder="static", redaction=RedactionPolicy()) as after:
        assert dense
        assert after.stats()["without_vector"] == 1
        assert after.reembed() == 1


def test_a_copy_to_a_memory_with_redaction_is_clean(tmp_path):
    """Old records are redacted on their way, whether copied or imported; a second time nothing is new."""
    with Memory(embedder="hashing") as old, Memory(embedder="hashing", redaction=POLICIES[1]) as new:
        old.remember(f"{MAIL} and {MAIL}", id="n1")
        old.export(tmp_path / "old.jsonl")
        assert (old.copy_to(new).written, old.copy_to(new).duplicate) == (1, 1)
        assert new.import_(tmp_path / "old.jsonl").duplicate == 1
        assert new.get("n1").text == "[email-1] and [email-1]"


def test_an_async_memory_redacts_too():
    """By the same argument."""

    async def work() -> str:
        async with AsyncMemory(embedder="hashing", redaction=RedactionPolicy()) as memory:
            await memory.remember(WORDS, id="n1")
            return (await memory.get("n1")).text

    assert asyncio.run(work()) == "凭证为[secret]，邮箱[email]好"
