"""Documents as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final

from seasoned.errors import InvalidInput, StoreBusy
from seasoned.stores.documents import Document, Place, Sort, Traits, document_of, root
from seasoned.stores.singlestore.client import Connections, Row, Run, Value

BATCH: Final = 200
"""How many rows one statement writes, reads by key or deletes."""

PAGE: Final = 2_000
"""How many rows one statement of a scan reads."""

STATEMENT_CHARS: Final = 4_000_000
"""About how many characters one statement writes at most; the server takes 100 MB unless it is told less."""

FIELDS: Final = ("id", "partition", "sort", "seq", "order", "version", "kind", "name", "body", "vectors")
"""The fields of a document, in the order of `COLUMNS`."""

COLUMNS: Final = ("id", "scope_text", "sort", "seq", "place", "version", "kind", "name", "body", "vectors")

_READ: Final = ", ".join(COLUMNS)
_SHAPE: Final = """
    scope CHAR(40) NOT NULL,
    id CHAR(36) NOT NULL,
    root CHAR(40) NOT NULL,
    scope_text LONGTEXT NOT NULL,
    sort VARCHAR(16) NOT NULL,
    seq BIGINT NOT NULL,
    place BIGINT NOT NULL,
    version BIGINT NOT NULL,
    kind VARCHAR(512) NOT NULL,
    name VARCHAR(512) NOT NULL,
    body LONGTEXT NOT NULL,
    vectors LONGTEXT NOT NULL{more},
    SHARD KEY (scope),
    SORT KEY (scope, seq),
    PRIMARY KEY (scope, id) USING HASH
"""


class SingleStoreTable:
    """Documents as rows, sharded by scope, so that each scope lies on one node.

    Every batch is one transaction that begins by moving the heads of its scopes from what the writer read to what is
    new: another process that was quicker makes it fail as a whole. So versions are compared for sure.
    """

    def __init__(self, connections: Connections, table: str, place: str) -> None:
        self._connections = connections
        self._table = f"`{table}`"
        self.traits = Traits(
            engine="singlestore", place=f"singlestore {place} {table}", batch=BATCH, durable=True, exclusive=True
        )
        self._make(table)

    def put(self, documents: Sequence[Document]) -> None:
        """Write rows in one transaction, the heads first: they say whether another process was quicker."""
        heads = sorted((one for one in documents if one.sort is Sort.HEAD), key=lambda one: one.partition)
        rest = [one for one in documents if one.sort is not Sort.HEAD]
        with self._connections.transaction() as run:
            for head in heads:
                self._move(run, head)
            for some in _by_size(rest):
                self._upsert(run, some)

    def get(self, places: Sequence[Place]) -> list[Document]:
        """Read rows by key."""
        if not places:
            return []
        where, values = _at(places)
        return [
            document(row) for row in self._connections.ask(f"SELECT {_READ} FROM {self._table} WHERE {where}", values)
        ]

    def delete(self, places: Sequence[Place]) -> None:
        """Delete rows by key."""
        if places:
            where, values = _at(places)
            self._connections.ask(f"DELETE FROM {self._table} WHERE {where}", values)

    def scan(self, partition: str, after: int = 0) -> Iterator[Document]:
        """Read the rows of a scope in the order of their sequence, a page at a time."""
        statement = (
            f"SELECT {_READ} FROM {self._table} WHERE scope = %s AND (seq > %s OR (seq = %s AND id > %s))"
            f" ORDER BY seq, id LIMIT {PAGE}"
        )
        last = "~"  # above every id
        while True:
            rows = self._connections.ask(statement, (digest(partition), after, after, last))
            yield from (document(row) for row in rows)
            if len(rows) < PAGE:
                return
            end = document(rows[-1])
            after, last = end.seq, end.id

    def partitions(self, prefix: str) -> list[str]:
        """Return the scopes below the first part of the prefix."""
        statement, values = f"SELECT scope_text FROM {self._table} WHERE sort = %s", list[Value]([str(Sort.HEAD)])
        if prefix:
            statement, values = f"{statement} AND root = %s", [*values, digest(root(prefix))]
        return [str(name) for (name,) in self._connections.ask(statement, values)]

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _move(self, run: Run, head: Document) -> None:
        if not head.was:
            run(f"INSERT INTO {self._table} {self._listed()} VALUES {self._marks()}", self._values(head))
            return
        moved = run(
            f"UPDATE {self._table} SET seq = %s, place = %s, version = %s WHERE scope = %s AND id = %s AND seq = %s",
            (head.seq, head.order, head.version, digest(head.partition), head.id, head.was),
        )
        if moved.changed != 1:
            raise StoreBusy(
                f"another writer changed the scope {head.partition!r:.200} at the same time; read it again and repeat"
            )

    def _upsert(self, run: Run, documents: Sequence[Document]) -> None:
        new = ", ".join(f"{name} = VALUES({name})" for name in (*COLUMNS[2:], *self._more_columns()))
        marks = ", ".join([self._marks()] * len(documents))
        run(
            f"INSERT INTO {self._table} {self._listed()} VALUES {marks} ON DUPLICATE KEY UPDATE {new}",
            [value for one in documents for value in self._values(one)],
        )

    def _listed(self) -> str:
        return f"({', '.join(('scope', 'root', *COLUMNS, *self._more_columns()))})"

    def _marks(self) -> str:
        return f"({', '.join(['%s'] * (2 + len(COLUMNS) + len(self._more_columns())))})"

    def _values(self, document: Document) -> list[Value]:
        own: list[Value] = [getattr(document, name) for name in FIELDS]
        own[2] = str(document.sort)
        return [digest(document.partition), digest(root(document.partition)), *own, *self._more_values(document)]

    def _more_shape(self) -> Sequence[str]:
        """Return definitions of further columns and their indexes."""
        return ()

    def _more_columns(self) -> Sequence[str]:
        return ()

    def _more_values(self, document: Document) -> Sequence[Value]:  # noqa: ARG002  # for tables with more columns
        return ()

    def _make(self, table: str) -> None:
        """Make the table where it is not there; refuse one that was made for other vectors, or for something else."""
        names = self._known_columns(table)
        if not names:
            shape = _SHAPE.format(more="".join(f",\n    {one}" for one in self._more_shape()))
            made = f"CREATE TABLE IF NOT EXISTS {self._table} ({shape}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            self._connections.ask(made)
            names = self._known_columns(table)
        lacking = [name for name in (*COLUMNS, *self._more_columns()) if name not in names]
        if lacking:
            raise InvalidInput(
                f"the table {table!r} has no column {', '.join(lacking)}: it was made for something else, or with"
                " another vector_size; name another table, or open it as it was made"
            )

    def _known_columns(self, table: str) -> set[str]:
        found = self._connections.ask(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s",
            (table,),
        )
        return {str(name).lower() for (name,) in found}


def digest(text: str) -> str:
    """Return what stands for a text of any length and script in a key."""
    return blake2b(text.encode(), digest_size=20).hexdigest()


def _at(places: Sequence[Place]) -> tuple[str, list[Value]]:
    """Return the condition that a row lies at one of these places; an id says its partition too."""
    scopes = list(dict.fromkeys(digest(partition) for partition, _ in places))
    marks = ", ".join(["%s"] * len(scopes)), ", ".join(["%s"] * len(places))
    return f"scope IN ({marks[0]}) AND id IN ({marks[1]})", [*scopes, *(name for _, name in places)]


def document(row: Row) -> Document:
    """Return the document of a row of `COLUMNS`."""
    found = dict(zip(FIELDS, row, strict=True))
    return document_of(str(found["id"]), found)


def _by_size(documents: Sequence[Document]) -> Iterator[list[Document]]:
    some, size = list[Document](), 0
    for one in documents:
        length = len(one.body) + len(one.vectors) + len(one.partition)
        if some and size + length > STATEMENT_CHARS:
            yield some
            some, size = [], 0
        some.append(one)
        size += length
    if some:
        yield some
