"""Messages in OpenAI form are read from lists, objects and lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from seasoned.transfer.importers import Format, Imported, Refused, detect, read

HELLO = {"role": "user", "content": "Grüß dich, 世界"}
REPLY = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "42"}


def lines(*values: object) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


@pytest.mark.parametrize(
    "content",
    [
        [HELLO, REPLY, RESULT],
        {"messages": [HELLO, REPLY, RESULT]},
        lines(HELLO, REPLY, RESULT),
        lines({"messages": [HELLO, REPLY, RESULT]}),
        [[HELLO, REPLY, RESULT]],
        {"conversations": [{"messages": [HELLO, REPLY, RESULT]}]},
        json.dumps({"messages": [HELLO, REPLY, RESULT]}, indent=2),
        json.dumps([HELLO, REPLY, RESULT], indent=2),
    ],
)
def test_every_layout_gives_the_same_messages(write, content):
    """A list, an object, and lines of either are told apart by structure, whatever the file is called."""
    path = write(content, "anything.txt")
    assert detect(path) is Format.MESSAGES
    items = list(read(path))
    assert [item.message for item in items] == [HELLO, REPLY, RESULT]
    assert [(item.session, item.position) for item in items] == [("anything", 0), ("anything", 1), ("anything", 2)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("content", [json.dumps([HELLO], ensure_ascii=False), lines(HELLO, HELLO)])
def test_every_unicode_encoding_is_read(write, encoding, content):
    """A byte order mark, or the zero bytes of a UTF-16 file without one, tell the encoding."""
    assert next(read(write(content, encoding=encoding))).message == HELLO


def test_session_id_and_time_are_taken_from_the_message_and_leave_it(write):
    """Fields that are ours and not OpenAI's name the message and are no part of it."""
    path = write(
        lines(
            HELLO | {"session": "s1", "id": "m1", "created_at": "2024-01-02T03:04:05+01:00"},
            HELLO | {"timestamp": 1704164645},
        )
    )
    first, second = read(path)
    assert first == Imported(
        session="s1", position=0, id="messages/s1/m1", message=HELLO, at=datetime(2024, 1, 2, 2, 4, 5, tzinfo=UTC)
    )
    assert second == Imported(
        session="chat", position=0, id="messages/chat/#1", message=HELLO, at=datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    )


def test_a_conversation_lends_its_session_and_time_to_its_messages(write):
    """A message's own time goes before its conversation's."""
    conversation = {"id": "trip", "created_at": "2024-05-01", "messages": [HELLO, HELLO | {"at": "2024-05-02"}]}
    first, second, third, _ = read(write(lines(conversation, conversation | {"id": "other"})))
    assert (first.session, first.at) == ("trip", datetime(2024, 5, 1, tzinfo=UTC))
    assert second.at == datetime(2024, 5, 2, tzinfo=UTC)
    assert third.session == "other"


def test_a_broken_line_is_refused_and_the_rest_goes_on(write):
    """Each line stands for itself: JSON that is broken, cut short, of another kind or not UTF-8 costs one line."""
    good = json.dumps(HELLO).encode()
    path = write(
        b"\n".join(
            [b"{broken", good, b"[1, 2", b"", b'"text"', b'{"role": "user", "content": "\xff"}', good, b'{"role": "u']
        )
    )
    items = list(read(path))
    assert [item.id for item in items if isinstance(item, Imported)] == ["messages/chat/#1", "messages/chat/#6"]
    assert [item.place for item in items if isinstance(item, Refused)] == [
        "line 1",
        "line 3",
        "line 5",
        "line 6",
        "line 8",
    ]
    assert "not valid UTF-8" in items[4].reason


def test_a_repaired_line_does_not_move_the_ids_of_the_others(write):
    """A line's number names its message, so repairing one line writes one message."""
    broken = [item.id for item in read(write("{oops\n" + lines(HELLO, HELLO))) if isinstance(item, Imported)]
    repaired = [item.id for item in read(write(lines(HELLO, HELLO, HELLO)))]
    assert broken == repaired[1:]


def test_a_file_that_grows_keeps_its_ids(write):
    """Appending to a file of one conversation changes no id that it had."""
    before = [item.id for item in read(write(lines({"messages": [HELLO, REPLY]})))]
    after = [item.id for item in read(write(lines({"messages": [HELLO, REPLY]}, {"messages": [HELLO]})))]
    assert before == ["messages/chat/list/#0", "messages/chat/list/#1"]
    assert after == [*before, "messages/chat-2/list/#0"]


def test_the_id_does_not_depend_on_the_text_and_differs_for_equal_texts(write):
    """Two honest equal messages are two, and an edited text keeps its id."""
    twice = [item.id for item in read(write([HELLO, HELLO]))]
    edited = [item.id for item in read(write([HELLO | {"content": "x"}, HELLO]))]
    assert twice == edited == ["messages/chat/#0", "messages/chat/#1"]


def test_parts_of_an_id_cannot_imitate_a_separator_or_a_place(write):
    """A session or id with a slash or a number sign gives no id that another message has."""
    messages = [
        HELLO | {"session": "a/b", "id": "c"},
        HELLO | {"session": "a", "id": "b/c"},
        HELLO | {"session": "a", "id": "#3"},
        HELLO | {"session": "a"},
        HELLO,
    ]
    assert [item.id for item in read(write(messages))] == [
        "messages/a%2Fb/c",
        "messages/a/b%2Fc",
        "messages/a/%233",
        "messages/a/chat/#3",
        "messages/chat/#4",
    ]


def test_an_id_that_is_too_long_is_replaced_by_its_digest(write):
    """Ids of any length are kept apart within the limit of the stores."""
    first, second = read(write([HELLO | {"id": "x" * 600}, HELLO | {"id": "x" * 601}]))
    assert first.id != second.id
    assert first.id.startswith("messages/~")
    assert len(first.id) < 60


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"role": "wizard", "content": "x"}, "not 'wizard'"),
        ({"content": "x"}, "not None"),
        ("x", "not in the format 'messages': 'x'"),
        (HELLO | {"x": float("nan")}, "finite"),
        (HELLO | {"session": "a\x01b"}, "control character"),
    ],
)
def test_a_message_out_of_form_is_refused_with_its_place(write, message, reason):
    """The reason says what was found, and the messages around it are read."""
    before, refused, after = read(write([HELLO, message, HELLO]))
    assert before.position < after.position
    assert isinstance(refused, Refused)
    assert refused.place == "item 2"
    assert reason in refused.reason


def test_lone_surrogates_and_nul_are_replaced(write):
    """An escape that stands for no character becomes the replacement character."""
    (item,) = read(write('[{"role": "user", "content": "a\\ud800b\\u0000c", "session": "s\\udc00"}]'))
    assert item.message["content"] == "a\ufffdb\ufffdc"
    assert item.session == "s\ufffd"


def test_a_given_session_names_what_has_none(write):
    """The caller's name stands in place of the file's; a message's own session goes before it."""
    first, second = read(write([HELLO, HELLO | {"session": "own"}]), session="talk")
    assert (first.session, second.session) == ("talk", "own")


def test_an_empty_alias_hides_no_other_field(write):
    """A field that is there and empty is as if it were missing."""
    (item,) = read(write([HELLO | {"session": "", "session_id": "s2", "id": None, "message_id": 7}]))
    assert (item.session, item.id) == ("s2", "messages/s2/7")


def test_a_time_that_is_none_leaves_the_message_undated(write):
    """A message is worth more than its date."""
    (item,) = read(write([HELLO | {"created_at": "yesterday"}]))
    assert item.at is None
