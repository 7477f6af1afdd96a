"""The default engine: one SQLite file, safe for several threads and processes, searched by in-process indexes."""

from seasoned.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
