"""`SeasonedSession`: a session of the OpenAI Agents SDK over a memory's conversation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar, cast

from seasoned.aio.threads import Lane, Threads
from seasoned.conversation.following import MESSAGE, SUMMARY, in_session
from seasoned.conversation.messages import message_text, session_name
from seasoned.errors import Conflict, InvalidInput, WrongType
from seasoned.following import pages
from seasoned.integrations.openai_agents.framework import SessionSettings, TResponseInputItem
from seasoned.integrations.openai_agents.items import FIELD, ITEM, Drafted, drafted, items_in
from seasoned.memory import Memory
from seasoned.ports import ABSENT, Put, Remove
from seasoned.query import Order, Query
from seasoned.records import JSON, Hit, Key, Record

T = TypeVar("T")

KINDS: Final = (MESSAGE, ITEM)
"""The kinds of the records that a session is made of."""

PAGE: Final = 2_000
"""How many records are read at once where all are wanted."""

_THREADS: Final = Threads()
_LOG: Final = logging.getLogger("seasoned.openai_agents")


class SeasonedSession:
    """The history of one conversation with agents of the SDK, kept in a memory: `Runner.run(…, session=session)`.

    Whose it is, the memory's scope says: give each user `memory.within(user)`. An item that is a message, a call of a
    function or its result is a message of `memory.conversation`, found by `recall` and shown in contexts; every other
    item (reasoning, searches, clicks) is a record of the kind "openai_item" beside them, in the same session and order,
    that nothing recalls. All come back as they were added, ids included: `id` of an item is the provider's, is never
    changed, and names nothing here.

    Items of one `add_items` are written in one batch, all or none where the engine is atomic. No call waits on the
    event loop's thread. One that is cancelled has happened whole or not at all when `CancelledError` is raised. Several
    sessions, threads, loops and processes may use one conversation. It belongs to its memory: close that one, and every
    method raises `StoreClosed`.

    Raises:
        InvalidInput: a session id that is blank, too long, or has a control character.
        WrongType: an argument of another type, or a setting that does not exist.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        session_settings: SessionSettings | Mapping[str, object] | None = None,
    ) -> None:
        if not isinstance(memory, Memory):
            raise WrongType(f"memory is a Memory, not {memory!r:.80}")
        self.session_id = session_name(session_id)
        self.session_settings = _settings(session_settings)
        self._memory = memory

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the last `limit` items, oldest first; without a limit as many as `session_settings` says, or all.

        A record that is damaged is passed over, logged, and counts for nothing.

        Raises:
            InvalidInput: a limit below 0.
        """
        wanted = _checked_limit(_settings(self.session_settings).limit if limit is None else limit)
        return cast("list[TResponseInputItem]", await self._done(Lane.READ, lambda: self._items(wanted)))

    async def add_items(self, items: Sequence[TResponseInputItem]) -> None:
        """Add items at the end, in their order.

        Raises:
            WrongType: one is no mapping of plain JSON; none was added.
        """
        given = list(items)
        await self._done(Lane.WORK, lambda: self._add(given))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item that can be read and return it; None where there is none.

        A message that another program wrote with several calls goes as a whole, and its last call is returned.
        """
        return cast("TResponseInputItem | None", await self._done(Lane.WORK, self._pop))

    async def clear_session(self) -> None:
        """Remove all items of the session, damaged ones too, and the summary of its conversation."""
        await self._done(Lane.WORK, self._clear)

    async def _done(self, lane: Lane, work: Callable[[], T]) -> T:
        def done() -> T:
            self._memory._check_open()
            return work()

        return await _THREADS.run(lane, done)

    def _items(self, limit: int | None) -> list[dict[str, JSON]]:
        found = list[dict[str, JSON]]()
        for hit in self._newest(limit):
            if limit is not None and len(found) >= limit:
                break
            found.extend(reversed(_read(hit)))
        found.reverse()
        return found if limit is None else found[len(found) - min(limit, len(found)) :]

    def _newest(self, limit: int | None) -> Iterator[Hit]:
        """Give the session's records, the newest first."""
        query = Query(
            scope=self._memory.scope,
            kinds=KINDS,
            where=in_session(self.session_id),
            order=Order.NEWEST,
            k=PAGE if limit is None else max(1, min(limit, PAGE)),
        )
        for page in pages(self._memory._store, query):
            if page.unreadable:
                _LOG.warning("%d damaged records of a session were passed over", len(page.unreadable))
            yield from page.hits

    def _add(self, items: Sequence[object]) -> None:
        drafts = [drafted(item) for item in items]
        records = self._records(drafts)
        if records:
            vectors, _ = self._memory._searcher.vectors([record.text for record in records])
            self._memory._store.apply([Put(*each, ABSENT) for each in zip(records, vectors, strict=True)])

    def _records(self, drafts: Sequence[Drafted]) -> list[Record]:
        """Return the records of items; one that is no message names the message before it as its source.

        So it goes with that one when it is forgotten.
        """
        before = self._last_message() if drafts and drafts[0].message is None else None
        made = list[Record]()
        for draft in drafts:
            made.append(self._record(draft, before))
            before = made[-1].key if draft.message is not None else before
        return made

    def _last_message(self) -> Key | None:
        query = Query(
            scope=self._memory.scope,
            kinds=(MESSAGE,),
            where=in_session(self.session_id),
            order=Order.NEWEST,
            k=1,
        )
        hits = self._memory._store.find(query).hits
        return hits[0].record.key if hits else None

    def _record(self, draft: Drafted, before: Key | None) -> Record:
        memory, message = self._memory, draft.message
        data: dict[str, JSON] = {"session": self.session_id}
        if draft.text is not None:
            data[FIELD] = draft.text
        if message is not None:
            counter = memory.conversation.policy.counter
            data |= {"role": message["role"], "message": message}
            data |= {"tokens": {counter.fingerprint: counter.one(message)}} if counter.fingerprint else {}
        return Record(
            key=Key(memory.scope, ITEM if message is None else MESSAGE, memory._ids()),
            text="" if message is None else message_text(message),
            at=memory._clock.now(),
            data=data,
            sources=(before,) if message is None and before is not None else (),
        )

    def _pop(self) -> dict[str, JSON] | None:
        """Remove the last readable record; whoever else takes it meanwhile, this takes the one before."""
        while True:
            last = next((hit for hit in self._newest(1) if _read(hit)), None)
            if last is None:
                return None
            try:
                self._memory._store.apply([Remove(last.record.key, last.record.version)])
            except Conflict:
                continue
            self._forget_summary_of(last.record.key)
            return _read(last)[-1]

    def _forget_summary_of(self, key: Key) -> None:
        """Remove a summary that was made from a message that is gone."""
        made = Query(scope=self._memory.scope, kinds=(SUMMARY,), source=key, k=1)
        if key.kind == MESSAGE and self._memory._store.find(made).hits:
            self._memory.forget(source=key, kinds=(SUMMARY,))

    def _clear(self) -> None:
        self._memory.forget(session=self.session_id, kinds=(*KINDS, SUMMARY))


def _settings(given: object) -> SessionSettings:
    if given is not None and not isinstance(given, (SessionSettings, Mapping)):
        raise WrongType(f"session_settings are SessionSettings or a mapping, not {given!r:.80}")
    try:
        return SessionSettings().resolve(dict(given) if isinstance(given, Mapping) else given)
    except TypeError as error:
        raise WrongType(str(error)) from error


def _checked_limit(limit: object) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise WrongType(f"a limit is an integer, not {limit!r:.80}")
    if limit < 0:
        raise InvalidInput(f"a limit is 0 or more, found {limit}")
    return limit


def _read(hit: Hit) -> Sequence[dict[str, JSON]]:
    items = items_in(hit.record)
    if not items:
        _LOG.warning("record %s of a session holds no item and was passed over", hit.id)
    return items
