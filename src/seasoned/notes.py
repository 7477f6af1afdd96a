"""Plain notes: records for any use, with versions; what `Memory.remember`, `update` and `history` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from hashlib import blake2b
from typing import Final, TypeAlias

from seasoned.errors import Conflict, InvalidInput, NotFound, WrongType
from seasoned.ports import ABSENT, Clock, IdSource, Put, Store
from seasoned.query import Page, Query, both, parse_filter
from seasoned.records import JSON, MAX_ID, Hit, Key, Record, Scope, checked_id, clean_text, instant
from seasoned.results import Added, Status
from seasoned.search import Searcher

SUPERSEDED: Final = "superseded"
"""The kind of the versions that an update replaced; they are never searched."""

RESERVED: Final = (SUPERSEDED, "message", "summary")
"""Kinds that `remember` does not write."""

WHEN: TypeAlias = datetime | date | str | int | float | None
_RETRIES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One version of a record: its number, and the record as it was."""

    version: int
    record: Record
    current: bool


class Notes:
    """The notes of one scope."""

    def __init__(self, store: Store, scope: Scope, searcher: Searcher, clock: Clock, ids: IdSource) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._clock = clock
        self._ids = ids

    def remember(self, draft: Record, *, given_id: bool) -> Added:
        """Write a new note; one whose id is already there changes nothing and is reported as a duplicate."""
        vectors, failed = self._searcher.vectors([draft.text])
        try:
            self._store.apply([Put(draft, vectors[0], ABSENT)])
        except Conflict:
            if not given_id:
                raise
            return Added(id=draft.key.id, status=Status.DUPLICATE, reason="a record with this id is there already")
        return Added(id=draft.key.id, status=Status.WRITTEN, reason=f"degraded: {failed}" if failed else None)

    def draft(
        self,
        text: str,
        *,
        kind: str,
        id: str | None,  # noqa: A002  # the field's name everywhere
        tags: Sequence[str],
        data: Mapping[str, JSON] | None,
        sources: Sequence[Key],
        at: WHEN,
        until: WHEN,
        worth: float,
    ) -> Record:
        """Return the record of a note, checked."""
        if checked_id(kind, "a kind") in RESERVED:
            raise InvalidInput(f"the kind {kind!r} is written by another verb; choose another word")
        return Record(
            key=Key(self._scope, kind, checked_id(id) if id is not None else self._ids()),
            text=_checked_text(text),
            at=instant(at, default=self._clock.now()),
            data={**(data or {}), **({"tags": _checked_tags(tags)} if tags else {})},
            sources=tuple(sources),
            until=None if until is None else instant(until),
            worth=worth,
        )

    def get(self, name: str, kind: str | None = None) -> Hit:
        """Return the record with this id.

        Raises:
            NotFound: there is none.
        """
        checked_id(name)
        kinds = (kind,) if kind is not None else ("note", "message", "summary")
        keys = tuple(Key(self._scope, each, name) for each in kinds)
        hits = self._store.find(Query(scope=self._scope, keys=keys)).hits
        if not hits and kind is None:
            where = both(parse_filter({"id": name}), parse_filter({"kind": {"ne": SUPERSEDED}}))
            hits = self._store.find(Query(scope=self._scope, where=where, k=1)).hits
        if not hits:
            raise NotFound(f"no record {name!r} in {'/'.join(self._scope)}")
        return hits[0]

    def update(self, name: str, kind: str | None, changes: Mapping[str, object]) -> Hit:
        """Write a new version of a record; the old one stays in its history."""
        for _ in range(_RETRIES):
            old = self.get(name, kind).record
            new = _changed(old, changes)
            vectors = self._searcher.vectors([new.text])[0][0] if new.text != old.text else None
            try:
                self._store.apply([Put(_superseded(old)), Put(new, vectors, old.version)])
            except Conflict:
                continue
            return self.get(name, old.key.kind)
        raise Conflict(old.key, expected=old.version, found="a newer version at every try")

    def history(self, name: str, kind: str | None = None) -> list[Revision]:
        """Return the versions of a record, oldest first, the present one last."""
        current = self.get(name, kind).record
        old = self._store.find(Query(scope=self._scope, kinds=(SUPERSEDED,), source=current.key, k=1000)).hits
        revisions = [_revision(hit.record, current.key) for hit in old]
        revisions.append(Revision(version=current.version, record=current, current=True))
        return sorted(revisions, key=lambda revision: revision.version)

    def page(self, query: Query) -> Page:
        """Return a page of records."""
        return self._store.find(query)


def _checked_text(text: object) -> str:
    if not isinstance(text, str):
        raise WrongType(f"text is a string, not {text!r:.80}")
    if not text.strip():
        raise InvalidInput(f"text must not be blank, found {text!r:.80}")
    return clean_text(text)


def _checked_tags(tags: object) -> list[JSON]:
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise WrongType(f"tags are a list of strings, not {tags!r}")
    return [checked_id(tag, "a tag") for tag in tags]


_FIELDS: Final = ("text", "tags", "data", "at", "until", "worth")


def _changed(old: Record, changes: Mapping[str, object]) -> Record:
    unknown = set(changes) - set(_FIELDS)
    if unknown or not changes:
        raise WrongType(f"an update changes {', '.join(_FIELDS)}, not {', '.join(sorted(unknown)) or 'nothing'}")
    new: dict[str, object] = {name: changes[name] for name in ("worth",) if name in changes}
    if "text" in changes:
        new["text"] = _checked_text(changes["text"])
    if "at" in changes:
        new["at"] = instant(changes["at"])
    if "until" in changes:
        new["until"] = None if changes["until"] is None else instant(changes["until"])
    data = dict(changes.get("data", old.data))  # type: ignore[call-overload]  # Record checks it
    if "tags" in changes:
        data["tags"] = _checked_tags(changes["tags"])
    return replace(old, data=data, **new)  # type: ignore[arg-type]  # Record checks each


def _superseded(old: Record) -> Record:
    """Return the record that keeps an old version: its text stands in `data`, so no search finds it."""
    name = f"{old.version}:{old.key.kind}:{old.key.id}"
    if len(name) > MAX_ID:
        name = f"{old.version}:{blake2b(name.encode(), digest_size=16).hexdigest()}"
    data: dict[str, JSON] = {
        "version": old.version,
        "text": old.text,
        "data": dict(old.data),
        "worth": old.worth,
        "until": None if old.until is None else old.until.isoformat(),
    }
    return Record(key=Key(old.key.scope, SUPERSEDED, name), text="", at=old.at, data=data, sources=(old.key,))


def _revision(record: Record, key: Key) -> Revision:
    data = record.data
    was = Record(
        key=key,
        text=str(data["text"]),
        at=record.at,
        data=data["data"] if isinstance(data["data"], dict) else {},
        worth=float(data["worth"]) if isinstance(data["worth"], (int, float)) else 0.0,
        until=None if data["until"] is None else instant(data["until"]),
        version=int(str(data["version"])),
    )
    return Revision(version=was.version, record=was, current=False)


def age_limit(now: datetime, older_than: timedelta | float | None, before: WHEN) -> datetime | None:
    """Return the instant before which a record counts as old, from an age (or days) or an instant."""
    if older_than is not None and before is not None:
        raise InvalidInput("give either older_than or before, not both")
    if older_than is not None:
        age = older_than if isinstance(older_than, timedelta) else timedelta(days=older_than)
        return now - age
    return None if before is None else instant(before)
