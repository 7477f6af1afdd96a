"""The last gate: a store that redacts keeps the contract, and lets nothing through as it was."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from seasoned.embedders import HashingEmbedder
from seasoned.errors import InvalidInput, WrongType
from seasoned.integrations.opentelemetry import tracing_store
from seasoned.ports import ABSENT, Clock, Fingerprint, Put, Store, Upkeep, Vectors
from seasoned.query import Query, parse_filter
from seasoned.records import Key, Record, Scope
from seasoned.redaction import RedactingEmbedder, RedactingStore, RedactionPolicy, Redactor, redacting_store
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import StoreContract

SCOPE = Scope(("acme", "alice"))
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SPACE = Fingerprint("test", "1", 2)
REDACTOR = Redactor()


class TestRedactingStore(StoreContract):
    """Every rule of the contract, on a file with redaction."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        return redacting_store(SQLiteStore(place / "m.db", clock=clock), REDACTOR)


@pytest.fixture
def inner():
    made = MemoryStore()
    yield made
    made.close()


def note(text: str, name: str = "n1") -> Record:
    return Record(key=Key(SCOPE, "note", name), text=text, at=NOON)


def test_what_is_found_is_what_was_redacted(inner):
    """By the words beside it, by the placeholder, and by the value itself, which is redacted in the query."""
    store = redacting_store(inner)
    store.apply([Put(note("Write to alice@example.com about tea."))])
    for words in ("tea", "email", "alice@example.com"):
        assert [hit.text for hit in store.find(Query(scope=SCOPE, words=words)).hits] == ["Write to [email] about tea."]
    assert list(store.find(Query(scope=SCOPE, words="alice")).hits) == []


def test_one_record_that_cannot_be_redacted_keeps_the_whole_batch_out(inner):
    """An id with an address, without a key: nothing of the batch is written."""
    store = redacting_store(inner)
    with pytest.raises(InvalidInput, match="kind 'email'"):
        store.apply([Put(note("tea")), Put(note("tea", "bob@example.com"))])
    assert store.find(Query(scope=SCOPE, count=True)).count == 0


def test_vectors_of_a_text_that_had_to_be_redacted_are_dropped(inner):
    """They may say what it said; those of a clean text stay."""
    store = redacting_store(inner)
    east = Vectors(SPACE, np.array([[1.0, 0.0]], dtype=np.float32))
    store.apply([Put(note("alice@example.com", "n1"), east), Put(note("green tea", "n2"), east)])
    assert [hit.id for hit in inner.find(Query(scope=SCOPE, lacking=str(SPACE))).hits] == ["n1"]


def test_vectors_of_a_redacting_embedder_are_kept(inner):
    """They were made from the redacted text, and their space says so."""
    embedder = RedactingEmbedder(HashingEmbedder(), REDACTOR)
    text = "alice@example.com likes tea"
    store = RedactingStore(inner, REDACTOR)
    store.apply([Put(note(text), Vectors(embedder.fingerprint, embedder.embed([text])))])
    assert list(inner.find(Query(scope=SCOPE, lacking=str(embedder.fingerprint))).hits) == []
    assert embedder.fingerprint != HashingEmbedder().fingerprint
    assert np.array_equal(embedder.embed([text]), HashingEmbedder().embed(["[email] likes tea"]))


def test_a_record_comes_back_under_the_id_that_was_asked_for(inner, keyed):
    """By key and by filter; in order it has the id under which it is stored."""
    store = redacting_store(inner, keyed)
    key = note("tea", "bob@example.com").key
    store.apply([Put(note("tea", "bob@example.com"), expect=ABSENT), Put(note("milk", "n2"))])
    by_key = store.find(Query(scope=SCOPE, keys=(key, note("", "n2").key))).hits
    by_filter = store.find(Query(scope=SCOPE, where=parse_filter({"id": "bob@example.com"}))).hits
    assert sorted(hit.id for hit in by_key) == ["bob@example.com", "n2"]
    assert [hit.id for hit in by_filter] == ["bob@example.com"]
    assert "bob" not in repr(store.find(Query(scope=SCOPE)))


def test_the_upkeep_of_the_engine_is_there_where_the_engine_has_it(tmp_path, keyed):
    """A file is checked, rebuilt and purged through it, by the ids that were written."""
    file = SQLiteStore(tmp_path / "m.db")
    store = redacting_store(file, keyed)
    record = note("alice@example.com", "bob@example.com")
    store.apply([Put(record)])
    assert isinstance(store, Upkeep)
    assert (store.check(), store.rebuild(), store.path) == ([], 1, file.path)
    assert store.purge([record.key]).rows == 1
    assert store.finish_purge() == ()
    assert not isinstance(RedactingStore(file, keyed), Upkeep)
    store.close()


def test_no_byte_of_a_value_is_in_the_file(tmp_path):
    """Neither in rows nor in the index nor in the log."""
    store = redacting_store(SQLiteStore(tmp_path / "m.db"))
    store.apply([Put(note("凭证为sk_test_4eC39HqLyjWDarjtT1zdp7dc 邮箱zoe.poe@example.com"))])
    store.find(Query(scope=SCOPE, words="zoe.poe@example.com"))
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    store.close()
    raw += b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"[secret]" in raw
    assert b"4eC39" not in raw
    assert b"zoe" not in raw


def test_what_is_no_store_is_refused():
    """And so is what is no policy."""
    with pytest.raises(WrongType, match="stands before a store"):
        redacting_store("a.db")  # type: ignore[arg-type]  # the fault
    with pytest.raises(WrongType, match="RedactionPolicy"):
        redacting_store(MemoryStore(), "strict")  # type: ignore[arg-type]  # as above


def test_the_policy_is_seen(inner):
    """What a store redacts by can be read."""
    policy = RedactionPolicy(kinds=("secret",))
    assert redacting_store(inner, policy).redactor.policy is policy


def test_spans_hold_what_was_redacted(inner):
    """A traced store below redaction shows no value, even where content is asked for."""
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    store = redacting_store(tracing_store(inner, store_id="m", content=True, provider=provider))
    store.apply([Put(note("Write to bob@example.com about tea."))])
    assert len(store.find(Query(scope=SCOPE, words="bob@example.com")).hits) == 1
    provider.shutdown()
    said = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "[email]" in said
    assert "bob" not in said
