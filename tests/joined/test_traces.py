"""Traces: what a context showed, what was left out and why; and nothing twice in what it showed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from seasoned import Memory
from seasoned.errors import StoreReadOnly
from seasoned.joined.policy import ContextPolicy
from seasoned.joined.said import Said
from seasoned.ports import Applied, Can, Change
from seasoned.query import Page, Query
from seasoned.records import Key
from seasoned.stores.memory import MemoryStore

from .helping import asked, call, furnish, learn, parts, result, say, text_of

TASK = "A late parcel: when does the harbour office in Lisbon open?"


def trace_of(memory: Memory, name: str) -> dict[str, object]:
    return dict(memory.get(name, "context-trace").record.data)


def reasons(context) -> dict[str, tuple[str, ...]]:
    return {out.reason: out.ids for out in context.left_out}


def test_a_trace_names_what_was_shown_and_what_was_not(memory):
    """Used records by part; those left out, by reason; for which session, run and budget."""
    furnish(memory)
    memory.conversation.add([say("user", "hello"), say("assistant", "hi"), say("user", TASK)], "s", ids=["a", "b", "q"])
    context = memory.context(TASK, 4_000, 500, session="s", run="r1")
    data = trace_of(memory, context.trace)
    assert data["used"] == [[used.key.kind, used.key.id, used.part] for used in context.used]
    assert (data["session"], data["run"], data["budget"], data["tokens"]) == ("s", "r1", 3_500, context.tokens)
    assert data["left_out"] == {out.reason: list(out.ids) for out in context.left_out}
    assert memory.get(context.trace, "context-trace").text == ""
    assert "Lisbon" not in str(data)


def test_what_has_no_room_is_left_out_by_its_part(memory):
    """Lessons, entries, examples, recalled messages and the window, each with its reason."""
    furnish(memory)
    for number in range(30):
        memory.conversation.add([say("user", f"question {number} " * 5), say("assistant", "answer " * 9)], "s")
    memory.conversation.add(say("user", TASK), "s")
    narrow = ContextPolicy(lessons=0.01, playbook=0.01, observations=0, examples=0.01, changing=0.1)
    found = reasons(memory.context(TASK, 600, session="s", policy=narrow))
    assert set(found) == {
        "not in the window",
        "lessons: no room for it",
        "playbook: no room for it",
        "examples: no room for it",
        "recalled: no room for it",
    }
    assert found["playbook: no room for it"] == ("e1", "e2")
    assert found["examples: no room for it"] == ("d1",)
    assert found["recalled: no room for it"][0] == "n2"


def test_a_lesson_that_a_later_run_contradicts_is_left_out_with_that_reason(memory):
    """The later one stands."""
    learn(memory, "r1", 5.0)
    learn(memory, "r2", -5.0)
    learn(memory, "r3", -5.0)
    against = [each.id for each in memory.runs.lessons() if each.contradicted_by is not None]
    assert against
    context = memory.context("hello")
    assert reasons(context)["lessons: a later run says the opposite"] == tuple(against)
    assert not set(against) & set(parts(context)["lessons"])


def test_what_two_memories_say_is_shown_once(memory):
    """A pinned note before a lesson before an entry before what is recalled; with the ids of those left out."""
    learn(memory, "r1", 5.0)
    lesson = memory.runs.lessons()[0]
    for number, text in enumerate((lesson.text, "Ask the harbour office in Lisbon first!", "Peanuts make Alice ill.")):
        memory.remember(text, id=f"n{number}")
        memory.playbook.add(text, "advice", "success", id=f"e{number}")
        memory.conversation.add(say("user", text.upper()), "old", ids=f"m{number}")
    memory.pin("n2")
    context = memory.context("harbour office in Lisbon; peanuts, Alice, ill; turns with hold earned less")
    for text in (lesson.text, "Ask the harbour office in Lisbon first!", "Peanuts make Alice ill."):
        assert context.text.lower().count(text.lower()) == 1
    found = reasons(context)
    assert found["playbook: said elsewhere in the context"] == ("e0", "e2")
    assert set(found["recalled: said elsewhere in the context"]) == {"n0", "n1", "n2", "m0", "m1", "m2"}
    assert parts(context)["notes"] == ["n2"]
    assert lesson.id in parts(context)["lessons"]
    assert parts(context)["playbook"] == ["e1"]


def test_what_the_window_says_is_not_recalled_again(memory):
    """A note with the words of a message that is shown; nor what the user asks right now, asked before."""
    memory.remember("My parcel for Lisbon left Hamburg on Monday.", id="n1")
    memory.conversation.add(say("user", "When does it come to Lisbon?"), "old")
    talk = [say("user", "my parcel for Lisbon left Hamburg on Monday"), say("assistant", "Good.")]
    memory.conversation.add([*talk, say("user", "When does it come to Lisbon?")], "s")
    context = memory.context("When does it come to Lisbon?", session="s")
    assert asked(context) == "When does it come to Lisbon?"
    assert "n1" in reasons(context)["recalled: said elsewhere in the context"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Alice is allergic to peanuts.", "alice is allergic to PEANUTS", True),
        ("Alice is allergic to peanuts.", "Alice is  allergic\nto peanuts!", True),
        ("Alice is allergic to peanuts.", "Alice is allergic to peanuts and to milk.", False),
        ("Alice is allergic to peanuts.", "Bob is allergic to peanuts.", False),
        ("Order 4711 is late.", "Order 4712 is early.", False),
        ("👍", "👍", False),
        ("好的，谢谢你的帮助", "好的,谢谢你的帮助", True),
        ("word " * 3_000, "word " * 3_000 + ".", True),
        ("word " * 3_000, "word " * 300, False),
    ],
)
def test_texts_are_the_same_up_to_case_spaces_and_signs(one, other, same):
    """In either order."""
    assert Said([one]).has(other) is same
    assert Said([other]).has(one) is same


def test_steps_of_a_tool_loop_share_a_trace_and_write_one(memory):
    """Another user message has another."""
    furnish(memory)
    names = []
    for number in range(2):
        memory.conversation.add(say("user", f"{TASK} {number}"), "s")
        for step in range(3):
            names.append(memory.context(f"{TASK} {number}", session="s").trace)
            memory.conversation.add([call(f"c{number}-{step}"), result(f"c{number}-{step}")], "s")
    assert [len(set(names[:3])), len(set(names))] == [1, 2]
    assert memory.count(kinds=("context-trace",)) == 2


def test_traces_end_after_their_time(memory, clock):
    """30 days by default, or as the policy says; then no outcome finds them."""
    short = memory.context("hello", policy=ContextPolicy(keep_traces=timedelta(days=1)))
    long = memory.context("hello")
    clock.advance(timedelta(days=2))
    assert memory.count(kinds=("context-trace",)) == 1
    memory.outcome(long.trace, reward=1)
    with pytest.raises(LookupError, match="traces are kept for a time"):
        memory.outcome(short.trace, reward=1)


def test_without_trace_nothing_is_written(memory):
    """Neither for a session nor for a task alone."""
    furnish(memory)
    memory.conversation.add(say("user", TASK), "s")
    before = memory.store.find(Query(scope=memory.scope, count=True)).count
    for session in (None, "s"):
        context = memory.context(TASK, session=session, trace=False)
        assert context.trace is None
        assert context.degraded == ()
        assert len(context.used) > 3
    assert memory.store.find(Query(scope=memory.scope, count=True)).count == before


class ReadOnly:
    """A store that can be read, and refuses every write."""

    def __init__(self, inner: MemoryStore) -> None:
        self.inner, self.closed = inner, False

    @property
    def can(self) -> Can:
        return self.inner.can

    def find(self, query: Query) -> Page:
        return self.inner.find(query)

    def apply(self, changes: Sequence[Change]) -> Applied:
        raise StoreReadOnly("the file cannot be written")

    def close(self) -> None:
        self.closed = True


def test_a_store_that_cannot_be_written_gives_the_context_and_says_so(opened, clock):
    """Degraded, not an error; without a trace that an outcome could name."""
    full = opened()
    furnish(full)
    full.conversation.add(say("user", TASK), "s")
    reading = opened(ReadOnly(full.store))
    context = reading.context(TASK, session="s", run="r1")
    assert context.trace is None
    assert {each.partition(":")[0] for each in context.degraded} == {"snapshot", "layout", "trace"}
    assert parts(context) == parts(full.context(TASK, session="s", run="r1"))


def test_a_read_only_file_gives_the_context_and_says_so(opened, tmp_path):
    """As a store of its own does."""
    place = tmp_path / "agent.db"
    with Memory(place, scope=("acme", "alice"), embedder="hashing") as writing:
        furnish(writing)
    place.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        if _writable(tmp_path):
            pytest.skip("this user writes into any folder")
        reading = opened(place)
        context = reading.context(TASK)
        assert context.trace is None
        assert any(each.startswith("trace:") for each in context.degraded)
        reading.close()
    finally:
        tmp_path.chmod(0o700)


def _writable(folder) -> bool:
    try:
        (folder / "probe").write_text("x")
    except OSError:
        return False
    (folder / "probe").unlink()
    return True


def test_a_trace_of_another_scope_is_none(opened):
    """Though both lie in one store."""
    alice = opened()
    bob = opened(alice.store, ("acme", "bob"))
    with pytest.raises(LookupError):
        bob.outcome(alice.context("hello").trace, reward=1)


def test_a_note_pinned_once_stays_until_it_is_unpinned(memory):
    """In the order of the pins; pinning again is nothing new; a forgotten note is no trouble."""
    for name in ("n1", "n2", "n3"):
        memory.remember(f"The text of {name}.", id=name)
    assert [memory.pin("n2"), memory.pin("n1"), memory.pin("n2"), memory.pin("n3")] == [True, True, False, True]
    assert parts(memory.context("hello"))["notes"] == ["n2", "n1", "n3"]
    assert [memory.unpin("n2"), memory.unpin("n2")] == [True, False]
    memory.forget("n1")
    assert parts(memory.context("hello"))["notes"] == ["n3"]
    memory.pin("n3")
    memory.unpin("n3")
    assert text_of(memory.context("hello")) == ""


def test_only_notes_are_pinned(memory):
    """A message has a pin of its own; what memories keep for themselves has none."""
    memory.conversation.add(say("user", "hello"), ids="m1")
    with pytest.raises(ValueError, match=r"memory\.conversation\.pin"):
        memory.pin("m1", "message")
    with pytest.raises(LookupError):
        memory.pin("nobody")
    assert isinstance(memory.get("m1", "message").record.key, Key)
