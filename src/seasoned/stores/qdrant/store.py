"""`QdrantStore`: the seam over one Qdrant collection."""

from __future__ import annotations

import os
from typing import Final, get_args

from seasoned.errors import InvalidInput
from seasoned.ports import Clock
from seasoned.records import checked_id
from seasoned.stores.documents import DocumentStore
from seasoned.stores.documents.candidates import READ_WHOLE
from seasoned.stores.documents.urls import parse_url
from seasoned.stores.embedded import CACHE_BYTES
from seasoned.stores.qdrant.client import Distance, Opened, QdrantClient, opened
from seasoned.stores.qdrant.points import QdrantDocuments
from seasoned.stores.qdrant.vectors import QdrantVectors
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

COLLECTION: Final = "seasoned"
MAX_SIZE: Final = 65_536


class QdrantStore(DocumentStore):
    """Records in one Qdrant collection, which is made if it is not there.

    `url` is a server's, such as "http://localhost:6333", with `api_key` where it wants one; `path` is a folder that
    one process at a time can open; without either all is in memory and gone at the end. `client` is a `QdrantClient`
    of yours, with whatever options it has; closing the store leaves it open. `collection_name` is any text without
    control characters; one collection serves all scopes, each of them a tenant of it.

    Each scope is read whole at its first listing or search, as the package of documents says, and both arms of search
    are those of the SQLite store: Qdrant's own statistics of words run over all scopes, so that one tenant would change
    another's ranking and learn of it, and its nearest k cannot be fused with what every other record scores. With
    `vector_size` (that of the embedder) records also get a dense vector, compared by `distance`, and a sparse one of
    their terms: of a scope of more than `read_whole` records they name the candidates that are ranked.

    On a server each write is conditional and read back, so that a second writer of a scope is a `StoreBusy` and not a
    lost update (Qdrant 1.16 or newer; an older one does not look at the condition).

    Raises:
        InvalidInput: two places at once, or a collection name that no collection can have.
        StoreError: the server cannot be reached, or the folder is in use.
        MissingExtra: (on import) qdrant-client is not installed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        collection_name: str = COLLECTION,
        api_key: str | None = None,
        path: str | os.PathLike[str] | None = None,
        client: QdrantClient | None = None,
        vector_size: int | None = None,
        distance: Distance = "cosine",
        read_whole: int = READ_WHOLE,
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        if sum(given is not None for given in (url, path, client)) > 1:
            raise InvalidInput("a Qdrant collection lies at a url, at a path or in a client of yours; give one of them")
        name = _checked_name(collection_name)
        place = opened(url, api_key, None if path is None else os.path.abspath(path), client)
        try:
            documents = _documents(place, name, analyser, _checked_size(vector_size), _checked_distance(distance))
        except BaseException:
            place.release()
            raise
        super().__init__(documents, clock=clock, analyser=analyser, cache_bytes=cache_bytes, read_whole=read_whole)


def _documents(opened: Opened, name: str, analyser: Analyser, size: int | None, distance: Distance) -> QdrantDocuments:
    return QdrantDocuments(opened, name) if size is None else QdrantVectors(opened, name, analyser, size, distance)


def _checked_size(size: object) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= MAX_SIZE):
        return size
    raise InvalidInput(f"vector_size lies between 1 and {MAX_SIZE}, or is None for no vectors, found {size!r}")


def _checked_distance(distance: Distance) -> Distance:
    if distance not in get_args(Distance):
        raise InvalidInput(f"distance is one of {', '.join(get_args(Distance))}, not {distance!r}")
    return distance


def _checked_name(name: object) -> str:
    """Return a collection's name, in which a server allows neither "/" nor a few other signs of paths."""
    checked = checked_id(name, "a collection name")
    if len(checked) > 255 or any(sign in checked for sign in '<>:"/\\|?*') or checked in (".", ".."):
        raise InvalidInput(f'a collection name has at most 255 characters and none of <>:"/\\|?*, found {name!r:.300}')
    return checked


def open_url(url: str, clock: Clock | None = None, analyser: Analyser = DEFAULT_ANALYSER) -> QdrantStore:
    """Open `qdrant://` (in memory), `qdrant:///folder` or `qdrant://host:6333/collection`; `qdrants://` is over TLS.

    `qdrant://./folder` is below the working directory. A folder's collection is named by `?collection=`. An API key
    stands before the host: `qdrants://:key@host/name`.

    Raises:
        InvalidInput: the URL has another form.
        StoreError: it cannot be opened.
    """
    found = parse_url(url, ("qdrant", "qdrants"), ("collection",))
    name = found.options.get("collection", COLLECTION)
    if not found.host:
        path = found.path if found.path.strip("/") else None
        return QdrantStore(path=path, collection_name=name, clock=clock, analyser=analyser)
    host = f"[{found.host}]" if ":" in found.host else found.host
    server = f"{'https' if found.scheme == 'qdrants' else 'http'}://{host}:{found.port or 6333}"
    named = found.path.strip("/") or name
    return QdrantStore(server, collection_name=named, api_key=found.key, clock=clock, analyser=analyser)
