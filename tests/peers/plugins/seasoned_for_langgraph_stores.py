"""A plugin of pytest that puts `SeasonedStore` in place of LangGraph's in-memory and SQLite stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.aio
from langgraph.store.base import TTLConfig

from seasoned.integrations.langgraph import SeasonedStore


class OpenedByString(SeasonedStore):
    """`SeasonedStore`, opened as the SQLite store is; the tables are there without `setup`."""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: Mapping[str, object] | None = None, ttl: TTLConfig | None = None
    ) -> Iterator[OpenedByString]:
        with cls(conn_string, index=_renamed(index), ttl=ttl) as store:
            yield store

    def setup(self) -> None:
        """Do nothing."""


class OpenedByStringAsync:
    """`SeasonedStore`, opened as the async SQLite store is, with its sweeps to be awaited as there."""

    def __init__(self, store: SeasonedStore) -> None:
        self._store = store

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: Mapping[str, object] | None = None, ttl: TTLConfig | None = None
    ) -> AsyncIterator[OpenedByStringAsync]:
        async with SeasonedStore(conn_string, index=_renamed(index), ttl=ttl) as store:
            yield cls(store)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def setup(self) -> None:
        """Do nothing."""

    async def sweep_ttl(self) -> int:
        return await asyncio.to_thread(self._store.sweep_ttl)

    async def start_ttl_sweeper(self) -> None:
        self._store.start_ttl_sweeper()

    async def stop_ttl_sweeper(self) -> bool:
        return await asyncio.to_thread(self._store.stop_ttl_sweeper)


def _renamed(index: Mapping[str, object] | None) -> dict[str, object] | None:
    """Return an index configuration of the SQLite store with the names of `IndexConfig`: it says `text_fields`."""
    if index is None:
        return None
    return {"dims": index["dims"], "embed": index["embed"], "fields": index.get("text_fields")}


langgraph.store.memory.InMemoryStore = SeasonedStore
langgraph.store.sqlite.SqliteStore = OpenedByString
langgraph.store.sqlite.AsyncSqliteStore = OpenedByStringAsync
langgraph.store.sqlite.aio.AsyncSqliteStore = OpenedByStringAsync
