"""Spans of a memory's operations, as OpenTelemetry's own SDK collects them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from seasoned import Key, Memory, Scope
from seasoned.errors import Conflict, WrongType
from seasoned.integrations.opentelemetry import TracingStore, operation_of, tracing_store
from seasoned.ports import ABSENT, Clock, Credit, Put, Remove, Store, Upkeep
from seasoned.records import Record
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import StoreContract
from seasoned.testing.contract_base import NOON

SCOPE = Scope(("acme", "alice"))


@pytest.fixture
def spans():
    return InMemorySpanExporter()


@pytest.fixture
def provider(spans):
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(spans))
    yield made
    made.shutdown()


@pytest.fixture
def store():
    made = MemoryStore()
    yield made
    made.close()


class TestTracingStore(StoreContract):
    """A traced store keeps every rule of the contract."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        return tracing_store(SQLiteStore(place / "m.db", clock=clock), store_id="contract", reads=True)


def said(spans):
    """What each span says, in order, with what it is."""
    return [(span.name, dict(span.attributes)) for span in spans.get_finished_spans()]


def note(name: str, text: str = "green tea", **data: object) -> Record:
    return Record(key=Key(SCOPE, "note", name), text=text, at=NOON, data=data)


def test_a_write_and_a_search_are_spans_of_ids_and_counts(store, provider, spans):
    """By default a span has what the conventions recommend, and nothing of what was said."""
    with Memory(tracing_store(store, store_id="notes", provider=provider), embedder="hashing") as memory:
        memory.remember("Green tea is kept in the tin.", id="n1", tags=["tea"])
        memory.recall("Where is the tea?")
    assert said(spans) == [
        (
            "create_memory",
            {
                "gen_ai.operation.name": "create_memory",
                "gen_ai.memory.store.id": "notes",
                "gen_ai.memory.record.count": 1,
                "gen_ai.memory.record.id": "n1",
                "seasoned.memory.kinds": ("note",),
                "seasoned.memory.tokens": 0,
            },
        ),
        (
            "search_memory",
            {
                "gen_ai.operation.name": "search_memory",
                "gen_ai.memory.store.id": "notes",
                "gen_ai.memory.record.count": 1,
                "gen_ai.memory.record.id": "n1",
                "seasoned.memory.kinds": ("note",),
                "seasoned.memory.tokens": 0,
            },
        ),
    ]
    assert {span.kind for span in spans.get_finished_spans()} == {SpanKind.INTERNAL}


def test_nothing_that_was_said_is_in_a_span_unless_asked_for(store, provider, spans):
    """Neither text, data nor query of a conversation, of notes or of a playbook; ids are."""
    with Memory(tracing_store(store, store_id="m", reads=True, provider=provider), embedder="hashing") as memory:
        memory.conversation.add({"role": "user", "content": "My dog is called Rexwort."}, "s1")
        memory.remember("Rexwort fears thunder.", data={"dog": "Rexwort"})
        memory.playbook.add("Ask after Rexwort.", "pets")
        memory.recall("Rexwort")
        memory.context("How is Rexwort?", session="s1")
    assert len(spans.get_finished_spans()) > 5
    assert "Rexwort" not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_content_is_there_when_asked_for(store, provider, spans):
    """The query, and the records as a JSON array of content, id, score and metadata."""
    traced = tracing_store(store, store_id="m", content=True, provider=provider)
    with Memory(traced, embedder="hashing") as memory:
        memory.remember("Green tea is kept in the tin.", id="n1", data={"room": "kitchen"})
        hit = memory.recall("the tea")[0]
    (_, written), (_, found) = said(spans)
    metadata = {"kind": "note", "data": {"room": "kitchen"}}
    assert json.loads(written["gen_ai.memory.records"]) == [
        {"content": "Green tea is kept in the tin.", "id": "n1", "metadata": metadata}
    ]
    assert found["gen_ai.memory.query.text"] == "the tea"
    assert json.loads(found["gen_ai.memory.records"]) == [
        {"content": "Green tea is kept in the tin.", "id": "n1", "score": hit.score, "metadata": metadata}
    ]


def test_the_tokens_of_messages_are_summed(store, provider, spans):
    """What was counted when the messages were stored."""
    traced = tracing_store(store, store_id="m", provider=provider)
    traced.apply([Put(note("a", tokens={"letters/1": 5}), expect=ABSENT), Put(note("b", tokens=7), expect=ABSENT)])
    assert said(spans)[0][1]["seasoned.memory.tokens"] == 12


@pytest.mark.parametrize(
    ("changes", "operation"),
    [
        ([Put(note("a"), expect=ABSENT), Put(note("b"), expect=ABSENT)], "create_memory"),
        ([Put(note("a"), expect=3)], "update_memory"),
        ([Put(note("a"))], "upsert_memory"),
        ([Credit(note("a").key, "worth", 1.0, "alice")], "update_memory"),
        ([Remove(note("a").key)], "delete_memory"),
        ([Put(note("a"), expect=ABSENT), Put(note("b"), expect=3)], "upsert_memory"),
        ([Put(note("a"), expect=ABSENT), Remove(note("b").key)], "upsert_memory"),
    ],
)
def test_a_batch_is_what_all_of_it_is(changes, operation):
    """Create, update, upsert or delete; a mixed one is an upsert."""
    assert operation_of(changes) == operation


def test_an_error_leaves_its_type_and_not_its_words(store, provider, spans):
    """The span has the status ERROR and the class; a message may quote what was given, so it is not there."""
    traced = tracing_store(store, store_id="m", provider=provider)
    traced.apply([Put(note("a"), expect=ABSENT)])
    with pytest.raises(Conflict):
        traced.apply([Put(note("a", "a secret plan"), expect=ABSENT)])
    failed = spans.get_finished_spans()[-1]
    assert (failed.attributes["error.type"], failed.status.status_code) == ("Conflict", StatusCode.ERROR)
    assert (failed.status.description, list(failed.events)) == (None, [])
    assert spans.get_finished_spans()[0].status.status_code is StatusCode.UNSET


def test_reading_in_order_is_traced_only_when_asked_for(store, provider, spans):
    """A window reads many pages; they are no searches."""
    for reads in (False, True):
        with Memory(tracing_store(store, store_id="m", reads=reads, provider=provider), embedder="hashing") as memory:
            memory.remember("tea")  # the first look at a scope that holds something asks whether it is sealed
            memory.list()
            before = len(said(spans))
            memory.list()
            assert [name for name, _ in said(spans)][before:] == (["search_memory"] if reads else [])


def test_an_engine_elsewhere_has_spans_of_a_client(store, provider, spans):
    """`remote` makes them CLIENT, and they stand under the caller's span."""
    traced = tracing_store(store, store_id="m", remote=True, provider=provider)
    with provider.get_tracer("app").start_as_current_span("turn") as turn:
        traced.apply([Put(note("a"))])
    made = spans.get_finished_spans()[0]
    assert made.kind is SpanKind.CLIENT
    assert made.parent.span_id == turn.get_span_context().span_id


def test_forgetting_is_a_span(store, provider, spans):
    """Soft and hard, it says how many records went."""
    with Memory(tracing_store(store, store_id="m", provider=provider), embedder="hashing") as memory:
        memory.remember("a", id="n1")
        memory.remember("b", id="n2")
        memory.forget("n1")
        memory.forget("n2", hard=True)
    gone = [about for name, about in said(spans) if name == "delete_memory"]
    assert [about["gen_ai.memory.record.id"] for about in gone] == ["n1", "n2"]


def test_the_upkeep_of_the_engine_is_there_where_the_engine_has_it(tmp_path, provider):
    """A file can be checked and rebuilt through the traced store; it says where it lies."""
    inner = SQLiteStore(tmp_path / "m.db")
    traced = tracing_store(inner, store_id="m", provider=provider)
    assert isinstance(traced, Upkeep)
    assert (traced.check(), traced.rebuild(), traced.path) == ([], 0, inner.path)
    assert not isinstance(TracingStore(inner, store_id="m", provider=provider), Upkeep)
    traced.close()


def test_what_is_no_store_is_refused():
    """Nothing is traced of a string."""
    with pytest.raises(WrongType, match="stands before a store"):
        TracingStore("a.db", store_id="m")  # type: ignore[arg-type]  # the fault


def test_opentelemetry_is_not_imported_unless_it_is_used():
    """`import seasoned` and a whole memory do without."""
    code = "import sys, seasoned; seasoned.Memory().close(); print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
