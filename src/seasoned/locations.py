"""Which engine a location means: a file, a URL, or none."""

from __future__ import annotations

import os
from typing import Final, get_args

from seasoned.errors import InvalidInput, WrongType
from seasoned.ports import Clock, Store
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.stores.sqlite.connections import Durability
from seasoned.text import Analyser

_SQLITE: Final = "sqlite:///"


def open_store(
    location: str | os.PathLike[str] | Store | None, *, durability: Durability, clock: Clock, analyser: Analyser
) -> Store:
    """Return the store of a location: None is in memory, a path or `sqlite:///path` is a file, a store is itself.

    Raises:
        InvalidInput: a URL of an engine that is not there, a path that names no file, an unknown durability.
        WrongType: something else.
    """
    if durability not in get_args(Durability):
        raise InvalidInput(f"durability is one of {', '.join(get_args(Durability))}, not {durability!r}")
    if location is None or location == ":memory:":
        return MemoryStore(clock=clock, analyser=analyser)
    if isinstance(location, (str, os.PathLike)):
        path = os.fspath(location).removeprefix(_SQLITE)
        if "://" in path:
            raise InvalidInput(
                f"no engine for {path.split('://')[0]}://; give a file path, {_SQLITE}path, or a store object"
            )
        if not path.strip():
            raise InvalidInput("the path of a memory must not be blank")
        if "\0" in path:
            raise InvalidInput(f"the path of a memory must hold no NUL, found {path!r}")
        return SQLiteStore(os.path.abspath(path), durability=durability, clock=clock, analyser=analyser)
    if isinstance(location, Store):
        return location
    raise WrongType(f"a memory lies in a file, at a URL or in a store, not in {location!r}")
