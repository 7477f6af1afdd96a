"""Items of LangGraph as records, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from seasoned.errors import InvalidInput, SeasonedError, WrongType
from seasoned.integrations.langgraph.framework import Item, SearchItem
from seasoned.integrations.langgraph.names import key_of, long_key, namespace_of
from seasoned.records import JSON, Hit, Key, Record, Scope, clean_json, finite, instant

KIND: Final = "langgraph_item"
"""The kind of the records that are items."""


def checked_value(value: object) -> dict[str, JSON]:
    """Return a deep copy of an item's value as plain JSON.

    Raises:
        InvalidInput: a number that is not finite, or nesting that is too deep.
        WrongType: it is not a mapping of texts to plain JSON.
    """
    if not isinstance(value, Mapping):
        raise WrongType(f"an item's value is a mapping of texts to plain JSON, not {value!r:.80}")
    copied = clean_json(value)
    assert isinstance(copied, dict)  # noqa: S101  # a mapping gives a dict
    return copied


def checked_ttl(ttl: object) -> float | None:
    """Return a time to live in minutes, None for ever.

    Raises:
        InvalidInput: it is not above 0, or not finite.
        WrongType: it is not a number.
    """
    if ttl is None:
        return None
    minutes = finite(ttl, "a time to live, in minutes,")
    if minutes <= 0:
        raise InvalidInput(f"a time to live is above 0 minutes, found {ttl!r}; delete the item instead")
    return minutes


def expiry(now: datetime, ttl: float | None) -> datetime | None:
    """Return when an item of some minutes to live ends to exist; None for never, or after the year 9999."""
    if ttl is None:
        return None
    try:
        return now + timedelta(minutes=ttl)
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An item to be written, or with no value to be removed.

    `name` is its key as it was given, `texts` are to be embedded, `words` to be searched, `ttl` is in minutes.
    """

    key: Key
    name: str
    value: dict[str, JSON] | None = None
    texts: tuple[str, ...] = ()
    words: str = ""
    ttl: float | None = None

    def record(self, created: datetime, now: datetime) -> Record:
        """Return its record; `created` is when its key was first put."""
        data: dict[str, JSON] = {"value": self.value, "created": created.isoformat()}
        long = long_key(self.name)
        if long is not None:
            data["key"] = long
        if self.ttl is not None:
            data["ttl"] = self.ttl
        return Record(key=self.key, text=self.words, at=now, data=data, until=expiry(now, self.ttl))


def value_of(record: Record) -> dict[str, JSON] | None:
    """Return the value of an item; None for a record of that kind which another program wrote otherwise."""
    value = record.data.get("value")
    return value if isinstance(value, dict) else None


def created_at(record: Record) -> datetime:
    """Return when an item's key was first put."""
    try:
        return instant(record.data.get("created"))
    except SeasonedError:  # another program wrote it
        return record.at


def ttl_of(record: Record) -> float | None:
    """Return how many minutes an item lives after it was put or read."""
    ttl = record.data.get("ttl")
    return float(ttl) if isinstance(ttl, (int, float)) and not isinstance(ttl, bool) and ttl > 0 else None


def as_item(base: Scope, hit: Hit) -> Item:
    """Return an item as `get` gives it."""
    record = hit.record
    return Item(
        namespace=namespace_of(base, record.key.scope),
        key=key_of(record.key.id, record.data.get("key")),
        value=dict(value_of(record) or {}),
        created_at=created_at(record),
        updated_at=record.at,
    )


def as_search_item(base: Scope, hit: Hit, score: float | None) -> SearchItem:
    """Return an item as `search` gives it."""
    record = hit.record
    return SearchItem(
        namespace=namespace_of(base, record.key.scope),
        key=key_of(record.key.id, record.data.get("key")),
        value=dict(value_of(record) or {}),
        created_at=created_at(record),
        updated_at=record.at,
        score=score,
    )
