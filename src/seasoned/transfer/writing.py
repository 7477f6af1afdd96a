"""Writing messages and notes that were read elsewhere, each into its own scope, and comparing what is there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol, TypeVar

from seasoned.errors import Conflict, InvalidInput, WrongType
from seasoned.notes import Notes
from seasoned.ports import ABSENT, Put, Store
from seasoned.query import Query
from seasoned.records import JSON, Hit, Key, Record, Scope
from seasoned.results import Added, Status
from seasoned.search import Searcher
from seasoned.transfer.importers.items import Imported, Noted
from seasoned.trust import Origin

NOTE: Final = "note"
"""The kind of a note."""

MESSAGE: Final = "message"
"""The kind of a message."""

_OTHER_MESSAGE: Final = (
    "another message is stored under its id; is this another file of the same name? Then name its session"
)
_OTHER_NOTE: Final = "another text is stored under its id: it was changed here, or there since it was imported"

T = TypeVar("T", Imported, Noted)


class Conversation(Protocol):
    """The verb of a conversation memory that an import needs."""

    def add(
        self,
        messages: object,
        session: str = ...,
        at: Sequence[datetime | None] = ...,
        ids: Sequence[str | None] | None = ...,
    ) -> list[Added]:
        """Write messages of one session, each with its time and id."""
        ...


class Notebook(Protocol):
    """What messages and notes are written to: a memory, with the parts of it that write many notes at once."""

    scope: Scope
    _notes: Notes
    _searcher: Searcher

    @property
    def conversation(self) -> Conversation:
        """Where messages go."""
        ...

    @property
    def store(self) -> Store:
        """The engine below."""
        ...

    def within(self, *parts: str) -> Notebook:
        """Return the memory of a scope below."""
        ...

    def get(self, id: str, kind: str | None = None) -> Hit:  # noqa: A002 - the field's name everywhere
        """Return a record."""
        ...

    def pin(self, id: str, kind: str | None = None) -> bool:  # noqa: A002 - as above
        """Show a note in every context."""
        ...


def write_messages(memory: Notebook, items: Iterable[Imported]) -> Iterator[tuple[Imported, Added]]:
    """Write messages, session by session in the order of each, and yield what became of each."""
    for below, mine in _grouped(items, lambda item: item.below):
        target = memory.within(*below) if below else memory
        for _, said in _grouped(mine, lambda item: (item.session,)):
            for item, added in zip(said, _added(target.conversation, said), strict=True):
                yield item, _compared(target, item, added)


def write_notes(memory: Notebook, items: Sequence[Noted]) -> Iterator[tuple[Noted, Added]]:
    """Write notes into their scopes, all in one write with their vectors, and yield what became of each.

    Their origin is `import`: what another product's model made of a conversation is no person's word, and what its
    program wrote is none of ours. A context labels them as imported and not verified.
    """
    drafts = [_drafted(memory, item) for item in items]
    records = [draft for draft in drafts if isinstance(draft, Record)]
    known = _known(memory.store, records)
    fresh: dict[Key, Record] = {}
    for record in records:
        if record.key not in known:
            fresh.setdefault(record.key, record)
    written = _written(memory, list(fresh.values()))
    for item, draft in zip(items, drafts, strict=True):
        if isinstance(draft, Added):
            yield item, draft
        elif fresh.get(draft.key) is draft:
            yield item, _pinned(memory, item, written[draft.key])
        else:
            there = known.get(draft.key) or fresh[draft.key]
            yield item, _again(draft, there)


def stored_key(memory: Notebook, key: Key) -> Key:
    """Return a key as the memory stores it."""
    return memory._searcher.key(key)


def _grouped(items: Iterable[T], of: Callable[[T], tuple[str, ...]]) -> list[tuple[tuple[str, ...], list[T]]]:
    groups: dict[tuple[str, ...], list[T]] = {}
    for item in items:
        groups.setdefault(of(item), []).append(item)
    return list(groups.items())


def _added(conversation: Conversation, items: Sequence[Imported]) -> list[Added]:
    """Write messages of one session; where one breaks a rule, which stops them all, write each by itself."""
    try:
        return conversation.add(
            [item.message for item in items],
            session=items[0].session,
            at=[item.at for item in items],
            ids=[item.id for item in items],
        )
    except (InvalidInput, WrongType) as error:
        if len(items) == 1:
            return [_refused(str(error))]
    return [added for item in items for added in _added(conversation, [item])]


def _compared(memory: Notebook, item: Imported, added: Added) -> Added:
    """Refuse a duplicate that says something else: most often another file of the same name."""
    if added.status is not Status.DUPLICATE:
        return added
    known = memory.get(item.id, "message").record.data.get("message")
    if not isinstance(known, dict):
        return added
    said, heard = item.message.get("content"), known.get("content")
    if (
        isinstance(said, str)
        and isinstance(heard, str)
        and not memory._searcher.clear(said, memory.scope).endswith(heard)
    ):
        return _refused(_OTHER_MESSAGE)
    return added if _called(item.message) == _called(known) else _refused(_OTHER_MESSAGE)


def _called(message: Mapping[str, JSON]) -> list[JSON]:
    """Return the ids of what a message calls, and of the call that it is the result of."""
    calls = message.get("tool_calls")
    ids = [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [*ids, message.get("tool_call_id")]


def _drafted(memory: Notebook, item: Noted) -> Record | Added:
    """Return the record of a note as it will be stored, or why it can be none."""
    try:
        draft = memory._notes.draft(
            item.text,
            kind=NOTE,
            id=item.id,
            tags=item.tags,
            data={**item.data, "origin": Origin.IMPORT.value},
            sources=(),
            at=item.at,
            until=item.until,
            worth=0.0,
        )
        key = Key(memory.scope.within(*item.below), NOTE, item.id)
        return memory._searcher.stored(replace(draft, key=key) if item.below else draft)
    except (InvalidInput, WrongType) as error:
        return _refused(str(error))


def _known(store: Store, records: Sequence[Record]) -> dict[Key, Record]:
    """Return what is stored under the keys of records."""
    keys: dict[Scope, list[Key]] = {}
    for record in records:
        keys.setdefault(record.key.scope, []).append(record.key)
    queries = (Query(scope=scope, keys=tuple(mine), k=len(mine)) for scope, mine in keys.items())
    return {hit.record.key: hit.record for query in queries for hit in store.find(query).hits}


def _written(memory: Notebook, records: Sequence[Record]) -> dict[Key, Added]:
    """Write records that are new; where one breaks a rule, or another writer has it meanwhile, each by itself."""
    if not records:
        return {}
    vectors, failed = memory._searcher.vectors([record.text for record in records])
    changes = [Put(record, vector, ABSENT) for record, vector in zip(records, vectors, strict=True)]
    reason = f"degraded: {failed}" if failed else None
    try:
        memory.store.apply(changes)
    except (Conflict, InvalidInput):
        return {change.record.key: _put(memory.store, change, reason) for change in changes}
    return {record.key: Added(id=record.key.id, status=Status.WRITTEN, reason=reason) for record in records}


def _put(store: Store, change: Put, reason: str | None) -> Added:
    try:
        store.apply([change])
    except Conflict:
        return Added(id=change.record.key.id, status=Status.DUPLICATE, reason="another writer has it meanwhile")
    except InvalidInput as error:
        return _refused(str(error))
    return Added(id=change.record.key.id, status=Status.WRITTEN, reason=reason)


def _again(draft: Record, known: Record) -> Added:
    if known.text != draft.text:
        return _refused(_OTHER_NOTE)
    return Added(id=draft.key.id, status=Status.DUPLICATE, reason="a record with this id is there already")


def _pinned(memory: Notebook, item: Noted, added: Added) -> Added:
    """Pin what was written; where as many are pinned as can be, it is found all the same, and that is said."""
    if item.pinned and added.status is Status.WRITTEN:
        try:
            memory.within(*item.below).pin(item.id, NOTE) if item.below else memory.pin(item.id, NOTE)
        except InvalidInput as error:
            return replace(added, reason=f"degraded: not pinned: {error}")
    return added


def _refused(reason: str) -> Added:
    return Added(id="", status=Status.REFUSED, reason=reason)
