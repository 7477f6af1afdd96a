"""Messages, their images, and records: what goes in comes out, as JSON and as OpenAI's message."""

from __future__ import annotations

import base64
import enum
import json
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.compat.sikkaagent.agents.base import BaseMessage
from seasoned.compat.sikkaagent.images import MAX_IMAGE_BYTES
from seasoned.compat.sikkaagent.memories import ContextRecord, MemoryRecord
from seasoned.compat.sikkaagent.utils.enums import Distance, ModelPlatformType, RoleType
from seasoned.errors import InvalidInput, InvalidMessage, WrongType

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
JPEG = b"\xff\xd8\xff\xe0" + bytes(8)
GIF = b"GIF89a" + bytes(4)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(14)
PNG_URL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
WEB = "https://example.org/a.png"
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def test_a_path_bytes_and_a_url_become_what_a_model_is_sent(tmp_path):
    """Files and bytes as base64 data URLs; a data URL and an address on the web as they are."""
    file = tmp_path / "picture"
    file.write_bytes(PNG)
    said = BaseMessage("look", "User", images=[str(file), file, PNG, PNG_URL, WEB])
    assert said.images == (PNG_URL, PNG_URL, PNG_URL, PNG_URL, WEB)


@pytest.mark.parametrize(("data", "kind"), [(PNG, "png"), (JPEG, "jpeg"), (GIF, "gif"), (WEBP, "webp")])
def test_the_kind_of_a_picture_is_told_by_its_first_bytes(data, kind):
    """Whatever its file is called."""
    assert BaseMessage("", images=[data]).images == (f"data:image/{kind};base64,{base64.b64encode(data).decode()}",)


@pytest.mark.parametrize("image", [PNG, PNG_URL, Path("a.png"), "a.png"])
def test_one_image_need_not_stand_in_a_list(image, tmp_path, monkeypatch):
    """A text or bytes are one image, not many letters."""
    monkeypatch.chdir(tmp_path)
    Path("a.png").write_bytes(PNG)
    assert BaseMessage("", images=image).images == (PNG_URL,)


@pytest.mark.parametrize(
    "image",
    [
        b"",
        b"<svg/>",
        b"\x7fELF",
        b"RIFF\x00\x00\x00\x00WAVEfmt " + bytes(14),
        bytes(8) + b"WEBP",
        "",
        "no such file.png",
        "bad\0path",
        "file:///etc/passwd",
        "ftp://example.org/a.png",
        "javascript:alert(1)",
        "data:text/html;base64,aGk=",
        "data:image/png;base64,",
        "data:image/png;base64,!!!!",
        "data:image/png,raw",
        "https://",
        "https://exa mple.org/a.png",
        "http://[::1",
        PNG + bytes(MAX_IMAGE_BYTES),
    ],
)
def test_what_is_no_picture_is_refused(image):
    """With the rule that it breaks."""
    with pytest.raises(InvalidInput, match="image"):
        BaseMessage("look", "User", images=[image])


@pytest.mark.parametrize("more", [0, 1])
def test_an_image_has_at_most_twenty_megabytes(tmp_path, more):
    """In a file, as bytes and as a data URL."""
    data = PNG + bytes(MAX_IMAGE_BYTES - len(PNG) + more)
    (tmp_path / "a.png").write_bytes(data)
    url = f"data:image/png;base64,{base64.b64encode(data + bytes(more)).decode()}"
    for image in (tmp_path / "a.png", data, url):
        if more:
            with pytest.raises(InvalidInput, match="image"):
                BaseMessage("", images=[image])
        else:
            assert BaseMessage("", images=[image]).images == (url,)


def test_no_other_file_can_be_shown_to_a_model(tmp_path):
    """A path that leads to something else than a picture is refused, and its content is in no message."""
    secret = tmp_path / "key.png"
    secret.write_text("the vault code is 4711")
    with pytest.raises(InvalidInput) as refused:
        BaseMessage("look", "User", images=[secret])
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"content": 7}, WrongType),
        ({"content": "x", "role_name": 7}, WrongType),
        ({"content": "x", "images": 7}, WrongType),
        ({"content": "x", "images": [7]}, WrongType),
        ({"content": "x", "image_detail": "sharp"}, InvalidInput),
        ({"content": "x", "meta": [1]}, WrongType),
        ({"content": "x", "meta": {"f": float("nan")}}, InvalidInput),
        ({"content": "x", "meta": {"f": object()}}, WrongType),
    ],
)
def test_a_message_of_other_types_is_refused(wrong, error):
    """When it is made, before anything is written."""
    with pytest.raises(error):
        BaseMessage(**wrong)


def test_an_assistants_content_may_be_none():
    """As OpenAI gives it beside tool calls."""
    assert BaseMessage(None, "Assistant").content == ""


def test_what_was_given_is_copied_and_not_changed():
    """A message does not change with the caller's own objects, nor they with it."""
    meta, images = {"tags": ["a"]}, [PNG]
    said = BaseMessage("x", "User", images=images, meta=meta)
    meta["tags"].append("b")
    images.append(PNG)
    assert (said.meta, said.images) == ({"tags": ["a"]}, (PNG_URL,))
    record = MemoryRecord(said, RoleType.USER, extra_info={"n": [1]})
    record.to_message()["extra_info"]["n"].append(2)
    record.to_message()["message"]["meta"]["tags"].append("c")
    assert (record.extra_info, said.meta) == ({"n": [1]}, {"tags": ["a"]})


def test_nul_and_lone_surrogates_are_replaced():
    """In the text, the name and the rest, so that every storage can keep them."""
    said = BaseMessage("a\0b\ud800c", "U\0", meta={"k\0": "\udfff"})
    assert (said.content, said.role_name, said.meta) == ("a\ufffdb\ufffdc", "U\ufffd", {"k\ufffd": "\ufffd"})


def test_a_record_is_plain_json():
    """Words, not enum objects; and it is the same record when it is read again."""
    said = BaseMessage("look", "Vera", images=[PNG], image_detail="low", meta={"mood": "curious"})
    record = MemoryRecord(said, RoleType.USER, "u-1", {"n": 1})
    row = {
        "uuid": "u-1",
        "role_type": "user",
        "message": {
            "content": "look",
            "role_name": "Vera",
            "images": [PNG_URL],
            "image_detail": "low",
            "meta": {"mood": "curious"},
        },
        "extra_info": {"n": 1},
    }
    assert record.to_message() == row
    assert type(record.to_message()["role_type"]) is str
    assert MemoryRecord.from_message(json.loads(json.dumps(row))) == record


class ForeignRole(enum.Enum):
    """A role of another package."""

    USER = "usr"
    ASSISTANT = 2


@pytest.mark.parametrize(
    ("given", "role"),
    [
        ("user", RoleType.USER),
        ("USER", RoleType.USER),
        (" Assistant ", RoleType.ASSISTANT),
        (RoleType.TOOL, RoleType.TOOL),
        (ForeignRole.USER, RoleType.USER),
        (ForeignRole.ASSISTANT, RoleType.ASSISTANT),
    ],
)
def test_a_role_is_read_in_every_form_in_which_rows_have_it(given, role):
    """A word in any case, and the enum objects that older rows hold."""
    row = {"role_type": given, "message": {"content": "x"}, "uuid": "u"}
    assert MemoryRecord.from_message(row).role_type is role


def test_rows_that_hold_the_message_itself_are_read():
    """As older rows do."""
    said = BaseMessage("x", "User")
    assert MemoryRecord.from_message({"role_type": "user", "message": said, "uuid": "u"}).message is said


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("row", WrongType),
        (None, WrongType),
        ({}, InvalidInput),
        ({"role_type": "user"}, InvalidMessage),
        ({"role_type": "king", "message": {"content": "x"}}, InvalidInput),
        ({"role_type": None, "message": {"content": "x"}}, InvalidInput),
        ({"role_type": "user", "message": {"content": 7}}, WrongType),
        ({"role_type": "user", "message": {"content": "x", "images": "a"}}, WrongType),
        ({"role_type": "user", "message": {"content": "x"}, "uuid": "  "}, InvalidInput),
        ({"role_type": "user", "message": {"content": "x"}, "uuid": 7}, WrongType),
        ({"role_type": "user", "message": {"content": "x"}, "extra_info": [1]}, WrongType),
    ],
)
def test_what_is_no_record_is_refused(row, error):
    """With the value that breaks a rule."""
    with pytest.raises(error):
        MemoryRecord.from_message(row)


def test_a_stored_row_never_makes_a_file_be_read(tmp_path):
    """Its images are URLs; a path in a row is refused, though a picture lies there."""
    file = tmp_path / "a.png"
    file.write_bytes(PNG)
    row = {"role_type": "user", "message": {"content": "x", "images": [str(file)]}}
    with pytest.raises(InvalidInput, match="URL"):
        MemoryRecord.from_message(row)


def test_a_uuid_may_be_an_object_and_each_record_has_one():
    """It is kept as text; without one two records differ."""
    name = UUID("12345678-1234-5678-1234-567812345678")
    said = BaseMessage("x")
    assert MemoryRecord(said, RoleType.USER, name).uuid == "12345678-1234-5678-1234-567812345678"
    assert MemoryRecord(said, RoleType.USER).uuid != MemoryRecord(said, RoleType.USER).uuid


@pytest.mark.parametrize(
    ("said", "role", "message"),
    [
        (BaseMessage("s", "System"), RoleType.SYSTEM, {"role": "system", "content": "s"}),
        (BaseMessage("u", "User"), RoleType.USER, {"role": "user", "content": "u"}),
        (BaseMessage("u", meta={"name": "Vera"}), RoleType.USER, {"role": "user", "content": "u", "name": "Vera"}),
        (BaseMessage("a", images=[PNG]), RoleType.ASSISTANT, {"role": "assistant", "content": "a"}),
        (
            BaseMessage("", meta={"tool_calls": [CALL]}),
            RoleType.ASSISTANT,
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
        ),
        (
            BaseMessage("3", "Tool", meta={"tool_call_id": "c1", "private": 1}),
            RoleType.TOOL,
            {"role": "tool", "content": "3", "tool_call_id": "c1"},
        ),
        (BaseMessage("3", "add"), RoleType.FUNCTION, {"role": "function", "content": "3", "name": "add"}),
        (
            BaseMessage("see", images=[PNG, WEB], image_detail="high"),
            RoleType.USER,
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "high"}},
                    {"type": "image_url", "image_url": {"url": WEB, "detail": "high"}},
                ],
            },
        ),
    ],
)
def test_each_role_has_its_form_in_openais_chat(said, role, message):
    """What a role may have there is sent, the rest of `meta` is not; images go with a user's message alone."""
    assert MemoryRecord(said, role).to_openai_message() == message


@pytest.mark.parametrize(
    ("said", "role"),
    [
        (BaseMessage("3", "Tool"), RoleType.TOOL),
        (BaseMessage("3"), RoleType.FUNCTION),
        (BaseMessage("x", meta={"tool_calls": [{"id": "c1"}]}), RoleType.ASSISTANT),
        (BaseMessage("x", meta={"tool_calls": [CALL]}), RoleType.USER),
    ],
)
def test_what_no_provider_takes_is_refused(said, role):
    """A result that names no call, and malformed or misplaced calls."""
    with pytest.raises(InvalidMessage):
        MemoryRecord(said, role).to_openai_message()


def test_words_are_found_in_any_case():
    """Of roles, distances and platforms; each is its word."""
    assert (Distance("Cosine"), ModelPlatformType("OLLAMA")) == (Distance.COSINE, ModelPlatformType.OLLAMA)
    assert [str(one) for one in Distance] == ["cosine", "dot", "euclid"]
    assert [str(one) for one in RoleType] == ["system", "user", "assistant", "tool", "function"]
    assert f"{RoleType.USER}" == "user"


def test_a_context_record_is_a_record_and_its_score():
    """By the document's names."""
    record = MemoryRecord(BaseMessage("x"), RoleType.USER)
    found = ContextRecord(memory_record=record, score=0.5)
    assert (found.memory_record, found.score) == (record, 0.5)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
META = st.dictionaries(
    st.text().filter(lambda key: key not in ("name", "tool_calls", "tool_call_id", "function_call")), JSON, max_size=3
)


@given(
    st.builds(
        MemoryRecord,
        st.builds(
            BaseMessage,
            st.text(),
            st.text(),
            st.lists(st.sampled_from([PNG, JPEG, WEB]), max_size=2),
            st.sampled_from(["auto", "low", "high"]),
            META,
        ),
        st.sampled_from([RoleType.SYSTEM, RoleType.USER, RoleType.ASSISTANT]),
        extra_info=META,
    )
)
def test_a_record_always_comes_back_from_json_as_it_was(record):
    """Through JSON text, whatever it holds."""
    assert MemoryRecord.from_message(json.loads(json.dumps(record.to_message()))) == record
