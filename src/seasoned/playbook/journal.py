"""The records of a playbook beside its entries: what happened, who did it, which ids there are, how far it is.

A change is one `playbook-change` (its number, never a text) and one `playbook-step` for each entry that it touched
(before and after). A step is derived from its entry's `playbook-id`, and that from the entry, or from the id of the
entry that it was merged into: so forgetting an entry takes along all that was ever written of it, under every id that
it had. A step whose change was never written is not part of the history.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.deltas import Change, Step
from seasoned.playbook.entries import ENTRY, Entry, from_json, to_json
from seasoned.ports import Store
from seasoned.query import Query
from seasoned.records import JSON, Hit, Key, Record, Scope

HEAD: Final = "playbook-head"
"""The kind of the one record that says how far the playbook is."""
CHANGE: Final = "playbook-change"
"""The kind of a change; its id is the number."""
STEP: Final = "playbook-step"
"""The kind of what a change did to one entry."""
NAME: Final = "playbook-id"
"""The kind of an id that was given, kept for as long as anything is known of it."""
BY: Final = "playbook-by"
"""The kind of a name by which a change was applied, so that it is applied once."""

KINDS: Final = (HEAD, CHANGE, STEP, NAME, BY)
"""Every kind of record that a playbook keeps beside its entries."""

PAGE: Final = 2_000

_LOG: Final = logging.getLogger("seasoned.playbook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far a playbook is: the number of its last change, its token, the highest number of an id.

    `skipped` are ranges of numbers, both ends included, of changes that came in with a bundle: they are of another
    playbook, in which ids name other advice. `version` is that of its record.
    """

    number: int = 0
    token: str = ""
    ids: int = 0
    skipped: tuple[tuple[int, int], ...] = ()
    version: int = 0

    def has(self, number: int) -> bool:
        """Tell whether a change of this number is one of this playbook."""
        return 0 < number <= self.number and not any(first <= number <= last for first, last in self.skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """An id that was given: its place among all in order of first writing, and what its history hangs on."""

    place: tuple[int, int]
    sources: tuple[Key, ...]
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A change without its steps.

    `token` is part of the ids of its steps: of two writers of one number only the steps of the one whose header was
    written are read. `after` is the token of the change before. `ids` is the highest number of an id after it.
    """

    number: int
    at: datetime
    by: str
    token: str
    after: str
    steps: int
    ids: int


TITLE: Final = "playbook "
"""Begins the ids of records that nobody names, so that no id of a caller's is one of them by chance."""


def head_key(scope: Scope) -> Key:
    """Return the key of the head."""
    return Key(scope, HEAD, f"{TITLE}head")


def header_key(scope: Scope, number: int) -> Key:
    """Return the key of a change."""
    return Key(scope, CHANGE, f"{TITLE}change {number:09d}")


def name_key(scope: Scope, name: str) -> Key:
    """Return the key of an id."""
    return Key(scope, NAME, name)


def by_key(scope: Scope, by: str) -> Key:
    """Return the key of a name that a change was applied by."""
    return Key(scope, BY, TITLE + hashlib.sha256(by.encode()).hexdigest())


def step_keys(scope: Scope, header: Header) -> list[Key]:
    """Return the keys of the steps of a change."""
    prefix = _step_prefix(header)
    return [Key(scope, STEP, f"{prefix}{index}") for index in range(header.steps)]


def _step_prefix(header: Header) -> str:
    return f"{TITLE}step {header.number:09d}-{header.token}-"


def head_record(scope: Scope, head: Head, at: datetime) -> Record:
    """Return the record of the head."""
    skipped: list[JSON] = [[*each] for each in head.skipped]
    data: dict[str, JSON] = {"number": head.number, "token": head.token, "ids": head.ids, "skipped": skipped}
    return Record(key=head_key(scope), text="", at=at, data=data)


def header_record(scope: Scope, header: Header) -> Record:
    """Return the record of a change."""
    data: dict[str, JSON] = {"number": header.number, "by": header.by, "token": header.token, "after": header.after}
    return Record(
        key=header_key(scope, header.number),
        text="",
        at=header.at,
        data={**data, "steps": header.steps, "ids": header.ids},
    )


def step_records(scope: Scope, header: Header, steps: Iterable[Step], reason: str) -> list[Record]:
    """Return the records of the steps of a change, in order."""
    return [
        Record(
            key=key,
            text="",
            at=header.at,
            data={
                "number": header.number,
                "entry": step.id,
                "reason": reason,
                "before": _stored(step.before, scope),
                "after": _stored(step.after, scope),
                "merged_into": step.merged_into,
            },
            sources=(name_key(scope, step.id),),
        )
        for key, step in zip(step_keys(scope, header), steps, strict=True)
    ]


def _stored(entry: Entry | None, scope: Scope) -> JSON:
    """Return an entry as a step keeps it, its sources relative to the scope, so that they hold wherever it is moved."""
    if entry is None:
        return None
    sources: list[JSON] = [[[*_relative(key.scope, scope)], key.kind, key.id] for key in entry.sources]
    return {**to_json(entry), "sources": sources}


def _relative(scope: Scope, base: Scope) -> tuple[str, ...]:
    return (".", *scope[len(base) :]) if base.holds(scope) else ("/", *scope)


def name_record(scope: Scope, step: Step, place: tuple[int, int], at: datetime) -> Record:
    """Return the record of an id after a step.

    It is derived from its entry, from the id of the one that this was merged into, or from what a removed entry was
    learned from: with any of them its history goes, too.
    """
    entry = Key(scope, ENTRY, step.id)
    sources: tuple[Key, ...] = (entry,)
    if step.after is None and step.merged_into is not None:
        sources = (name_key(scope, step.merged_into),)
    elif step.after is None and step.before is not None:
        sources = (entry, *step.before.sources)
    return Record(key=name_key(scope, step.id), text="", at=at, data={"place": [*place]}, sources=sources)


def by_record(scope: Scope, by: str, number: int, at: datetime) -> Record:
    """Return the record that says that a change was applied by this name, and its number."""
    return Record(key=by_key(scope, by), text="", at=at, data={"number": number})


def read_head(record: Record) -> Head:
    """Return the head of a record."""
    skipped = record.data.get("skipped")
    return Head(
        number=_whole(record.data, "number"),
        token=_word(record.data, "token"),
        ids=_whole(record.data, "ids"),
        skipped=tuple(_ranges(skipped)) if isinstance(skipped, list) else (),
        version=record.version,
    )


def _ranges(given: list[JSON]) -> Iterator[tuple[int, int]]:
    for each in given:
        match each:
            case [int(first), int(last)]:
                yield first, last


def read_name(hit: Hit) -> Name:
    """Return the id of a record; without a place of its own it stands where the record was first written."""
    place = hit.record.data.get("place")
    known = isinstance(place, list) and len(place) == 2 and all(isinstance(each, int) for each in place)
    where = (int(place[0]), int(place[1])) if known else (0, hit.order)  # type: ignore[index, arg-type]  # known
    return Name(place=where, sources=hit.record.sources, version=hit.record.version)


def read_header(record: Record) -> Header:
    """Return the change of a record, without its steps."""
    data = record.data
    return Header(
        number=_whole(data, "number"),
        at=record.at,
        by=_word(data, "by"),
        token=_word(data, "token"),
        after=_word(data, "after"),
        steps=_whole(data, "steps"),
        ids=_whole(data, "ids"),
    )


def headers(store: Store, scope: Scope, first: int, last: int) -> list[Header]:
    """Return the changes with these numbers, both included, oldest first; those that were forgotten are left out."""
    keys = [header_key(scope, number) for number in range(max(1, first), last + 1)]
    return sorted((read_header(hit.record) for hit in _by_keys(store, scope, keys)), key=lambda each: each.number)


def newest_number(store: Store, scope: Scope) -> int:
    """Return the highest number of a change that is recorded; all of them are read."""
    query = Query(scope=scope, kinds=(CHANGE,), k=PAGE)
    return max((_whole(record.data, "number") for record in _all(store, query)), default=0)


def changes(store: Store, scope: Scope, found: list[Header]) -> list[Change]:
    """Return whole changes; one of which every step was forgotten is left out."""
    records: dict[int, list[Record]] = {each.number: [] for each in found}
    keys = [key for header in found for key in step_keys(scope, header)]
    for hit in _by_keys(store, scope, keys):
        records[_whole(hit.record.data, "number")].append(hit.record)
    made = (_change(header, records[header.number]) for header in found)
    return [change for change in made if change.steps]


def changes_of(store: Store, scope: Scope, names: Iterable[str], head: Head) -> list[Change]:
    """Return what happened to these ids, oldest first: each change with their steps alone."""
    records: dict[int, list[Record]] = {}
    for name in names:
        query = Query(scope=scope, kinds=(STEP,), source=name_key(scope, name), k=PAGE)
        for record in _all(store, query):
            number = _whole(record.data, "number")
            if head.has(number):
                records.setdefault(number, []).append(record)
    found = _by_keys(store, scope, [header_key(scope, number) for number in sorted(records)])
    made = [_change(header, records[header.number]) for header in (read_header(hit.record) for hit in found)]
    return sorted((change for change in made if change.steps), key=lambda change: change.number)


def _change(header: Header, records: list[Record]) -> Change:
    prefix = _step_prefix(header)
    own = {int(each.key.id.removeprefix(prefix)): each for each in records if each.key.id.startswith(prefix)}
    steps = [(own[index], _step(own[index])) for index in sorted(own)]
    reason = next((_word(record.data, "reason") for record, _ in steps), "")
    whole = tuple(step for _, step in steps if step is not None)
    return Change(number=header.number, at=header.at, by=header.by, reason=reason, steps=whole)


def _step(record: Record) -> Step | None:
    try:
        into = record.data.get("merged_into")
        return Step(
            id=_word(record.data, "entry"),
            before=_entry(record.data.get("before"), record.key.scope),
            after=_entry(record.data.get("after"), record.key.scope),
            merged_into=into if isinstance(into, str) else None,
        )
    except (InvalidInput, WrongType) as error:
        _LOG.warning("%s cannot be read and is left out: %s", record.key, error)
        return None


def _entry(given: JSON, base: Scope) -> Entry | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise WrongType(f"an entry is a mapping, not {given!r:.80}")
    entry = from_json(given)
    return replace(entry, sources=tuple(_absolute(key, base) for key in entry.sources))


def _absolute(key: Key, base: Scope) -> Key:
    """Return the key of a source that `_stored` wrote."""
    first, *rest = key.scope
    return Key(Scope((*base, *rest)) if first == "." else Scope(tuple(rest)), key.kind, key.id)


def _by_keys(store: Store, scope: Scope, keys: list[Key]) -> Iterator[Hit]:
    for start in range(0, len(keys), PAGE):
        yield from store.find(Query(scope=scope, keys=tuple(keys[start : start + PAGE]), k=PAGE)).hits


def _all(store: Store, query: Query) -> Iterator[Record]:
    while True:
        page = store.find(query)
        yield from (hit.record for hit in page.hits)
        if page.cursor is None:
            return
        query = replace(query, cursor=page.cursor)


def _whole(data: Mapping[str, JSON], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _word(data: Mapping[str, JSON], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
