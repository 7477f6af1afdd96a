"""Where records lie: in this process, in Qdrant, Chroma, Pinecone or SingleStore, or in a storage of your own.

An engine's client is imported when a storage of it is made; its absence is a `MissingExtra` that names the extra.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final, cast

from seasoned.compat.sikkaagent.mirroring import MemoryStorage
from seasoned.compat.sikkaagent.storing import SCOPE, SESSION, RecordStorage
from seasoned.compat.sikkaagent.utils.enums import Distance
from seasoned.embedders import EmbedderSpec, resolve
from seasoned.errors import EmbeddingError, InvalidInput
from seasoned.ports import Embedder, Store
from seasoned.records import Scope

COLLECTION: Final = "conversation_memory"
"""The collection where none is named."""

_LOG: Final = logging.getLogger("seasoned.compat.sikkaagent")


class InMemoryStorage(RecordStorage):
    """Records in this process, gone at its end; found by words, and by meaning too with another `embedder`."""

    def __init__(self, *, session: str = SESSION, embedder: EmbedderSpec = "hashing") -> None:
        super().__init__(session=session, embedder=embedder)


class Qdrant(RecordStorage):
    """Records in a Qdrant collection: on the server at `url`, in a folder at `path`, else in this process.

    `vector_size` is the dimension of `embedder`'s vectors, `distance` how Qdrant compares them: they name candidates
    in a large conversation, which are ranked here. Without a size it is read whole. `scope` says whose records they
    are, `session` of which conversation.

    Raises:
        InvalidInput: a size that is not the embedder's, an unknown distance, a name that no collection can have.
        StoreError: the server cannot be reached, or the folder is in use.
        MissingExtra: the extra "qdrant" is not installed.
    """

    def __init__(
        self,
        collection_name: str = COLLECTION,
        vector_size: int | None = None,
        distance: Distance | str = Distance.COSINE,
        url: str | None = None,
        api_key: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        embedder: EmbedderSpec = "auto",
        scope: Scope | Sequence[str] | str = SCOPE,
        session: str = SESSION,
    ) -> None:
        space = resolve(embedder)
        _check_size(vector_size, space, chosen=embedder != "auto")
        place = {"collection_name": collection_name, "api_key": api_key, "path": path, "vector_size": vector_size}
        store = _engine("qdrant", "QdrantStore")(url, distance=_distance(distance).value, **place)
        super().__init__(store, scope=scope, session=session, embedder=space, closes=True)


class ChromaDB(RecordStorage):
    """Records in a Chroma collection: in the folder `path`, on the server at `url`, else in this process.

    `headers` go to the server with each request. Never let untrusted callers reach a Chroma server; see
    `seasoned.stores.chroma.ChromaStore`.

    Raises:
        InvalidInput: two places at once, or a URL or name that cannot be one.
        StoreError: the server cannot be reached, or the folder cannot be opened.
        MissingExtra: the extra "chroma" is not installed.
    """

    def __init__(
        self,
        collection_name: str = COLLECTION,
        path: str | os.PathLike[str] | None = None,
        url: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        embedder: EmbedderSpec = "auto",
        scope: Scope | Sequence[str] | str = SCOPE,
        session: str = SESSION,
    ) -> None:
        space = resolve(embedder)
        store = _engine("chroma", "ChromaStore")(path, url=url, collection_name=collection_name, headers=headers)
        super().__init__(store, scope=scope, session=session, embedder=space, closes=True)


class PineconeDB(RecordStorage):
    """Records in a Pinecone index, in a namespace of their own.

    `host` is the index's address, which saves the look-up; `api_key` may stand in PINECONE_API_KEY. An index that is
    not there is made if `vector_size` is given, compared by `distance`, serverless in `cloud` and `region`. Pinecone
    shows writes late, and knows no conditional write: let one process write to a conversation; see
    `seasoned.stores.pinecone.PineconeStore`.

    Raises:
        InvalidInput: a name, host, size or distance that cannot be one, or no key.
        StoreError: the index cannot be reached, or is not there.
        MissingExtra: the extra "pinecone" is not installed.
    """

    def __init__(
        self,
        index_name: str = "conversation-memory",
        vector_size: int | None = None,
        distance: Distance | str = Distance.COSINE,
        api_key: str | None = None,
        host: str | None = None,
        *,
        cloud: str = "aws",
        region: str = "us-east-1",
        embedder: EmbedderSpec = "auto",
        scope: Scope | Sequence[str] | str = SCOPE,
        session: str = SESSION,
    ) -> None:
        space = resolve(embedder)
        place = {"api_key": api_key, "host": host, "cloud": cloud, "region": region, "vector_size": vector_size}
        store = _engine("pinecone", "PineconeStore")(index_name, distance=_distance(distance).value, **place)
        super().__init__(store, scope=scope, session=session, embedder=space, closes=True)


class SingleStore(RecordStorage):
    """Records in a SingleStore table; the database must be there.

    `password` may stand in SINGLESTORE_PASSWORD; `options` are further arguments of `singlestoredb.connect`.
    `vector_size` is the dimension of `embedder`'s vectors and `distance` how SingleStore compares them, as in `Qdrant`.

    Raises:
        InvalidInput: a host, table, size or distance that cannot be one.
        StoreError: the server cannot be reached, or refuses the user or the database.
        MissingExtra: the extra "singlestore" is not installed.
    """

    def __init__(
        self,
        table: str = COLLECTION,
        vector_size: int | None = None,
        distance: Distance | str = Distance.COSINE,
        *,
        host: str,
        database: str,
        port: int = 3306,
        user: str = "root",
        password: str | None = None,
        options: Mapping[str, object] | None = None,
        embedder: EmbedderSpec = "auto",
        scope: Scope | Sequence[str] | str = SCOPE,
        session: str = SESSION,
    ) -> None:
        space = resolve(embedder)
        _check_size(vector_size, space, chosen=embedder != "auto")
        place = {"port": port, "user": user, "password": password, "database": database, "options": options}
        compared = _distance(distance).value
        store = _engine("singlestore", "SingleStoreStore")(
            host, table=table, vector_size=vector_size, distance=compared, **place
        )
        super().__init__(store, scope=scope, session=session, embedder=space, closes=True)


def _engine(module: str, name: str) -> Callable[..., Store]:
    """Return an engine's class; its module, and so its client, is imported now.

    Raises:
        MissingExtra: its client is not installed.
    """
    return cast("Callable[..., Store]", getattr(import_module(f"seasoned.stores.{module}"), name))


def _distance(given: Distance | str) -> Distance:
    try:
        return Distance(given)
    except ValueError as error:
        raise InvalidInput(f"a distance is one of {', '.join(Distance)}, not {given!r:.80}") from error


def _check_size(size: int | None, embedder: Embedder, *, chosen: bool) -> None:
    """Refuse a size that is not that of an embedder the caller chose; say so of the one that happens to be here."""
    if size is None or embedder.weight == 0:
        return
    try:
        dimension = embedder.fingerprint.dimension
    except EmbeddingError:
        return
    if dimension == size:
        return
    what = f"vector_size is {size}, but the vectors of {embedder.fingerprint.name} have {dimension} places"
    if chosen:
        raise InvalidInput(what)
    _LOG.warning("%s, so the engine names candidates by words alone; what is found is ranked by both", what)


__all__ = [
    "ChromaDB",
    "InMemoryStorage",
    "MemoryStorage",
    "PineconeDB",
    "Qdrant",
    "RecordStorage",
    "SingleStore",
]
