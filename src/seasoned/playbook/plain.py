"""A playbook as plain JSON: our own shape, which has all, and that of `agent-episodic-memory`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.deltas import Add
from seasoned.playbook.entries import OTHERS, Entry, Outcome, checked_outcome, checked_section, from_json, to_json
from seasoned.records import JSON, checked_id, instant

T = TypeVar("T")

_LOG: Final = logging.getLogger("seasoned.playbook")


def written(entries: Iterable[Entry]) -> dict[str, JSON]:
    """Return entries as plain JSON; agent-episodic-memory's `category` stands beside our `section`."""
    return {"entries": [{"category": entry.section, **to_json(entry)} for entry in entries]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """What plain JSON gives: whole entries where they have an id, else what is to be added; what is none, and why."""

    entries: tuple[Entry | Add, ...]
    skipped: tuple[tuple[str, str], ...]


def read(given: object) -> Plain:
    """Return what a mapping has under "entries".

    What has no content is skipped; another field that is missing or of another form has its default, with a warning.

    Raises:
        InvalidInput: no list under "entries".
        WrongType: no mapping.
    """
    if not isinstance(given, Mapping):
        raise WrongType(f"a playbook is a mapping, not {given!r:.80}")
    listed = given.get("entries")
    if not isinstance(listed, (list, tuple)):
        raise InvalidInput(f'a playbook has a list under "entries", found {listed!r:.80}')
    found, skipped = list[Entry | Add](), list[tuple[str, str]]()
    for number, each in enumerate(listed, 1):
        try:
            found.append(_item(each))
        except (InvalidInput, TypeError, OverflowError) as error:  # a `WrongType` is a TypeError
            _LOG.warning("entry %d of a playbook is left out: %s", number, error)
            skipped.append((f"entry {number}", str(error)))
    return Plain(entries=tuple(found), skipped=tuple(skipped))


def _item(given: object) -> Entry | Add:
    if not isinstance(given, Mapping):
        raise WrongType(f"an entry is a mapping, not {given!r:.80}")
    if given.get("id") is not None and given.get("created_at") is not None:
        return _sound(from_json({"section": given.get("category"), **given}))
    return Add(
        content=given.get("content"),  # type: ignore[arg-type]  # checked when made
        section=_or(checked_section, given.get("category"), OTHERS),
        outcome=_or(checked_outcome, given.get("outcome"), Outcome.NEUTRAL),
        at=_or(instant, given.get("created_at"), None),
    )


def _sound(entry: Entry) -> Entry:
    aliases = (_or(checked_id, name, "") for name in entry.aliases)
    return replace(
        entry,
        section=_or(checked_section, entry.section, OTHERS),
        aliases=tuple(name for name in aliases if name),
    )


def _or(checked: Callable[[object], T], value: object, default: T) -> T:
    try:
        return default if value is None else checked(value)
    except (InvalidInput, WrongType) as error:
        _LOG.warning("a field of a playbook's entry has its default: %s", error)
        return default
