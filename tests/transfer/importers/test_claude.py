"""Claude's export is read with its tools, files and visible branch."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

from seasoned.transfer.importers import Format, Imported, Refused, Skipped, detect, read

ROOT = "00000000-0000-4000-8000-000000000000"
PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"


def message(uuid: str, sender: str, *blocks: object, text: str = "", **more: object) -> dict[str, object]:
    """One chat message."""
    return {
        "uuid": uuid,
        "sender": sender,
        "text": text,
        "content": list(blocks),
        "created_at": "2025-03-01T10:00:00.5Z",
        "attachments": [],
        "files": [],
    } | more


def said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text, "start_timestamp": "2025-03-01T10:00:00Z"}


def conversation(*messages: object, **more: object) -> dict[str, object]:
    return {
        "uuid": "conv",
        "name": "Tea",
        "created_at": "2025-03-01T09:00:00Z",
        "account": {"uuid": "u"},
        "chat_messages": list(messages),
    } | more


def imported(path) -> list[Imported]:
    return [item for item in read(path) if isinstance(item, Imported)]


def test_a_message_keeps_its_words_its_time_and_its_uuid(write):
    """The human is the user; old exports have only `text`."""
    path = write(
        [
            conversation(
                message("m1", "human", text="我喜欢乌龙茶"), message("m2", "assistant", said("Noted."), text="Noted.")
            )
        ]
    )
    assert detect(path) is Format.CLAUDE
    first, second = imported(path)
    assert first == Imported(
        session="conv",
        position=0,
        id="claude/conv/m1",
        message={"role": "user", "content": "我喜欢乌龙茶"},
        at=datetime(2025, 3, 1, 10, 0, 0, 500000, tzinfo=UTC),
    )
    assert second.message == {"role": "assistant", "content": "Noted."}


def test_a_message_that_uses_a_tool_becomes_call_result_and_text(write):
    """The blocks tell what the text only has placeholders for; reasoning is left out; each call gets an id."""
    blocks = [
        {"type": "thinking", "thinking": "let me see"},
        said("I look."),
        {"type": "tool_use", "id": None, "name": "web_search", "input": {"query": "thé"}},
        {
            "type": "tool_result",
            "tool_use_id": None,
            "name": "web_search",
            "content": [{"type": "text", "text": "3 hits"}],
        },
        said("Three."),
    ]
    items = imported(write([conversation(message("m1", "assistant", *blocks, text=f"I look.\n{PLACEHOLDER}\nThree."))]))
    assert [item.id for item in items] == ["claude/conv/m1", "claude/conv/m1/#1", "claude/conv/m1/#2"]
    assert [item.position for item in items] == [0, 1, 2]
    call, result, answer = (item.message for item in items)
    assert call["content"] == "I look."
    assert call["tool_calls"] == [
        {"id": "call_m1_0", "type": "function", "function": {"name": "web_search", "arguments": '{"query": "thé"}'}}
    ]
    assert result == {"role": "tool", "tool_call_id": "call_m1_0", "content": "3 hits"}
    assert answer == {"role": "assistant", "content": "Three."}


def test_results_find_their_calls_by_id(write):
    """Two calls at once are answered each by its own result, in whatever order."""
    blocks = [
        {"type": "tool_use", "id": "t1", "name": "a", "input": {}},
        {"type": "tool_use", "id": "t2", "name": "b", "input": {}},
        {"type": "tool_result", "tool_use_id": "t2", "content": "two"},
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
    ]
    items = imported(write([conversation(message("m1", "assistant", *blocks))]))
    assert [call["id"] for call in items[0].message["tool_calls"]] == ["t1", "t2"]
    assert [(item.message["tool_call_id"], item.message["content"]) for item in items[1:]] == [
        ("t2", "two"),
        ("t1", "one"),
    ]


def test_attached_files_and_images_leave_a_mark(write):
    """A file's name is part of what was said, once."""
    value = message(
        "m1",
        "human",
        said("Look"),
        {"type": "image"},
        attachments=[{"file_name": "é.txt", "extracted_content": "x"}],
        files=[{"file_name": "é.txt"}],
    )
    (item,) = imported(write([conversation(value)]))
    assert item.message["content"] == "Look\n[image]\n[file: é.txt]"


def test_an_edited_branch_is_skipped_and_counted(write):
    """The branch that ends in the current leaf is the conversation."""
    messages = [
        message("a", "human", said("first"), parent_message_uuid=ROOT),
        message("b", "assistant", said("old answer"), parent_message_uuid="a"),
        message("c", "assistant", said("new answer"), parent_message_uuid="a"),
    ]
    new = list(read(write([conversation(*messages)])))
    old = list(read(write([conversation(*messages, current_leaf_message_uuid="b")])))
    assert [item.message["content"] for item in new if isinstance(item, Imported)] == ["first", "new answer"]
    assert [item.message["content"] for item in old if isinstance(item, Imported)] == ["first", "old answer"]
    assert [item.place for item in new if isinstance(item, Skipped)] == ["item 1, message 2"]


def test_broken_links_lose_no_message(write):
    """Where the parents do not lead to a root, the order of the file stands."""
    messages = [
        message("a", "human", said("one"), parent_message_uuid=ROOT),
        message("b", "human", said("two"), parent_message_uuid="gone"),
    ]
    assert [item.message["content"] for item in imported(write([conversation(*messages)]))] == ["one", "two"]


def test_empty_messages_are_skipped_and_unknown_senders_refused(write):
    """Each is reported where it stands."""
    items = list(read(write([conversation(message("a", "human"), message("b", "robot", said("x")), None)])))
    assert [(type(item), item.place) for item in items] == [
        (Skipped, "item 1, message 1"),
        (Refused, "item 1, message 2"),
        (Refused, "item 1, message 3"),
    ]


def test_the_archive_is_read_as_it_comes(tmp_path):
    """Users and projects are no conversations."""
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", '[{"uuid": "u", "full_name": "Zoë"}]')
        archive.writestr("projects.json", "[]")
        archive.writestr("conversations.json", json.dumps([conversation(message("m1", "human", said("hi")))]))
    assert detect(path) is Format.CLAUDE
    assert [item.id for item in imported(path)] == ["claude/conv/m1"]
