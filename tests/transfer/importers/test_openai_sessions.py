"""Sessions of the OpenAI Agents SDK, written by the real package, become conversations."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.transfer.importers import Format, Imported, Refused, Skipped, detect, openai_sessions, read
from seasoned.transfer.importers.items import Place
from seasoned.transfer.importing import import_file

SQLiteSession = pytest.importorskip("agents.memory").SQLiteSession

WEATHER = [
    {"role": "user", "content": "Wie ist das Wetter in Graz und 京都?"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "…"},
    {
        "type": "function_call",
        "call_id": "c1",
        "name": "weather",
        "arguments": '{"city": "Graz"}',
        "status": "completed",
    },
    {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city": "京都"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "sun"}]},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "In Graz regnet es.", "annotations": []},
            {"type": "output_text", "text": "In 京都 scheint die Sonne.", "annotations": []},
        ],
    },
]


def add(session: object, *items: dict[str, object]) -> None:
    """Let a session of the SDK store items."""
    asyncio.run(session.add_items(list(items)))  # type: ignore[attr-defined]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for the sessions' file."""
    return tmp_path / "conversations.db"


@pytest.fixture
def weather(path: Path) -> Iterator[object]:
    """An open session that asked for the weather."""
    session = SQLiteSession("älice 1", path)
    add(session, *WEATHER)
    yield session
    session.close()


def messages(path: Path) -> list[Imported]:
    return [item for item in read(path) if isinstance(item, Imported)]


def contents(items: Sequence[Imported]) -> list[object]:
    return [item.message["content"] for item in items]


@pytest.mark.usefixtures("weather")
def test_a_session_becomes_a_conversation_with_its_calls_and_results(path, memory):
    """Each row is one message, in order and at its time; a context of it is a valid list of messages."""
    assert detect(path) is Format.OPENAI_SESSIONS
    report = import_file(memory, path)
    assert (report.format, report.read, report.written, report.notes) == ("openai-sessions", 7, 6, 0)
    assert report.skipped == {"no part of a chat: reasoning": 1}
    turns = memory.conversation.turns("älice 1")
    assert [hit.id for hit in turns] == [f"openai-sessions/älice 1/#{row}" for row in (1, 3, 4, 5, 6, 7)]
    assert all(abs(hit.record.at - datetime.now(UTC)) < timedelta(minutes=5) for hit in turns)
    assert memory.conversation.context(1_000, session="älice 1").messages == [
        {"role": "user", "content": "Wie ist das Wetter in Graz und 京都?"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1", '{"city": "Graz"}')]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "assistant", "content": None, "tool_calls": [call("c2", '{"city": "京都"}')]},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "sun"}]},
        {"role": "assistant", "content": "In Graz regnet es.\nIn 京都 scheint die Sonne."},
    ]


def call(name: str, arguments: str) -> dict[str, object]:
    """A call of the weather as a message has it."""
    return {"id": name, "type": "function", "function": {"name": "weather", "arguments": arguments}}


def test_a_file_that_grew_adds_only_what_is_new(weather, path, memory):
    """Importing it again writes nothing twice, also while the session is open."""
    assert import_file(memory, path).written == 6
    assert import_file(memory, path).duplicate == 6
    add(weather, {"role": "user", "content": "Danke!"})
    report = import_file(memory, path)
    assert (report.written, report.duplicate, report.refused) == (1, 6, ())


@pytest.mark.usefixtures("weather")
def test_sessions_are_kept_apart(path):
    """Rows of several sessions that alternate stand each in its own session, counted from 0."""
    other = SQLiteSession("bob/2", path)
    for number in range(3):
        add(other, {"role": "user", "content": f"question {number}"})
    other.close()
    found = [item for item in messages(path) if item.session == "bob/2"]
    assert [(item.position, item.id) for item in found] == [
        (number, f"openai-sessions/bob%2F2/#{number + 8}") for number in range(3)
    ]


def test_tables_of_any_name_are_found(path, memory):
    """Where one file has several pairs of them, equal session names are two sessions."""
    for tables in ({}, {"sessions_table": "s2", "messages_table": "m2"}):
        session = SQLiteSession("same", path, **tables)
        add(session, {"role": "user", "content": f"in {len(tables)}"})
        session.close()
    report = import_file(memory, path)
    assert report.written == 2
    assert [(item.session, item.id) for item in messages(path)] == [
        ("same", "openai-sessions/same/#1"),
        ("~m2~same", "openai-sessions/m2/same/#1"),
    ]
    alone = path.with_name("alone.db")
    session = SQLiteSession("same", alone, sessions_table="s2", messages_table="m2")
    add(session, {"role": "user", "content": "alone"})
    session.close()
    assert [item.session for item in messages(alone)] == ["~m2~same"]


def test_a_table_that_comes_later_changes_no_name(path, memory):
    """What was imported of the first table is a duplicate when the file has a second."""
    for tables in (
        {"sessions_table": "s2", "messages_table": "m2"},
        {},
        {"sessions_table": "s3", "messages_table": "m3"},
    ):
        session = SQLiteSession("same", path, **tables)
        add(session, {"role": "user", "content": f"in {tables}"})
        session.close()
        assert import_file(memory, path).written == 1
    assert sorted(each.id for each in memory.conversation.sessions()) == ["same", "~m2~same", "~m3~same"]


NAMES = st.sampled_from(["alice", "alt", "alice/alt", "alice~alt", "~m2~alice", "m2", "%7E", "~", "alice~"])


@example([("agent_messages", "alice", "alt"), ("agent_messages", "alice/alt", None)])
@example([("m2", "alice", None), ("agent_messages", "m2/alice", None), ("agent_messages", "m2", "alice")])
@given(
    st.lists(st.tuples(st.sampled_from(["agent_messages", "m2", "m2~alice"]), NAMES, st.none() | NAMES), unique=True)
)
@settings(max_examples=100, deadline=None)
def test_two_conversations_never_share_a_session(said):
    """Neither a branch and a session that is called like it, nor those of two tables; most keep their names."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("CREATE TABLE message_structure (session_id, message_id, branch_id)")
        for number, (table, name, branch) in enumerate(said):
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{table}" (id, session_id, message_data, created_at)')
            item = json.dumps({"role": "user", "content": str(number)})
            connection.execute(f'INSERT INTO "{table}" VALUES (?, ?, ?, NULL)', (number, name, item))
            if table == "agent_messages":
                branch = branch or "main"
                connection.execute("INSERT INTO message_structure VALUES (?, ?, ?)", (name, number, branch))
        found = list(openai_sessions.rows(connection, Place(file="f", index=1, unit="row", session="")))
    sessions = {int(str(item.message["content"])): item.session for item in found if isinstance(item, Imported)}
    wanted = {(table, name, branch if table == "agent_messages" else None) for table, name, branch in said}
    assert len(set(sessions.values())) == len(wanted)
    for number, (table, name, branch) in enumerate(said):
        if table == "agent_messages" and branch is None and "~" not in name and "%" not in name:
            assert sessions[number] == name


def test_pictures_and_files_are_parts_of_a_message(path):
    """Parts of an input stand as a chat message has them."""
    session = SQLiteSession("s", path)
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}
    file = {"type": "input_file", "filename": "plan.pdf", "file_id": "f1"}
    add(session, {"role": "user", "content": [{"type": "input_text", "text": "Look:"}, picture, file]})
    session.close()
    assert contents(messages(path)) == [
        [
            {"type": "text", "text": "Look:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
            {"type": "file", "file": {"filename": "plan.pdf", "file_id": "f1"}},
        ]
    ]


def test_tools_of_other_kinds_are_calls_with_results(path, memory):
    """A shell, a patch, a custom tool, a server's tool and code are kept in words; a screen and a search are not."""
    session = SQLiteSession("s", path)
    add(
        session,
        {"role": "user", "content": "Do it."},
        {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "s1", "output": [{"stdout": "a.txt", "stderr": "", "outcome": {}}]},
        {"type": "custom_tool_call", "call_id": "x1", "name": "sql", "input": "SELECT 1"},
        {"type": "custom_tool_call_output", "call_id": "x1", "output": "1"},
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "wiki",
            "name": "page",
            "arguments": "{}",
            "output": "Text.",
        },
        {"type": "code_interpreter_call", "id": "ci_1", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "computer_call", "id": "cu_1", "call_id": "k", "action": {"type": "screenshot"}},
        {"type": "compaction", "encrypted_content": "…"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No more."}]},
    )
    session.close()
    report = import_file(memory, path)
    assert (report.read, report.written, report.refused) == (13, 10, ())
    assert report.skipped == {
        "no part of a chat: web_search_call": 1,
        "no part of a chat: computer_call": 1,
        "no part of a chat: compaction": 1,
    }
    shown = memory.conversation.context(2_000, session="s").messages
    asked = [part for message in shown for part in message.get("tool_calls", [])]
    assert [(part["id"], part.get("function", part.get("custom"))) for part in asked] == [
        ("s1", {"name": "shell", "arguments": '{"commands": ["ls"]}'}),
        ("x1", {"name": "sql", "input": "SELECT 1"}),
        ("mcp_1", {"name": "page", "arguments": "{}"}),
        ("ci_1", {"name": "code_interpreter", "arguments": '{"code": "1+1"}'}),
    ]
    assert [message["content"] for message in shown if message["role"] == "tool"] == ["a.txt", "1", "Text.", "2"]
    assert shown[-1]["refusal"] == "No more."
    assert import_file(memory, path).duplicate == 10


@pytest.mark.usefixtures("weather")
def test_damaged_rows_are_refused_and_the_others_are_imported(path, memory):
    """JSON that is broken or no object is named by its row; what says nothing is skipped."""
    with closing(sqlite3.connect(path)) as connection:
        for data in ('{"role": "us', "[]", '{"role": "user", "content": ""}', '{"role": "ghost", "content": "boo"}'):
            connection.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('älice 1', ?)", (data,))
        connection.commit()
    report = import_file(memory, path)
    assert (report.read, report.written) == (11, 6)
    assert [reason.split(":")[0] for reason in report.refused] == [
        "conversations.db, agent_messages row 8",
        "conversations.db, agent_messages row 9",
    ]
    assert report.skipped["message without content"] == 1
    assert report.skipped["no part of a chat: message of 'ghost'"] == 1


def test_what_is_sealed_is_skipped_and_says_so(path, memory):
    """Items of an EncryptedSession cannot be read without its key."""
    encrypt = pytest.importorskip("agents.extensions.memory.encrypt_session")
    session = SQLiteSession("s", path)
    add(encrypt.EncryptedSession("s", session, encryption_key="secret"), {"role": "user", "content": "hush"})
    session.close()
    report = import_file(memory, path)
    assert (report.read, report.written) == (1, 0)
    assert report.skipped == {"sealed by EncryptedSession, whose key is not here": 1}


def test_branches_are_sessions_of_their_own(path):
    """The main branch keeps the session's name; what was said on another alone stands there, nothing twice."""
    advanced = pytest.importorskip("agents.extensions.memory.advanced_sqlite_session").AdvancedSQLiteSession

    async def talk() -> None:
        session = advanced(session_id="s", db_path=path, create_tables=True)
        for text in ("one", "two"):
            await session.add_items([{"role": "user", "content": text}, {"role": "assistant", "content": f"re {text}"}])
        for branch in ("other", "gone"):
            await session.switch_to_branch("main")
            await session.create_branch_from_turn(2, branch)
            await session.add_items(
                [{"role": "user", "content": branch}, {"role": "assistant", "content": f"re {branch}"}]
            )
        await session.switch_to_branch("main")
        await session.add_items([{"role": "user", "content": "three"}])
        await session.delete_branch("gone")
        session.close()

    asyncio.run(talk())
    items = list(read(path))
    told: dict[str, list[object]] = {}
    for item in items:
        if isinstance(item, Imported):
            told.setdefault(item.session, []).append(item.message["content"])
    assert told == {"s": ["one", "re one", "two", "re two", "three"], "s~other": ["other", "re other"]}
    assert {item.reason for item in items if isinstance(item, Skipped)} <= {"on a branch that was deleted"}


def test_sessions_of_sqlalchemy_are_the_same(path):
    """Its tables have the same columns, so its file is read like the others."""
    alchemy = pytest.importorskip("agents.extensions.memory.sqlalchemy_session").SQLAlchemySession

    async def talk() -> None:
        session = alchemy.from_url("s", url=f"sqlite+aiosqlite:///{path}", create_tables=True)
        await session.add_items([{"role": "user", "content": "hi"}])
        await session.engine.dispose()

    asyncio.run(talk())
    assert contents(messages(path)) == ["hi"]


@pytest.mark.usefixtures("weather")
def test_a_session_of_ours_goes_on_where_the_other_ended(path, memory):
    """`SeasonedSession` over the same memory gives back what was imported, as the SDK has it."""
    ours = pytest.importorskip("seasoned.integrations.openai_agents").SeasonedSession
    import_file(memory, path)
    items = asyncio.run(ours("älice 1", memory).get_items())
    assert items[0] == WEATHER[0]
    assert [item.get("call_id") for item in items[1:5]] == ["c1", "c2", "c1", "c2"]
    assert items[5] == {"role": "assistant", "content": "In Graz regnet es.\nIn 京都 scheint die Sonne."}


def test_what_is_in_the_rows_never_stops_the_reading(path):
    """Items of any shape are messages, refused or skipped, and the same at every reading."""
    odd = [
        None,
        1,
        "text",
        [],
        {},
        {"type": 1},
        {"role": "user"},
        {"role": "user", "content": [1, {"type": "input_text"}]},
        {"type": "message", "role": "assistant", "content": [None]},
        {"type": "function_call"},
        {"type": "function_call_output", "output": {"a": [1]}},
        {"type": "mcp_call", "error": "failed"},
        {"type": "code_interpreter_call", "outputs": "none"},
        {"role": ["user"], "content": "x"},
    ]
    session = SQLiteSession("s", path)
    with closing(sqlite3.connect(path)) as connection:
        rows = [(json.dumps(value),) for value in odd]
        connection.executemany("INSERT INTO agent_messages (session_id, message_data) VALUES ('s', ?)", rows)
        connection.commit()
    session.close()
    items = list(read(path))
    assert len(items) >= len(odd)
    assert all(isinstance(item, Imported | Refused | Skipped) for item in items)
    assert items == list(read(path))
    with Memory(embedder="hashing") as memory:
        report = import_file(memory, path)
        assert report.read == report.written + len(report.refused) + sum(report.skipped.values())
