"""Which engine a location means: a file, a URL, or none."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final, Protocol, get_args

from seasoned.errors import InvalidInput, WrongType
from seasoned.ports import Clock, Store
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.stores.sqlite.connections import Durability
from seasoned.text import Analyser

_SQLITE: Final = "sqlite:///"

ENGINES: Final = {
    "postgresql": "seasoned.stores.postgres",
    "postgres": "seasoned.stores.postgres",
    "qdrant": "seasoned.stores.qdrant",
    "qdrants": "seasoned.stores.qdrant",
    "chroma": "seasoned.stores.chroma",
    "chromas": "seasoned.stores.chroma",
    "pinecone": "seasoned.stores.pinecone",
    "singlestore": "seasoned.stores.singlestore",
}
"""The modules that open the URLs of other engines, by scheme; each is imported only where its engine is named."""


class Engine(Protocol):
    """A module of an engine."""

    def open_url(self, url: str, clock: Clock, analyser: Analyser) -> Store:
        """Return the store that a URL names."""
        ...


def open_store(
    location: str | os.PathLike[str] | Store | None, *, durability: Durability, clock: Clock, analyser: Analyser
) -> Store:
    """Return the store of a location: None is in memory, a path or `sqlite:///path` is a file, a store is itself.

    The URL of another engine begins with its name, such as `postgresql://` or `qdrant://`; see `ENGINES`.

    Raises:
        InvalidInput: a URL of an engine that is not there, a path that names no file, an unknown durability.
        MissingExtra: the engine's client is not installed.
        StoreError: the engine cannot be reached.
        WrongType: something else.
    """
    if durability not in get_args(Durability):
        raise InvalidInput(f"durability is one of {', '.join(get_args(Durability))}, not {durability!r}")
    if location is None or location == ":memory:":
        return MemoryStore(clock=clock, analyser=analyser)
    if isinstance(location, (str, os.PathLike)):
        path = os.fspath(location).removeprefix(_SQLITE)
        if "://" in path:
            return _engine(path).open_url(path, clock, analyser)
        return SQLiteStore(path, durability=durability, clock=clock, analyser=analyser)
    if isinstance(location, Store):
        return location
    raise WrongType(f"a memory lies in a file, at a URL or in a store, not in {location!r}")


def _engine(url: str) -> Engine:
    scheme = url.partition("://")[0].lower()
    if scheme not in ENGINES:
        known = ", ".join(f"{each}://" for each in ENGINES)
        raise InvalidInput(f"no engine for {scheme!r:.40}; give a file path, {_SQLITE}path, one of {known}, or a store")
    engine: Engine = import_module(ENGINES[scheme])
    return engine
