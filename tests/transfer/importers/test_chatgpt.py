"""ChatGPT's export is read along the branch that its user sees."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

from seasoned.transfer.importers import Format, Imported, Refused, Skipped, detect, read


def node(
    key: str, parent: str | None, role: str = "user", text: object = "", **more: object
) -> tuple[str, dict[str, object]]:
    """One node of the tree: a text message, unless `content` says otherwise."""
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    message = {
        "id": key,
        "author": author,
        "create_time": 1714564800.5,
        "content": content,
        "weight": 1.0,
        "recipient": "all",
    }
    return key, {"id": key, "message": message | {"metadata": {}} | more, "parent": parent, "children": []}


def conversation(*nodes: tuple[str, object], current: str | None = None, **more: object) -> dict[str, object]:
    """A conversation of these nodes below an empty root."""
    mapping = {"root": {"id": "root", "message": None, "parent": None, "children": []}} | dict(nodes)
    return {
        "title": "T",
        "create_time": 1714564000.0,
        "mapping": mapping,
        "current_node": current,
        "conversation_id": "conv",
        "id": "conv",
    } | more


PLAIN = conversation(
    node("sys", "root", "system", ""),
    node("q", "sys", "user", "What is a kiwi?"),
    node("a0", "q", "assistant", "A bird."),
    node("a1", "q", "assistant", "A bird, or a fruit."),
    node("q2", "a1", "user", "谢谢"),
    current="q2",
)


def texts(items: list[object]) -> list[object]:
    return [item.message["content"] for item in items if isinstance(item, Imported)]


def test_only_the_visible_branch_is_imported_in_its_order(write):
    """An answer that was generated anew is left out, and the order is that of the branch."""
    path = write([PLAIN])
    assert detect(path) is Format.CHATGPT
    items = list(read(path))
    assert texts(items) == ["What is a kiwi?", "A bird, or a fruit.", "谢谢"]
    assert items[2] == Imported(
        session="conv",
        position=0,
        id="chatgpt/conv/q",
        message={"role": "user", "content": "What is a kiwi?"},
        at=datetime(2024, 5, 1, 12, 0, 0, 500000, tzinfo=UTC),
    )
    assert [str(item) for item in items if isinstance(item, Skipped)] == [
        "chat.json, item 1, message a0: on a branch left by an edit or a regeneration",
        "chat.json, item 1, message sys: system message without text",
    ]


def test_hidden_messages_are_skipped_and_counted(write):
    """What ChatGPT does not show is no part of the conversation: flags, weights, reasoning, instructions."""
    value = conversation(
        node("s", "root", "system", "secret", metadata={"is_visually_hidden_from_conversation": True}),
        node("w", "s", "assistant", "weightless", weight=0.0),
        node("u", "w", "user", content={"content_type": "user_editable_context", "user_profile": "I am"}),
        node("t", "u", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        node("r", "t", "assistant", content={"content_type": "reasoning_recap", "content": "Thought for 2s"}),
        node("q", "r", "user", "Seen"),
        current="q",
    )
    items = list(read(write([value])))
    assert texts(items) == ["Seen"]
    assert sorted(item.reason for item in items if isinstance(item, Skipped)) == [
        "hidden assistant message",
        "hidden content: reasoning_recap",
        "hidden content: thoughts",
        "hidden content: user_editable_context",
        "hidden system message",
    ]


def test_a_message_to_a_tool_and_its_answer_are_a_pair(write):
    """Code sent to a tool is a call whose arguments are JSON; what comes back, in however many parts, is its result."""
    value = conversation(
        node("q", "root", "user", "Sum?"),
        node(
            "c",
            "q",
            "assistant",
            recipient="python",
            content={"content_type": "code", "language": "python", "text": "1+1"},
        ),
        node("r", "c", "tool", name="python", content={"content_type": "execution_output", "text": "2"}),
        node(
            "r2",
            "r",
            "tool",
            name="python",
            content={"content_type": "tether_quote", "title": "Page", "url": "https://x.org", "text": "two"},
        ),
        node("a", "r2", "assistant", "It is 2."),
        current="a",
    )
    items = [item for item in read(write([value])) if isinstance(item, Imported)]
    assert [item.position for item in items] == [0, 1, 2, 3]
    call, result = items[1].message, items[2].message
    assert call["content"] is None
    assert call["tool_calls"] == [
        {"id": "call_c", "type": "function", "function": {"name": "python", "arguments": json.dumps({"input": "1+1"})}}
    ]
    assert result == {
        "role": "tool",
        "tool_call_id": "call_c",
        "name": "python",
        "content": "2\nPage\nhttps://x.org\ntwo",
    }


def test_pictures_voice_and_files_leave_a_mark(write):
    """Parts that are not text stand as a short mark, and the words of a voice message are its text."""
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"},
        {"content_type": "audio_transcription", "text": "Wie heißt das?"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "file-service://f2"},
        "see above",
        None,
    ]
    attachments = [{"name": "plan.pdf", "mime_type": "application/pdf"}, {"name": "p.png", "mime_type": "image/png"}]
    value = conversation(
        node(
            "q",
            "root",
            "user",
            content={"content_type": "multimodal_text", "parts": parts},
            metadata={"attachments": attachments},
        ),
        node("a", "q", "assistant", "A plan \ue200cite\ue202turn0search1\ue201."),
        current="a",
    )
    assert texts(list(read(write([value])))) == ["[image]\nWie heißt das?\nsee above\n[file: plan.pdf]", "A plan ."]


def test_without_a_current_node_the_newest_leaf_ends_the_branch(write):
    """Old exports and damaged ones are read as far as the tree tells."""
    value = conversation(
        node("q", "root", "user", "Hi"),
        node("old", "q", "assistant", "old"),
        node("new", "q", "assistant", "new", create_time=1714564900),
    )
    assert texts(list(read(write(value)))) == ["Hi", "new"]


def test_a_cycle_ends_and_a_broken_author_is_refused(write):
    """A tree that is none, and a message of nobody, stop nothing."""
    value = conversation(
        node("a", "b", "user", "one"), node("b", "a", "user", "two"), node("c", "b", "martian", "three"), current="c"
    )
    items = list(read(write([value, PLAIN])))
    assert texts(items)[:2] == ["one", "two"]
    assert len(texts(items)) == 5
    assert [item.place for item in items if isinstance(item, Refused)] == ["item 1, message c"]


def test_the_archive_is_read_as_it_comes(tmp_path):
    """The archive's other files are no conversations and are passed over."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations-000.json", json.dumps([PLAIN]))
        archive.writestr("conversations-001.json", json.dumps([PLAIN | {"conversation_id": "conv2"}]))
        archive.writestr("message_feedback.json", '[{"message_id": "m", "rating": "thumbs_up", "content": "{}"}]')
        archive.writestr("user.json", '{"id": "user-1"}')
        archive.writestr("chat.html", "<html>")
    assert detect(path) is Format.CHATGPT
    assert [item.session for item in read(path) if isinstance(item, Imported)] == ["conv"] * 3 + ["conv2"] * 3
