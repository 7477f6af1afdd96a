"""Contexts: valid for every provider, within the budget, and with a start that repeats."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.context import Context
from seasoned.errors import BudgetTooSmall
from seasoned.memory import Memory
from seasoned.ports import Message

from .checking import call, check_valid, context_of, conversations, result, say, steep_counter, words_counter

COUNTERS = [None, words_counter, steep_counter]


def one_each(messages: Sequence[Message]) -> int:
    """Count one token a message, so that a test can say in messages what fits."""
    return len(messages)


def letters(messages: Sequence[Message]) -> int:
    """Count the letters of the contents."""
    return sum(len(str(message["content"] or "")) for message in messages)


def contents(context: Context) -> list[object]:
    return [message["content"] for message in context.messages]


def attempt(messages, budget, pinned=(), **policy) -> Context | BudgetTooSmall:
    """Give the context, or the error that says what is needed."""
    try:
        return context_of(messages, budget, pinned, **policy)
    except BudgetTooSmall as error:
        return error


def chat(exchanges: int, text: str = "") -> list[Message]:
    """Give user and assistant in turn: q0, a0, q1, a1 and so on."""
    return [
        say(role, f"{mark}{i}{text}") for i in range(exchanges) for role, mark in (("user", "q"), ("assistant", "a"))
    ]


@settings(max_examples=300, deadline=None)
@given(
    messages=conversations(),
    budget=st.integers(1, 1500),
    counter=st.sampled_from(COUNTERS),
    selection=st.sampled_from(["window", "scored"]),
    size=st.sampled_from([None, None, 0, 1, 3, 10]),
    keep_rate=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    pins=st.lists(st.integers(0, 40), max_size=4),
)
def test_a_context_is_always_valid_and_never_over_its_budget(
    messages, budget, counter, selection, size, keep_rate, pins
):
    """Whatever the conversation, counter and policy; else the budget is refused with what is needed."""
    pinned = [f"m{i}" for i in pins]
    asked = {"token_counter": counter, "selection": selection, "window_size": size, "keep_rate": keep_rate}
    context = attempt(messages, budget, pinned, **asked)
    if isinstance(context, BudgetTooSmall):
        assert context.needed > budget
        assert context_of(messages, context.needed, pinned, **asked).tokens <= context.needed
        return
    check_valid(context.messages)
    assert context.tokens <= budget
    if counter is not None and context.messages:
        assert counter(context.messages) == context.tokens


@settings(max_examples=100, deadline=None)
@given(messages=conversations(), budget=st.integers(100, 1500), selection=st.sampled_from(["window", "scored"]))
def test_every_message_is_either_shown_or_said_to_be_left_out(messages, budget, selection):
    """No message disappears without a word, and none is both."""
    context = attempt(messages, budget, selection=selection)
    if isinstance(context, BudgetTooSmall):
        return
    left = [name for out in context.left_out for name in out.ids]
    assert len(left) == len(set(left))
    assert len(context.messages) + len(left) == len(messages)


@settings(max_examples=150, deadline=None)
@given(
    exchanges=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4), st.integers(1, 6)), max_size=40),
    room=st.sampled_from([40, 80, 200]),
    keep_rate=st.sampled_from([0.0, 0.9, 1.0]),
)
def test_between_two_cuts_each_context_is_the_former_one_and_more(exchanges, room, keep_rate):
    """The start changes only when the cut moves: never more often than once for a fifth of the room in new words.

    Each message counts its words, and none more than a fifth of the room; contexts are asked for at each step of
    each tool loop.
    """

    def count(messages):
        return sum(len(str(message["content"] or "x").split()) for message in messages)

    grown, before, changes = [say("system", "s")], [], 0
    for number, (asked, calls, told) in enumerate(exchanges):
        steps = [[say("user", "q " * asked)]]
        steps += [[call(f"{number}/{i}"), result(f"{number}/{i}", "r " * told)] for i in range(calls)]
        for step in [*steps, [say("assistant", "a " * told)]]:
            grown += step
            context = context_of(grown, room, token_counter=count, keep_rate=keep_rate)
            changes += context.messages[: len(before)] != before
            before = context.messages
    assert changes <= 1 + 5 * count(grown) // room


def test_the_cut_moves_in_steps_of_about_half_the_room():
    """Of 200 turns of equal length in a room of about 50, the start of the prompt repeats in all but a few."""
    messages = chat(200)
    changes, before = 0, []
    for end in range(1, len(messages) + 1):
        context = context_of(messages[:end], 50, token_counter=one_each)
        assert len(context.messages) <= 50
        changes += context.messages[: len(before)] != before
        before = context.messages
    assert 10 <= changes <= 20


def test_a_process_that_comes_later_chooses_the_same():
    """The context of a conversation laid out at once equals that of one that grew."""
    messages = chat(60, " and some more words")
    assert context_of(messages, 200).messages == context_of(list(messages), 200).messages


def test_no_cut_is_made_while_everything_fits():
    """A conversation within its budget is given whole and as it is."""
    messages = [say("system", "s"), *chat(3)]
    context = context_of(messages, 1000)
    assert context.messages == messages
    assert context.left_out == ()
    assert context.cache_points == (1, 7)


def test_system_messages_stand_first_and_once_under_any_window():
    """A window of 2 keeps the system message and the two newest others; the system message does not count."""
    messages = [say("system", "s"), *chat(3), say("system", "s")]
    context = context_of(messages, 1000, window_size=2)
    assert contents(context) == ["s", "q2", "a2"]


def test_a_window_of_none_keeps_the_newest_user_message_alone():
    """window_size=0 keeps none of the others."""
    assert contents(context_of([say("system", "s"), *chat(3)], 1000, window_size=0)) == ["s", "q2"]


@pytest.mark.parametrize(
    ("size", "kept"), [(1, ["q2"]), (2, ["q2", "a2"]), (3, ["q2", "a2"]), (4, ["q1", "a1", "q2", "a2"])]
)
def test_a_window_starts_with_a_question_and_never_holds_more_than_its_size(size, kept):
    """An answer without its question does not come first."""
    assert contents(context_of(chat(3), 1000, window_size=size)) == kept


def test_a_system_prompt_over_the_limit_is_a_clear_error():
    """It says both numbers."""
    with pytest.raises(BudgetTooSmall, match="need 14 tokens, but the budget leaves 5"):
        context_of([say("system", "s" * 12), say("user", "hi")], 5, token_counter=letters)


def test_the_newest_user_message_is_cut_where_it_alone_is_too_long():
    """It is kept, with a marker that names the whole, never dropped in silence."""
    context = context_of([*chat(2), say("user", "begin " + "x" * 5000 + " end")], 200)
    shown = str(context.messages[-1]["content"])
    assert shown.startswith("begin xxx")
    assert shown.endswith("xxx end")
    assert "the whole message is stored as m4" in shown
    assert context.truncated == ("m4",)
    assert context.tokens <= 200


def test_one_huge_old_message_does_not_empty_the_context():
    """A long answer is cut to its share, and what is around it stays."""
    messages = [*chat(2), say("user", "q"), say("assistant", "long " * 4000), say("user", "now")]
    context = context_of(messages, 400)
    assert len(context.messages) == 7
    assert context.truncated == ("m5",)
    assert 200 <= context.tokens <= 400


def test_a_result_is_cut_to_its_share_and_points_to_the_whole():
    """A 668,000-character tool result does not overflow the window."""
    messages = [say("user", "look"), call("c"), result("c", "data " * 130_000)]
    context = context_of(messages, 1000)
    check_valid(context.messages)
    assert len(context.messages) == 3
    assert context.tokens <= 1000
    assert "the whole message is stored as m2" in str(context.messages[2]["content"])


def test_parallel_results_never_lose_their_call():
    """assistant(B), tool(A) orphan, tool(B): cut anywhere, no result is without its call."""
    messages = [say("user", "go"), call("b"), result("a"), result("b"), say("user", "next")]
    context = context_of(messages, 1000)
    check_valid(context.messages)
    assert [message["role"] for message in context.messages] == ["user", "assistant", "tool", "user"]
    assert [(out.reason, out.ids) for out in context.left_out] == [("a result without its call", ("m2",))]


def test_a_pending_call_is_left_out_until_its_results_are_there():
    """A call at the very end without results would be refused by the provider."""
    messages = [say("user", "go"), call("a", "b"), result("a")]
    context = context_of(messages, 1000)
    assert contents(context) == ["go"]
    assert [(out.reason, out.ids) for out in context.left_out] == [("a call without all its results", ("m1", "m2"))]
    whole = context_of([*messages, result("b")], 1000)
    assert [message["role"] for message in whole.messages] == ["user", "assistant", "tool", "tool"]


def test_a_late_result_is_put_behind_its_call():
    """A user message that came in between stands after the result."""
    messages = [say("user", "go"), call("a"), say("user", "hurry"), result("a", "done")]
    assert contents(context_of(messages, 1000)) == ["go", None, "done", "hurry"]


def test_a_tool_loop_in_progress_stays_behind_its_user_message():
    """However long the loop, the question stands before what is kept of it, whole units from its end."""
    loop = [each for i in range(100) for each in (call(f"c{i}"), result(f"c{i}", f"r{i} " + "word " * 10))]
    context = context_of([*chat(5), say("user", "the task"), *loop], 1000)
    check_valid(context.messages)
    assert "the task" in contents(context)
    assert str(context.messages[-1]["content"]).startswith("r99")
    after = context.messages[contents(context).index("the task") + 1 :]
    assert len(after) >= 20


def test_an_old_function_call_is_paired_with_its_result():
    """The form before tool calls: joined by the function's name."""
    asked = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    told = {"role": "function", "name": "look", "content": "found"}
    assert contents(context_of([say("user", "go"), asked, told], 1000)) == ["go", None, "found"]
    assert contents(context_of([say("user", "go"), asked], 1000)) == ["go"]


def test_what_stands_before_the_first_user_message_is_left_out_unless_asked_for():
    """Providers want a user first; `start="any"` keeps a greeting."""
    messages = [say("assistant", "welcome"), say("user", "hi")]
    context = context_of(messages, 1000)
    assert contents(context) == ["hi"]
    assert context.left_out[0].reason == "before the first user message"
    assert contents(context_of(messages, 1000, start="any")) == ["welcome", "hi"]


def test_a_pinned_message_survives_every_cut_with_the_question_it_answers():
    """It stands before the window, in its own order."""
    messages = chat(100)
    context = context_of(messages, 40, ["m3"], token_counter=one_each)
    assert contents(context)[:2] == ["q1", "a1"]
    check_valid(context.messages)


def test_keep_rate_changes_what_survives_a_cut():
    """At 0 nothing survives; at 1 an old question of weight does; in between, the questions just before the cut."""
    weighty = "my name is Alex and I live in a small house near the old harbour"
    messages = [say("user", weighty), say("assistant", "ok"), *chat(100)]
    shown = {
        rate: contents(context_of(messages, 60, token_counter=one_each, keep_rate=rate)) for rate in (0.0, 0.5, 1.0)
    }
    assert weighty in shown[1.0]
    assert weighty not in shown[0.0]
    assert weighty not in shown[0.5]
    assert len(shown[0.5]) > len(shown[0.0])


def test_scored_selection_fills_the_budget():
    """One big message among small ones: what it leaves free is used."""
    messages = [say("user", "a" * 10), say("assistant", "b" * 90), *chat(4)]
    context = context_of(messages, 60, selection="scored", token_counter=letters, keep_rate=0.9)
    assert "a" * 10 in contents(context)
    assert contents(context)[1:] == ["q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3"] or context.tokens > 50


def test_a_context_is_a_copy():
    """Changing what was given changes no later context."""
    messages = [say("user", "hi"), call("a"), result("a")]
    first = context_of(messages, 1000)
    json.dumps(first.messages)
    first.messages[1]["tool_calls"][0]["id"] = "changed"  # type: ignore[index]
    assert context_of(messages, 1000).messages[1]["tool_calls"][0]["id"] == "a"  # type: ignore[index]


@given(st.integers(min_value=6, max_value=60), st.integers(min_value=120, max_value=900))
@settings(max_examples=60, deadline=None)
def test_a_question_never_survives_a_cut_without_its_answer(exchanges, budget):
    """What is kept from before a cut are whole exchanges, so no model is asked again what was answered."""
    with Memory(embedder="hashing") as memory:
        said = [
            {"role": role, "content": f"{role} number {number} speaks of a thing worth keeping"}
            for number in range(exchanges)
            for role in ("user", "assistant")
        ]
        memory.conversation.add([*said, {"role": "user", "content": "and now?"}])
        roles = [message["role"] for message in memory.conversation.context(budget).messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
