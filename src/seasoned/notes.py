"""Plain notes: records for any use, with versions; what `Memory.remember`, `update` and `history` do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

from seasoned.errors import Conflict, InvalidInput, NotFound, StoreLocked, WrongType
from seasoned.following import hits_of
from seasoned.forgetting import EXPORT, LEDGER, STALE
from seasoned.locked import check_readable
from seasoned.marking import Marking
from seasoned.ports import ABSENT, Clock, IdSource, Put, Store, Vectors
from seasoned.query import Order, Page, Query, both, parse_filter
from seasoned.records import JSON, MAX_ID, WHEN, Hit, Key, Record, Scope, checked_id, clean_text, finite, instant
from seasoned.results import Added, Status
from seasoned.search import Searcher
from seasoned.trust import Origin, checked_origin

SUPERSEDED: Final = "superseded"
"""The kind of the versions that an update replaced; they are never searched."""

LAYERS: Final = (
    *("message", "summary"),
    *("turn", "atom", "episode", "lesson", "run", "profile"),
    *("decision", "trajectory", "feedback"),
    "entry",
    "langgraph_item",
    "openai_item",
)
"""Kinds that the four memories and the integrations write, and that a person reads."""

BOOKKEEPING: Final = (
    SUPERSEDED,
    EXPORT,
    LEDGER,
    *(f"playbook-{part}" for part in ("head", "change", "step", "id", "by", "layout", "paper", "refined")),
    *(f"context-{part}" for part in ("trace", "snapshot", "outcome", "pins")),
)
"""Kinds that the memories keep for themselves: never found, and listed and counted only where they are named."""

RESERVED: Final = (*LAYERS, *BOOKKEEPING)
"""Kinds that `remember` does not write."""

_RETRIES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One version of a record: its number in the history, and the record as it was.

    Numbers rise with each `update`, from 1; `record.version` counts every write, credits and pins too.
    """

    version: int
    record: Record
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note that is to be written: what `Memory.remember` takes, as a value for `Memory.remember_all`.

    `below` are the parts of a scope below the memory's, where the note is for somebody there.
    """

    text: str
    kind: str = "note"
    tags: Sequence[str] = ()
    at: WHEN = None
    until: WHEN = None
    worth: float = 0.0
    id: str | None = None
    data: Mapping[str, JSON] | None = None
    sources: Sequence[Key] = ()
    origin: Origin | str | None = None
    below: tuple[str, ...] = ()


class Notes:
    """The notes of one scope."""

    def __init__(self, store: Store, scope: Scope, searcher: Searcher, clock: Clock, ids: IdSource) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._clock = clock
        self._ids = ids

    def remember(self, note: Note) -> Added:
        """Write a new note; one whose id is already there changes nothing and is reported as a duplicate."""
        draft = self._draft(note)
        vectors, failed = self._searcher.vectors([draft.text])
        try:
            self._store.apply([Put(draft, vectors[0], ABSENT)])
        except Conflict:
            if note.id is None:
                raise
            return _duplicate(draft)
        return _added(draft, failed)

    def remember_all(self, notes: Sequence[Note]) -> list[Added]:
        """Write new notes at once, and say what became of each, in their order.

        Raises:
            Conflict: other writers took their ids at every try; nothing was written.
        """
        drafts = [self._draft(note) for note in notes]
        given = [draft.key for draft, note in zip(drafts, notes, strict=True) if note.id is not None]
        for attempt in range(_RETRIES):
            fresh: dict[Key, Record] = {}
            known = hits_of(self._store, given)
            for draft in drafts:
                if draft.key not in known:
                    fresh.setdefault(draft.key, draft)
            vectors, failed = self._searcher.vectors([draft.text for draft in fresh.values()])
            try:
                self._store.apply([Put(draft, one, ABSENT) for draft, one in zip(fresh.values(), vectors, strict=True)])
            except Conflict:
                if attempt + 1 == _RETRIES:
                    raise
                continue
            return [_added(draft, failed) if fresh.get(draft.key) is draft else _duplicate(draft) for draft in drafts]
        raise AssertionError  # the loop returns or raises

    def _draft(self, note: Note) -> Record:
        """Return the record of a note, checked."""
        if checked_id(note.kind, "a kind") in RESERVED:
            raise InvalidInput(f"the kind {note.kind!r} is written by another verb; choose another word")
        data = {**_checked_data(note.data or {}), **({"tags": _checked_tags(note.tags)} if note.tags else {})}
        if note.origin is not None:
            data["origin"] = str(checked_origin(note.origin))
        return Record(
            key=Key(
                self._scope.within(*note.below) if note.below else self._scope,
                note.kind,
                checked_id(note.id) if note.id is not None else self._ids(),
            ),
            text=_checked_text(note.text),
            at=instant(note.at, default=self._clock.now()),
            data=data,
            sources=_checked_sources(note.sources),
            until=None if note.until is None else instant(note.until),
            worth=note.worth,
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
            raise NotFound(f"no record {name!r} in {self._scope}")
        return hits[0]

    def update(self, name: str, kind: str | None, changes: Mapping[str, object]) -> Hit:
        """Write a new version of a record; the old one stays in its history.

        What was made from a text that is replaced is marked for rewriting: `data.stale` is true, at any depth.

        Raises:
            NotFound: there is no such record, or it was removed meanwhile.
            InvalidInput: a text or data of a record that another verb writes.
            Conflict: other writers changed the record, or one that was made from it, at every try; it is as it was.
            StoreLocked: the record is sealed, and its key is not here.
        """
        found = self.get(name, kind)
        check_readable([found])
        key = found.record.key
        marking = Marking(self._store, self._scope, key)
        vectors: Vectors | None = None
        for attempt in range(_RETRIES):
            new = _changed(found.record, changes)
            if new.text != found.text:
                vectors = vectors or self._searcher.vectors([new.text])[0][0]
                if marking.look():  # it took its time
                    found = self.get(name, key.kind)
                    new = _changed(found.record, changes)
            kept = Put(_superseded(found.record, self._number(found) + attempt), expect=ABSENT)
            try:
                self._replace([kept, Put(new, vectors, found.record.version)], marking)
            except Conflict as error:
                if attempt + 1 == _RETRIES:
                    raise
                marking.settle(error)
                found = self.get(name, key.kind)
                continue
            return self._written(key)
        raise AssertionError  # the loop returns or raises

    def _replace(self, puts: Sequence[Put], marking: Marking) -> None:
        """Write the old and the new version, and the marks before them where the engine is not atomic."""
        while True:
            try:
                self._store.apply([*marking.puts, *puts])
                return
            except StoreLocked as error:
                if not marking.pass_over(error.scope):
                    raise

    def _number(self, current: Hit) -> int:
        """Return the number of the present version: one above that of the last old one."""
        query = replace(self._versions(current), order=Order.NEWEST, k=1)
        return 1 + max((_number_of(hit) for hit in self._store.find(query).hits), default=0)

    def _versions(self, current: Hit) -> Query:
        return Query(scope=self._scope, kinds=(SUPERSEDED,), source=current.record.key, k=1_000)

    def _written(self, key: Key) -> Hit:
        hits = self._store.find(Query(scope=self._scope, keys=(key,), expired=True)).hits
        if not hits:
            raise NotFound(f"no record {key.id!r} in {self._scope}: it was removed right after the update")
        return hits[0]

    def history(self, name: str, kind: str | None = None) -> list[Revision]:
        """Return the versions of a record, oldest first, the present one last."""
        current = self.get(name, kind)
        old = [_revision(hit, current.record) for hit in self._old_versions(current)]
        number = 1 + max((revision.version for revision in old), default=0)
        return [*old, Revision(version=number, record=current.record, current=True)]

    def _old_versions(self, current: Hit) -> Iterator[Hit]:
        """Yield what updates replaced; what was written before the record is of an expired one with the same id."""
        query, ordered = self._versions(current), self._store.can.ordered
        while True:
            page = self._store.find(query)
            mine = (hit for hit in page.hits if hit.order > current.order or not ordered)
            yield from (hit for hit in mine if _number_of(hit))
            if page.cursor is None:
                return
            query = replace(query, cursor=page.cursor)

    def page(self, query: Query) -> Page:
        """Return a page of records."""
        return self._store.find(query)


def _added(draft: Record, failed: str | None) -> Added:
    return Added(id=draft.key.id, status=Status.WRITTEN, reason=f"degraded: {failed}" if failed else None)


def _duplicate(draft: Record) -> Added:
    return Added(id=draft.key.id, status=Status.DUPLICATE, reason="a record with this id is there already")


def _checked_text(text: object) -> str:
    if not isinstance(text, str):
        raise WrongType(f"text is a string, not {text!r:.80}")
    if not text.strip():
        raise InvalidInput(f"text must not be blank, found {text!r:.80}")
    return clean_text(text)


def _checked_data(data: object) -> Mapping[str, JSON]:
    if not isinstance(data, Mapping):
        raise WrongType(f"data is a mapping of plain JSON, not {data!r:.80}")
    return data


def _checked_sources(sources: object) -> tuple[Key, ...]:
    if not isinstance(sources, (list, tuple)):
        raise WrongType(f"sources are a list of keys, not {sources!r:.80}")
    return tuple(sources)


def _checked_tags(tags: object) -> list[JSON]:
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise WrongType(f"tags are a list of strings, not {tags!r}")
    return [checked_id(tag, "a tag") for tag in tags]


_FIELDS: Final = ("text", "tags", "data", "at", "until", "worth")


def _changed(old: Record, changes: Mapping[str, object]) -> Record:
    unknown = set(changes) - set(_FIELDS)
    if unknown or not changes:
        raise WrongType(f"an update changes {', '.join(_FIELDS)}, not {', '.join(sorted(unknown)) or 'nothing'}")
    if old.key.kind in RESERVED and not changes.keys().isdisjoint(("text", "data")):
        raise InvalidInput(f"text and data of a {old.key.kind} are written by another verb; change other fields of it")
    new: dict[str, object] = {name: changes[name] for name in ("worth",) if name in changes}
    if "text" in changes:
        new["text"] = _checked_text(changes["text"])
    if "at" in changes:
        new["at"] = instant(changes["at"])
    if "until" in changes:
        new["until"] = None if changes["until"] is None else instant(changes["until"])
    data = dict(_checked_data(changes.get("data", old.data)))
    if "text" in changes:
        data.pop(STALE, None)
    if "tags" in changes:
        data["tags"] = _checked_tags(changes["tags"])
    return replace(old, data=data, **new)  # type: ignore[arg-type]  # Record checks each


def _superseded(old: Record, number: int) -> Record:
    """Return the record that keeps an old version: its text stands in `data`, so no search finds it."""
    name = f"{number}:{old.key.kind}:{old.key.id}"
    if len(name) > MAX_ID:
        name = f"{number}:{blake2b(name.encode(), digest_size=16).hexdigest()}"
    data: dict[str, JSON] = {
        "number": number,
        "version": old.version,
        "text": old.text,
        "data": dict(old.data),
        "worth": old.worth,
        "until": None if old.until is None else old.until.isoformat(),
    }
    return Record(key=Key(old.key.scope, SUPERSEDED, name), text="", at=old.at, data=data, sources=(old.key,))


def _number_of(hit: Hit) -> int:
    """Return the number of an old version; 0 for what an import brought that is none."""
    data = hit.record.data
    number = data.get("number")
    return number if isinstance(number, int) and {"version", "text", "data", "worth", "until"} <= data.keys() else 0


def _revision(hit: Hit, current: Record) -> Revision:
    data = hit.record.data
    was = Record(
        key=current.key,
        text=str(data["text"]),
        at=hit.record.at,
        data=data["data"] if isinstance(data["data"], dict) else {},
        sources=current.sources,
        worth=float(data["worth"]) if isinstance(data["worth"], (int, float)) else 0.0,
        until=None if data["until"] is None else instant(data["until"]),
        version=int(str(data["version"])),
    )
    return Revision(version=_number_of(hit), record=was, current=False)


def age_limit(now: datetime, older_than: timedelta | float | None, before: WHEN) -> datetime | None:
    """Return the instant before which a record counts as old, from an age (or days) or an instant.

    Raises:
        InvalidInput: both, or an age that is negative, not finite, or beyond the year 1.
        WrongType: an age that is neither a timedelta nor a number.
    """
    if older_than is None:
        return None if before is None else instant(before)
    if before is not None:
        raise InvalidInput("give either older_than or before, not both")
    try:
        age = older_than if isinstance(older_than, timedelta) else timedelta(days=finite(older_than, "an age in days"))
        limit = now - age
    except OverflowError as error:
        raise InvalidInput(f"{older_than!r} reaches back beyond the year 1") from error
    if limit > now:
        raise InvalidInput(f"an age is 0 or more, found {older_than!r}")
    return limit
