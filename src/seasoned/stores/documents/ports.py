"""The inner seam: a document, what an engine tells of itself, and what it must do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from seasoned.errors import SeasonedError, StoreCorrupt, StoreError

_NAMES = uuid5(NAMESPACE_URL, "tag:seasoned:documents")

SETTLE_US: Final = 60_000_000
"""How long (µs) an engine that shows writes late may take, the difference of the writers' clocks included."""


class Sort(StrEnum):
    """What a document is."""

    RECORD = "record"
    GONE = "gone"
    """Stands where a record was; it has no content."""
    HEAD = "head"
    """One a partition: `seq` is its last change, `order` its last place, `version` where known removals begin."""
    PART = "part"
    """A further piece of a long document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One flat document: texts and integers, none of them None.

    `id` is a UUID, a pure function of partition, sort, kind and name. `partition` is an encoded scope: up to many
    thousand characters of any script, to be compared exactly. `seq`, `order` (below 2**53) and `version` are integers.
    `kind` and `name` are those of the record's key ("" for a head). `body` and `vectors` are JSON texts ("" where there
    is nothing), of any length unless the engine's traits bound them; an engine need not look into them.

    `was` is not stored: it is the `seq` of the document that this one takes the place of, 0 where there was none. An
    engine that can write under that condition does so, and raises `StoreBusy` where another process was quicker.
    `whole` is not stored either: false says that the engine does not show every part of a long document yet.
    """

    id: str
    partition: str
    sort: Sort
    seq: int
    order: int
    version: int
    kind: str = ""
    name: str = ""
    body: str = ""
    vectors: str = ""
    was: int = field(default=0, compare=False)
    whole: bool = field(default=True, compare=False)


def document_id(partition: str, sort: Sort, kind: str = "", name: str = "") -> str:
    """Return the id of a document: the same in every process, and another for every other key."""
    place = Sort.RECORD if sort is Sort.GONE else sort
    return str(uuid5(_NAMES, json.dumps([place, partition, kind, name])))


def root(partition: str) -> str:
    """Return the first part of a partition: what an engine that cannot match prefixes narrows `partitions` by."""
    return partition.partition("/")[0]


Place: TypeAlias = tuple[str, str]
"""Where a document lies: its partition and its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What an engine tells of itself.

    `engine` is its name. `place` names where the data lies, the same for every object that reaches it, such as the
    server's URL with the collection: writers of one place in this process take turns. `batch` is how many documents
    one `put`, `get` or `delete` takes (2 or more). `durable`: what `put` returned from survives the process. `fresh`:
    it reads its own writes at once; one that does not shows
    every write within `SETTLE_US`. `exclusive`: no other process can write there, so that versions are compared for
    sure. `chars` bounds `body` and `vectors` of one document in bytes of UTF-8, together; None for no bound.
    """

    engine: str
    place: str
    batch: int
    durable: bool
    fresh: bool = True
    exclusive: bool = False
    chars: int | None = None


class Documents(Protocol):
    """Flat documents in partitions, as an engine keeps them. Thread safe.

    Errors of the client leave as `StoreError` (`StoreFull`, `StoreReadOnly`, … where they are told apart); what cannot
    be read raises, and is never an empty answer. A collection that is not there yet is empty, and made at need.
    """

    @property
    def traits(self) -> Traits:
        """What the engine tells of itself."""
        ...

    def put(self, documents: Sequence[Document]) -> None:
        """Write documents whole, each in place of the one of its id; return once all are acknowledged.

        At most `traits.batch`, of distinct ids and of any partitions. They take effect together or in the order given.
        """
        ...

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Return those that are there of at most `traits.batch` documents, in any order."""
        ...

    def delete(self, places: Sequence[Place]) -> None:
        """Remove at most `traits.batch` documents and their content; one that is not there is passed over."""
        ...

    def scan(self, partition: str, after: int = 0) -> Iterable[Document]:
        """Yield each document of exactly this partition whose `seq` is above `after`, once, in any order."""
        ...

    def partitions(self, prefix: str) -> Iterable[str]:
        """Return the partitions that hold a head and begin with `prefix`, at least; others may be among them."""
        ...

    def close(self) -> None:
        """Release the client; called once."""
        ...


@contextmanager
def translating(engine: str, *kinds: type[Exception]) -> Iterator[None]:
    """Raise the client's errors of these kinds as `StoreError`, with the engine's name in front; ours pass."""
    try:
        yield
    except SeasonedError:
        raise
    except kinds as error:
        raise StoreError(f"{engine} could not do it: {type(error).__name__}: {str(error)[:500]}") from error


def batches(places: Sequence[Place], size: int) -> Iterator[Sequence[Place]]:
    """Yield some places at a time."""
    for start in range(0, len(places), size):
        yield places[start : start + size]


FIELDS: Final = ("partition", "sort", "seq", "order", "version", "kind", "name", "body", "vectors")
"""What a document has beside its id."""


def columns(document: Document) -> dict[str, str | int]:
    """Return a document's fields as plain texts and integers, with `root`, for an engine that keeps a flat mapping."""
    return {name: getattr(document, name) for name in FIELDS} | {
        "sort": str(document.sort),
        "root": root(document.partition),
    }


def document_of(id_: str, found: Mapping[str, object]) -> Document:
    """Return the document that `columns` wrote; a field that is lost reads as empty, so that its record is damaged.

    Raises:
        StoreCorrupt: it is no document of ours.
    """
    text = {name: str(found.get(name) or "") for name in FIELDS}
    try:
        return Document(
            id=id_,
            partition=text["partition"],
            sort=Sort(text["sort"]),
            seq=_integer(found, "seq"),
            order=_integer(found, "order"),
            version=_integer(found, "version"),
            kind=text["kind"],
            name=text["name"],
            body=text["body"],
            vectors=text["vectors"],
        )
    except (KeyError, ValueError) as error:
        raise StoreCorrupt(f"document {id_} is not one of seasoned: {error!r}") from error


def _integer(found: Mapping[str, object], name: str) -> int:
    value = found[name]
    return int(value) if isinstance(value, float) else int(str(value))
