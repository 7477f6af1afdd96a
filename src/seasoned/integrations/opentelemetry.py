"""OpenTelemetry: a store whose searches and writes are spans by the conventions for generative AI's memory operations.

Source: open-telemetry/semantic-conventions-genai, memory spans (status: development). They are in no released package
of constants, so their names stand here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Final, Literal, TypeAlias

from seasoned.errors import MissingExtra, WrongType
from seasoned.layer import Layer, UpkeepLayer
from seasoned.ports import ABSENT, Applied, Change, Counts, Credit, Put, Remove, Store, Upkeep
from seasoned.query import Page, Query
from seasoned.records import Key, Record, checked_id

try:
    from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider, get_tracer
except ImportError as error:  # pragma: no cover  # without the extra
    raise MissingExtra("otel", "opentelemetry-api") from error

Operation: TypeAlias = Literal["search_memory", "create_memory", "update_memory", "upsert_memory", "delete_memory"]

OPERATION: Final = "gen_ai.operation.name"
STORE_ID: Final = "gen_ai.memory.store.id"
RECORD_ID: Final = "gen_ai.memory.record.id"
RECORD_COUNT: Final = "gen_ai.memory.record.count"
QUERY_TEXT: Final = "gen_ai.memory.query.text"
RECORDS: Final = "gen_ai.memory.records"
ERROR_TYPE: Final = "error.type"
KINDS: Final = "seasoned.memory.kinds"
TOKENS: Final = "seasoned.memory.tokens"
DEGRADED: Final = "seasoned.memory.degraded"


class TracingStore(Layer):
    """Any store, with a span for each search, write and removal.

    A span is named after its operation and holds ids, counts, kinds and tokens: `gen_ai.operation.name`,
    `gen_ai.memory.store.id` (`store_id`), `.record.count` (found, or to be written), `.record.id` where it is one
    record, `error.type`, and `seasoned.memory.kinds`, `.tokens` (as they were counted when stored) and `.degraded`.
    Only with `content` it also holds `.query.text` and `.records`. Ranked searches are traced; with `reads` also what
    is read by key or in order. `remote` says that the engine is another process, so spans are of the kind CLIENT.
    Without `provider` the global one is used. `tracing_store` makes the one that also has the upkeep of the store.

    Raises:
        MissingExtra: opentelemetry-api is not installed (when this module is imported).
        WrongType: not a store.
    """

    def __init__(
        self,
        inner: Store,
        *,
        store_id: str,
        content: bool = False,
        reads: bool = False,
        remote: bool = False,
        provider: TracerProvider | None = None,
    ) -> None:
        if not isinstance(inner, Store):
            raise WrongType(f"a TracingStore stands before a store, not {inner!r:.80}")
        super().__init__(inner)
        self.store_id = checked_id(store_id, "a store's id")
        self._content = content
        self._reads = reads
        self._kind = SpanKind.CLIENT if remote else SpanKind.INTERNAL
        self._tracer = get_tracer("seasoned", version("seasoned"), provider)

    def find(self, query: Query) -> Page:
        """Return what the store below finds, in a span where it is a search."""
        ranked = query.words is not None or query.vector is not None
        if not ranked and not self._reads:
            return self.inner.find(query)
        with self._span("search_memory") as span:
            page = self.inner.find(query)
            if span.is_recording():
                self._say_found(span, query, page)
            return page

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes to the store below, in one span."""
        if not changes:
            return self.inner.apply(changes)
        with self._span(operation_of(changes)) as span:
            if span.is_recording():
                self._say_changes(span, changes)
            return self.inner.apply(changes)

    @contextmanager
    def _span(self, operation: Operation) -> Iterator[Span]:
        """Open a span; of an error its type is kept, not its message, which may quote what was given."""
        with self._tracer.start_as_current_span(
            operation,
            kind=self._kind,
            attributes={OPERATION: operation, STORE_ID: self.store_id},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute(ERROR_TYPE, type(error).__qualname__)
                span.set_status(StatusCode.ERROR)
                raise

    def _say_found(self, span: Span, query: Query, page: Page) -> None:
        found = [hit.record for hit in page.hits]
        self._say(span, [record.key for record in found], len(found) if page.count is None else page.count)
        span.set_attribute(TOKENS, _tokens(found))
        if page.degraded:
            span.set_attribute(DEGRADED, [reason.partition(":")[0] for reason in page.degraded])
        if self._content:
            if query.words is not None:
                span.set_attribute(QUERY_TEXT, query.words)
            span.set_attribute(RECORDS, _json(_shown(hit.record, hit.score) for hit in page.hits))

    def _say_changes(self, span: Span, changes: Sequence[Change]) -> None:
        records = [change.record for change in changes if isinstance(change, Put)]
        self._say(span, [change.record.key if isinstance(change, Put) else change.key for change in changes])
        span.set_attribute(TOKENS, _tokens(records))
        if self._content and records:
            span.set_attribute(RECORDS, _json(_shown(record) for record in records))

    def _say(self, span: Span, keys: Sequence[Key], count: int | None = None) -> None:
        names = {(key.kind, key.id) for key in keys}
        span.set_attribute(RECORD_COUNT, len(names) if count is None else count)
        if len(names) == 1:
            span.set_attribute(RECORD_ID, keys[0].id)
        if names:
            span.set_attribute(KINDS, sorted({kind for kind, _ in names}))


class TracingStoreWithUpkeep(UpkeepLayer, TracingStore):
    """A tracing store whose engine has upkeep."""

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove records for good, in a span."""
        with self._span("delete_memory") as span:
            self._say(span, keys)
            return self.inner.purge(keys)


def tracing_store(
    inner: Store,
    *,
    store_id: str,
    content: bool = False,
    reads: bool = False,
    remote: bool = False,
    provider: TracerProvider | None = None,
) -> TracingStore:
    """Return a store that traces what is done with `inner`, with the upkeep that `inner` has; see `TracingStore`."""
    made = TracingStoreWithUpkeep if isinstance(inner, Upkeep) else TracingStore
    return made(inner, store_id=store_id, content=content, reads=reads, remote=remote, provider=provider)


def operation_of(changes: Iterable[Change]) -> Operation:
    """Return the operation that a batch is: what all of it is, else an upsert.

    A record that must be new is created, one in a known version updated, any other upserted; a credit is an update.
    """
    found = {_operation(change) for change in changes}
    return found.pop() if len(found) == 1 else "upsert_memory"


def _operation(change: Change) -> Operation:
    if isinstance(change, Remove):
        return "delete_memory"
    if isinstance(change, Credit):
        return "update_memory"
    if change.expect is ABSENT:
        return "create_memory"
    return "upsert_memory" if change.expect is None else "update_memory"


def _tokens(records: Iterable[Record]) -> int:
    """Return the tokens of the records that have a count: a message's, by its first counter."""
    total = 0
    for record in records:
        counted = record.data.get("tokens")
        counts = list(counted.values()) if isinstance(counted, dict) else [counted]
        total += next((count for count in counts if isinstance(count, int) and not isinstance(count, bool)), 0)
    return total


def _shown(record: Record, score: float | None = None) -> dict[str, object]:
    metadata = {"kind": record.key.kind, "data": dict(record.data)}
    scored = {} if score is None else {"score": score}
    return {"content": record.text, "id": record.key.id, **scored, "metadata": metadata}


def _json(values: Iterable[Mapping[str, object]]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
