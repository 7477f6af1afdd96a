"""MemPalace: the drawers of a palace (`chroma.sqlite3`, or `sqlite_exact.sqlite3`) and its `knowledge_graph.sqlite3`.

A drawer becomes a note with wing and room as tags and, with all that MemPalace knows of it, in `data`. The parts of a
drawer that was too long for one are joined again; one of which a part is missing is refused, so that no half of it
stands for the whole. Wings are no scopes: a search there looks into all of them unless
one is named, as `where={"data.wing": "..."}` does here. A fact of the knowledge graph becomes a note such as `Mara
works at the bakery`, from `valid_from` until the end of `valid_to`. Times without a zone are taken as UTC.

Left out and counted: facts that have ended, closets (an index that MemPalace makes of drawers), media, the marks that
say what was mined, and collections that are not MemPalace's. Only tables are read, never vectors, nor Chroma's log,
which keeps the text of deleted drawers. Palaces on Milvus, Qdrant or pgvector are not read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from seasoned.errors import BundleError
from seasoned.transfer.importers.databases import Tables, tables_in
from seasoned.transfer.importers.facts import end_of, kept_apart
from seasoned.transfer.importers.fields import Json, is_object, text
from seasoned.transfer.importers.items import Item, NoteDraft, Place, finished_note, time_of

KIND: Final = "mempalace"

_DRAWERS: Final = "mempalace_drawers"
_OTHERS: Final = {
    "mempalace_closets": "a closet, which MemPalace makes of drawers",
    "mempalace_assets": "a picture or other medium",
}
_DOCUMENT: Final = "chroma:document"
_PARENTS: Final = ("parent_drawer_id", "parent_entry_id")
_INTERNAL: Final = frozenset(
    (*_PARENTS, "chunk_index", "chunk_total", "id_recipe", "normalize_version", "convo_chunker_version")
) | frozenset(("source_mtime", "source_dir_ino", "content_hash", "last_modified"))
_TIMES: Final = ("authored_at", "content_date", "filed_at")
_CHROMA: Final = {"collections": {"id", "name"}, "embeddings": {"id", "segment_id", "embedding_id"}} | {
    "segments": {"id", "collection"},
    "embedding_metadata": {"id", "key", "string_value", "int_value", "float_value"},
}
_EXACT: Final = {"collections": {"id", "name"}, "documents": {"collection_id", "id", "document", "metadata_json"}}
_GRAPH: Final = {"entities": {"id", "name"}, "triples": {"id", "subject", "predicate", "object", "valid_from"}}

_OF_CHROMA: Final = (
    "SELECT c.name AS collection, e.embedding_id AS own, e.id AS row, m.* FROM embeddings e "
    "JOIN segments s ON s.id = e.segment_id JOIN collections c ON c.id = s.collection "
    "LEFT JOIN embedding_metadata m ON m.id = e.id ORDER BY e.id"
)
_OF_EXACT: Final = (
    "SELECT c.name AS collection, d.id AS own, d.document, d.metadata_json FROM documents d "
    "JOIN collections c ON c.id = d.collection_id ORDER BY d.rowid"
)
_OF_GRAPH: Final = (
    "SELECT t.*, s.name AS of_name, o.name AS to_name FROM triples t "
    "LEFT JOIN entities s ON s.id = t.subject LEFT JOIN entities o ON o.id = t.object ORDER BY t.rowid"
)


def holds(tables: Tables) -> bool:
    """Tell whether a database is a palace's, a Chroma that may hold one, or MemPalace's knowledge graph."""
    return any(_has(tables, wanted) for wanted in (_CHROMA, _EXACT, _GRAPH))


def check(connection: sqlite3.Connection) -> None:
    """Check that a Chroma database is a palace's.

    Raises:
        BundleError: it is one of another program.
    """
    tables = tables_in(connection)
    if _has(tables, _GRAPH) or _has(tables, _EXACT):
        return
    names = [str(name) for (name,) in connection.execute("SELECT name FROM collections ORDER BY name")]
    if _DRAWERS in names or connection.execute("SELECT 1 FROM embedding_metadata WHERE key = 'wing'").fetchone():
        return
    listed = ", ".join(map(repr, names)) or "no collection"
    raise BundleError(f"it is a Chroma database with {listed}, none of MemPalace")


def rows(connection: sqlite3.Connection, place: Place) -> Iterator[Item]:
    """Yield the drawers or facts of the database."""
    tables = tables_in(connection)
    if _has(tables, _GRAPH):
        yield from _facts(connection, place)
    elif _has(tables, _EXACT):
        yield from _drawers(_exact(connection), place)
    else:
        yield from _drawers(_chroma(connection), place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawer:
    """A row as it lies: `data` is None where its metadata cannot be read."""

    collection: str
    own: object
    text: object
    data: Json | None


def _has(tables: Tables, wanted: dict[str, set[str]]) -> bool:
    return all(columns <= tables.get(name, frozenset()) for name, columns in wanted.items())


def _chroma(connection: sqlite3.Connection) -> Iterator[_Drawer]:
    for _, cells in groupby(connection.execute(_OF_CHROMA), key=lambda cell: cell["row"]):
        some = list(cells)
        data = {str(cell["key"]): _value(cell) for cell in some if cell["key"] is not None}
        document = data.pop(_DOCUMENT, None)
        yield _Drawer(collection=str(some[0]["collection"]), own=some[0]["own"], text=document, data=data)


def _value(cell: sqlite3.Row) -> object:
    if "bool_value" in cell.keys() and cell["bool_value"] is not None:  # noqa: SIM118 - a Row is no mapping
        return bool(cell["bool_value"])
    found = (cell[name] for name in ("string_value", "int_value", "float_value"))
    return next((value for value in found if value is not None), None)


def _exact(connection: sqlite3.Connection) -> Iterator[_Drawer]:
    for row in connection.execute(_OF_EXACT):
        try:
            data = json.loads(row["metadata_json"])
        except (ValueError, TypeError, RecursionError):
            data = None
        yield _Drawer(
            collection=str(row["collection"]),
            own=row["own"],
            text=row["document"],
            data=data if is_object(data) else None,
        )


def _drawers(found: Iterator[_Drawer], place: Place) -> Iterator[Item]:
    """Yield the drawers one by one, those that lie in parts at the end."""
    divided: dict[tuple[str, str], list[tuple[Place, _Drawer]]] = {}
    for number, drawer in enumerate(found, 1):
        here = replace(place, index=number, unit="drawer")
        if drawer.data is None or not isinstance(drawer.own, str) or not drawer.own:
            yield here.refused("its id or metadata cannot be read")
        elif why := _left_out(drawer.collection, drawer.data):
            yield here.skipped(why)
        elif parent := text(drawer.data, *_PARENTS):
            divided.setdefault((drawer.collection, parent), []).append((here, drawer))
        else:
            yield _note(drawer.own, drawer.text, drawer.data, here)
    for (_, parent), parts in divided.items():
        yield _joined(parent, parts)


def _left_out(collection: str, data: Json) -> str:
    """Return why a row is no drawer, "" where it is one; the collection of drawers may have another name."""
    if collection in _OTHERS:
        return _OTHERS[collection]
    if collection != _DRAWERS and not (text(data, "wing") and text(data, "room")):
        return "of a collection that is not MemPalace's"
    return "a mark of what was mined" if data.get("ingest_mode") == "registry" else ""


def _joined(parent: str, parts: list[tuple[Place, _Drawer]]) -> Item:
    """Return the drawer that the parts make; where one is missing or damaged it is refused, and read once it is whole.

    How many there are is said by `chunk_total`, where MemPalace wrote that, else by the last of them.
    """
    ordered = sorted(parts, key=lambda part: _number(part[1], "chunk_index"))
    here, first = ordered[0]
    texts = {
        index: drawer.text
        for _, drawer in ordered
        if isinstance(drawer.text, str) and (index := _number(drawer, "chunk_index")) >= 0
    }
    total = max(_number(drawer, "chunk_total") for _, drawer in ordered)
    wanted = max(total, _number(ordered[-1][1], "chunk_index") + 1, 1)
    if len(texts) < wanted:
        return here.refused(f"{len(texts)} of {wanted} parts are there", f"drawer {parent}")
    if len(parts) > wanted:
        return here.refused(f"{len(parts)} parts are there for {wanted} places", f"drawer {parent}")
    return _note(parent, "".join(texts.values()), first.data or {}, here)


def _number(drawer: _Drawer, name: str) -> int:
    number = (drawer.data or {}).get(name)
    return number if isinstance(number, int) and not isinstance(number, bool) else -1


def _note(own: str, said: object, data: Json, place: Place) -> Item:
    kept = {name: item for name, item in data.items() if name not in _INTERNAL and item not in (None, "")}
    tags = [tag for name in ("wing", "room") if _is_tag(tag := text(data, name))]
    at = next((time for name in _TIMES if (time := time_of(data.get(name)))), None)
    return finished_note(NoteDraft(kind=KIND, own=own, text=said, tags=tags, data=kept_apart(kept), at=at), place)


def _is_tag(name: str) -> bool:
    return bool(name) and name.isprintable() and len(name) <= 100


def _facts(connection: sqlite3.Connection, place: Place) -> Iterator[Item]:
    for number, row in enumerate(connection.execute(_OF_GRAPH), 1):
        yield _fact(dict(zip(row.keys(), row, strict=True)), replace(place, index=number, unit="fact"))


def _fact(row: Json, place: Place) -> Item:
    own, subject, predicate, object_ = (
        text(row, *names) for names in (("id",), ("of_name", "subject"), ("predicate",), ("to_name", "object"))
    )
    if not (own and subject and predicate and object_):
        return place.refused("a fact has an id, a subject, a predicate and an object that are texts")
    until = end_of(row.get("valid_to"))
    if until is not None and until <= datetime.now(UTC):
        return place.skipped("a fact that has ended")
    told = ("confidence", "source_closet", "source_file", "source_drawer_id", "adapter_name", "valid_from", "valid_to")
    data = {name: row[name] for name in told if row.get(name) not in (None, "")}
    draft = NoteDraft(
        kind=KIND,
        own=own,
        text=f"{subject} {predicate.replace('_', ' ')} {object_}",
        tags=["fact"],
        data=data | {"subject": subject, "predicate": predicate, "object": object_},
        at=time_of(row.get("valid_from")) or time_of(row.get("extracted_at")),
        until=until,
    )
    return finished_note(draft, place)
