"""The client: imported here alone, opened, shared within the process, and its errors translated."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, Final, Literal, TypeAlias
from uuid import uuid4

from seasoned.errors import MissingExtra, WrongType
from seasoned.private_files import make_folder
from seasoned.stores.documents import ForkLock, PerProcess, translating

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
except ImportError as error:
    raise MissingExtra("qdrant", "qdrant-client") from error

Distance: TypeAlias = Literal["cosine", "dot", "euclid"]
"""How Qdrant compares vectors when it names candidates; unit vectors come in the same order by each."""

_ERRORS: Final = (ApiException, RuntimeError, ValueError, OSError, sqlite3.Error)


class Opened:
    """A client, where its data lies, and what is true there; those of one folder in this process share a client.

    A child that a fork makes has its own connections to a server, and a copy of what is in memory; a folder stays with
    the process that opened it.
    """

    _folders: ClassVar[dict[str, Opened]] = {}
    _lock: ClassVar[ForkLock] = ForkLock()

    def __init__(
        self, here: PerProcess[QdrantClient], place: str, *, local: bool, durable: bool, exclusive: bool, own: bool
    ) -> None:
        self._here = here
        self.place = place
        self.local = local
        self.durable = durable
        self.exclusive = exclusive
        self._calling = ForkLock()
        self._own = own
        self._users = 1

    @property
    def client(self) -> QdrantClient:
        """The client of this process."""
        return self._here.client

    @classmethod
    def folder(cls, path: str) -> Opened:
        """Open a folder, or share it with who opened it in this process."""
        place = os.path.realpath(path)
        with cls._lock:
            if place in cls._folders and cls._folders[place]._here.own() is not None:
                cls._folders[place]._users += 1
                return cls._folders[place]
            make_folder(place)
            here = PerProcess(QdrantClient(path=place, force_disable_check_same_thread=True))
            made = cls(here, place, local=True, durable=True, exclusive=True, own=True)
            cls._folders[place] = made
            return made

    @contextmanager
    def call(self) -> Iterator[None]:
        """Call the client, one thread at a time where it is local, with its errors translated."""
        with translating("qdrant", *_ERRORS):
            if not self.local:
                yield
                return
            with self._calling:
                yield

    def release(self) -> None:
        """Close the client if nobody else uses it and it is not the caller's."""
        with self._lock:
            self._users -= 1
            mine = self._here.own()
            if self._users == 0 and self._own and mine is not None:
                if self._folders.get(self.place) is self:
                    del self._folders[self.place]
                mine.close()


def opened(url: str | None, api_key: str | None, path: str | None, client: QdrantClient | None) -> Opened:
    """Open what is given: a client, a folder, a server, or else a place in memory."""
    if client is not None:
        if not isinstance(client, QdrantClient):
            raise WrongType(f"client is a QdrantClient, not {client!r:.80}")
        local = client.init_options.get("location") == ":memory:" or client.init_options.get("path") is not None
        return Opened(
            PerProcess(client), f"client {id(client)}", local=local, durable=not local, exclusive=False, own=False
        )
    with translating("qdrant", *_ERRORS):
        if path is not None:
            return Opened.folder(path)
        if url is None:
            made = QdrantClient(location=":memory:")
            here = PerProcess(made, lambda: made)
            return Opened(here, f"memory {uuid4().hex}", local=True, durable=False, exclusive=True, own=True)
        connect = partial(QdrantClient, url=url, api_key=api_key, check_compatibility=False)
        return Opened(PerProcess(connect(), connect), url, local=False, durable=True, exclusive=False, own=True)


__all__ = ["Distance", "Opened", "QdrantClient", "UnexpectedResponse", "models", "opened"]
