"""`LangGraphEngine`: records in a LangGraph `BaseStore`, such as the one that an agent is deployed with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Final

from seasoned.errors import InvalidInput, MissingExtra, WrongType
from seasoned.ports import Clock
from seasoned.records import checked_id
from seasoned.stores.documents import (
    Document,
    DocumentStore,
    Place,
    Sort,
    Traits,
    columns,
    document_id,
    document_of,
    root,
    translating,
)
from seasoned.stores.embedded import CACHE_BYTES
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

try:
    from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result
    from langgraph.store.memory import InMemoryStore
except ImportError as error:
    raise MissingExtra("langgraph", "langgraph") from error

BATCH: Final = 200
"""How many items one call writes or reads by key."""

PAGE: Final = 1_000
"""How many items one search asks for, and how many sequences it spans at first."""

NAMESPACE: Final = ("seasoned",)

_HEAD: Final = "head"
"""The key of a partition's head, which is known without the partition."""


class LangGraphEngine(DocumentStore):
    """Records as items of a LangGraph store, below `namespace`; the store is yours, and stays open.

    Any `BaseStore` will do: in memory, SQLite, PostgreSQL, Redis, MongoDB. Each scope is one namespace, named by
    digests, so that neither the form nor the length of a scope matters. Items are written with `index=False` and
    without a time to live: the store embeds nothing of them and expires none. Its own search is not used; each scope
    is read whole at its first listing or search, as the package of documents says.

    Two engines that reach one database through different store objects take turns within this process if they are
    given the same `place`, such as the database's URL. `durable` says whether the store survives the process; not
    said, all but LangGraph's `InMemoryStore` do. `fresh=False` is for a store that does not read its own writes at
    once. An `InMemoryStore` compares versions for sure, since no other process reaches it.

    Raises:
        InvalidInput: a namespace that LangGraph refuses.
        WrongType: a store that is no `BaseStore`.
        MissingExtra: (on import) langgraph is not installed.
    """

    def __init__(
        self,
        store: BaseStore,
        *,
        namespace: Sequence[str] = NAMESPACE,
        place: str | None = None,
        durable: bool | None = None,
        fresh: bool = True,
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        if not isinstance(store, BaseStore):
            raise WrongType(f"store is a BaseStore of langgraph, not {store!r:.80}")
        below, own = _checked_namespace(namespace), isinstance(store, InMemoryStore)
        traits = Traits(
            engine="langgraph",
            place=f"langgraph {place or id(store)} {'.'.join(below)}",
            batch=BATCH,
            durable=not own if durable is None else durable,
            fresh=fresh,
            exclusive=own,
        )
        documents = LangGraphDocuments(store, below, traits)
        super().__init__(documents, clock=clock, analyser=analyser, cache_bytes=cache_bytes)


class LangGraphDocuments:
    """Documents as items: one namespace a partition, the head under a key that is known without the partition.

    A sequence is written as digits of one width: some stores compare texts, others numbers, and both get it right.
    """

    def __init__(self, store: BaseStore, namespace: tuple[str, ...], traits: Traits) -> None:
        self._store = store
        self._namespace = namespace
        self.traits = traits

    def put(self, documents: Sequence[Document]) -> None:
        """Write in two calls, the heads in the second, since a store need not keep the order within one."""
        heads = [one for one in documents if one.sort is Sort.HEAD]
        for some in ([one for one in documents if one.sort is not Sort.HEAD], heads):
            if some:
                self._batch([self._written(one) for one in some])

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Read in one call."""
        return self._read([(self._of(partition), _key(partition, id_)) for partition, id_ in places])

    def delete(self, places: Sequence[Place]) -> None:
        """Delete in one call."""
        if places:
            self._batch([PutOp(self._of(partition), _key(partition, id_), None) for partition, id_ in places])

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Search a span of sequences at a time, so that no listing is long; the last span has no end."""
        head = self.get([(partition, document_id(partition, Sort.HEAD))])
        last, step, seen = head[0].seq if head else 0, PAGE, set[str]()
        while True:
            end = after + step if after + step < last else None
            found = self._span(partition, after, end)
            yield from (one for name, one in found.items() if name not in seen)
            if end is None:
                return
            seen |= found.keys()
            after, step = end, step * 2 if len(found) < PAGE // 4 else step

    def partitions(self, prefix: str) -> Iterator[str]:
        """Name the namespaces below the first part of the prefix, then read their heads."""
        below = (*self._namespace, _digest(root(prefix))) if prefix else self._namespace
        names = list(self._names(below))
        for start in range(0, len(names), BATCH):
            yield from (one.partition for one in self._read([(name, _HEAD) for name in names[start : start + BATCH]]))

    def close(self) -> None:
        """Do nothing: the store is the caller's."""

    def _span(self, partition: str, after: int, end: int | None) -> dict[str, Document]:
        """Return by id what a namespace has above one sequence and up to another."""
        bounds = {"$gt": _padded(after)} | ({} if end is None else {"$lte": _padded(end)})
        namespace, offset, found = self._of(partition), 0, dict[str, Document]()
        while True:
            with self._calling():
                items = self._store.search(namespace, filter={"seq": bounds}, limit=PAGE, offset=offset)
            mine = (_document(item.value) for item in items if tuple(item.namespace) == namespace)
            found |= {one.id: one for one in mine if one.seq > after and (end is None or one.seq <= end)}
            if len(items) < PAGE:
                return found
            offset += PAGE

    def _names(self, below: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the namespaces of partitions."""
        depth, offset = len(self._namespace) + 2, 0
        while True:
            with self._calling():
                found = self._store.list_namespaces(prefix=below, max_depth=depth, limit=PAGE, offset=offset)
            yield from (tuple(name) for name in found if len(name) == depth and tuple(name[: len(below)]) == below)
            if len(found) < PAGE:
                return
            offset += PAGE

    def _read(self, keys: Sequence[tuple[tuple[str, ...], str]]) -> list[Document]:
        found = self._batch([GetOp(namespace, key) for namespace, key in keys])
        return [_document(item.value) for item in found if isinstance(item, Item)]

    def _written(self, document: Document) -> PutOp:
        value = columns(document) | {"id": document.id, "seq": _padded(document.seq)}
        key = _key(document.partition, document.id)
        return PutOp(self._of(document.partition), key, value, index=False, ttl=None)

    def _of(self, partition: str) -> tuple[str, ...]:
        return (*self._namespace, _digest(root(partition)), _digest(partition))

    def _batch(self, operations: Sequence[Op]) -> list[Result]:
        with self._calling():
            return self._store.batch(operations)

    def _calling(self) -> AbstractContextManager[None]:
        """Translate whatever a store raises: it is the caller's, and any client may be below it."""
        return translating("langgraph", Exception)


def _checked_namespace(namespace: Sequence[str]) -> tuple[str, ...]:
    if isinstance(namespace, str) or not namespace:
        raise InvalidInput(f"a namespace is a tuple of labels such as ('seasoned',), not {namespace!r:.80}")
    for label in namespace:
        if "." in checked_id(label, "a label of a namespace") or label == "*":
            raise InvalidInput(f"LangGraph allows no '.' in a label, and '*' stands for any; found {label!r}")
    if namespace[0] == "langgraph":
        raise InvalidInput("LangGraph keeps the namespace 'langgraph' for itself")
    return tuple(namespace)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _key(partition: str, id_: str) -> str:
    return _HEAD if id_ == document_id(partition, Sort.HEAD) else id_


def _padded(seq: int) -> str:
    return f"{seq:018d}"


def _document(value: Mapping[str, object]) -> Document:
    """Return the document of an item's value, which holds its id."""
    return document_of(str(value.get("id")), value)
