"""`RecordStorage`: the records of one conversation in any engine, and their native conversation memory."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from seasoned.closing import Closing
from seasoned.compat.sikkaagent.records import ContextRecord, Found, MemoryRecord, kept_beside, record_of
from seasoned.conversation import ConversationMemory
from seasoned.conversation.adding import Draft, Writer, drafted
from seasoned.conversation.following import stored_message
from seasoned.conversation.messages import session_name
from seasoned.embedders import EmbedderSpec, resolve
from seasoned.errors import WrongType
from seasoned.locked import open_unkeyed
from seasoned.ports import Store, SystemClock, new_id
from seasoned.records import JSON, Hit, Record, Scope
from seasoned.results import Added
from seasoned.search import Searcher
from seasoned.text import Analyser
from seasoned.tokens import Counter, resolve_counter

SCOPE: Final = ("sikkaagent",)
"""Whose memory it is, where nobody says."""

SESSION: Final = "default"
"""Which conversation it is, where nobody says."""


class RecordStorage(Closing):
    """The records of one conversation, in memory, in a file, or in any engine.

    `location` is a path, a URL, a store, or None to keep all in this process. `scope` says whose it is and `session`
    which conversation: storages that share all three share their records. `embedder` finds records by meaning besides
    by words; see `seasoned.Memory`. A store that is handed in stays open unless `closes`. `save`, `load` and `clear`
    are the protocol; `conversation` has the native verbs.

    Raises:
        InvalidScope, InvalidInput, WrongType: an argument breaks its rule.
        StoreError: the store cannot be opened.
    """

    def __init__(
        self,
        location: str | os.PathLike[str] | Store | None = None,
        *,
        scope: Scope | Sequence[str] | str = SCOPE,
        session: str = SESSION,
        embedder: EmbedderSpec = "auto",
        closes: bool = False,
    ) -> None:
        checked, self.session, space = Scope(scope), session_name(session), resolve(embedder)
        self._clock = SystemClock()
        store = open_unkeyed(location, checked, clock=self._clock, analyser=Analyser())
        searcher = Searcher(store, space)
        self._writer = _RecordWriter(store, checked, searcher, new_id)
        self.conversation = ConversationMemory(store, checked, searcher=searcher, clock=self._clock, ids=new_id)
        owned = closes or store is not location
        self._finalizer = weakref.finalize(self, store.close) if owned else None

    def save(self, records: Sequence[Mapping[str, object]]) -> None:
        """Add records as `MemoryRecord.to_message` gives them; those with a uuid that is here change nothing.

        All are checked before one is written; a message that says nothing is left out.

        Raises:
            InvalidInput, WrongType: one of them is no record; nothing was written.
        """
        if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
            raise WrongType(f"records are a list of objects, not {records!r:.80}")
        self.write([MemoryRecord.from_message(each) for each in records])

    def write(self, records: Sequence[MemoryRecord]) -> list[Added]:
        """Add records, and say what became of each: written, a duplicate, or refused because it says nothing.

        Raises:
            InvalidMessage: one of them is no message that a model takes; nothing was written.
        """
        messages = [record.to_openai_message() for record in records]
        drafts = drafted(messages, [record.uuid for record in records], None, self._clock.now())
        return self._writer.write_all(drafts, records, self.session)

    def append(self, record: MemoryRecord) -> Added:
        """Add one record; see `write`."""
        return self.write([record])[0]

    def load(self) -> list[dict[str, JSON]]:
        """Return all records in order, as plain JSON."""
        return [record.to_message() for record in self.records()]

    def records(self) -> list[MemoryRecord]:
        """Return all records in order; one that holds no message is left out."""
        return [record for hit in self.conversation.turns(self.session) if (record := _record(hit)) is not None]

    def search(self, query: str, k: int = 10) -> Found:
        """Return the k records that answer a query best.

        Raises:
            InvalidInput: a blank query, or k below 1.
            WrongType: a value of another type.
        """
        hits = self.conversation.search(query, k, session=self.session)
        found = [ContextRecord(record, hit.score) for hit in hits if (record := _record(hit)) is not None]
        return Found(found, hits.degraded)

    def clear(self) -> None:
        """Remove all records of the conversation; those of other sessions and scopes stay."""
        self.conversation.clear(self.session)

    def current(self) -> RecordStorage:
        """Return the storage that has the records as they are now: this one."""
        return self

    def close(self) -> None:
        """Close the store if it is this storage's own; closing twice is harmless."""
        if self._finalizer is not None:
            self._finalizer()


@dataclass(frozen=True, slots=True)
class _Kept(Draft):
    """A draft with what is kept beside its message."""

    beside: dict[str, JSON]


class _RecordWriter(Writer):
    """Writes messages with what belongs to their records besides; the estimate's count is stored with each."""

    def write_all(self, drafts: Sequence[Draft], records: Sequence[MemoryRecord], session: str) -> list[Added]:
        by_id = {record.uuid: kept_beside(record) for record in reversed(records)}
        kept = [_Kept(draft.parsed, draft.id, draft.at, by_id[str(draft.id)]) for draft in drafts]
        return self.write(kept, session, resolve_counter())

    def _record(self, draft: Draft, session: str, counter: Counter) -> Record:
        record = super()._record(draft, session, counter)
        return replace(record, data={**record.data, "record": draft.beside}) if isinstance(draft, _Kept) else record


def _record(hit: Hit) -> MemoryRecord | None:
    message = stored_message(hit.record)
    return None if message is None else record_of(hit.record, message)
