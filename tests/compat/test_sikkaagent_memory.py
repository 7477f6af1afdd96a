"""Sikka Agent's memory: each fault of the documented design put right, and the rules that always hold."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from seasoned.compat.sikkaagent.agents.base import BaseMessage
from seasoned.compat.sikkaagent.memories import Memory, MemoryRecord
from seasoned.compat.sikkaagent.storages import InMemoryStorage
from seasoned.compat.sikkaagent.utils.enums import RoleType
from seasoned.errors import BudgetTooSmall, InvalidInput, InvalidMessage, WrongType
from seasoned.results import Status

from ..conversation.checking import check_valid

ROLES = {"s": RoleType.SYSTEM, "u": RoleType.USER, "a": RoleType.ASSISTANT}


def words(messages) -> int:
    """Count the words of the contents: what a test can add up by hand."""
    return sum(len(str(message["content"] or "").split()) for message in messages)


def filled(*said: str, **settings) -> Memory:
    """A memory in which was said what is given, such as "u: hello"."""
    memory = Memory(InMemoryStorage(), **settings)
    for each in said:
        role, _, text = each.partition(": ")
        memory.add_message(BaseMessage(text, role_name=role), ROLES[role])
    return memory


def shown(memory: Memory, query=None) -> list[str]:
    """The contents of a context."""
    return [message["content"] for message in memory.get_context(query)[0]]


def calling(*ids: str) -> BaseMessage:
    """An assistant's message that calls tools."""
    calls = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return BaseMessage("", "Assistant", meta={"tool_calls": calls})


def test_memory_without_a_storage_is_in_this_process():
    """And two of them share nothing."""
    one, other = Memory(), Memory()
    one.add_message(BaseMessage("hello", "User"), RoleType.USER)
    assert (shown(one), shown(other)) == (["hello"], [])
    assert one.get_context()[1] > 0
    assert other.get_context() == ([], 0)


def test_what_is_added_is_answered():
    """Written, a duplicate by its uuid, or refused because it says nothing."""
    memory = Memory()
    record = MemoryRecord(BaseMessage("ok", "User"), RoleType.USER)
    added = memory.add_records([record, record, MemoryRecord(BaseMessage(" \n "), RoleType.USER)])
    assert [each.status for each in added] == [Status.WRITTEN, Status.DUPLICATE, Status.REFUSED]
    assert memory.add_records([record])[0].status is Status.DUPLICATE
    assert [memory.add_message(BaseMessage("ok", "User"), "user").status for _ in range(2)] == [Status.WRITTEN] * 2
    assert shown(memory) == ["ok", "ok", "ok"]


def test_what_is_known_besides_is_kept_with_a_message():
    """As plain JSON; a message without it has none."""
    memory = Memory()
    memory.add_message(BaseMessage("hi", "User"), RoleType.USER, {"turn": 1})
    memory.add_message(BaseMessage("ho", "User"), RoleType.USER)
    assert [record.extra_info for record in memory.records()] == [{"turn": 1}, {}]


def test_nothing_of_a_list_is_written_where_one_is_no_message():
    """A tool's result that names no call."""
    memory = Memory()
    good = MemoryRecord(BaseMessage("ok", "User"), RoleType.USER)
    with pytest.raises(InvalidMessage, match="tool_call_id"):
        memory.add_records([good, MemoryRecord(BaseMessage("3", "Tool"), RoleType.TOOL)])
    assert memory.records() == []


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_window_keeps_the_system_messages_and_counts_the_others(size):
    """Fault 1: the newest user message is kept under any, and an answer has no place without its question."""
    memory = filled("s: rules", "u: q1", "a: a1", "u: q2", window_size=size)
    assert shown(memory) == ["rules", "q2"]
    memory.window_size = 3
    assert shown(memory) == ["rules", "q1", "a1", "q2"]


def test_a_window_of_nothing_keeps_no_other_message():
    """Fault 1: 0 is not "all"."""
    assert shown(filled("s: rules", "u: q1", "a: a1", "u: q2", "a: a2", window_size=0)) == ["rules", "q2"]


@pytest.mark.parametrize(("rate", "kept"), [(0.99, "peas need a fence"), (0.2, "the train was late")])
def test_keep_rate_trades_recency_for_relevance(rate, kept):
    """Fault 2: room for one besides the question; a high rate keeps what answers it, a low one what is newest."""
    memory = filled(
        "u: peas need a fence",
        "u: it rained all day",
        "u: we ate cold soup",
        "u: the train was late",
        "u: what do peas need",
        token_counter=words,
        token_limit=8,
        keep_rate=rate,
    )
    assert shown(memory) == [kept, "what do peas need"]


@pytest.mark.parametrize("rate", [0, 0.0, 1, 1.0])
def test_the_ends_of_keep_rate_work_over_the_limit(rate):
    """Fault 2: neither raises, and both fill the limit: 9 of 10 words."""
    memory = filled(*(f"u: message number {i}" for i in range(9)), token_counter=words, token_limit=10, keep_rate=rate)
    messages, tokens = memory.get_context()
    assert (len(messages), tokens) == (3, 9)
    assert messages[-1]["content"] == "message number 8"


def test_a_newest_user_message_over_the_limit_is_kept_and_cut():
    """Fault 3: with a marker that says how much is missing and which record has it."""
    memory = filled("s: be kind", "u: " + "pea " * 400, token_counter=words, token_limit=60)
    messages, tokens = memory.get_context()
    assert tokens <= 60
    assert messages[1]["content"].startswith("pea pea")
    assert f"the whole message is stored as {memory.records()[1].uuid}" in messages[1]["content"]
    assert memory.records()[1].message.content == "pea " * 400


def test_a_big_message_leaves_the_room_to_what_fits():
    """Fault 4: an answer of 12 words does not fit 10; the three others, 9 words, do."""
    memory = filled(
        "u: one two three",
        "a: four five six",
        "u: seven eight nine",
        "a: " + "long " * 12,
        token_counter=words,
        token_limit=10,
    )
    assert memory.get_context() == (
        [
            {"role": "user", "content": "one two three"},
            {"role": "assistant", "content": "four five six"},
            {"role": "user", "content": "seven eight nine"},
        ],
        9,
    )


def test_a_huge_answer_is_cut_and_does_not_take_the_window():
    """To half of the room, with a marker; the rest is filled."""
    memory = filled("u: q1", "a: " + "long " * 5000, "u: q2", token_limit=1000)
    messages, tokens = memory.get_context()
    assert [message["content"][:5] for message in messages] == ["q1", "long ", "q2"]
    assert 300 < tokens <= 1000
    assert memory.context().truncated == (memory.records()[1].uuid,)


def test_a_context_never_begins_with_an_answer():
    """Fault 5: one whose question does not fit is left out with it."""
    memory = filled("u: " + "long " * 20, "a: short", "u: q", token_counter=words, token_limit=10)
    assert shown(memory) == ["q"]
    assert shown(filled("a: welcome", "u: hi")) == ["hi"]


@pytest.mark.parametrize("answered", [(), ("c1",), ("c2", "c1")])
def test_a_call_stands_with_all_its_results_or_not_at_all(answered):
    """Fault 5: parallel calls of which none, one or both have been answered, in any order."""
    memory = filled("u: look")
    memory.add_message(calling("c1", "c2"), RoleType.ASSISTANT)
    for name in answered:
        memory.add_message(BaseMessage(f"result {name}", "Tool", meta={"tool_call_id": name}), RoleType.TOOL)
    memory.add_message(BaseMessage("and?", "User"), RoleType.USER)
    memory.add_message(BaseMessage("orphan", "Tool", meta={"tool_call_id": "c9"}), RoleType.TOOL)
    roles = [message["role"] for message in memory.get_context()[0]]
    whole = ["assistant", "tool", "tool"] if len(answered) == 2 else []
    assert roles == ["user", *whole, "user"]
    check_valid(memory.get_context()[0])
    assert [out.ids for out in memory.context().left_out if out.reason == "a result without its call"] == [
        (memory.records()[-1].uuid,)
    ]


def test_a_system_prompt_over_the_limit_is_said_with_both_numbers():
    """Fault 6: what is needed, and what there is."""
    memory = filled("s: " + "rule " * 30, "u: hi", token_counter=words, token_limit=20)
    with pytest.raises(BudgetTooSmall, match=r"31 tokens.*20") as raised:
        memory.get_context()
    assert (raised.value.needed, raised.value.budget) == (31, 20)


class CountingCounter:
    """Counts words, and how often each message was counted alone, and whole lists."""

    def __init__(self) -> None:
        self.alone: Counter[str] = Counter()
        self.lists = 0

    def __call__(self, messages) -> int:
        if len(messages) == 1:
            self.alone[json.dumps(messages[0])] += 1
        else:
            self.lists += 1
        return words(messages)


def test_each_message_is_counted_once_however_often_a_context_is_asked_for():
    """Fault 7: a context counts what is new, and the finished list a few times, not the whole conversation again."""
    counter = CountingCounter()
    memory = filled(*(f"u: message {i}" for i in range(50)), token_counter=counter, token_limit=40)
    memory.get_context()
    for _ in range(20):
        memory.get_context()
    newest = json.dumps({"role": "user", "content": "message 49"})
    assert {message: count for message, count in counter.alone.items() if message != newest} == {
        json.dumps({"role": "user", "content": f"message {i}"}): 1 for i in range(49)
    }
    assert counter.lists <= 3 * 21


def test_stored_rows_are_plain_json():
    """Fault 8: no enum objects, nor anything else that JSON does not have."""
    memory = filled("s: rules", "u: hi")
    rows = memory.storage.load()
    assert json.loads(json.dumps(rows)) == rows
    assert [type(row["role_type"]) for row in rows] == [str, str]


def test_saving_appends_and_is_idempotent_by_uuid():
    """Fault 8: what was saved stays, and what is saved again changes nothing; the first of two in one list stands."""
    storage = InMemoryStorage()
    row = {"uuid": "u1", "role_type": "user", "message": {"content": "one"}}
    storage.save([row, {**row, "message": {"content": "other"}}])
    storage.save([{**row, "uuid": "u2"}])
    storage.save([row])
    assert [(each["uuid"], each["message"]["content"]) for each in storage.load()] == [("u1", "one"), ("u2", "one")]


def test_search_finds_records_with_their_scores():
    """Fault 8: best first, each in 0 to 1."""
    memory = filled("u: the cat sleeps", "a: cats do that", "u: peas need a fence", "u: it rained")
    found = memory.search("what do peas need", k=2)
    assert found[0].memory_record.message.content == "peas need a fence"
    assert 0 < found[0].score <= 1
    assert found.degraded == ()
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


@pytest.mark.parametrize(
    ("query", "k", "error"), [("", 1, InvalidInput), ("  ", 1, InvalidInput), ("x", 0, InvalidInput), (7, 1, WrongType)]
)
def test_a_search_for_nothing_is_refused(query, k, error):
    """And so is one for no records."""
    with pytest.raises(error):
        Memory().search(query, k)


@pytest.mark.parametrize(
    "query", ['don\'t panic: C++ (v2) AND/OR NEAR "x" -y *', "👍", "'; DROP TABLE x; --", "\0\ud800x"]
)
def test_a_query_is_text_and_nothing_else(query):
    """No query syntax, and nothing raises."""
    memory = filled("u: don't panic", "u: hi")
    assert len(memory.search(query)) <= 2
    check_valid(memory.get_context(query)[0])


def test_a_query_says_what_is_relevant():
    """Instead of the newest message: room for one besides it."""
    said = ("u: peas need a fence", "u: cats need a basket", "u: and then what")
    memory = filled(*said, token_counter=words, token_limit=10, keep_rate=0.99)
    assert shown(memory, "peas")[:-1] == ["peas need a fence"]
    assert shown(memory, "basket")[:-1] == ["cats need a basket"]


def test_what_answers_a_query_outside_the_window_is_quoted_in_the_newest_message():
    """As data, before its text; adding such a context again adds the text alone, so memory does not feed itself."""
    memory = filled(
        "u: my sister Marta breeds falcons", *(f"u: talk {i}" for i in range(9)), "u: who is Marta", window_size=2
    )
    memory.token_limit = 1000
    newest = shown(memory, True)[-1]
    assert newest.startswith("<memory>")
    assert "breeds falcons" in newest
    assert newest.endswith("</memory>\n\nwho is Marta")
    memory.add_message(BaseMessage(newest, "User"), RoleType.USER)
    assert memory.records()[-1].message.content == "who is Marta"


def test_memory_that_is_added_to_itself_does_not_grow():
    """Twenty turns that each add the context's newest message again, by its uuid."""
    memory = filled("u: my sister Marta breeds falcons", "u: who is Marta", window_size=1)
    record = memory.records()[-1]
    for _ in range(20):
        newest = memory.get_context(True)[0][-1]["content"]
        memory.add_records([MemoryRecord(BaseMessage(newest, "User"), RoleType.USER, record.uuid)])
    assert len(memory.records()) == 2


def test_clear_removes_all_and_the_memory_goes_on():
    """At once, from contexts, records and search."""
    memory = filled("s: rules", "u: peas")
    memory.clear()
    assert (memory.get_context(), memory.records(), memory.search("peas")) == (([], 0), [], [])
    memory.add_message(BaseMessage("beans", "User"), RoleType.USER)
    assert shown(memory) == ["beans"]


def test_images_are_counted_by_the_estimate_and_sent_with_their_detail():
    """85 tokens at low detail, whatever the size; 170 a tile more at high."""
    picture = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
    plain, low, high = Memory(), Memory(), Memory()
    plain.add_message(BaseMessage("look", "User"), "user")
    low.add_message(BaseMessage("look", "User", [picture], "low"), "user")
    high.add_message(BaseMessage("look", "User", [picture], "high"), "user")
    assert low.get_context()[1] - plain.get_context()[1] == 85
    assert high.get_context()[1] - plain.get_context()[1] == 255
    assert high.get_context()[0][0]["content"][1]["image_url"]["detail"] == "high"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"window_size": -1}, InvalidInput),
        ({"window_size": 2.5}, WrongType),
        ({"keep_rate": 1.5}, InvalidInput),
        ({"keep_rate": float("nan")}, InvalidInput),
        ({"keep_rate": "0.9"}, WrongType),
        ({"token_limit": 0}, InvalidInput),
        ({"token_limit": True}, WrongType),
        ({"token_counter": 7}, WrongType),
        ({"storage": object()}, WrongType),
        ({"storage": InMemoryStorage}, WrongType),
    ],
)
def test_settings_that_break_their_rule_are_refused(settings, error):
    """When the memory is made."""
    with pytest.raises(error):
        Memory(**settings)


def test_settings_changed_on_an_instance_count_from_then_on_and_are_checked():
    """As the document's attributes."""
    memory = filled("u: q1", "a: a1", "u: q2")
    memory.window_size = 1
    assert shown(memory) == ["q2"]
    memory.keep_rate = 7
    with pytest.raises(InvalidInput, match="keep_rate"):
        memory.get_context()


def test_misspelt_settings_are_errors():
    """Nothing is ignored."""
    with pytest.raises(TypeError):
        Memory(window=10)


@pytest.mark.parametrize("role", ["king", None, 7])
def test_an_unknown_role_is_refused(role):
    """And nothing is written."""
    memory = Memory()
    with pytest.raises(InvalidInput, match="system, user, assistant, tool, function"):
        memory.add_message(BaseMessage("x"), role)
    with pytest.raises(WrongType):
        memory.add_message("x", RoleType.USER)
    assert memory.records() == []


def test_a_counter_in_the_form_of_camel_is_taken():
    """An object with `count_tokens_from_messages`."""

    class Camel:
        def count_tokens_from_messages(self, messages) -> int:
            return words(messages)

    assert filled("u: one two three", token_counter=Camel()).get_context()[1] == 3


def test_equal_system_messages_are_shown_once():
    """However often an application adds them."""
    assert shown(filled("s: rules", "u: q1", "s: rules", "u: q2")) == ["rules", "q1", "q2"]
