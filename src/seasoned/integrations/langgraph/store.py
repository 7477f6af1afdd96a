"""`SeasonedStore`: what LangGraph calls a store, over any store of this package."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from seasoned.errors import InvalidInput, StoreClosed
from seasoned.integrations.langgraph.framework import (
    BaseStore,
    Embeddings,
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)
from seasoned.integrations.langgraph.indexing import (
    NOTHING,
    WHOLE,
    Embedded,
    Index,
    check_names,
    checked_paths,
    texts_at,
    words_at,
)
from seasoned.integrations.langgraph.items import (
    KIND,
    Written,
    as_item,
    as_search_item,
    checked_ttl,
    checked_value,
    created_at,
)
from seasoned.integrations.langgraph.living import Sweeper, refresh, sweep
from seasoned.integrations.langgraph.names import id_of, scope_of
from seasoned.integrations.langgraph.reading import (
    Listing,
    Search,
    by_key,
    checked_listing,
    checked_search,
    namespaces,
    search,
)
from seasoned.locked import open_unkeyed
from seasoned.memory import DEFAULT_SCOPE
from seasoned.ports import Change, Clock, Put, Remove, Store, SystemClock
from seasoned.records import Hit, Key, Scope, finite
from seasoned.stores.sqlite.connections import Durability
from seasoned.text import DEFAULT as DEFAULT_ANALYSER

SWEEP_MINUTES: Final = 5.0
"""How often a sweeper sweeps where nothing else is said."""

_TTL_NAMES: Final = ("refresh_on_read", "omit_expired", "default_ttl", "sweep_interval_minutes")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A key to be read."""

    key: Key
    refresh: bool


@dataclass(frozen=True, slots=True)
class _Batch:
    """The operations of a batch, checked: what each reads, and what they write together."""

    reads: list[_Read | Search | Listing | None] = field(default_factory=list)
    writes: dict[Key, Written] = field(default_factory=dict)

    def texts(self) -> list[str]:
        """Return the texts to be embedded, each once."""
        return [*dict.fromkeys(text for each in self.writes.values() for text in each.texts)]

    def queries(self) -> list[str]:
        """Return the queries to be embedded, each once."""
        asked = (each.words for each in self.reads if isinstance(each, Search))
        return [*dict.fromkeys(words for words in asked if words is not None)]


class SeasonedStore(BaseStore):
    """LangGraph's long-term memory in a file, in a store of this package, or (with no location) in this process.

    `location` is a file path, a URL or a store, as in `Memory`; a store that was handed in is not closed. Everything
    lies below the scope `scope`. `index` says what embeds texts (`embed`, with `dims` checked where given) and at which
    paths they lie (`fields`, by default the whole value): a search is then ranked by the cosine of the nearest text.
    Without `index` a search with a query is ranked by words, and `index=` of `put` says where they lie. `ttl` is
    LangGraph's `TTLConfig`: times are minutes, an expired item is never returned (`omit_expired` is always true), and
    reads refresh an item's time to live unless `refresh_on_read` is False.

    Operations of one batch read what was there before it and write all at once. Threads may share a store. The async
    methods do the same in a worker thread; only an async embedding model runs on the event loop.

    Raises:
        InvalidScope, InvalidInput, WrongType: an argument breaks its rule; a configuration has an unknown name.
        StoreError: the store cannot be opened; see its subclasses.
    """

    supports_ttl = True
    ttl_config: TTLConfig | None
    """As given."""
    index_config: IndexConfig | None
    """As given."""
    scope: Scope
    """Below which everything lies."""

    def __init__(
        self,
        location: str | os.PathLike[str] | Store | None = None,
        *,
        scope: Scope | Sequence[str] | str = DEFAULT_SCOPE,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        durability: Durability = "full",
        clock: Clock | None = None,
    ) -> None:
        self.scope = Scope(scope)
        self.index_config = index
        self.ttl_config = ttl
        if ttl is not None:
            check_names(ttl, _TTL_NAMES, "a TTL configuration")
            checked_ttl(ttl.get("default_ttl"))
        self._index = None if index is None else Index(index)
        self._clock = clock or SystemClock()
        self._store = open_unkeyed(
            location, self.scope, durability=durability, clock=self._clock, analyser=DEFAULT_ANALYSER
        )
        self._owns_store = self._store is not location
        self._closed = False
        self._sweeper: Sweeper | None = None

    @property
    def store(self) -> Store:
        """The engine below."""
        return self._store

    @property
    def embeddings(self) -> Embeddings | None:
        """The model that embeds texts, None without an index."""
        return None if self._index is None else self._index.embeddings

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations at once and return what each answers, in order; None for a write.

        Reads see what was there before; of several writes to one key the last counts. All is checked and embedded
        before anything is written.

        Raises:
            InvalidNamespaceError: a label is no text, is empty, or holds a period or NUL.
            InvalidFilter: a filter has an unknown operator, or an operand that it cannot take.
            InvalidInput, WrongType: another argument breaks its rule.
            EmbeddingError: the embedding model failed.
            StoreError: the store failed; see its subclasses.
        """
        batch = self._checked(ops)
        embedded = NOTHING if self._index is None else self._index.embed(batch.texts(), batch.queries())
        return self._perform(batch, embedded)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, without a call to the store on the event loop."""
        batch = self._checked(ops)
        embedded = NOTHING if self._index is None else await self._index.aembed(batch.texts(), batch.queries())
        return await asyncio.to_thread(self._perform, batch, embedded)

    def sweep_ttl(self) -> int:
        """Remove the items that have expired, a thousand at a time; return how many."""
        self._check_open()
        return sweep(self._store, self.scope, self._clock.now())

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep every so many minutes in a thread of its own, by default as `ttl` says, else every five.

        It ends with `stop_ttl_sweeper` or `close`. One that runs already is replaced.

        Raises:
            InvalidInput, WrongType: the interval is not a number above 0.
        """
        self._check_open()
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        chosen = configured if sweep_interval_minutes is None else sweep_interval_minutes
        minutes = SWEEP_MINUTES if chosen is None else finite(chosen, "an interval, in minutes,")
        if minutes <= 0:
            raise InvalidInput(f"an interval is above 0 minutes, found {chosen!r}")
        self.stop_ttl_sweeper()
        self._sweeper = Sweeper(self.sweep_ttl, 60 * minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper, wait at most `timeout` seconds for it, and return whether it has ended."""
        sweeper = self._sweeper
        return sweeper is None or sweeper.stop(timeout)

    def close(self) -> None:
        """Stop the sweeper, and close the store if this opened it; closing twice is harmless."""
        if not self._closed:
            self.stop_ttl_sweeper()
            self._closed = True
            if self._owns_store:
                self._store.close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._check_open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        closed = ", closed" if self._closed else ""
        return f"SeasonedStore({type(self._store).__name__}, scope={tuple(self.scope)!r}{closed})"

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("this LangGraph store was closed")

    def _checked(self, ops: Iterable[Op]) -> _Batch:
        self._check_open()
        batch = _Batch()
        for op in ops:
            if isinstance(op, PutOp):
                written = self._written(op)
                batch.writes[written.key] = written
                batch.reads.append(None)
            else:
                batch.reads.append(self._read(op))
        return batch

    def _written(self, op: PutOp) -> Written:
        key = self._key(op)
        if op.value is None:
            return Written(key=key, name=op.key)
        value = checked_value(op.value)
        paths = checked_paths(op.index, (WHOLE,) if self._index is None else self._index.fields)
        return Written(
            key=key,
            name=op.key,
            value=value,
            texts=() if self._index is None else texts_at(value, paths),
            words=words_at(value, paths),
            ttl=checked_ttl(op.ttl),
        )

    def _read(self, op: object) -> _Read | Search | Listing:
        if isinstance(op, GetOp):
            return _Read(key=self._key(op), refresh=bool(op.refresh_ttl))
        if isinstance(op, SearchOp):
            _check_namespace(op, op.namespace_prefix)
            return checked_search(self.scope, op)
        if isinstance(op, ListNamespacesOp):
            for condition in op.match_conditions or ():
                _check_namespace(op, condition.path)
            return checked_listing(op)
        raise InvalidInput(f"an operation is a GetOp, PutOp, SearchOp or ListNamespacesOp, not {op!r:.80}")

    def _key(self, op: GetOp | PutOp) -> Key:
        _check_namespace(op, op.namespace)
        return Key(scope_of(self.scope, op.namespace), KIND, id_of(op.key))

    def _perform(self, batch: _Batch, embedded: Embedded) -> list[Result]:
        self._check_open()
        now = self._clock.now()
        gets = [each.key for each in batch.reads if isinstance(each, _Read)]
        found = by_key(self._store, [*gets, *batch.writes])
        prolonged: dict[Key, Hit] = {}
        results = [self._answer(each, found, embedded, prolonged) for each in batch.reads]
        refresh(self._store, (hit for key, hit in prolonged.items() if key not in batch.writes), now)
        if batch.writes:
            self._store.apply([_change(each, found, embedded, now) for each in batch.writes.values()])
        return results

    def _answer(
        self,
        asked: _Read | Search | Listing | None,
        found: Mapping[Key, Hit],
        embedded: Embedded,
        prolonged: dict[Key, Hit],
    ) -> Result:
        """Return what one operation answers, and note in `prolonged` the items whose time to live it refreshes."""
        if asked is None:
            return None
        if isinstance(asked, Listing):
            return namespaces(self._store, self.scope, asked)
        if isinstance(asked, _Read):
            hit = found.get(asked.key)
            if hit is not None and asked.refresh:
                prolonged[asked.key] = hit
            return None if hit is None else as_item(self.scope, hit)
        hits = search(self._store, asked, None if asked.words is None else embedded.query(asked.words))
        if asked.refresh:
            prolonged.update((hit.record.key, hit) for hit, _ in hits)
        return [as_search_item(self.scope, hit, score) for hit, score in hits]


def _check_namespace(op: GetOp | PutOp | SearchOp | ListNamespacesOp, namespace: object) -> None:
    if not isinstance(namespace, (tuple, list)):
        raise InvalidNamespaceError(f"a namespace is a tuple of labels, not {namespace!r:.80}")
    validate_op_namespace(op)


def _change(written: Written, found: Mapping[Key, Hit], embedded: Embedded, now: datetime) -> Change:
    if written.value is None:
        return Remove(written.key)
    old = found.get(written.key)
    record = written.record(now if old is None else created_at(old.record), now)
    return Put(record, embedded.of(written.texts))
