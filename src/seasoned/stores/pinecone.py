"""`PineconeStore`: records in one Pinecone index, a namespace for each scope."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from seasoned.errors import InvalidInput, MissingExtra, StoreError
from seasoned.ports import Clock
from seasoned.records import checked_id
from seasoned.stores.documents import (
    Document,
    DocumentStore,
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
    from pinecone import Index, Pinecone, ServerlessSpec
    from pinecone.errors.exceptions import NotFoundError, PineconeError
except ImportError as error:
    raise MissingExtra("pinecone", "pinecone") from error

Distance: TypeAlias = Literal["cosine", "dot", "euclid"]
"""The metric of an index that is made here; Pinecone calls them cosine, dotproduct and euclidean."""

T = TypeVar("T")

INDEX: Final = "seasoned"

BATCH: Final = 100
"""How many entries one request writes, reads or deletes; more ids than that make too long a URL."""

CHARS: Final = 16_000
"""Most bytes of content in one entry: Pinecone takes 40 KB of metadata, and quotes may double in it."""

REQUEST_BYTES: Final = 1_000_000
"""About how many bytes one request writes at most; Pinecone takes 2 MB."""

MAX_SIZE: Final = 20_000
"""Most dimensions of an index."""

SCOPES: Final = "seasoned-scopes"
"""The namespace that holds the names of the scopes, which are longer than a namespace's name may be."""

_METRICS: Final = {"cosine": "cosine", "dot": "dotproduct", "euclid": "euclidean"}
_PIECE: Final = 4_000
_TRIES: Final = 3
_KEY: Final = "PINECONE_API_KEY"
_ERRORS: Final = (PineconeError, OSError, ValueError, TypeError)


class PineconeStore(DocumentStore):
    """Records as entries of one Pinecone index, in a namespace for each scope.

    `index_name` is the index; `host` is its address, which saves the look-up and reaches one that no account names,
    such as a local one. `api_key` is not given where the environment has PINECONE_API_KEY. An index of dense vectors of
    any dimension will do. One that is not there is made if `vector_size` is given, of that dimension, with the metric
    of `distance`, serverless in `cloud` and `region`; one that is there must then have that dimension.

    Pinecone shows writes late. Those of this process are seen at once, those of others when Pinecone shows them, and
    `can.fresh` is false; it knows no conditional write, so one process at a time should write to a scope. Its search is
    not used: it ranks no words, and its nearest k cannot be fused with what every other record scores. Each scope is
    read whole at its first listing or search, as the package of documents says, 100 records a request; so the vectors
    of the entries say nothing, and an index of few dimensions is the cheapest. A record of more than 16 KB, vectors
    included, lies in several entries.

    Raises:
        InvalidInput: a name, host, size or distance that cannot be one, no key, or an index of another dimension.
        StoreError: the index cannot be reached, or is not there.
        MissingExtra: (on import) pinecone is not installed.
    """

    def __init__(
        self,
        index_name: str = INDEX,
        *,
        vector_size: int | None = None,
        distance: Distance = "cosine",
        api_key: str | None = None,
        host: str | None = None,
        cloud: str = "aws",
        region: str = "us-east-1",
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        name, key, size = (
            checked_id(index_name, "the name of an index"),
            _checked_key(api_key),
            _checked_size(vector_size),
        )
        if distance not in get_args(Distance):
            raise InvalidInput(f"distance is one of {', '.join(get_args(Distance))}, not {distance!r}")
        with translating("pinecone", *_ERRORS):
            if host is None:
                spec = ServerlessSpec(cloud=cloud, region=region)
                with Pinecone(api_key=key) as client:
                    address = _address(client, name, size, _METRICS[distance], spec)
            else:
                address = _checked_host(host)
        entries = PineconeDocuments(partial(_client, address, key), f"pinecone {address}")
        try:
            entries.check(size)
        except BaseException:
            entries.close()
            raise
        super().__init__(entries, clock=clock, analyser=analyser, cache_bytes=cache_bytes)


class PineconeDocuments:
    """Documents as entries; their fields are the metadata, but for the partition, which the namespace stands for."""

    def __init__(self, connect: Callable[[], Index], place: str) -> None:
        self._here = PerProcess(connect(), connect)
        self._values: list[float] = [1.0]
        self._entered: set[str] = set()
        self.traits = Traits(engine="pinecone", place=place, batch=BATCH, durable=True, fresh=False, chars=CHARS)

    def check(self, size: int | None) -> None:
        """Learn the dimension of the index, which must be `size` if that is given.

        Raises:
            InvalidInput: it is another, or the index holds no dense vectors.
        """
        with self._calling():
            found = self._index.describe_index_stats().dimension
        if not found:
            raise InvalidInput("the index holds no dense vectors; give the name of one that does")
        if size not in (None, found):
            raise InvalidInput(f"the index was made with vector_size {found}, not {size}; name another index")
        self._values = [1.0, *[0.0] * (found - 1)]

    def put(self, documents: Sequence[Document]) -> None:
        """Write in order, in requests of one namespace and of bounded size; a new scope's name first."""
        self._enter([one.partition for one in documents if one.sort is Sort.HEAD and one.was == 0])
        for partition, some in groupby(documents, key=lambda one: one.partition):
            self._upsert(_namespace(partition), [(one.id, _metadata(one)) for one in some])

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Read by id, a namespace at a time."""
        found = list[Document]()
        for partition, ids in _by_partition(places).items():
            with self._calling():
                answer = self._index.fetch(ids=ids, namespace=_namespace(partition))
            found += (_document(name, partition, one.metadata) for name, one in answer.vectors.items())
        return found

    def delete(self, places: Sequence[Place]) -> None:
        """Delete by id, a namespace at a time."""
        for partition, ids in _by_partition(places).items():
            self._where_there(_namespace(partition), partial(self._index.delete, ids=ids))

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Read what a namespace has above a sequence, a page at a time."""
        found = self._matching(_namespace(partition), {"seq": {"$gt": after}})
        return (_document(name, partition, metadata) for name, metadata in found)

    def partitions(self, prefix: str) -> Iterator[str]:
        """Read the names below the first part of the prefix, and those that this process wrote."""
        asked = {"root": {"$eq": _digest(root(prefix))}} if prefix else {"of": {"$gt": 0}}
        pieces: dict[str, dict[int, str]] = {}
        for name, metadata in self._matching(SCOPES, asked):
            pieces.setdefault(name.partition("/")[0], {})[_number(metadata, "piece")] = str(metadata["text"])
        joined = {name: "".join(some[at] for at in sorted(some)) for name, some in pieces.items()}
        whole = [text for name, text in joined.items() if _digest(text) == name]
        return iter(dict.fromkeys([*whole, *self._entered]))

    def close(self) -> None:
        """Close the connections of this process."""
        found = self._here.own()
        if found is not None:
            found.close()

    @property
    def _index(self) -> Index:
        return self._here.client

    def _enter(self, partitions: Sequence[str]) -> None:
        """Write the names of scopes; done again it changes nothing."""
        self._upsert(SCOPES, [entry for partition in partitions for entry in _pieces(partition)])
        self._entered.update(partitions)

    def _upsert(self, namespace: str, entries: Sequence[tuple[str, dict[str, str | int]]]) -> None:
        for some in _by_size(entries, 5 * len(self._values)):
            vectors = [{"id": name, "values": self._values, "metadata": metadata} for name, metadata in some]
            with self._calling():
                self._index.upsert(vectors=vectors, namespace=namespace)

    def _matching(self, namespace: str, asked: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
        token: str | None = None
        while True:
            asking = partial(self._index.fetch_by_metadata, filter=asked, limit=BATCH, pagination_token=token)
            page = self._where_there(namespace, asking)
            if page is None:
                return
            yield from ((name, one.metadata or {}) for name, one in page.vectors.items())
            token = None if page.pagination is None else page.pagination.next
            if token is None:
                return

    def _where_there(self, namespace: str, call: Callable[..., T]) -> T | None:
        """Return what a call answers for a namespace, None where there is none in an index that can be reached.

        A namespace may come to be seen between a call and the look whether it is there; the call is then repeated.
        """
        for _ in range(_TRIES):
            with self._calling():
                try:
                    return call(namespace=namespace)
                except NotFoundError:
                    if namespace not in self._index.describe_index_stats().namespaces:
                        return None
        raise StoreError(f"pinecone lists the namespace {namespace!r}, and yet does not find it")

    def _calling(self) -> AbstractContextManager[None]:
        return translating("pinecone", *_ERRORS)


def _metadata(document: Document) -> dict[str, str | int]:
    """Return a document's fields, without the partition and without empty texts."""
    found = columns(document)
    return {name: value for name, value in found.items() if name not in ("partition", "root") and value != ""}


def _document(name: str, partition: str, metadata: Mapping[str, object] | None) -> Document:
    return document_of(name, {**(metadata or {}), "partition": partition})


def _pieces(partition: str) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Yield the entries that hold the name of a scope: one, or several where it is long."""
    name, below, count = _digest(partition), _digest(root(partition)), -(-len(partition) // _PIECE)
    for at in range(count):
        text = partition[at * _PIECE : (at + 1) * _PIECE]
        yield f"{name}/{at}", {"root": below, "piece": at, "of": count, "text": text}


def _number(metadata: Mapping[str, object], name: str) -> int:
    value = metadata[name]
    return int(value) if isinstance(value, (int, float)) else 0


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=20).hexdigest()


def _namespace(partition: str) -> str:
    """Return the namespace of a partition, whatever its length and script."""
    return f"seasoned-{_digest(partition)}"


def _by_partition(places: Iterable[Place]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for partition, name in places:
        found.setdefault(partition, []).append(name)
    return found


def _by_size(
    entries: Sequence[tuple[str, dict[str, str | int]]], more: int
) -> Iterator[list[tuple[str, dict[str, str | int]]]]:
    """Yield entries, some at a time: each counts as long as its metadata, and `more` for its vector."""
    some, size = list[tuple[str, dict[str, str | int]]](), 0
    for one in entries:
        length = len(json.dumps(one[1])) + more
        if some and size + length > REQUEST_BYTES:
            yield some
            some, size = [], 0
        some.append(one)
        size += length
    if some:
        yield some


def _client(address: str, key: str) -> Index:
    """Return a client of an index; one without TLS need not read the certificates."""
    return Index(host=address, api_key=key, ssl_verify=not address.startswith("http://"))


def _address(client: Pinecone, name: str, size: int | None, metric: str, spec: ServerlessSpec) -> str:
    """Return the host of an index, which is made where it is not there and a size is given."""
    try:
        found = client.describe_index(name)
    except NotFoundError:
        if size is None:
            raise StoreError(f"pinecone has no index {name!r}; give vector_size to have it made") from None
        found = client.create_index(name, spec=spec, dimension=size, metric=metric)
    return _checked_host(found.host)


def _checked_host(host: object) -> str:
    address = checked_id(host, "the host of an index").rstrip("/")
    return address if "://" in address else f"https://{address}"


def _checked_key(key: str | None) -> str:
    found = os.environ.get(_KEY, "") if key is None else key
    if not found.strip():
        raise InvalidInput(f"an API key of Pinecone is needed: give api_key, or set {_KEY} in the environment")
    return found


def _checked_size(size: object) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= MAX_SIZE):
        return size
    raise InvalidInput(f"vector_size lies between 1 and {MAX_SIZE}, or is None for an index that is there: {size!r}")


def open_url(url: str, clock: Clock | None = None, analyser: Analyser = DEFAULT_ANALYSER) -> PineconeStore:
    """Open `pinecone://KEY@?index=name` or `pinecone://KEY@?host=name-abc123.svc.region.pinecone.io`.

    Without a key the environment's PINECONE_API_KEY is taken. `vector_size` and `distance` are those of an index that
    is to be made.

    Raises:
        InvalidInput: the URL has another form.
        StoreError: the index cannot be reached.
    """
    found = parse_url(url, ("pinecone",), ("index", "host", "vector_size", "distance"))
    if found.path.strip("/") or (found.host and "index" in found.options):
        raise InvalidInput("a URL of Pinecone has the form pinecone://KEY@?index=name&host=address")
    size = found.options.get("vector_size")
    if size is not None and not (size.isascii() and size.isdecimal() and len(size) < 9):
        raise InvalidInput(f"vector_size in a URL is a number, not {size!r:.80}")
    return PineconeStore(
        found.options.get("index") or found.host or INDEX,
        vector_size=None if size is None else int(size),
        distance=found.options.get("distance", "cosine"),  # type: ignore[arg-type]  # checked where it is used
        api_key=found.key or found.user,
        host=found.options.get("host"),
        clock=clock,
        analyser=analyser,
    )
