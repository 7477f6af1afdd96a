"""The conversation memory: adding, finding, pinning, clearing, and contexts over a store."""

from __future__ import annotations

import copy
import threading
from datetime import UTC, datetime

import pytest

from seasoned.conversation import ConversationMemory
from seasoned.errors import BudgetTooSmall, InvalidInput, InvalidMessage, NotFound, WrongType
from seasoned.ports import Remove
from seasoned.records import Key, Scope
from seasoned.results import Status

from .checking import call, check_valid, result, say

DAY = datetime(2026, 5, 1, tzinfo=UTC)


def statuses(added) -> list[Status]:
    return [each.status for each in added]


def test_a_message_is_written_and_found_at_once_under_the_same_id(memory):
    """Added.id == hit.id, a string."""
    [added] = memory.add(say("user", "My passport number is X1234567"), "s1")
    assert (added.status, added.reason) == (Status.WRITTEN, None)
    [hit] = memory.search("passport number")
    assert hit.id == added.id == "m-0001"
    assert hit.record.data["session"] == "s1"
    assert hit.record.data["role"] == "user"


def test_two_honest_oks_stand(memory):
    """Without an id every add is a new message."""
    assert statuses(memory.add([say("user", "ok"), say("user", "ok")])) == [Status.WRITTEN, Status.WRITTEN]
    assert memory.messages() == [say("user", "ok"), say("user", "ok")]


@pytest.mark.parametrize("how", ["in the message", "beside it"])
def test_the_same_id_again_is_a_duplicate_and_changes_nothing(memory, how):
    """A provider's retry stores a turn once; the first one stands."""

    def add(text: str):
        return (
            memory.add(say("user", text, id="x")) if how == "in the message" else memory.add(say("user", text), ids="x")
        )

    assert statuses(add("first")) == [Status.WRITTEN]
    assert statuses(add("second")) == [Status.DUPLICATE]
    assert memory.messages() == [say("user", "first")]


def test_an_id_twice_in_one_list_is_written_once(memory):
    """The same result as two single adds."""
    added = memory.add([say("user", "a", id="x"), say("user", "b"), say("user", "a", id="x")])
    assert statuses(added) == [Status.WRITTEN, Status.WRITTEN, Status.DUPLICATE]
    assert len(memory.messages()) == 2


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", [], [{"type": "text", "text": " "}], None])
def test_a_blank_message_is_refused_and_the_others_are_written(memory, blank):
    """It says so, and why."""
    added = memory.add([say("user", "a"), {"role": "user", "content": blank}, say("user", "b")])
    assert statuses(added) == [Status.WRITTEN, Status.REFUSED, Status.WRITTEN]
    assert "says nothing" in str(added[1].reason)
    assert added[1].id == ""
    assert memory.messages() == [say("user", "a"), say("user", "b")]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"content": "no role"}, InvalidMessage),
        (say("robot"), InvalidMessage),
        (say("user", "x", weight=float("nan")), InvalidMessage),
        (say("user", "x", thing=object()), WrongType),
        ("text", WrongType),
        (7, WrongType),
        ({"role": "tool", "content": "no call"}, InvalidMessage),
        ({"role": "user", "content": 7}, WrongType),
    ],
    ids=repr,
)
def test_a_message_that_breaks_a_rule_leaves_nothing_written(memory, bad, error):
    """An unserialisable third item: none is stored."""
    with pytest.raises(error):
        memory.add([say("user", "a"), say("assistant", "b"), bad])
    assert memory.messages() == []


def test_what_is_given_is_never_changed(memory):
    """Inputs are deep-equal afterwards."""
    given = [{"role": "user", "id": "x", "content": [{"type": "text", "text": "hi", "id": "p"}, "there"]}, call("a")]
    before = copy.deepcopy(given)
    memory.add(given)
    memory.context()
    assert given == before


def test_whole_messages_come_back(memory):
    """Parts, images, calls, names and unknown keys."""
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}
    given = [
        say("system", "s"),
        {"role": "user", "name": "Jānis", "content": [{"type": "text", "text": "look"}, image]},
        {**call("c1", "c2"), "reasoning": {"deep": [1, None]}},
        result("c2", ""),
        result("c1"),
        {"role": "assistant", "content": None, "refusal": "I cannot"},
    ]
    memory.add(given)
    assert memory.messages() == given
    assert memory.context(3000).messages == given


def test_times_are_kept_and_searched(memory):
    """What is said at `since` is included, at `until` it is not."""
    memory.add(
        [say("user", "red apple"), say("user", "green apple")], at=["2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z"]
    )
    assert [hit.text for hit in memory.search("apple", since=DAY, until="2026-05-02T00:00:00Z")] == ["red apple"]
    assert len(memory.search("apple", since=DAY)) == 2


def test_search_can_stay_in_a_session_or_leave_one_out(memory):
    """The current session is not recalled into itself."""
    memory.add(say("user", "red apple"), "s1")
    memory.add(say("user", "green apple"), "s2")
    assert [hit.text for hit in memory.search("apple", session="s1")] == ["red apple"]
    assert [hit.text for hit in memory.search("apple", exclude_session="s1")] == ["green apple"]
    assert [hit.text for hit in memory.search("apple", where={"data.session": "s2"})] == ["green apple"]


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_an_impossible_k_is_refused(memory, k):
    """Zero, negative, a fraction, a truth value."""
    with pytest.raises((InvalidInput, WrongType)):
        memory.search("apple", k=k)


def test_a_misspelt_argument_is_never_dropped(memory):
    """A policy has no such value."""
    with pytest.raises(WrongType, match="window_sise"):
        memory.context(window_sise=3)


def test_sessions_are_listed_with_their_counts_and_times(memory):
    """The one written to last first."""
    memory.add([say("user", "a"), say("assistant", "b")], "s1", at=["2026-05-01", "2026-05-03"])
    memory.add(say("user", "c"), "s2", at="2026-05-02")
    assert [(each.id, each.messages) for each in memory.sessions()] == [("s2", 1), ("s1", 2)]
    [_, first] = memory.sessions()
    assert (first.first, first.last) == (DAY, datetime(2026, 5, 3, tzinfo=UTC))
    memory.clear("s2")
    assert [each.id for each in memory.sessions()] == ["s1"]


def test_a_long_session_is_read_whole(memory):
    """No cap of 20, 100, 1,000 or 2,000."""
    memory.add([say("user", f"n{i}") for i in range(4_321)])
    assert len(memory.messages()) == 4_321
    assert len({hit.id for hit in memory.turns()}) == 4_321


def test_clearing_removes_one_session_and_says_how_much(make):
    """Others stay, here and in other scopes; a second time there is nothing."""
    alice, bob = make(), make(("acme", "bob"))
    alice.add([say("user", f"n{i}") for i in range(3)], "s1")
    alice.add(say("user", "other"), "s2")
    bob.add(say("user", "bob's"), "s1")
    assert alice.clear("s1") == 3
    assert alice.clear("s1") == 0
    assert alice.messages("s1") == []
    assert alice.context(session="s1").messages == []
    assert len(alice.messages("s2")) == len(bob.messages("s1")) == 1


def test_a_context_keeps_within_budget_less_reserve(memory):
    """The reserve is for the reply."""
    memory.add([say("user" if i % 2 == 0 else "assistant", f"number {i} " * 8) for i in range(200)])
    whole, reserved = memory.context(1000), memory.context(1000, reserve=400)
    assert 400 < whole.tokens <= 1000
    assert 200 < reserved.tokens <= 600
    check_valid(whole.messages)


@pytest.mark.parametrize(("budget", "reserve"), [(0, 0), (-5, 0), (10, 10), (10, -1)])
def test_an_impossible_budget_is_refused(memory, budget, reserve):
    """Nothing is guessed."""
    with pytest.raises(InvalidInput):
        memory.context(budget, reserve=reserve)


@pytest.mark.parametrize("budget", ["4000", 3.5, True])
def test_a_budget_of_another_type_is_refused(memory, budget):
    """A number of tokens is an integer."""
    with pytest.raises(WrongType):
        memory.context(budget)


def test_a_budget_that_cannot_hold_the_newest_message_says_what_is_needed(memory):
    """With that many tokens it works."""
    memory.add([say("system", "rules " * 50), say("user", "question " * 50)])
    with pytest.raises(BudgetTooSmall) as caught:
        memory.context(60)
    context = memory.context(caught.value.needed)
    assert context.truncated == ("m-0002",)


def test_other_memories_over_the_store_see_what_was_added(make):
    """What another process adds is in the next context."""
    one, two = make(), make()
    one.add(say("user", "first"))
    assert two.context().messages == [say("user", "first")]
    two.add(say("assistant", "second"))
    one.add(say("user", "third"))
    expected = [say("user", "first"), say("assistant", "second"), say("user", "third")]
    assert one.context().messages == two.context().messages == expected


def test_a_removed_message_is_gone_from_the_next_context(make, store):
    """Removed by anyone."""
    memory = make()
    added = memory.add([say("user", "keep"), say("user", "remove"), say("assistant", "answer")])
    memory.context()
    store.apply([Remove(Key(Scope(("acme", "alice")), "message", added[1].id))])
    assert memory.context().messages == [say("user", "keep"), say("assistant", "answer")]


def test_a_record_that_cannot_be_read_breaks_nothing(make, store):
    """It does not count, and the others are shown."""
    from seasoned.ports import Put
    from seasoned.records import Record

    memory = make()
    memory.add(say("user", "hi"))
    key = Key(Scope(("acme", "alice")), "message", "bad")
    store.apply([Put(Record(key=key, text="?", at=DAY, data={"session": "default", "message": 7}))])
    context = memory.context()
    assert context.messages == [say("user", "hi")]
    assert [(out.reason, out.ids) for out in context.left_out] == [("a record that cannot be read", ("bad",))]


def test_a_pinned_message_stays_in_every_context(memory):
    """Until it is unpinned; pinning twice changes nothing."""
    added = memory.add([say("user" if i % 2 == 0 else "assistant", f"number {i} " * 10) for i in range(200)])
    assert memory.pin(added[2].id) is True
    assert memory.pin(added[2].id) is False
    assert "number 2 " * 10 in [message["content"] for message in memory.context(800).messages]
    assert memory.unpin(added[2].id) is True
    assert "number 2 " * 10 not in [message["content"] for message in memory.context(800).messages]


def test_pinning_what_is_not_there_is_an_error(memory):
    """An unknown id is no success."""
    with pytest.raises(NotFound):
        memory.pin("nobody")


def test_a_pin_keeps_the_message_findable(memory):
    """Its text, time and place stay."""
    [added] = memory.add(say("user", "the code is 4711"))
    memory.pin(added.id)
    assert [hit.id for hit in memory.search("code")] == [added.id]


def test_a_counter_is_asked_once_for_each_message(make):
    """Counts are kept; only the whole list is counted anew."""
    asked = []

    def count(messages):
        asked.append(len(messages))
        return sum(len(str(message["content"])) for message in messages)

    memory = make(token_counter=count)
    memory.add([say("user" if i % 2 == 0 else "assistant", f"n{i}") for i in range(50)])
    memory.context(20)
    asked.clear()
    memory.context(20)
    assert asked.count(1) <= 2


def test_a_camel_counter_is_accepted(make):
    """An object with count_tokens_from_messages."""

    class Counting:
        def count_tokens_from_messages(self, messages):
            return 10 * len(messages)

    memory = make(token_counter=Counting())
    memory.add([say("user", "a"), say("assistant", "b"), say("user", "c")])
    context = memory.context(10)
    assert (context.messages, context.tokens) == ([say("user", "c")], 10)


@pytest.mark.parametrize("wrong", [-1, 2.5, None, "7"])
def test_a_counter_that_gives_nonsense_is_an_error(make, wrong):
    """Not a silent overrun."""
    memory = make(token_counter=lambda messages: wrong)
    memory.add(say("user", "a"))
    with pytest.raises((InvalidInput, WrongType)):
        memory.context()


def test_threads_may_share_one_memory(memory):
    """8 threads of 25 adds with contexts between them: all stand, in an order that each thread's own adds keep."""
    failed = []

    def work(name: int) -> None:
        try:
            for i in range(25):
                memory.add(say("user", f"{name}/{i}"))
                check_valid(memory.context(400).messages)
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    said = [message["content"] for message in memory.messages()]
    assert len(said) == 200
    for name in range(8):
        assert [text for text in said if text.startswith(f"{name}/")] == [f"{name}/{i}" for i in range(25)]


def test_langchain_messages_are_accepted(memory: ConversationMemory):
    """With calls, results and ids."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    asked = AIMessage(content="", tool_calls=[{"name": "look", "args": {"q": "x"}, "id": "c1"}])
    given = [SystemMessage("s"), HumanMessage("hi", id="h1"), asked, ToolMessage("found", tool_call_id="c1")]
    added = memory.add(given)
    assert added[1].id == "h1"
    assert [message["role"] for message in memory.context().messages] == ["system", "user", "assistant", "tool"]
    assert statuses(memory.add(HumanMessage("hi", id="h1"))) == [Status.DUPLICATE]


@pytest.mark.parametrize("session", ["", "  ", "a\nb", "x" * 600])
def test_a_session_must_have_a_name(memory, session):
    """Blank, with control characters, or endless."""
    with pytest.raises(InvalidInput):
        memory.add(say("user", "a"), session)


def test_hostile_text_round_trips_or_is_cleaned(memory):
    """NUL and lone surrogates are replaced; the rest stays as it is."""
    memory.add([say("user", "bad \ud800 \0 end"), say("user", 'don\'t panic: C++ (v2) AND/OR NEAR "x" -y *')])
    assert memory.messages() == [say("user", "bad � � end"), say("user", 'don\'t panic: C++ (v2) AND/OR NEAR "x" -y *')]
    assert memory.search('don\'t panic: C++ (v2) AND/OR NEAR "x" -y *')[0].text.startswith("don't")
