"""A plugin of pytest that puts `SeasonedSession` in place of the SDK's SQLite session."""

from __future__ import annotations

from pathlib import Path

import agents
import agents.memory
import agents.memory.sqlite_session
from agents import SessionSettings

from seasoned import Memory
from seasoned.integrations.openai_agents import SeasonedSession


class OpenedByPath(SeasonedSession):
    """`SeasonedSession`, opened and closed as the SQLite session is."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        *,
        session_settings: SessionSettings | dict[str, object] | None = None,
    ) -> None:
        memory = Memory(None if str(db_path) == ":memory:" else db_path, embedder="hashing")
        super().__init__(session_id, memory, session_settings=session_settings)

    def close(self) -> None:
        self._memory.close()


agents.SQLiteSession = OpenedByPath
agents.memory.SQLiteSession = OpenedByPath
agents.memory.sqlite_session.SQLiteSession = OpenedByPath
