"""What every format shares: detection, damage, archives, progress and streaming."""

from __future__ import annotations

import json
import os
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.errors import BundleError
from seasoned.transfer.importers import Format, Imported, Refused, Skipped, detect, read

HELLO = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is empty"),
        (b" \n\n", "blank lines"),
        (b"[]", "empty list"),
        (b"{}", "an empty object"),
        (b"SQLite format 3\x00" + bytes(200), "begins with 'SQLite format 3"),
        (b"Dear diary,\ntoday\n", "begins with 'Dear diary,"),
        (b'{"data": [1], "total": 3}', "the fields 'data', 'total'"),
        (b"[1, 2, 3]", "the first item is 1"),
        (b'{"question": "x"}\n{"question": "y"}\n', "the first line is an object with the fields 'question'"),
    ],
)
def test_an_unknown_file_is_refused_by_what_was_found_and_what_is_known(write, content, found):
    """The message names the file's own beginning or fields, and the formats that can be read."""
    path = write(content)
    with pytest.raises(BundleError) as raised:
        detect(path)
    assert found in str(raised.value)
    assert "is empty" in found or "LoCoMo" in str(raised.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    """It could be read only once, and to look at it would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BundleError, match="no regular file"):
        detect(tmp_path / "pipe")


def test_a_file_that_is_not_there_and_a_folder_are_import_errors(tmp_path):
    """What the system cannot open is told by its name."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(BundleError, match="cannot read"):
            read(path)


@pytest.mark.parametrize("cut", [1, 5, 20, 40, 60])
@pytest.mark.parametrize("content", [[HELLO, HELLO], {"messages": [HELLO, HELLO]}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_text_that_was_cut_short_is_refused_before_anything_is_read(write, cut, content, indent):
    """The call itself fails, so that nothing of the file is imported."""
    whole = json.dumps(content, indent=indent)
    with pytest.raises(BundleError):
        read(write(whole[:-cut]))


def test_text_after_the_end_and_invalid_bytes_are_damage(write):
    """A list is read to its end and beyond before its first message counts."""
    for content in (b'[{"role": "user", "content": "a"}] {"x"', b'[{"role": "user", "content": "\xff"}]'):
        with pytest.raises(BundleError):
            read(write(content))


def test_deep_nesting_is_refused_and_not_a_crash(write):
    """A hundred thousand brackets are damage in a list, and one broken line among lines."""
    deep = "[" * 100_000
    with pytest.raises(BundleError):
        read(write(f'[{{"role": "user", "content": {deep}'))
    good = json.dumps(HELLO)
    kinds = [type(item) for item in read(write(f"{good}\n{deep}\n{good}\n"))]
    assert kinds == [Imported, Refused, Imported]


def test_an_archive_is_read_for_what_it_holds_whatever_its_members_are_called(write, tmp_path):
    """Conversations in several members are all read; of JSON that is none it is said that it was left out."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", '{"id": "u", "email": "a@example.org"}')
        archive.writestr("picture.png", b"\x89PNG")
        archive.writestr("__MACOSX/._part-0.json", b"\x00\x05\x16\x07" + bytes(40))
        archive.writestr("none.json", " ")
        archive.writestr("part-0.json", json.dumps([HELLO | {"session": "a"}]))
        archive.writestr("deep/part-1.jsonl", json.dumps(HELLO | {"session": "b"}) + "\n")
    assert detect(path) is Format.MESSAGES
    items = list(read(path))
    assert sorted(item.session for item in items if isinstance(item, Imported)) == ["a", "b"]
    assert [item for item in items if not isinstance(item, Imported)] == [
        Skipped(file=f"export.zip: {name}", place="the whole file", reason="not in a format that is known")
        for name in ("__MACOSX/._part-0.json", "none.json", "user.json")
    ]


@pytest.mark.parametrize("damaged", ['[{"role": "user", "cont', '{"user": ["a", ', '{"a": 1} {"b', "[1, 2"])
def test_a_damaged_member_of_an_archive_stops_all_of_it(tmp_path, damaged):
    """JSON that was cut short is not taken for something that is left out by rule."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", json.dumps([HELLO]))
        archive.writestr("b.json", damaged)
    for ask in (read, detect):
        with pytest.raises(BundleError, match=r"'export.zip: b.json' cannot be imported: the JSON is damaged"):
            ask(path)


def test_archives_that_cannot_be_read_say_why(tmp_path):
    """Damaged, cut short, and without JSON are three different messages."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(BundleError, match="holds no JSON file"):
        read(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(BundleError, match="damaged zip archive"):
        read(path)


@pytest.mark.parametrize("lines", [False, True])
def test_damage_inside_an_archive_is_found_before_anything_is_read(tmp_path, lines):
    """A member whose checksum is wrong is refused whole, at its very end too, and all before it."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.json", json.dumps([HELLO]))
        many = [HELLO] * 50_000 + [HELLO | {"content": "the end"}]
        archive.writestr("c.json", "\n".join(map(json.dumps, many)) if lines else json.dumps(many))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"the end", b"the And", 1))
    with pytest.raises(BundleError, match="CRC"):
        read(path)


def test_progress_ends_with_all_bytes_done(write):
    """Progress never goes back and its last call says that everything is read."""
    calls: list[tuple[int, int]] = []
    path = write([HELLO] * 20_000)
    assert sum(1 for _ in read(path, progress=lambda done, total: calls.append((done, total)))) == 20_000
    size = path.stat().st_size
    assert calls == sorted(calls)
    assert calls[-1] == (size, size)
    assert calls[0][0] < size


def test_a_value_that_is_longer_than_a_piece_is_read_whole(write):
    """Pieces end anywhere: within a long text, an escape or a number."""
    long = {"role": "user", "content": 'ab\\"é😀\n' * 200_000}
    assert [item.message for item in read(write([HELLO, long, HELLO]))] == [HELLO, long, HELLO]


def test_a_given_format_is_not_guessed(write):
    """What does not fit the format that the caller names is refused, item by item."""
    items = list(read(write([HELLO]), Format.CHATGPT))
    assert [type(item) for item in items] == [Refused]
    assert "'chatgpt'" in items[0].reason


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "messages",
                    "mapping",
                    "message",
                    "parent",
                    "author",
                    "parts",
                    "current_node",
                    "chat_messages",
                    "sender",
                    "uuid",
                    "text",
                    "conversation",
                    "session_1",
                    "speaker",
                    "dia_id",
                    "type",
                    "id",
                    "metadata",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


wrapped = st.one_of(
    json_values,
    st.dictionaries(st.sampled_from("abc"), json_values).map(lambda nodes: {"mapping": nodes, "current_node": "a"}),
    st.lists(json_values, max_size=3).map(lambda messages: {"chat_messages": messages}),
    st.lists(json_values, max_size=3).map(lambda messages: {"messages": messages}),
    st.lists(json_values, max_size=3).map(lambda turns: {"conversation": {"session_1": turns}}),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=wrapped)
def test_json_of_any_shape_is_read_or_refused_and_never_crashes(write, value):
    """Whatever stands in the fields, the outcome is items or a BundleError; equal readings give equal items."""
    path = write(json.dumps(value))
    try:
        items = list(read(path))
    except BundleError:
        return
    assert items == list(read(path))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_bytes_of_any_kind_never_crash_the_reader(write, content):
    """Any file is either read or refused by a BundleError."""
    try:
        items = list(read(write(content)))
    except BundleError:
        return
    assert all(isinstance(item, Imported | Refused) for item in items)
