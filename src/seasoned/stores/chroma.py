"""`ChromaStore`: records in one Chroma collection, in this process, in a folder, or on a server."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, cast
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np

from seasoned.errors import InvalidInput, MissingExtra, WrongType
from seasoned.ports import Clock
from seasoned.private_files import make_folder
from seasoned.records import checked_id
from seasoned.stores.documents import (
    Document,
    DocumentStore,
    ForkLock,
    PerProcess,
    Place,
    Sort,
    Traits,
    columns,
    document_of,
    root,
    translating,
)
from seasoned.stores.documents.urls import parse_url
from seasoned.stores.embedded import CACHE_BYTES
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

try:
    import chromadb
    import httpx
    from chromadb import Collection
    from chromadb.api import ClientAPI
    from chromadb.api.types import Metadata, Where
    from chromadb.config import Settings
    from chromadb.errors import ChromaError
except ImportError as error:
    raise MissingExtra("chroma", "chromadb") from error

BATCH: Final = 500
"""How many documents one request writes or reads; Chroma's own bound is 5,461."""

COLLECTION: Final = "seasoned"

TIMEOUT_S: Final = 60.0
"""How long a server may take to answer one request."""

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]", re.ASCII)
_ERRORS: Final = (ChromaError, httpx.HTTPError, ValueError, RuntimeError, OSError)
_OPENING: Final = ForkLock()


class ChromaStore(DocumentStore):
    """Records in one Chroma collection, which is made if it is not there.

    `path` is a folder for one process at a time; `url` is a server's, such as "http://localhost:8000", with `headers`
    for what it asks of its callers; without either all is in memory and gone at the end. `client` is a client of
    yours; closing the store leaves it open. `collection_name` is any text without control characters; one that Chroma
    would refuse is stored under a name made from it. One collection serves all scopes.

    Chroma's vectors are not used: one of its collections holds one vector a record, of one dimension, and updates them
    late. Each scope is read whole at its first listing or search, as the package of documents says, and both arms of
    search are those of the SQLite store. Chroma's telemetry is off, for clients that are opened here.

    Never let untrusted callers reach a Chroma server: as of release 1.5.9 one can run code on it before it
    authenticates anybody (CVE-2026-45829). Bind it to the loopback address, or to a network of its own.

    Raises:
        InvalidInput: two places at once, or a URL or name that cannot be one.
        StoreError: the server cannot be reached, or the folder cannot be opened.
        MissingExtra: (on import) chromadb is not installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        url: str | None = None,
        collection_name: str = COLLECTION,
        headers: Mapping[str, str] | None = None,
        client: ClientAPI | None = None,
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        if sum(given is not None for given in (path, url, client)) > 1:
            raise InvalidInput("a Chroma collection lies at a path, at a url or in a client of yours; give one of them")
        name = collection_of(collection_name)
        with translating("chroma", *_ERRORS):
            opened = _opened(path, url, headers, client)
        try:
            documents = ChromaDocuments(opened, name)
        except BaseException:
            opened.release(opened.client)
            raise
        super().__init__(documents, clock=clock, analyser=analyser, cache_bytes=cache_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A client, where its data lies, and what is true there; `suffix` keeps collections in memory apart.

    `again` opens another client in a child process; what is in memory or in a folder stays with the one that opened it.
    """

    client: ClientAPI
    place: str
    durable: bool
    exclusive: bool
    own: bool = True
    suffix: str = ""
    again: Callable[[], ClientAPI] | None = None

    def release(self, client: ClientAPI) -> None:
        """Close a client if it is not the caller's; Chroma counts who else uses it."""
        if self.own:
            with _OPENING, translating("chroma", *_ERRORS):
                for session in _sessions(client):
                    session.close()
                client.close()  # type: ignore[attr-defined]  # every client has it, the interface does not name it


class ChromaDocuments:
    """Documents as entries of a collection; their fields are its metadata, beside a vector that says nothing."""

    def __init__(self, opened: Opened, collection: str) -> None:
        self._opened = opened
        self._name = collection + opened.suffix
        self.traits = Traits(
            engine="chroma",
            place=f"chroma {opened.place} {self._name}",
            batch=BATCH,
            durable=opened.durable,
            exclusive=opened.exclusive,
        )
        again = opened.again
        self._here = PerProcess(self._entered(opened.client), None if again is None else lambda: self._entered(again()))

    def _entered(self, client: ClientAPI) -> tuple[ClientAPI, Collection]:
        with self._calling():
            return client, client.get_or_create_collection(self._name, embedding_function=None)

    @property
    def _collection(self) -> Collection:
        return self._here.client[1]

    def put(self, documents: Sequence[Document]) -> None:
        """Write entries in one request."""
        fields: list[Metadata] = [dict(columns(one)) for one in documents]
        with self._calling():
            self._collection.upsert(
                ids=[one.id for one in documents],
                embeddings=np.ones((len(documents), 1), np.float32),
                metadatas=fields,
            )

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Read entries by id."""
        if not places:
            return []
        with self._calling():
            found = self._collection.get(ids=[name for _, name in places], include=["metadatas"])
        return [document_of(name, one) for name, one in zip(found["ids"], found["metadatas"] or [], strict=True)]

    def delete(self, places: Sequence[Place]) -> None:
        """Delete entries by id."""
        if places:
            with self._calling():
                self._collection.delete(ids=[name for _, name in places])

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Name the entries of a partition in one request, then read them some at a time."""
        names = self._ids({"$and": [{"partition": {"$eq": partition}}, {"seq": {"$gt": after}}]})
        for start in range(0, len(names), BATCH):
            yield from self.get([(partition, name) for name in names[start : start + BATCH]])

    def partitions(self, prefix: str) -> Iterable[str]:
        """Return the partitions below the first part of the prefix."""
        heads: dict[str, object] = {"sort": {"$eq": str(Sort.HEAD)}}
        names = self._ids({"$and": [heads, {"root": {"$eq": root(prefix)}}]} if prefix else heads)
        places = [("", name) for name in names]
        found = (self.get(places[start : start + BATCH]) for start in range(0, len(places), BATCH))
        return [one.partition for some in found for one in some]

    def _ids(self, where: dict[str, object]) -> list[str]:
        with self._calling():
            return list(self._collection.get(where=cast("Where", where), include=[])["ids"])

    def close(self) -> None:
        """Let go of the client, and of a collection in memory."""
        mine = self._here.own()
        if mine is None:
            return
        if self._opened.suffix:
            with self._calling():
                mine[0].delete_collection(self._name)
        self._opened.release(mine[0])

    def _calling(self) -> AbstractContextManager[None]:
        return translating("chroma", *_ERRORS)


def collection_of(name: object) -> str:
    """Return the name of a Chroma collection for any name: itself where Chroma takes it, else one made from it."""
    checked = checked_id(name, "a collection name")
    if _NAME.fullmatch(checked) and not checked.startswith("seasoned-name-"):
        return checked
    return "seasoned-name-" + blake2b(checked.encode(), digest_size=20).hexdigest()


def _opened(
    path: str | os.PathLike[str] | None, url: str | None, headers: Mapping[str, str] | None, client: object
) -> Opened:
    if client is not None:
        if not isinstance(client, ClientAPI):
            raise WrongType(f"client is a client of chromadb, not {client!r:.80}")
        return Opened(client=client, place=f"client {id(client)}", durable=True, exclusive=False, own=False)
    settings = Settings(anonymized_telemetry=False)
    with _OPENING:
        if url is not None:
            return _remote(url, headers, settings)
        if path is not None:
            folder = os.path.realpath(path)
            make_folder(folder)
            made = chromadb.PersistentClient(path=folder, settings=settings)
            return Opened(client=made, place=folder, durable=True, exclusive=False)
        made, suffix = chromadb.EphemeralClient(settings=settings), f"-{uuid4().hex}"
        return Opened(client=made, place="memory", durable=False, exclusive=True, suffix=suffix)


def _remote(url: str, headers: Mapping[str, str] | None, settings: Settings) -> Opened:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InvalidInput("the url of a Chroma server has the form http://host:port or https://host:port")
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 8000)
    host = parts.hostname

    def connect() -> ClientAPI:
        made = chromadb.HttpClient(host=host, port=port, ssl=secure, headers=dict(headers or {}), settings=settings)
        for session in _sessions(made):
            session.timeout = TIMEOUT_S
        return made

    place = f"{parts.scheme}://{host}:{port}"
    return Opened(client=connect(), place=place, durable=True, exclusive=False, again=connect)


def _sessions(client: ClientAPI) -> Iterator[httpx.Client]:
    """Yield the connections of a client over HTTP, its own and its administrator's: Chroma does not close them."""
    for one in (client, getattr(client, "_admin_client", None)):
        found = getattr(getattr(one, "_server", None), "_session", None)
        if isinstance(found, httpx.Client):
            yield found


def open_url(url: str, clock: Clock | None = None, analyser: Analyser = DEFAULT_ANALYSER) -> ChromaStore:
    """Open `chroma://` (in memory), `chroma:///folder` or `chroma://host:8000/collection`; `chromas://` is over TLS.

    `chroma://./folder` is below the working directory. A folder's collection is named by `?collection=`. A token before
    the host (`chromas://:token@host`) is sent as `x-chroma-token`.

    Raises:
        InvalidInput: the URL has another form.
        StoreError: it cannot be opened.
    """
    found = parse_url(url, ("chroma", "chromas"), ("collection",))
    name = found.options.get("collection", COLLECTION)
    if not found.host:
        path = found.path if found.path.strip("/") else None
        return ChromaStore(path, collection_name=name, clock=clock, analyser=analyser)
    secure = found.scheme == "chromas"
    server = f"{'https' if secure else 'http'}://{found.host}:{found.port or (443 if secure else 8000)}"
    headers = None if found.key is None else {"x-chroma-token": found.key}
    named = found.path.strip("/") or name
    return ChromaStore(url=server, collection_name=named, headers=headers, clock=clock, analyser=analyser)
