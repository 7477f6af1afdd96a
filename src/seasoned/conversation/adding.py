"""Writing messages: what was given becomes drafts, all checked before one is written, then records in one batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from seasoned.conversation.assembly import without_block
from seasoned.conversation.following import MESSAGE
from seasoned.conversation.messages import Parsed, is_blank, message_text, parse_message
from seasoned.errors import Conflict, InvalidInput, WrongType
from seasoned.ports import ABSENT, IdSource, Put, Store
from seasoned.query import Query
from seasoned.records import WHEN, Key, Record, Scope, checked_id, instant
from seasoned.results import Added, Status
from seasoned.search import Searcher
from seasoned.tokens import Counter

RETRIES: Final = 8
"""How often a write is tried again where another writer was faster."""

SHOWN: Final = "a block that a context put there is not stored again"


@dataclass(frozen=True, slots=True)
class Draft:
    """A message on its way into the store."""

    parsed: Parsed
    id: str | None
    at: datetime


def drafted(
    messages: object, ids: str | Sequence[str | None] | None, at: WHEN | Sequence[WHEN], now: datetime
) -> list[Draft]:
    """Return the drafts of one message or a list of them.

    Raises:
        InvalidMessage, InvalidInput: a message breaks a rule, or there is not one id or time for each.
        WrongType: not a message.
    """
    given = [messages] if _is_one(messages) else _as_list(messages)
    spread = zip(given, _spread_ids(ids, len(given)), _times(at, len(given), now), strict=True)
    return [_draft(each, name, when) for each, name, when in spread]


def _is_one(messages: object) -> bool:
    return isinstance(messages, (Mapping, str)) or hasattr(messages, "content")


def _as_list(messages: object) -> list[object]:
    if not isinstance(messages, Iterable):
        raise WrongType(f"messages are one message or a list of them, not {messages!r:.80}")
    return list(messages)


def _spread_ids(ids: str | Sequence[str | None] | None, count: int) -> list[str | None]:
    if ids is None:
        return [None] * count
    spread = [ids] if isinstance(ids, str) else list(ids)
    if len(spread) != count:
        raise InvalidInput(f"one id for each message: {count} messages, {len(spread)} ids")
    return [None if each is None else checked_id(each, "a message's id") for each in spread]


def _times(at: WHEN | Sequence[WHEN], count: int, now: datetime) -> list[datetime]:
    if isinstance(at, (list, tuple)):
        if len(at) != count:
            raise InvalidInput(f"one time for all messages or one each: {count} messages, {len(at)} times")
        return [instant(each, default=now) for each in at]
    return [instant(at, default=now)] * count


def _draft(given: object, name: str | None, at: datetime) -> Draft:
    parsed = parse_message(given)
    said = without_block(parsed.message)
    if said is not parsed.message:
        parsed = replace(parsed, message=said, blank=is_blank(said), notes=(*parsed.notes, SHOWN))
    return Draft(parsed, name or parsed.id, at)


class Writer:
    """Writes drafts to one scope."""

    def __init__(self, store: Store, scope: Scope, searcher: Searcher, ids: IdSource) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._ids = ids

    def write(self, drafts: Sequence[Draft], session: str, counter: Counter) -> list[Added]:
        """Write them in one batch, all or none, with what `counter` counts, and say what became of each.

        Raises:
            Conflict: others keep writing the same ids at the same time; nothing was written.
        """
        results: list[Added | None] = [_refused(draft) for draft in drafts]
        for _ in range(RETRIES):
            self._mark_duplicates(drafts, results)
            fresh = [i for i, result in enumerate(results) if result is None]
            records = [self._record(drafts[i], session, counter) for i in fresh]
            vectors, failed = self._searcher.vectors([record.text for record in records]) if records else ([], None)
            puts = [Put(record, vector, ABSENT) for record, vector in zip(records, vectors, strict=True)]
            try:
                if puts:
                    self._store.apply(puts)
            except Conflict:
                continue
            for i, record in zip(fresh, records, strict=True):
                results[i] = _written(record.key.id, drafts[i].parsed, failed)
            return [result for result in results if result is not None]
        raise Conflict("messages", expected="new ids", found="ids that others write at the same time")

    def _mark_duplicates(self, drafts: Sequence[Draft], results: list[Added | None]) -> None:
        """Mark those whose id is stored or came earlier in the list; without ids nothing is read."""
        named = {draft.id: None for draft, result in zip(drafts, results, strict=True) if draft.id and result is None}
        if not named:
            return
        keys = tuple(Key(self._scope, MESSAGE, name) for name in named)
        stored = {hit.id for hit in self._store.find(Query(scope=self._scope, keys=keys, k=len(keys))).hits}
        for i, draft in enumerate(drafts):
            if results[i] is None and draft.id is not None:
                if draft.id in stored:
                    results[i] = Added(id=draft.id, status=Status.DUPLICATE, reason="a message with this id is there")
                stored.add(draft.id)

    def _record(self, draft: Draft, session: str, counter: Counter) -> Record:
        message = draft.parsed.message
        name = message.get("name")
        return Record(
            key=Key(self._scope, MESSAGE, self._ids() if draft.id is None else draft.id),
            text=message_text(message),
            at=draft.at,
            data={
                "session": session,
                "role": message["role"],
                **({"name": name} if name else {}),
                "message": message,
                **({"tokens": {counter.fingerprint: counter.one(message)}} if counter.fingerprint else {}),
            },
        )


def _refused(draft: Draft) -> Added | None:
    if not draft.parsed.blank:
        return None
    reason = "; ".join(["it says nothing: a message has text, parts, a call or a refusal", *draft.parsed.notes])
    return Added(id="", status=Status.REFUSED, reason=reason)


def _written(name: str, parsed: Parsed, failed: str | None) -> Added:
    notes = [*parsed.notes, *([f"degraded: {failed}"] if failed else [])]
    return Added(id=name, status=Status.WRITTEN, reason="; ".join(notes) or None)
