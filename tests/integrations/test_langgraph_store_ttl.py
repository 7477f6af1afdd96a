"""SeasonedStore: how long items live."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from seasoned import MemoryStore
from seasoned.errors import InvalidInput, StoreBusy, WrongType
from seasoned.ports import Put, Remove
from seasoned.query import Query
from seasoned.testing import FakeClock

base = pytest.importorskip("langgraph.store.base", reason="langgraph is not installed")
from seasoned.integrations.langgraph import SeasonedStore  # noqa: E402  # only where it is installed

GetOp, PutOp, SearchOp = base.GetOp, base.PutOp, base.SearchOp


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "agent.db" if request.param == "sqlite" else None


@pytest.fixture
def store(place: Path | None, clock: FakeClock) -> Iterator[SeasonedStore]:
    """Items live for ten minutes after they were put or read."""
    with SeasonedStore(place, durability="normal", clock=clock, ttl={"default_ttl": 10}) as opened:
        yield opened


def rows(store: SeasonedStore) -> int:
    """Return how many records lie in the engine, expired ones included."""
    return store.store.find(Query(scope=store.scope, subtree=True, expired=True, count=True)).count or 0


def test_an_expired_item_is_never_returned_even_before_the_sweep(store, clock):
    """Neither by get, nor by search with or without a query, nor by a listing; the sweep then removes it."""
    store.put(("a",), "k", {"text": "tea"})
    clock.advance(timedelta(minutes=10))
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == store.search(("a",), query="tea") == []
    assert store.list_namespaces() == []
    assert rows(store) == 1
    assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)
    assert rows(store) == 0


def test_an_item_lives_as_long_as_put_says(store, clock):
    """A time of its own replaces the default, None means for ever, and another put starts anew."""
    store.put(("a",), "short", {"n": 1}, ttl=1)
    store.put(("a",), "ever", {"n": 1}, ttl=None)
    store.put(("a",), "again", {"n": 1}, ttl=1)
    clock.advance(seconds=59)
    store.put(("a",), "again", {"n": 2}, ttl=2)
    clock.advance(seconds=61)
    assert [item.key for item in store.search(("a",), refresh_ttl=False)] == ["again", "ever"]
    clock.advance(seconds=59)
    assert [item.key for item in store.search(("a",), refresh_ttl=False)] == ["ever"]
    clock.advance(timedelta(days=365))
    assert [item.key for item in store.search(("a",))] == ["ever"]


def reading_ways(store: SeasonedStore):
    """Each way of reading, sync and async, by name."""

    async def aget():
        return await store.aget(("a",), "k")

    async def asearch():
        return await store.asearch(("a",), filter={"text": "tea"})

    async def aquery():
        return await store.asearch(("a",), query="tea")

    return {
        "get": lambda: store.get(("a",), "k"),
        "search": lambda: store.search(("a",), filter={"text": "tea"}),
        "query": lambda: store.search(("a",), query="tea"),
        "aget": lambda: asyncio.run(aget()),
        "asearch": lambda: asyncio.run(asearch()),
        "aquery": lambda: asyncio.run(aquery()),
        "batch": lambda: store.batch([GetOp(("a",), "k")]),
    }


@pytest.mark.parametrize("way", ["get", "search", "query", "aget", "asearch", "aquery", "batch"])
def test_reading_gives_an_item_its_whole_time_again(store, clock, way):
    """By every way of reading, sync and async; what was not read ends when it should."""
    store.put(("a",), "k", {"text": "tea"})
    store.put(("b",), "unread", {"text": "coffee"})
    clock.advance(timedelta(minutes=9))
    assert reading_ways(store)[way]()
    clock.advance(timedelta(minutes=9))
    assert store.get(("b",), "unread") is None
    item = store.get(("a",), "k", refresh_ttl=False)
    assert item is not None
    assert item.updated_at == clock.now() - timedelta(minutes=18)
    clock.advance(timedelta(minutes=1))
    assert store.get(("a",), "k") is None


@pytest.mark.parametrize("asked", [True, False])
def test_reading_without_refresh_prolongs_nothing(place, clock, asked):
    """Where the configuration says so, or the call."""
    ttl = {"default_ttl": 10, "refresh_on_read": False} if asked else {"default_ttl": 10}
    chosen = {} if asked else {"refresh_ttl": False}
    with SeasonedStore(place, clock=clock, ttl=ttl) as store:
        store.put(("a",), "k", {"text": "tea"})
        clock.advance(timedelta(minutes=9))
        assert store.get(("a",), "k", **chosen) is not None
        assert store.search((), query="tea", **chosen) != []
        clock.advance(timedelta(minutes=1))
        assert store.get(("a",), "k") is None


def test_a_call_may_refresh_where_the_configuration_does_not(place, clock):
    """`refresh_ttl=True` overrides `refresh_on_read`."""
    with SeasonedStore(place, clock=clock, ttl={"default_ttl": 10, "refresh_on_read": False}) as store:
        store.put(("a",), "k", {"text": "tea"})
        clock.advance(timedelta(minutes=9))
        store.search(("a",), refresh_ttl=True)
        clock.advance(timedelta(minutes=9))
        assert store.get(("a",), "k") is not None


def test_a_refresh_keeps_vectors_and_times(place, clock):
    """Only the end moves: the score, the value and both times stay."""
    index = {"dims": 2, "embed": lambda texts: [[1.0, 0.0] for _ in texts], "fields": ["text"]}
    with SeasonedStore(place, clock=clock, index=index, ttl={"default_ttl": 10}) as store:
        store.put(("a",), "k", {"text": "tea"})
        clock.advance(timedelta(minutes=5))
        before, after = store.search((), query="tea"), store.search((), query="tea")
        assert [item.dict() for item in before] == [item.dict() for item in after]
        assert after[0].score == 1.0


def test_a_write_in_the_same_batch_goes_before_a_refresh(store, clock):
    """A read does not bring back what its batch deletes, nor prolong what it puts for a shorter time."""
    store.put(("a",), "gone", {"n": 1})
    store.put(("a",), "short", {"n": 1})
    clock.advance(timedelta(minutes=5))
    store.batch(
        [GetOp(("a",), "gone"), SearchOp(("a",)), PutOp(("a",), "gone", None), PutOp(("a",), "short", {}, ttl=1)]
    )
    assert store.get(("a",), "gone") is None
    clock.advance(timedelta(minutes=1))
    assert store.get(("a",), "short") is None


def test_what_is_put_after_it_expired_is_new(store, clock):
    """Its creation is that of the second put, though no sweep came between."""
    store.put(("a",), "k", {"n": 1})
    clock.advance(timedelta(minutes=20))
    store.put(("a",), "k", {"n": 2})
    assert store.get(("a",), "k").created_at == clock.now()
    assert store.sweep_ttl() == 0


def test_a_sweep_takes_only_expired_items_of_its_own_scope(clock):
    """2,500 of them go, in several writes; those of another base scope, live ones and other records stay."""
    with closing(MemoryStore(clock=clock)) as engine:
        ours, theirs = (SeasonedStore(engine, scope=scope, clock=clock) for scope in ("ours", "theirs"))
        ours.batch([PutOp(("a", str(n % 7)), str(n), {"n": n}, ttl=1) for n in range(2_500)])
        ours.put(("a",), "live", {"n": 1}, ttl=60)
        theirs.put(("a",), "k", {"n": 1}, ttl=1)
        clock.advance(timedelta(minutes=2))
        assert ours.sweep_ttl() == 2_500
        assert (rows(ours), rows(theirs)) == (1, 1)


@pytest.mark.parametrize(
    ("ttl", "error"), [(0, InvalidInput), (-1, InvalidInput), (float("nan"), InvalidInput), ("1", WrongType)]
)
def test_a_time_to_live_is_above_zero(store, ttl, error):
    """Nothing is written that was never there."""
    with pytest.raises(error):
        store.put(("a",), "k", {"n": 1}, ttl=ttl)
    assert rows(store) == 0


def test_a_time_beyond_the_calendar_is_for_ever(store, clock):
    """A time to live of a million years never ends, and never fails."""
    store.put(("a",), "k", {"n": 1}, ttl=1e12)
    clock.advance(timedelta(days=365_000))
    assert store.get(("a",), "k") is not None


class BusyStore(MemoryStore):
    """Refuses to rewrite what is there, as a store does that another writer holds for too long."""

    def apply(self, changes):
        if any(isinstance(change, Put) and change.expect is not None for change in changes):
            raise StoreBusy("another writer held the store")
        return super().apply(changes)


def test_a_read_stands_though_the_refresh_fails(clock, caplog):
    """The item is returned and the log says what was not done, without its text."""
    with closing(BusyStore(clock=clock)) as engine:
        store = SeasonedStore(engine, clock=clock, ttl={"default_ttl": 10})
        store.put(("a",), "k", {"text": "secret tea"})
        clock.advance(timedelta(minutes=5))
        with caplog.at_level(logging.WARNING, "seasoned"):
            assert store.get(("a",), "k").value == {"text": "secret tea"}
        assert "1 items" in caplog.text
        assert "secret" not in caplog.text


class TellingStore(MemoryStore):
    """Tells when something was removed."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.removed = threading.Event()

    def apply(self, changes):
        done = super().apply(changes)
        if any(isinstance(change, Remove) for change in changes):
            self.removed.set()
        return done


def test_a_sweeper_sweeps_by_itself_until_it_is_stopped(clock):
    """It runs in a thread at the configured interval, and ends with stop and with close."""
    with closing(TellingStore(clock)) as engine:
        ttl = {"default_ttl": 1, "sweep_interval_minutes": 0.0002}
        store = SeasonedStore(engine, clock=clock, ttl=ttl)
        store.put(("a",), "k", {"n": 1})
        clock.advance(timedelta(minutes=2))
        store.start_ttl_sweeper()
        assert engine.removed.wait(30)
        assert rows(store) == 0
        assert store.stop_ttl_sweeper(30)
        store.start_ttl_sweeper(0.0002)
        store.close()
        assert not any(thread.name == "seasoned-ttl-sweeper" for thread in threading.enumerate())


@pytest.mark.parametrize("minutes", [0, -1])
def test_an_interval_is_above_zero(store, minutes):
    """A sweeper that never waits is refused."""
    with pytest.raises(InvalidInput):
        store.start_ttl_sweeper(minutes)
