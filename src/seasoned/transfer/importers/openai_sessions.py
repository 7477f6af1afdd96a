"""Sessions of the OpenAI Agents SDK in a SQLite file: SQLiteSession, SQLAlchemySession and those built on them.

A row holds one item of the Responses API as JSON. What was said, called and returned becomes a message, each call one
of its own, as it was written; what has no place in a chat (reasoning, a search that the provider ran, a compaction) is
left out by its type. A message's id ends in its row: `openai-sessions/alice/#7`. Tables of any name are found by their
columns; one that is not called `agent_messages` is named before its sessions: `~table~alice`. Of a session with
branches the main one keeps its name, and what was said on another alone is the session `alice~branch`.
(https://openai.github.io/openai-agents-python/sessions/)
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from seasoned.transfer.importers.databases import Tables, quoted, tables_in
from seasoned.transfer.importers.fields import Json, first, is_object, objects, text
from seasoned.transfer.importers.items import Draft, Item, Place, finished, parted

KIND: Final = "openai-sessions"

_COLUMNS: Final = frozenset(("id", "session_id", "message_data", "created_at"))
_USUAL: Final = "agent_messages"
_STRUCTURE: Final = "message_structure"
_MAIN: Final = "main"
_SPEAKERS: Final = ("user", "system", "developer", "assistant")
_CALLS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "shell_call": "action",
    "local_shell_call": "action",
    "apply_patch_call": "operation",
}
"""By the type of a call, the field that says what is asked."""
_RESULTS: Final = tuple(f"{call}_output" for call in _CALLS)


def holds(tables: Tables) -> bool:
    """Tell whether a database has a table of session items."""
    return any(columns >= _COLUMNS for columns in tables.values())


def rows(connection: sqlite3.Connection, place: Place) -> Iterator[Item]:
    """Yield the messages of each session, in the order in which they were written."""
    tables = [name for name, columns in tables_in(connection).items() if columns >= _COLUMNS]
    branches = _Branches.of(connection)
    for table in tables:
        among = _Table(table, branches if branches.table == table else _Branches())
        found = connection.execute(f"SELECT * FROM {quoted(table)} ORDER BY session_id, id")
        for row in found:
            yield from among.items(row, replace(place, index=row["id"], unit=f"{table} row"))


@dataclass(frozen=True, slots=True)
class _Branches:
    """The branches of each message of the sessions that have some, as AdvancedSQLiteSession keeps them."""

    table: str = ""
    sessions: frozenset[str] = frozenset()
    of_message: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> _Branches:
        """Return those of a database; none where it has no such table."""
        if not tables_in(connection).get(_STRUCTURE, frozenset()) >= {"session_id", "message_id", "branch_id"}:
            return cls()
        keys = connection.execute(f"PRAGMA foreign_key_list({_STRUCTURE})").fetchall()
        owner = next((str(key["table"]) for key in keys if key["from"] == "message_id"), _USUAL)
        sessions: set[str] = set()
        found: dict[int, frozenset[str]] = {}
        for session, message, branch in connection.execute(
            f"SELECT session_id, message_id, branch_id FROM {_STRUCTURE}"
        ):
            sessions.add(session)
            found[message] = found.get(message, frozenset()) | {str(branch)}
        return cls(owner, frozenset(sessions), found)

    def branch(self, session: str, message: int) -> str | None:
        """Return the branch of a message, the main one where it is on that too; None where it is on none any more."""
        branches = self.of_message.get(message, frozenset())
        return _MAIN if session not in self.sessions or _MAIN in branches else min(branches, default=None)


class _Table:
    """Reads the rows of one table in turn."""

    def __init__(self, name: str, branches: _Branches) -> None:
        self._above = () if name == _USUAL else (name,)
        self._branches = branches
        self._counted: Counter[str] = Counter()

    def items(self, row: sqlite3.Row, place: Place) -> Iterator[Item]:
        """Yield the messages of a row."""
        value = _parsed(row["message_data"])
        if not is_object(value):
            yield place.refused(f"an item is a JSON object, not {value!r:.80}")
            return
        branch = self._branches.branch(row["session_id"], row["id"])
        said = _messages(value) if branch is not None else "on a branch that was deleted"
        if isinstance(said, str):
            yield place.skipped(said)
            return
        for number, message in enumerate(said):
            yield self._item(row, message, number, place, () if branch == _MAIN else (str(branch),))

    def _item(self, row: sqlite3.Row, message: Json, number: int, place: Place, branch: tuple[str, ...]) -> Item:
        own = str(row["session_id"])
        session = parted(*(("", *self._above) if self._above else ()), own, *branch)
        draft = Draft(
            kind=KIND,
            session=session,
            position=self._counted[session],
            message=message,
            source=(
                *self._above,
                own,
                row["id"] if isinstance(row["id"], int) else str(row["id"]),
                *((number,) if number else ()),
            ),
            at=row["created_at"],
        )
        self._counted[session] += 1
        return finished(draft, place)


def _parsed(written: object) -> object:
    """Return the value of a JSON text; where it is none, the text."""
    try:
        value: object = json.loads(written) if isinstance(written, (str, bytes)) else written
    except (ValueError, RecursionError):
        return written
    return value


def _messages(item: Json) -> list[Json] | str:
    """Return the messages that an item is, or why it is none."""
    kind = item.get("type") or ("message" if "role" in item else None)
    if "__enc__" in item and "payload" in item:
        return "sealed by EncryptedSession, whose key is not here"
    if kind == "message" and item.get("role") in _SPEAKERS:
        message = _said(str(item["role"]), item.get("content"))
        return [message] if message["content"] or message.get("refusal") else "message without content"
    if kind in _CALLS:
        return [_call(str(kind), item)]
    if kind in _RESULTS:
        return [_result(item, _returned(item.get("output")))]
    if kind == "mcp_call":
        return _hosted(item, text(item, "name"), item.get("arguments"), first(item, "output", "error"))
    if kind == "code_interpreter_call":
        logs = "\n".join(text(output, "logs") for output in objects(item.get("outputs")))
        return _hosted(item, "code_interpreter", {"code": item.get("code")}, logs)
    return f"no part of a chat: {_described(kind, item)}"


def _described(kind: object, item: Json) -> str:
    if kind == "message":
        return f"message of {item.get('role')!r:.40}"
    return kind if isinstance(kind, str) else "item without a type"


def _said(role: str, content: object) -> Json:
    if role != "assistant" or not isinstance(content, list):
        return {"role": role, "content": _parts(content)}
    texts = [
        text(part, "text") for part in objects(content) if part.get("type") in ("output_text", "text", "input_text")
    ]
    refused = [text(part, "refusal") for part in objects(content) if text(part, "refusal")]
    said: Json = {"role": role, "content": "\n".join(filter(None, texts)) or None}
    return {**said, "refusal": "\n".join(refused)} if refused else said


def _parts(content: object) -> object:
    return [_part(part) if is_object(part) else part for part in content] if isinstance(content, list) else content


def _part(part: Json) -> Json:
    """Return a part of an input as a chat message has it."""
    kind = part.get("type")
    rest = {name: value for name, value in part.items() if name != "type"}
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": text(part, "text")}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": rest.pop("image_url"), **rest}}
    if kind == "input_file":
        return {"type": "file", "file": rest}
    return part


def _call(kind: str, item: Json) -> Json:
    asked = item.get(_CALLS[kind])
    if kind == "custom_tool_call":
        call: Json = {"type": "custom", "custom": {"name": text(item, "name"), "input": asked}}
    else:
        call = {
            "type": "function",
            "function": {"name": text(item, "name") or kind.removesuffix("_call"), "arguments": _json(asked)},
        }
    return {"role": "assistant", "content": None, "tool_calls": [{"id": text(item, "call_id", "id"), **call}]}


def _result(item: Json, returned: object) -> Json:
    return {"role": "tool", "tool_call_id": text(item, "call_id", "id"), "content": returned}


def _returned(output: object) -> object:
    """Return what a tool gave: a text, the parts of a message, or what a shell wrote."""
    if not isinstance(output, list):
        return output if isinstance(output, str) else _json(output)
    if any(part.keys() & {"stdout", "stderr"} for part in objects(output)):
        return "\n".join(
            text(part, name) for part in objects(output) for name in ("stdout", "stderr") if text(part, name)
        )
    return _parts(output)


def _hosted(item: Json, name: str, asked: object, returned: object) -> list[Json]:
    """Return call and result of a tool that the provider ran, which is one item."""
    call = {"type": "function_call", "call_id": text(item, "id"), "name": name, "arguments": asked}
    return [_call("function_call", call), _result(call, _returned(returned if returned is not None else ""))]


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
