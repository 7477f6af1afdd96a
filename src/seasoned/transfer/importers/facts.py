"""What importers of memories share: when something ends, and which names of its fields are taken here."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Final

from seasoned.transfer.importers.fields import Json
from seasoned.transfer.importers.items import time_of

TAKEN: Final = frozenset(("imported", "metadata", "name", "origin", "role", "session", "stale", "tags"))
"""Fields of a note's data that are ours, or that search reads as those of a message."""

_DATE: Final = len("2026-01-31")


def end_of(value: object) -> datetime | None:
    """Return the instant from which on something holds no longer, or None where `value` stands for none.

    A date counts to its end, in UTC; a time is that instant.
    """
    end = time_of(value)
    if end is None or not isinstance(value, str) or len(value.strip()) > _DATE:
        return end
    try:
        return end + timedelta(days=1)
    except OverflowError:
        return None


def kept_apart(fields: Json, taken: AbstractSet[str] = TAKEN) -> Json:
    """Return another product's fields as a note's data; those whose names are taken stand under `metadata`."""
    free = {name: value for name, value in fields.items() if name not in taken}
    rest = {name: value for name, value in fields.items() if name in taken}
    return free | ({"metadata": rest} if rest else {})
