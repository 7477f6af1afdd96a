"""An engine that shows writes late, and documents in parts: nothing is lost, and nothing is taken for damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from seasoned.errors import StoreBusy, StoreCorrupt
from seasoned.ports import Clock, Credit, Put, Remove, Store
from seasoned.query import Query
from seasoned.records import Key
from seasoned.stores.documents import Document, DocumentStore, Sort
from seasoned.stores.documents.overlay import Overlaid
from seasoned.testing import FakeClock, StoreContract

from .plain_documents import ALICE, LateDocuments, PlainDocuments, note, opened, texts

LONG = "the vault code is 4711 " * 40
LONGER = "the vault code is 4712 " * 60
MINUTE = timedelta(seconds=60)


class TestDocumentStoreOverALateEngine(StoreContract):
    """Every rule of the contract, where own writes are seen late, and most records come in several parts."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """Each write is shown three reads later."""
        return DocumentStore(LateDocuments(str(place), chars=4096), clock=clock)


class CountedDocuments(LateDocuments):
    """A late engine that counts what it reads out."""

    scanned = 0

    def scan(self, partition: str, after: int = 0) -> Iterable[Document]:
        """Read and count."""
        found = list(super().scan(partition, after))
        self.scanned += len(found)
        return found


def found(store: Store, words: str) -> list[str]:
    """The ids that words find, in order of their names."""
    return sorted(hit.id for hit in store.find(Query(scope=ALICE, words=words)).hits)


def test_what_was_written_a_minute_before_is_read_once(tmp_path):
    """Also by a reader that has just begun; what came within the last minute is looked for again, and no more."""
    clock = FakeClock()
    with opened(PlainDocuments(str(tmp_path)), clock) as writer:
        writer.apply([Put(note(f"old{number}", "green tea")) for number in range(50)])
        clock.advance(MINUTE)
        engine = CountedDocuments(str(tmp_path))
        with opened(engine, clock) as reader:
            assert len(found(reader, "tea")) == 50
            engine.scanned = 0
            assert len(found(reader, "tea")) == 50
            assert engine.scanned == 0
            writer.apply([Put(note("new", "green tea"))])
            for _ in range(3):
                assert len(found(reader, "tea")) == 51
            assert engine.scanned == 6  # the record and the head, three times
            clock.advance(MINUTE)
            engine.scanned = 0
            assert len(found(reader, "tea")) == 51
            assert engine.scanned == 0


def test_what_is_shown_out_of_order_within_a_minute_is_found(tmp_path):
    """A reader that saw a later write looks for the earlier one again, whether its copy is new or old."""
    clock = FakeClock()
    rows = PlainDocuments.places.setdefault(str(tmp_path), {})
    with opened(PlainDocuments(str(tmp_path)), clock) as writer, opened(LateDocuments(str(tmp_path)), clock) as reader:
        writer.apply([Put(note("a", "green tea"))])
        clock.advance(2 * MINUTE)
        for name in ("b", "c"):
            assert found(reader, "tea") == sorted({"a", "b"} if name == "c" else {"a"})
            writer.apply([Put(note(name, "green tea")), Put(note(f"{name}2", "milk"))])
            place = next(place for place, one in rows.items() if one.name == name)
            hidden = rows.pop(place)
            clock.advance(timedelta(seconds=59))
            assert name not in found(reader, "tea")
            with opened(LateDocuments(str(tmp_path)), clock) as newcomer:
                assert name not in found(newcomer, "tea")
                rows[place] = hidden
                assert name in found(newcomer, "tea")
            assert name in found(reader, "tea")


def test_a_bulk_load_is_held_only_until_it_is_shown(tmp_path):
    """Beyond a bound each write asks what is shown by now; what is not yet is read all the same."""
    documents = [
        Document(
            id=str(number), partition="p/", sort=Sort.RECORD, seq=number + 1, order=number, version=1, body="x" * 999
        )
        for number in range(1_000)
    ]
    quick, never = LateDocuments(f"{tmp_path}/quick", late=3), LateDocuments(f"{tmp_path}/never", late=1_000_000)
    for engine, most in ((quick, 400_000), (never, 2_000_000)):
        overlaid = Overlaid(engine, waiting_bytes=100_000)
        held = 0
        for start in range(0, 1_000, 50):
            overlaid.put(documents[start : start + 50])
            held = max(held, overlaid.held)
        assert held <= most
        assert {one.id for one in overlaid.scan("p/")} == {one.id for one in documents}
        places = [("p/", str(number)) for number in range(100)]
        assert [one.seq for one in overlaid.get(places)] == list(range(1, 101))


class Shown(LateDocuments):
    """A late engine of which the test says what is shown, and when."""

    def __init__(self, place: str) -> None:
        super().__init__(place, late=1_000_000, chars=200)

    def show_only(self, wanted: Callable[[Document | None], bool]) -> None:
        """Show what was accepted and is wanted; None is a deletion."""
        now = [one for one in self.hidden if wanted(one[2])]
        self.hidden, later = now, [one for one in self.hidden if one not in now]
        self.show(everything=True)
        self.hidden = later


def is_part(document: Document | None) -> bool:
    """Tell a part from the rest."""
    return document is not None and document.sort is Sort.PART


def test_a_record_shown_before_its_parts_is_late_and_not_damaged(tmp_path):
    """It is named, by key it is busy, nothing is written over it, and it can be removed; then it is there."""
    engine, clock = Shown(str(tmp_path)), FakeClock()
    with opened(engine, clock) as writer, opened(LateDocuments(str(tmp_path), chars=200), clock) as reader:
        writer.apply([Put(note("a", LONG)), Put(note("b", "short"))])
        assert texts(writer) == {"a": LONG, "b": "short"}
        engine.show_only(lambda one: not is_part(one))
        key = Key(ALICE, "note", "a")
        page = reader.find(Query(scope=ALICE))
        assert [hit.id for hit in page.hits] == ["b"]
        assert (page.unreadable, [reason.partition(":")[0] for reason in page.degraded]) == ((key,), ["late"])
        with pytest.raises(StoreBusy):
            reader.find(Query(scope=ALICE, keys=(key,)))
        for change in (Put(note("a", "new")), Credit(key, "worth", 1, "me")):
            with pytest.raises(StoreBusy):
                reader.apply([change])
        engine.show_only(lambda one: True)
        page = reader.find(Query(scope=ALICE))
        assert ([hit.text for hit in page.hits], page.unreadable, page.degraded) == ([LONG, "short"], (), ())


def test_a_record_whose_old_parts_are_gone_before_the_new_state_is_shown_stays_as_it_was(tmp_path):
    """For a reader that knows it; to another it is late."""
    engine, clock = Shown(str(tmp_path)), FakeClock()
    with opened(engine, clock) as writer, opened(LateDocuments(str(tmp_path), chars=200), clock) as reader:
        writer.apply([Put(note("a", LONG))])
        engine.show_only(lambda one: True)
        assert texts(reader) == {"a": LONG}
        writer.apply([Put(note("a", LONGER))])
        engine.show_only(lambda one: one is None)
        assert texts(reader) == {"a": LONG}
        with opened(LateDocuments(str(tmp_path), chars=200), clock) as newcomer:
            assert [key.id for key in newcomer.find(Query(scope=ALICE)).unreadable] == ["a"]
            engine.show_only(lambda one: one is not None)
            assert texts(newcomer) == texts(reader) == texts(writer) == {"a": LONGER}


def test_a_record_that_lacks_parts_for_longer_than_an_engine_is_late_is_damaged(tmp_path):
    """It is then named as corrupt, and can be forgotten and written anew."""
    engine, clock = Shown(str(tmp_path)), FakeClock()
    with opened(engine, clock) as writer, opened(LateDocuments(str(tmp_path), chars=200), clock) as reader:
        writer.apply([Put(note("a", LONG)), Put(note("b", "short"))])
        engine.show_only(lambda one: not is_part(one))
        assert reader.find(Query(scope=ALICE)).degraded[0].startswith("late: ")
        clock.advance(MINUTE)
        assert reader.find(Query(scope=ALICE)).degraded[0].startswith("corrupt: ")
        with opened(LateDocuments(str(tmp_path), chars=200), clock) as newcomer:
            assert newcomer.find(Query(scope=ALICE)).degraded[0].startswith("corrupt: ")
            newcomer.apply([Remove(Key(ALICE, "note", "a")), Put(note("a", "new"))])
            assert texts(newcomer) == {"b": "short", "a": "new"}


class Interrupted(PlainDocuments):
    """An engine on which another process writes between a scan and the reading of parts."""

    between: Callable[[], object] | None = None

    def scan(self, partition: str, after: int = 0) -> Iterable[Document]:
        """Read, then let the other one write."""
        found = list(super().scan(partition, after))
        if self.between is not None:
            self.between()
        return found


def test_a_record_rewritten_or_removed_while_it_is_read_is_not_damaged(tmp_path):
    """A reader that misses its parts finds what stands there by now."""
    for name, change, expected in (
        ("put", Put(note("a", LONGER)), {"a": LONGER}),
        ("remove", Remove(Key(ALICE, "note", "a")), {}),
    ):
        place = f"{tmp_path}/{name}"
        engine = Interrupted(place, chars=200)
        with opened(PlainDocuments(place, chars=200)) as writer, opened(engine) as reader:
            writer.apply([Put(note("a", LONG))])
            engine.between = lambda writer=writer, change=change: writer.apply([change])
            page = reader.find(Query(scope=ALICE))
            engine.between = None
            assert ({hit.id: hit.text for hit in page.hits}, page.unreadable) == (expected, ())


def test_a_record_that_lost_a_part_on_an_engine_that_shows_all_is_damaged_at_once(tmp_path):
    """Nothing will be shown later there."""
    with opened(PlainDocuments(str(tmp_path), chars=200)) as store:
        store.apply([Put(note("a", LONG))])
        rows = PlainDocuments.places[str(tmp_path)]
        del rows[next(place for place, one in rows.items() if one.sort is Sort.PART)]
        with pytest.raises(StoreCorrupt):
            store.find(Query(scope=ALICE, keys=(Key(ALICE, "note", "a"),)))
        assert store.find(Query(scope=ALICE)).degraded[0].startswith("corrupt: ")
