"""Memories of mem0: what `get_all` and `search` return, the platform's pages and exports, and OpenMemory's backup.

A memory becomes a note in the scope of its owner below the one that is imported into: its user's (`("ines",)`), else
its agent's, run's or app's (`("~agent", "barista")`), which no user's scope can be or hold, since a `~` in a user's id
is escaped. All the ids stand in `data` too, as
do the fields of its metadata; those whose names mean something here or there are kept under `metadata`, and the role
of who said it is `said_by`. Categories become tags. Left out and counted: what is deleted, what has expired, and
relations of the graph, which mem0 derived from the memories.

mem0's own databases are not read: `history.db` does not say whose a memory is, and the folder of its local Qdrant holds
pickled objects, which run code when they are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from seasoned.errors import BundleError
from seasoned.transfer.importers.databases import Tables
from seasoned.transfer.importers.facts import TAKEN, end_of, kept_apart
from seasoned.transfer.importers.fields import Json, as_object, first, is_object, objects, text
from seasoned.transfer.importers.items import Item, NoteDraft, Place, finished_note, parted, time_of

KIND: Final = "mem0"

_LISTS: Final = ("results", "memories")
_PAGE: Final = frozenset((*_LISTS, "relations", "next", "previous", "count", "total", "page", "page_size"))
_TEXT: Final = ("memory", "data", "text", "content")
_OWNERS: Final = {"user_id": "", "agent_id": "~agent", "run_id": "~run", "app_id": "~app"}
_MARKS: Final = frozenset((*_OWNERS, "hash", "categories", "event"))
_READ: Final = frozenset(
    (
        "id",
        "metadata",
        "created_at",
        "updated_at",
        "categories",
        "category_ids",
        "expiration_date",
        "app",
        "event",
        "state",
        "role",
    )
)
_DERIVED: Final = frozenset(("hash", "score", "score_details", "text_lemmatized", "structured_attributes"))
_LEFT: Final = _READ | _DERIVED | frozenset((*_TEXT, *_OWNERS))
_EXPORT: Final = (
    "export the memories of each user instead: "
    'json.dump(memory.get_all(filters={"user_id": "..."}, top_k=1_000_000), open("mem0.json", "w"))'
)


def fits(value: object) -> bool:
    """Tell whether `value` is a memory of mem0, or an object that holds a list of them."""
    if not is_object(value):
        return False
    if not any(isinstance(value.get(name), list) for name in _LISTS):
        return _is_memory(value)
    members = [member for name in _LISTS for member in _listed(value.get(name))]
    return any(is_object(member) and _is_memory(member) for member in members) or (
        not members and value.keys() <= _PAGE
    )


def items(value: Json, place: Place) -> Iterator[Item]:
    """Yield the memories of one value: of a page or export, or the single memory that it is."""
    if not any(isinstance(value.get(name), list) for name in _LISTS):
        yield _memory(value, place, _Page())
        return
    page = _page(value)
    for name in _LISTS:
        for number, member in enumerate(_listed(value.get(name)), 1):
            inner = f"{name} {number}"
            if is_object(member):
                yield _memory(member, place, replace(page, inner=inner))
            else:
                yield place.refused(f"a memory is an object, not {member!r:.80}", inner)
    for number, _ in enumerate(_listed(value.get("relations")), 1):
        yield place.skipped("a relation of the graph, which mem0 derived from the memories", f"relations {number}")


def holds(tables: Tables) -> bool:
    """Tell whether a database is mem0's history, or a collection of the local Qdrant that mem0 keeps by default."""
    return _is_history(tables) or _is_local_qdrant(tables)


def check(connection: sqlite3.Connection) -> None:
    """Refuse the database, and say what to export instead.

    Raises:
        BundleError: always.
    """
    if connection.execute("PRAGMA table_info(history)").fetchall():
        why = "mem0's history does not say whose a memory is"
    else:
        why = "the local Qdrant holds pickled objects, which run code when they are read"
    raise BundleError(f"{why}; {_EXPORT}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """What memories have from what they stand in: OpenMemory names its user and its apps and categories once."""

    user: str = ""
    apps: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, str] = field(default_factory=dict)
    inner: str = ""


def _page(value: Json) -> _Page:
    """Return what the backup says of all its memories; nothing for any other list."""
    return _Page(
        user=text(as_object(value.get("user")), "user_id"),
        apps=_names(value.get("apps")),
        categories=_names(value.get("categories")),
    )


def _names(value: object) -> dict[str, str]:
    return {text(each, "id"): name for each in objects(value) if (name := text(each, "name"))}


def _is_memory(value: Json) -> bool:
    if not text(value, "id") or not isinstance(_text(value), str):
        return False
    if isinstance(value.get("memory"), str) or "content" not in value:
        return "memory" in value or bool(value.keys() & _MARKS)
    return isinstance(value.get("state"), str) and "role" not in value


def _memory(value: Json, place: Place, page: _Page) -> Item:
    own = text(value, "id", "memory_id")
    if not own:
        return place.refused("a memory has an id", page.inner)
    for name in _OWNERS:
        if value.get(name) not in (None, "") and not text(value, name):
            return place.refused(f"a {name} is a text that is not blank, not {value[name]!r:.80}", page.inner)
    if _is_deleted(value):
        return place.skipped("deleted in mem0", page.inner)
    until = end_of(value.get("expiration_date"))
    if until is not None and until <= datetime.now(UTC):
        return place.skipped("expired in mem0", page.inner)
    owners = _owners(value, page)
    draft = NoteDraft(
        kind=KIND,
        own=own,
        text=_text(value),
        below=_below(owners),
        tags=_tags(value, page),
        data=_data(value, owners),
        at=time_of(value.get("created_at")) or time_of(value.get("updated_at")),
        until=until,
        inner=page.inner,
    )
    return finished_note(draft, place)


def _text(value: Json) -> object:
    """Return the memory's text; a blank one hides no other."""
    texts = (found for name in _TEXT if isinstance(found := value.get(name), str) and found.strip())
    return next(texts, first(value, *_TEXT))


def _is_deleted(value: Json) -> bool:
    return (
        text(value, "event").upper() == "DELETE"
        or text(value, "state").lower() == "deleted"
        or value.get("is_deleted") in (True, 1)
    )


def _owners(value: Json, page: _Page) -> dict[str, str]:
    """Return the ids that a memory belongs to, from its metadata only where it has none itself, as of old."""
    found = {name: text(value, name) for name in _OWNERS}
    if not any(found.values()):
        inside = as_object(value.get("metadata"))
        found = {name: text(inside, name) for name in _OWNERS}
    if page.user:
        found["user_id"] = page.user
    found["app_id"] = page.apps.get(found["app_id"], found["app_id"]) or text(value, "app")
    return {name: owner for name, owner in found.items() if owner}


def _below(owners: Mapping[str, str]) -> tuple[str, ...]:
    name, owner = next(iter(owners.items()), ("", ""))
    if not owner:
        return ()
    return (_OWNERS[name], owner) if _OWNERS[name] else (parted(owner),)


def _tags(value: Json, page: _Page) -> list[str]:
    """Return the categories, each once; those that no tag can have are left in the data."""
    named = [tag for tag in _listed(value.get("categories")) if isinstance(tag, str) and _is_tag(tag)]
    coded = [page.categories.get(code, "") for code in _listed(value.get("category_ids")) if isinstance(code, str)]
    return list(dict.fromkeys([*named, *(tag for tag in coded if _is_tag(tag))]))


def _is_tag(tag: str) -> bool:
    return bool(tag.strip()) and tag.isprintable() and len(tag) <= 100


def _data(value: Json, owners: dict[str, str]) -> Json:
    """Return the metadata's fields beside the memory's own; one whose name is taken stays in `metadata`."""
    own: Json = {name: item for name, item in value.items() if name not in _LEFT and item is not None}
    own = {**kept_apart(own | _told(value)), **owners}
    metadata = value.get("metadata")
    if not is_object(metadata):
        return own | ({"metadata": metadata} if metadata else {})
    new = {name: item for name, item in metadata.items() if owners.get(name) != item}
    free = kept_apart(new, TAKEN | _OWNERS.keys() | own.keys())
    apart = as_object(own.get("metadata")) | as_object(free.get("metadata"))
    return {**free, **own, **({"metadata": apart} if apart else {})}


def _told(value: Json) -> dict[str, object]:
    """Return what a memory tells beside its fields: who said it, and what could not be read or is out of the rule."""
    told: dict[str, object] = {"said_by": text(value, "role"), "state": text(value, "state")}
    if value.get("updated_at") != value.get("created_at"):
        told["updated_at"] = value.get("updated_at")
    if end_of(value.get("expiration_date")) is None:
        told["expiration_date"] = value.get("expiration_date")
    return {name: item for name, item in told.items() if item not in (None, "", "active")}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_history(tables: Tables) -> bool:
    return {"memory_id", "old_memory", "new_memory", "event"} <= tables.get("history", frozenset())


def _is_local_qdrant(tables: Tables) -> bool:
    return dict(tables) == {"points": frozenset(("id", "point"))}
