"""Reading fields of JSON that another program wrote and that may hold anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeGuard

Json: TypeAlias = dict[str, object]


def is_object(value: object) -> TypeGuard[Json]:
    """Tell whether `value` is a JSON object."""
    return isinstance(value, dict)


def as_object(value: object) -> Json:
    """Return `value` if it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def objects(value: object) -> Iterator[Json]:
    """Yield the objects of a JSON list; nothing where it is not a list."""
    if isinstance(value, list):
        yield from (item for item in value if is_object(item))


def first(value: Json, *names: str) -> object:
    """Return the first field that is neither missing, null nor empty, so that an empty alias hides no other."""
    for name in names:
        found = value.get(name)
        if found is not None and found != "" and found != [] and found != {}:
            return found
    return None


def text(value: Json, *names: str) -> str:
    """Return the first field that is a text that is not blank, or a whole number; "" where there is none."""
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found.strip():
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
    return ""


def joined(*texts: str) -> str:
    """Return the texts that are not blank, one below the other."""
    return "\n".join(part for part in texts if part.strip())
