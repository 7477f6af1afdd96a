"""What a running process keeps of its sessions stays true: expiry, removals long ago, records of other writers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from seasoned.conversation import ConversationMemory
from seasoned.embedders import resolve
from seasoned.memory import Memory
from seasoned.ports import Put
from seasoned.query import Order, Page, Query
from seasoned.records import Key, Record, Scope
from seasoned.search import Searcher
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock, sequential_ids
from seasoned.tokens import count_messages

from .checking import call, check_valid, result, say

SCOPE = Scope(("acme", "alice"))
DAY = datetime(2026, 5, 1, tzinfo=UTC)


class ShortMemory(MemoryStore):
    """A store that no longer knows what was removed before the change `known`."""

    known = 0

    def find(self, query: Query) -> Page:
        page = super().find(query)
        if query.order is Order.CHANGED and 0 < int(query.cursor or 0) < self.known:
            return replace(page, reload=True, gone=())
        return page


def over(store: MemoryStore) -> ConversationMemory:
    return ConversationMemory(store, SCOPE, Searcher(store, resolve("hashing")), FakeClock(), sequential_ids("m"))


def put(store, name: str, message: object, session: str = "default", **data: object) -> None:
    """Store a record as another program might."""
    fields = {"session": session, "role": "user", "message": message, **data}
    store.apply([Put(Record(key=Key(SCOPE, "message", name), text="x", at=DAY, data=fields))])


def test_a_first_read_of_many_pages_ends_though_old_removals_are_unknown():
    """The second page lies before what the store remembers of removals; nothing was read before they happened."""
    store = ShortMemory()
    memory = over(store)
    memory.add([say("user", f"n{i}") for i in range(2_500)])
    store.known = 2_400
    assert [(each.id, each.messages) for each in memory.sessions()] == [("default", 2_500)]
    assert memory.context(500).messages[-1] == say("user", "n2499")


def test_a_follower_behind_what_is_known_of_removals_reads_anew():
    """What it missed is gone from its contexts and its list of sessions."""
    store = ShortMemory()
    memory = over(store)
    memory.add([say("user", f"n{i}") for i in range(2_500)])
    memory.add(say("user", "other"), "s2")
    assert len(memory.sessions()) == 2
    assert memory.context(500).messages
    over(store).clear()
    store.known = 1_000_000
    assert [each.id for each in memory.sessions()] == ["s2"]
    assert memory.context(500).messages == []


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_message_past_its_time_leaves_contexts_and_sessions_of_a_running_process(clock, tmp_path):
    """As it would be for a process that starts now; and a time in the past works at once."""
    with Memory(tmp_path / "a.db", embedder="hashing", clock=clock) as memory:
        talk = memory.conversation
        talk.add([say("user", "one"), say("user", "two"), say("user", "three")], "s", ids=["a", "b", "c"])
        talk.add(say("user", "else"), "t", ids="d")
        assert len(talk.context(session="s").messages) == 3
        assert len(talk.sessions()) == 2
        memory.update("a", until=clock.now() - timedelta(days=1))
        memory.update("b", until=clock.now() + timedelta(days=1))
        memory.update("d", until=clock.now() + timedelta(days=1))
        assert talk.context(session="s").messages == [say("user", "two"), say("user", "three")]
        clock.advance(timedelta(days=1))
        assert talk.context(session="s").messages == [say("user", "three")]
        assert talk.context(session="t").messages == []
        assert [(each.id, each.messages) for each in talk.sessions()] == [("s", 1)]
        fresh = Memory(memory.store, embedder="hashing", clock=clock).conversation
        assert fresh.context(session="s").messages == talk.context(session="s").messages
        assert fresh.sessions() == talk.sessions()


def test_a_message_past_its_time_is_not_recalled_from_what_is_kept_at_hand(clock, tmp_path):
    """Though it is of another session, and was chosen before."""
    with Memory(tmp_path / "a.db", embedder="hashing", clock=clock) as memory:
        talk = memory.conversation
        talk.add(say("user", "My sister Marta breeds falcons."), "old", ids="a")
        talk.add(say("user", "What does Marta breed?"), "new")
        memory.update("a", until=clock.now() + timedelta(days=1))
        assert talk.context(session="new", query=True).recalled == ("a",)
        clock.advance(timedelta(days=1))
        assert talk.context(session="new", query=True).recalled == ()


MALFORMED = [
    {"role": "tool", "content": "x"},
    {"role": "assistant", "tool_calls": [{"function": {}}]},
    {"role": "user", "content": 5},
    {"role": "assistant", "function_call": {"x": 1}},
    {"role": "function", "content": "x"},
    {"role": "user", "content": " "},
    {"role": "robot", "content": "x"},
    {"role": "user", "content": "x", "id": 7},
    7,
    None,
]


@pytest.mark.parametrize("message", MALFORMED, ids=repr)
def test_a_malformed_stored_message_is_left_out_and_named(memory, store, message):
    """Contexts and lists of messages go on without it; `turns` has its record."""
    memory.add([say("user", "hi"), call("c"), result("c")])
    put(store, "bad", message)
    context = memory.context(query="x")
    assert [each["role"] for each in context.messages] == ["user", "assistant", "tool"]
    assert [(out.reason, out.ids) for out in context.left_out] == [("a record that cannot be read", ("bad",))]
    assert memory.messages() == [say("user", "hi"), call("c"), result("c")]
    assert [hit.id for hit in memory.turns()][-1] == "bad"


def test_a_record_without_a_message_breaks_no_list(memory, store):
    """No message in data at all."""
    record = Record(key=Key(SCOPE, "message", "bad"), text="x", at=DAY, data={"session": "default", "role": "user"})
    store.apply([Put(record)])
    assert memory.messages() == []
    assert memory.context().messages == []


@pytest.mark.parametrize("told", [0, 1, 5, -5, True, 1_000_000, 2**62])
@pytest.mark.parametrize("budget", [100, 1_500, 20_000])
@pytest.mark.parametrize("selection", ["window", "scored"])
def test_a_count_that_another_program_stored_never_breaks_the_budget(memory, store, told, budget, selection):
    """Every count is wrong, for short and long messages: the context fits, and says what it really counts."""
    for i in range(40):
        text = f"number {i} " * (300 if i % 7 == 0 else 5)
        put(store, f"f{i}", say("user" if i % 2 == 0 else "assistant", text), tokens={"estimate/1": told})
    context = memory.context(budget, selection=selection)
    assert context.tokens == count_messages(context.messages) <= budget
    check_valid(context.messages)
    assert "number 38 " in str(context.messages)


def test_one_wrong_count_among_right_ones_is_found(memory, store):
    """A long message that is said to count nothing, in the middle of the window, then a turn more."""
    memory.add([say("user" if i % 2 == 0 else "assistant", f"number {i}") for i in range(20)])
    put(store, "f", say("user", "word " * 5_000), tokens={"estimate/1": 1})
    memory.add([say("assistant", "ok"), say("user", "next")])
    for _ in range(2):
        context = memory.context(300)
        assert context.tokens == count_messages(context.messages) <= 300
        assert context.messages[-1] == say("user", "next")
        memory.add([say("assistant", "fine"), say("user", "next")])
