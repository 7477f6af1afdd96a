"""Messages: what is accepted, what is kept, and what is searched of them."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.conversation.messages import message_text, parse_message
from seasoned.errors import InvalidMessage, SeasonedError, WrongType

from .checking import call, result, say


def test_the_text_of_a_message_is_what_is_said_called_and_told():
    """Text parts joined, calls as name(arguments), a tool's result."""
    parts = {"role": "user", "content": [{"type": "text", "text": "a"}, "b", {"type": "image_url", "image_url": "x"}]}
    assert message_text(parse_message(parts).message) == "a\nb"
    assert message_text(parse_message(call("c", text="one moment")).message) == "one moment\nlook({})"
    assert message_text(parse_message(result("c", "found it")).message) == "found it"


def test_an_assistant_that_only_calls_needs_no_content():
    """No content beside tool_calls is fine, and so is an empty result."""
    assert parse_message(call("c")).blank is False
    assert parse_message(result("c", "")).blank is False
    assert parse_message({"role": "tool", "tool_call_id": "c", "content": None}).message["content"] == ""


@pytest.mark.parametrize(
    "part",
    [
        7,
        None,
        {},
        {"type": ""},
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "image_url", "image_url": {}},
    ],
    ids=repr,
)
def test_a_malformed_part_is_left_out_with_a_note(part):
    """The others stay."""
    parsed = parse_message({"role": "user", "content": ["a", part, "b"]})
    assert parsed.message["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert len(parsed.notes) == 1
    assert parsed.notes[0].startswith("part 1 was left out")


def test_arguments_that_are_not_json_are_kept_with_a_note():
    """A model cut off in the middle wrote them; no provider minds."""
    cut = {"id": "c", "function": {"name": "look", "arguments": '{"q": '}}
    parsed = parse_message({"role": "assistant", "content": None, "tool_calls": [cut]})
    assert parsed.message["tool_calls"][0]["function"]["arguments"] == '{"q": '
    assert "not JSON" in parsed.notes[0]


def test_arguments_given_as_an_object_are_written_as_json():
    """Some servers give them so, and no provider takes them so."""
    given_so = {"id": "c", "function": {"name": "look", "arguments": {"q": "é"}}}
    parsed = parse_message({"role": "assistant", "content": None, "tool_calls": [given_so]})
    assert parsed.message["tool_calls"][0]["function"]["arguments"] == '{"q": "é"}'


def test_a_custom_tool_call_is_kept_and_searched():
    """Free text in place of arguments."""
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    parsed = parse_message({"role": "assistant", "content": None, "tool_calls": [custom]})
    assert parsed.message["tool_calls"] == [custom]
    assert message_text(parsed.message) == "sql(select 1)"


def test_the_ids_of_a_provider_are_not_sent_back():
    """The message's own names the record, a part's is dropped, a call's joins it to its result."""
    parsed = parse_message({"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": "a", "id": "p"}]})
    assert parsed.id == "msg_1"
    assert parsed.message == {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    assert parse_message(call("c")).message["tool_calls"][0]["id"] == "c"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (say("user", "x", tool_calls=[{"id": "c", "function": {"name": "f"}}]), InvalidMessage),
        (say("assistant", "x", tool_calls=[{"function": {"name": "f"}}]), InvalidMessage),
        (say("assistant", "x", tool_calls=[{"id": "c", "function": {"name": ""}}]), InvalidMessage),
        (call("c", "c"), InvalidMessage),
        (say("assistant", "x", tool_calls="f"), WrongType),
        (say("assistant", "x", tool_calls=["f"]), WrongType),
        (say("user", "x", name=7), WrongType),
        (say("user", "x", id=7), WrongType),
        (say("function", "x"), InvalidMessage),
        ([say("user")], WrongType),
        (None, WrongType),
    ],
    ids=repr,
)
def test_a_message_that_breaks_a_rule_is_refused(bad, error):
    """With what was found and what was wanted."""
    with pytest.raises(error):
        parse_message(bad)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "function", "system", 7])},
    optional=dict.fromkeys(
        ("content", "tool_calls", "tool_call_id", "name", "id", "function_call", "refusal", "x"), JSON
    ),
)


@given(message=MESSAGES)
def test_anything_is_either_parsed_or_refused_and_never_changed(message):
    """No other error, no change to what was given, and parsing what was parsed changes nothing."""
    before = copy.deepcopy(message)
    try:
        parsed = parse_message(message)
    except SeasonedError:
        return
    finally:
        assert repr(message) == repr(before)
    assert parse_message(parsed.message).message == parsed.message
    assert isinstance(message_text(parsed.message), str)
