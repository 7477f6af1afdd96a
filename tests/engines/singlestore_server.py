"""A loopback server that speaks SingleStore's wire protocol: it checks each statement, and runs it on SQLite."""

from __future__ import annotations

import asyncio
import json
import math
import re
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from mysql_mimic.auth import IdentityProvider, NativePasswordAuthPlugin, User
from mysql_mimic.connection import Connection
from mysql_mimic.errors import ErrorCode, MysqlError
from mysql_mimic.server import MysqlServer
from mysql_mimic.session import BaseSession
from mysql_mimic.variables import GlobalVariables, SessionVariables

LITERAL = re.compile(r"'((?:[^'\\]|\\.|'')*)'|(?<![\w`])(-?\d+(?:\.\d+)?)(?![\w`])|(?<!`)\b(NULL)\b(?!`)", re.DOTALL)
ESCAPED = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a"}

_T, _N, _Q = r"`(\w+)`", r"\w+", r"\?"
_LIST = rf"\({_Q}(?:, {_Q})*\)"
_NAMES = rf"{_N}(?:, {_N})*"
_SCORE = rf"(?:{_N} <\*> {_Q}|-\({_N} <-> {_Q}\)|MATCH\(TABLE {_T}\) AGAINST \({_Q}\))"
FORMS = [
    re.compile(form)
    for form in (
        r"BEGIN|COMMIT|ROLLBACK",
        rf"SELECT {_NAMES} FROM {_T} WHERE scope IN {_LIST} AND id IN {_LIST}",
        rf"DELETE FROM {_T} WHERE scope IN {_LIST} AND id IN {_LIST}",
        rf"SELECT {_NAMES} FROM {_T} WHERE scope = {_Q} AND \(seq > {_Q} OR \(seq = {_Q} AND id > {_Q}\)\)"
        rf" ORDER BY seq, id LIMIT {_Q}",
        rf"SELECT scope_text FROM {_T} WHERE sort = {_Q}(?: AND root = {_Q})?",
        rf"SELECT COUNT\(\*\) FROM {_T} WHERE scope = {_Q}",
        rf"INSERT INTO {_T} \({_NAMES}\) VALUES {_LIST}(?:, {_LIST})*"
        rf"(?: ON DUPLICATE KEY UPDATE {_N} = VALUES\({_N}\)(?:, {_N} = VALUES\({_N}\))*)?",
        rf"UPDATE {_T} SET seq = {_Q}, place = {_Q}, version = {_Q} WHERE scope = {_Q} AND id = {_Q} AND seq = {_Q}",
        rf"SELECT {_NAMES}, {_SCORE} AS score FROM {_T} WHERE scope = {_Q} AND sort = {_Q}(?: AND kind IN {_LIST})?"
        rf" AND (?:space = {_Q}|MATCH\(TABLE {_T}\) AGAINST \({_Q}\)) ORDER BY score DESC LIMIT {_Q}",
    )
]
COLUMNS_ASKED = "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?"
CREATE = re.compile(
    r"CREATE TABLE IF NOT EXISTS `(\w{1,64})` \((.*)\) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", re.DOTALL
)
COLUMN = re.compile(r"(\w+) (CHAR\(\d+\)|VARCHAR\(\d+\)|LONGTEXT|BIGINT|VECTOR\((\d+)\))( NOT NULL)?")
KEY = re.compile(r"(SHARD KEY|SORT KEY|PRIMARY KEY|FULLTEXT USING VERSION 2 \w+) \((.*)\)(?: USING HASH)?")
UPDATED_KEY = re.compile(r"\b(?:scope|id) = VALUES\(")


class SingleStoreServer:
    """Databases at a loopback port, for one user; `said` are the statements that it was asked, without literals."""

    def __init__(self, folder: Path, user: str = "writer", password: str = "pass/word") -> None:  # noqa: S107
        self.folder = folder
        self.users = _Users(user, password)
        self.user, self.password = user, password
        self.said: list[str] = []
        self.read_only = False
        self.port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self.start()

    def start(self) -> None:
        """Listen, at the same port as before."""
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        ready.wait(10)

    def stop(self) -> None:
        """Stop listening, and break the connections that are open."""
        if self._thread is not None and self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
            self._thread = None

    @property
    def address(self) -> dict[str, object]:
        """Return how it is reached."""
        named = {"user": self.user, "password": self.password, "database": "memories"}
        return {"host": "127.0.0.1", "port": self.port, **named}

    @property
    def url(self) -> str:
        """Return the same as a URL."""
        return f"singlestore://{self.user}:{quote(self.password, safe='')}@127.0.0.1:{self.port}/memories"

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = MysqlServer(session_factory=lambda: _Session(self), identity_provider=self.users)
        await server.start_server(host="127.0.0.1", port=self.port)
        self.port = server.sockets()[0].getsockname()[1]
        ready.set()
        await self._stopping.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)


class _Users(IdentityProvider):
    def __init__(self, user: str, password: str) -> None:
        secret = NativePasswordAuthPlugin.create_auth_string(password)
        self._user = User(name=user, auth_string=secret, auth_plugin=NativePasswordAuthPlugin.name)

    def get_plugins(self) -> Sequence[NativePasswordAuthPlugin]:
        return [NativePasswordAuthPlugin()]

    async def get_user(self, username: str) -> User | None:
        return self._user if username == self._user.name else None


class _Session(BaseSession):
    """One connection: statements come in, are checked against the forms, and run on the database's file."""

    def __init__(self, server: SingleStoreServer) -> None:
        self.server = server
        self.variables = SessionVariables(GlobalVariables())
        self.username: str | None = None
        self.database: str | None = None
        self.changed = 0
        self.file: sqlite3.Connection | None = None

    async def init(self, connection: Connection) -> None:
        plain = connection.ok
        connection.ok = lambda **said: plain(**{"affected_rows": self.changed, **said})

    async def use(self, database: str) -> None:
        self.database = database

    async def close(self) -> None:
        if self.file is not None:
            self.file.close()

    async def handle_query(self, sql: str, attrs: dict[str, str]) -> object:
        self.changed = 0
        if re.match(r"SET |SELECT @@", sql, re.IGNORECASE):
            return ([("8.9.10",)], ["v"]) if sql.startswith("SELECT") else ([], [])
        created = CREATE.fullmatch(sql)
        if created:
            await self._run(_created(created[1], created[2]), [])
            return [], []
        form, values = _split(sql)
        self.server.said.append(form)
        if form == COLUMNS_ASKED:
            return await self._run("SELECT name AS column_name FROM pragma_table_info(?)", values)
        if not any(one.fullmatch(form) for one in FORMS):
            raise MysqlError(f"You have an error in your SQL syntax near {form[:200]!r}", ErrorCode.PARSE_ERROR)
        if UPDATED_KEY.search(form):
            raise MysqlError("ON DUPLICATE KEY UPDATE cannot update unique key columns", 1706)
        if self.server.read_only and not form.startswith("SELECT"):
            raise MysqlError("The server is running with the --read-only option", 1290)
        return await self._run(_translated(form), values)

    async def _run(self, sql: str, values: Sequence[object]) -> object:
        """Run a statement; one that must wait for another connection's transaction lets that go on meanwhile."""
        for _ in range(2_000):
            try:
                cursor = self._opened().execute(sql, values)
                rows = cursor.fetchall()
            except sqlite3.IntegrityError as error:
                raise MysqlError(f"Duplicate entry: {error}", 1062) from error
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise MysqlError(str(error), ErrorCode.UNKNOWN_ERROR) from error
                await asyncio.sleep(0.001)
            else:
                self.changed = max(cursor.rowcount, 0)
                return rows, [name for name, *_ in cursor.description or ()]
        raise MysqlError("Lock wait timeout exceeded; try restarting transaction", 1205)

    def _opened(self) -> sqlite3.Connection:
        if self.file is None:
            if not self.database or not re.fullmatch(r"\w+", self.database):
                raise MysqlError(f"Unknown database {self.database!r}", 1049)
            path = self.server.folder / f"{self.database}.db"
            self.file = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
            self.file.execute("PRAGMA journal_mode = WAL")
            self.file.execute("PRAGMA synchronous = OFF")
            for name, function in (("dot", _dot), ("distance", _distance), ("matching", _matching)):
                self.file.create_function(name, 2, function, deterministic=True)
        return self.file


def _split(sql: str) -> tuple[str, list[object]]:
    """Return a statement with a mark for each literal, and the literals."""
    values: list[object] = []

    def mark(found: re.Match[str]) -> str:
        text, number, _ = found.groups()
        values.append(_unescaped(text) if text is not None else None if number is None else float(number)
                      if "." in number else int(number))  # fmt: skip
        return "?"

    return " ".join(LITERAL.sub(mark, sql).split()), values


def _unescaped(text: str) -> str:
    return re.sub(
        r"\\(.)|''", lambda found: "'" if found[1] is None else ESCAPED.get(found[1], found[1]), text, flags=re.DOTALL
    )


def _translated(form: str) -> str:
    form = re.sub(r"-\((\w+) <-> \?\)", r"-distance(\1, ?)", re.sub(r"(\w+) <\*> \?", r"dot(\1, ?)", form))
    form = re.sub(r"MATCH\(TABLE `\w+`\) AGAINST \(\?\)", "matching(words, ?)", form)
    return re.sub(
        r"VALUES\((\w+)\)", r"excluded.\1", form.replace("ON DUPLICATE KEY UPDATE", "ON CONFLICT DO UPDATE SET")
    )


def _created(table: str, body: str) -> str:
    """Return the statement that makes a table in SQLite, after a look at what SingleStore asks of it."""
    columns, keys = list[str](), dict[str, list[str]]()
    for item in re.split(r",\n", body.strip()):
        column, key = COLUMN.fullmatch(item.strip()), KEY.fullmatch(item.strip())
        if key is not None:
            keys[key[1].split(" USING")[0]] = [name.strip() for name in key[2].split(",")]
        elif column is not None:
            sized = f" CHECK ({column[1]} IS NULL OR json_array_length({column[1]}) = {column[3]})" if column[3] else ""
            kind = "INTEGER" if column[2] == "BIGINT" else "TEXT"
            columns.append(f"{column[1]} {kind}{column[4] or ''}{sized}")
        else:
            raise MysqlError(f"You have an error in your SQL syntax near {item!r}", ErrorCode.PARSE_ERROR)
    if not set(keys["SHARD KEY"]) <= set(keys["PRIMARY KEY"]):
        raise MysqlError("The unique key must contain all columns of the shard key", 1744)
    primary = ", ".join(keys["PRIMARY KEY"])
    return f"CREATE TABLE IF NOT EXISTS `{table}` ({', '.join(columns)}, PRIMARY KEY ({primary}))"


def _dot(one: str | None, other: str) -> float | None:
    return None if one is None else sum(a * b for a, b in zip(json.loads(one), json.loads(other), strict=True))


def _distance(one: str | None, other: str) -> float | None:
    return None if one is None else math.dist(json.loads(one), json.loads(other))


def _matching(words: str | None, asked: str) -> float:
    """Score a column for words joined by OR, each of letters and digits; anything else is a syntax error."""
    found = re.fullmatch(r"words:\((\w+(?: OR \w+)*)\)", asked)
    if found is None:
        raise ValueError(f"not a query of words: {asked!r}")
    held = (words or "").split()
    return sum(held.count(word) / (held.count(word) + 0.5 + len(held) / 20) for word in found[1].split(" OR "))


def serving() -> Iterator[SingleStoreServer]:
    """Serve for the length of a fixture."""
    with TemporaryDirectory() as folder:
        server = SingleStoreServer(Path(folder))
        yield server
        server.stop()
