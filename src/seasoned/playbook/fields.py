"""Fields: what stands in the JSON of a model's reply, whatever its types, and texts that are of no use."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Final

from seasoned.models.replies import is_data
from seasoned.playbook.entries import Mark
from seasoned.records import JSON, MAX_ID

FIELD_CHARS: Final = 2_000
"""Longest text that a model may say in one field; a longer one is quarantined, not cut."""

REPEATING_BYTES: Final = 240
"""From how many bytes on a text is examined for repetition."""

REPEATING_SHARE: Final = 0.25
"""A text that deflates to less than this share of its bytes repeats itself."""

_MARKS: Final[Mapping[str, Mark]] = {
    **dict.fromkeys(("helpful", "help", "helped", "useful", "+"), Mark.HELPFUL),
    **dict.fromkeys(("harmful", "harm", "harmed", "misleading", "-"), Mark.HARMFUL),
    **dict.fromkeys(("neutral", "unused", "none", "o"), Mark.NEUTRAL),
}  # fmt: skip

_IDS: Final = ("id", "bullet_id", "entry_id", "target_id")


def first_of(given: Mapping[str, JSON], *names: str) -> JSON:
    """Return the value of the first of these fields that has one; names are compared without case, "-" and "_"."""
    folded = {_folded(name): value for name, value in reversed([*given.items()]) if value is not None}
    return next((folded[name] for name in map(_folded, names) if name in folded), None)


def _folded(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def text_of(value: JSON) -> str:
    """Return a field as text: a number as it is written, a list of texts as lines; "" where it is no text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return "\n".join(text for each in value if not isinstance(each, list) and (text := text_of(each)))
    return ""


def id_of(value: JSON) -> str:
    """Return a field as the id of an entry, the brackets that playbooks show ids in taken off; "" where it is none."""
    text = text_of(value) if not isinstance(value, list) else ""
    bare = text.removeprefix("[").removesuffix("]").strip()
    return bare if len(bare) <= MAX_ID and bare.isprintable() else ""


def ids_of(value: JSON) -> list[str]:
    """Return a field as ids: a list of them, of objects that have one, or one text with commas; each once."""
    if isinstance(value, str):
        value = [*value.replace("[", "").replace("]", "").split(",")]
    listed = value if isinstance(value, list) else []
    found = [id_of(first_of(each, *_IDS) if isinstance(each, dict) else each) for each in listed]
    return [*dict.fromkeys(each for each in found if each)]


def objects_of(value: JSON) -> list[Mapping[str, JSON]]:
    """Return a field as objects: a list of them, or one alone; what is none is passed over."""
    listed = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, dict)]


def mark_of(value: JSON) -> Mark | None:
    """Return a field as a mark; None where it is none."""
    return _MARKS.get(text_of(value).casefold())


def marks_of(value: JSON) -> list[tuple[str, Mark | None]]:
    """Return a field as ids and marks: a list of {id, tag}, of "id: tag", or an object from ids to tags."""
    if isinstance(value, dict) and first_of(value, *_IDS) is None:
        return [(id_of(name), mark_of(tag)) for name, tag in value.items()]
    listed: Sequence[JSON] = value if isinstance(value, list) else [value]
    found = list[tuple[str, Mark | None]]()
    for each in listed:
        if isinstance(each, dict):
            found.append((id_of(first_of(each, *_IDS)), mark_of(first_of(each, "tag", "mark", "label"))))
        elif isinstance(each, str) and ":" in each:
            name, _, tag = each.rpartition(":")
            found.append((id_of(name), mark_of(tag)))
    return [(name, mark) for name, mark in found if name]


def why_useless(text: str) -> str:
    """Return why a text that a model wrote is not kept as advice: too long, repeating, or data; "" where it is kept."""
    if len(text) > FIELD_CHARS:
        return f"it has {len(text)} characters, more than {FIELD_CHARS}"
    data = text.encode()
    if len(data) >= REPEATING_BYTES and len(zlib.compress(data, 6)) < REPEATING_SHARE * len(data):
        return "it repeats itself"
    return "it is JSON, no text" if is_data(text) else ""
