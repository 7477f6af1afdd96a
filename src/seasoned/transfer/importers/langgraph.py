"""Items of a LangGraph store, LangMem's memories among them: a SqliteStore's file, or any store that is open.

An item becomes a note in the scope of its namespace: `("memories", "alice"), "k1"` is the note `langgraph/k1` below
`("memories", "alice")`. Its value lies whole in `data.value`; its text is what of it can be read. LangMem's values are
`{"kind": …, "content": {…}}` (https://github.com/langchain-ai/langmem): the text is the content's, the kind is a tag.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Protocol

from seasoned.errors import InvalidInput
from seasoned.records import MAX_DEPTH, checked_id
from seasoned.transfer.importers.databases import Tables
from seasoned.transfer.importers.fields import is_object
from seasoned.transfer.importers.items import Item, NoteDraft, Place, finished_note, time_of

KIND: Final = "langgraph"

PAGE: Final = 1_000
"""How many items of an open store are asked for at first."""

_TABLE: Final = "store"
_COLUMNS: Final = frozenset(("prefix", "key", "value", "created_at", "updated_at"))
_MAIN: Final = ("content", "text", "memory", "data", "value")
_UNSAID: Final = frozenset(("id", "kind", "type", "encoding", "created_at", "updated_at", "modified_at", "timestamp"))


class StoredItem(Protocol):
    """An item as a store returns it."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, object]
    created_at: datetime
    updated_at: datetime


class ItemStore(Protocol):
    """What is used of a LangGraph store."""

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        limit: int = ...,
        offset: int = ...,
        refresh_ttl: bool | None = ...,
    ) -> Sequence[StoredItem]:
        """Return items below a namespace."""
        ...


def holds(tables: Tables) -> bool:
    """Tell whether a database with these tables is that of a SqliteStore."""
    return tables.get(_TABLE, frozenset()) >= _COLUMNS


def rows(connection: sqlite3.Connection, place: Place) -> Iterator[Item]:
    """Yield the items of a SqliteStore; what has expired, and waits to be swept, is left out."""
    now = datetime.now(UTC)
    found = connection.execute("SELECT * FROM store ORDER BY prefix, key")
    for number, row in enumerate(found, 1):
        yield _row(row, replace(place, index=number), now)


def items_of(store: ItemStore, namespace: Sequence[str] = ()) -> Iterator[Item]:
    """Yield the items of an open store at and below a namespace, all of them however many there are.

    They are read at once, with a limit that grows, since pages could miss items that have equal times; where a store
    returns no more than some number, by pages after all. No time to live is prolonged.
    """
    place = Place(file=type(store).__name__, index=1, unit="item", session="")
    for number, item in enumerate(_all(store, tuple(namespace)), 1):
        yield _item(
            item.namespace, item.key, item.value, (item.created_at, item.updated_at), replace(place, index=number)
        )


def readable(value: object, depth: int = 0) -> str:
    """Return the text of a value: what its main field says (`content`, `text`, …), below it the others by name.

    Times, ids and types are not said, nor what is nested deeper than data may be.
    """
    if depth > MAX_DEPTH or value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (list, tuple)):
        return "\n".join(each if isinstance(each, str) else readable(each, depth + 1) for each in value).strip()
    if is_object(value):
        return _of_object(value, depth + 1)
    return _scalar(value)


def _row(row: sqlite3.Row, place: Place, now: datetime) -> Item:
    names = row.keys()
    namespace, key = tuple(str(row["prefix"]).split(".")), str(row["key"])
    until = time_of(row["expires_at"]) if "expires_at" in names else None
    if until is not None and until <= now:
        return place.skipped("expired", f"key {key}")
    try:
        value = json.loads(row["value"])
    except (ValueError, TypeError, RecursionError) as error:
        return place.refused(f"its value is not JSON: {error}", f"key {key}")
    return _item(namespace, key, value, (row["created_at"], row["updated_at"]), place, until)


def _item(
    namespace: Sequence[str],
    key: str,
    value: object,
    times: tuple[object, object],
    place: Place,
    until: datetime | None = None,
) -> Item:
    inner = f"key {key}"
    if not is_object(value):
        return place.refused(f"an item's value is an object, not {value!r:.80}", inner)
    kind, content = _langmem(value)
    text = readable(content)
    if not text or value.get("encoding") == "base64":
        return place.skipped("binary content" if text else "item without a text", inner)
    draft = NoteDraft(
        kind=KIND,
        own=key,
        text=text,
        below=namespace,
        tags=(kind,) if kind else (),
        data={"value": value},
        at=next((time for time in reversed(times) if time_of(time) is not None), None),
        until=until,
        inner=inner,
    )
    return finished_note(draft, place)


def _langmem(value: Mapping[str, object]) -> tuple[str, object]:
    """Return kind and content of a value in LangMem's shape; of another "" and the value."""
    kind = value.get("kind")
    if isinstance(kind, str) and "content" in value and value.keys() <= {"kind", "content"}:
        return _tag(kind), value["content"]
    return "", value


def _tag(kind: str) -> str:
    try:
        return checked_id(kind)
    except InvalidInput:
        return ""


def _of_object(value: Mapping[str, object], depth: int) -> str:
    main = next((name for name in _MAIN if readable(value.get(name), depth)), None)
    lines = [readable(value[main], depth)] if main else []
    for name, each in value.items():
        if name != main and name not in _UNSAID and (text := _short(each) or readable(each, depth)):
            lines.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n".join(lines)


def _short(value: object) -> str:
    """Return a list of words or numbers on one line; "" for anything else."""
    if not isinstance(value, (list, tuple)) or any(isinstance(each, (list, tuple, dict)) for each in value):
        return ""
    return ", ".join(each if isinstance(each, str) else _scalar(each) for each in value if each is not None)


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _all(store: ItemStore, namespace: tuple[str, ...]) -> list[StoredItem]:
    limit = PAGE
    while len(found := list(store.search(namespace, limit=limit, refresh_ttl=False))) >= limit:
        limit *= 4
    while found:
        more = store.search(namespace, limit=PAGE, offset=len(found), refresh_ttl=False)
        if not more:
            break
        found += more
    return list({(item.namespace, item.key): item for item in found}.values())
