"""The store contract, lifetimes: records that expire, threads that share a store, reopening and closing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from seasoned.errors import Conflict, StoreClosed
from seasoned.ports import ABSENT, Can, Credit, Put, Remove, Store, Upkeep
from seasoned.query import Order, Query
from seasoned.records import Scope
from seasoned.testing.clock import FakeClock
from seasoned.testing.contract_base import (
    EAST,
    HOME,
    NEAR_EAST,
    NOON,
    ContractBase,
    OpenStore,
    counted,
    credit,
    everything,
    get,
    held,
    ids,
    key,
    listed,
    nearest,
    need,
    note,
    put,
    remove,
    rows,
    said,
)

TOMORROW = NOON + timedelta(days=1)


class LifetimeRules(ContractBase):
    """Beginnings and ends."""

    def test_an_expired_record_is_never_returned(self, store: Store, clock: FakeClock) -> None:
        """Before its instant it is there; from it on it is in no answer, however it is asked for."""
        store.apply(
            [
                Put(note("soon", "green tea", sources=(key("m"),), until=TOMORROW), rows(EAST)),
                Put(note("stays", "green tea", sources=(key("m"),)), rows(NEAR_EAST)),
            ]
        )
        clock.advance(timedelta(days=1, microseconds=-1))
        assert _answers(store) == [["soon", "stays"]] * len(_answers(store))
        clock.advance(timedelta(microseconds=1))
        assert _answers(store) == [["stays"]] * len(_answers(store))
        assert get(store, key("soon")) is None
        assert counted(store, Query(scope=HOME, count=True)) == 1

    def test_an_expired_record_is_shown_on_request(self, store: Store, clock: FakeClock) -> None:
        """With `expired` it is listed, read by key and counted, as it was."""
        put(store, note("soon", "green tea", until=TOMORROW))
        clock.advance(timedelta(days=2))
        assert ids(everything(store, Query(scope=HOME, expired=True))) == ["soon"]
        assert ids(store.find(Query(scope=HOME, expired=True, keys=(key("soon"),))).hits) == ["soon"]
        assert counted(store, Query(scope=HOME, expired=True, count=True)) == 1

    def test_a_record_written_past_its_time_is_not_seen(self, store: Store) -> None:
        """It is stored, and expired from the start."""
        put(store, note("late", "green tea", until=NOON), note("never", "green tea", until=NOON - timedelta(days=1)))
        assert listed(store) == []
        assert ids(everything(store, Query(scope=HOME, expired=True))) == ["late", "never"]

    def test_a_new_expiry_takes_the_place_of_the_old(self, store: Store, clock: FakeClock) -> None:
        """Longer, shorter or none: the last write says."""
        put(store, note("longer", "tea", until=TOMORROW), note("none", "tea", until=TOMORROW), note("shorter", "tea"))
        put(
            store,
            note("longer", "tea", until=TOMORROW + timedelta(days=9)),
            note("none", "tea"),
            note("shorter", "tea", until=TOMORROW),
        )
        clock.advance(timedelta(days=2))
        assert listed(store) == ["longer", "none"]
        assert not store.can.lexical or sorted(said(store, "tea")) == ["longer", "none"]

    def test_an_expiry_survives_a_reopen(self, store: Store, open_store: OpenStore, clock: FakeClock) -> None:
        """The time runs while the store is closed."""
        need(store, "durable")
        put(store, note("soon", "tea", until=TOMORROW), note("stays", "tea"))
        store.close()
        clock.advance(timedelta(days=1))
        again = open_store()
        assert listed(again) == ["stays"]
        assert not again.can.lexical or said(again, "tea") == ["stays"]

    def test_pages_are_whole_beside_expired_records(self, store: Store, clock: FakeClock) -> None:
        """What has expired neither ends a listing nor counts toward a page."""
        put(store, *(note(f"n{number}", until=TOMORROW if number % 10 else None) for number in range(60)))
        clock.advance(timedelta(days=1))
        assert ids(everything(store, Query(scope=HOME, k=2))) == ["n0", "n10", "n20", "n30", "n40", "n50"]

    def test_a_reopened_store_is_the_same(self, store: Store, open_store: OpenStore) -> None:
        """Records, places, sequences, versions, sources and searches; updates and removals stay done."""
        need(store, "durable")
        store.apply([Put(note(f"n{number}", f"green tea {number}"), rows(EAST)) for number in range(20)])
        put(store, note("n3", "black coffee"), note("n4", "green tea 4", {"x": 1}, sources=(key("n5"),)))
        credit(store, key("n7"), 2.0, "x")
        remove(store, key("n9"), key("n19"))
        before = (_listing(store), _answers(store, "green tea", "coffee"))
        store.close()
        again = open_store()
        assert (_listing(again), _answers(again, "green tea", "coffee")) == before
        assert put(again, note("n20")).seqs[0] > max(seq for _, _, seq in before[0]) or not again.can.ordered

    def test_versions_hold_across_a_reopen(self, store: Store, open_store: OpenStore) -> None:
        """What was read before is guarded after."""
        need(store, "durable")
        put(store, note("a", "1"))
        put(store, note("a", "2"))
        store.close()
        again = open_store()
        with pytest.raises(Conflict):
            again.apply([Put(note("a", "3"), expect=1)])
        again.apply([Put(note("a", "3"), expect=2)])
        assert held(again, key("a")).version == 3

    def test_two_stores_at_one_place_see_each_other(self, store: Store, open_store: OpenStore) -> None:
        """What one acknowledged the other finds at its next call, in every way; updates and removals too."""
        need(store, "durable", "fresh")
        other = open_store()
        store.apply([Put(note("a", "green tea", sources=(key("m"),)), rows(EAST))])
        assert _answers(other) == [["a"]] * len(_answers(other))
        other.apply([Put(note("b", "green tea", sources=(key("m"),)), rows(NEAR_EAST))])
        assert _answers(store) == [["a", "b"]] * len(_answers(store))
        store.apply([Put(note("a", "coffee")), Remove(key("b"))])
        assert listed(other) == ["a"]
        assert not other.can.lexical or (said(other, "green tea"), said(other, "coffee")) == ([], ["a"])
        assert not other.can.dense or nearest(other, rows(EAST)) == []

    def test_eight_threads_add_two_hundred_records(self, store: Store) -> None:
        """Twenty-five from each all stand, each with its own place, and each scope's sequence has no gap in it."""

        def add(thread: int) -> None:
            for number in range(25):
                put(store, note(f"{thread}/{number}", f"green tea {thread} {number}"))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, range(8)))
        hits = everything(store, Query(scope=HOME))
        assert sorted(ids(hits)) == sorted(f"{thread}/{number}" for thread in range(8) for number in range(25))
        assert not store.can.ordered or len({hit.order for hit in hits}) == len({hit.seq for hit in hits}) == 200
        assert not store.can.lexical or len(said(store, "tea", k=1000)) == 200

    def test_threads_that_race_for_one_version_have_one_winner(self, store: Store) -> None:
        """Eight write what they read; at each version exactly one is let through."""
        need(store, "compare")
        put(store, note("a", data={"n": 0}))

        def raise_by_one(_: int) -> int:
            conflicts = 0
            while True:
                read = held(store, key("a"))
                count = read.data["n"]
                assert isinstance(count, int)
                try:
                    store.apply([Put(replace(read, data={"n": count + 1}), expect=read.version)])
                except Conflict:
                    conflicts += 1
                else:
                    return conflicts

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(raise_by_one, range(64)))
        assert (held(store, key("a")).data, held(store, key("a")).version) == ({"n": 64}, 65)

    def test_threads_that_create_one_record_have_one_winner(self, store: Store) -> None:
        """Of eight that expect it absent one succeeds."""
        need(store, "compare")

        def create(thread: int) -> bool:
            try:
                store.apply([Put(note("a", str(thread)), expect=ABSENT)])
            except Conflict:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(create, range(8))) == 1

    def test_readers_among_writers_never_see_half_a_batch(self, store: Store) -> None:
        """Two records that are always written together are always read together, in every way of asking."""
        need(store, "atomic")
        store.apply([Put(note("a", "tea 0")), Put(note("b", "tea 0"))])

        def write(_: int) -> None:
            for number in range(40):
                store.apply([Put(note("a", f"tea {number}")), Put(note("b", f"tea {number}"))])

        def read(_: int) -> list[set[str]]:
            query = Query(scope=HOME, words="tea") if store.can.lexical else Query(scope=HOME)
            pages = [store.find(asked).hits for _ in range(20) for asked in (Query(scope=HOME), query)]
            return [{hit.text for hit in hits} for hits in pages]

        with ThreadPoolExecutor(4) as pool:
            writer = pool.submit(write, 0)
            seen = [texts for found in pool.map(read, range(3)) for texts in found]
            writer.result()
        assert [texts for texts in seen if len(texts) != 1] == []

    @pytest.mark.parametrize("verb", ["find", "words", "put", "credit", "remove", "nothing"])
    def test_every_verb_of_a_closed_store_is_refused(self, store: Store, verb: str) -> None:
        """It neither works half nor opens again by itself."""
        put(store, note("a"))
        store.close()
        with pytest.raises(StoreClosed):
            _VERBS[verb](store)

    def test_every_upkeep_of_a_closed_store_is_refused(self, store: Store) -> None:
        """Where the engine has upkeep: check, rebuild, purge and stats."""
        if not isinstance(store, Upkeep):
            pytest.skip("the engine has no upkeep")
        store.close()
        for verb in (store.check, store.rebuild, lambda: store.purge([key("a")]), store.stats):
            with pytest.raises(StoreClosed):
                verb()

    def test_closing_twice_is_harmless(self, store: Store) -> None:
        """The second time there is nothing to do, and `can` may still be asked."""
        store.close()
        store.close()
        assert isinstance(store.can, Can)

    def test_upkeep_finds_nothing_wrong_and_rebuilds_the_same(self, store: Store) -> None:
        """Where the engine has upkeep: after all sorts of writes the check is empty, and a rebuild changes nothing."""
        if not isinstance(store, Upkeep):
            pytest.skip("the engine has no upkeep")
        store.apply([Put(note(f"n{number}", f"green tea {number}"), rows(EAST)) for number in range(20)])
        put(store, note("n3", "black coffee"))
        remove(store, key("n9"))
        before = _answers(store, "green tea", "coffee")
        assert store.check() == []
        assert store.rebuild() == 19
        assert _answers(store, "green tea", "coffee") == before
        assert store.check() == []

    def test_a_purge_leaves_no_answer_and_counts_its_rows(self, store: Store) -> None:
        """Where the engine has upkeep: what is purged is in no answer, others stay, nothing is counted twice."""
        if not isinstance(store, Upkeep):
            pytest.skip("the engine has no upkeep")
        store.apply([Put(note(id_, "green tea", sources=(key("m"),)), rows(EAST)) for id_ in ("a", "b")])
        assert store.purge([key("a"), key("nobody")]).rows == 1
        assert _answers(store) == [["b"]] * len(_answers(store))
        assert store.purge([key("a")]).rows == 0


_VERBS: dict[str, Callable[[Store], object]] = {
    "find": lambda store: store.find(Query(scope=HOME)),
    "words": lambda store: store.find(Query(scope=HOME, words="tea")),
    "put": lambda store: store.apply([Put(note("b"))]),
    "credit": lambda store: store.apply([Credit(key("a"), "worth", 1.0, "x")]),
    "remove": lambda store: store.apply([Remove(key("a"))]),
    "nothing": lambda store: store.apply([]),
}


def _answers(store: Store, *words: str) -> list[list[str]]:
    """Return the ids in each way of asking that the engine has."""
    queries = [Query(scope=HOME), Query(scope=Scope(HOME[0]), subtree=True), Query(scope=HOME, order=Order.NEWEST)]
    if not words:
        queries.append(Query(scope=HOME, source=key("m")))
    if store.can.lexical:
        queries += [Query(scope=HOME, words=asked) for asked in words or ("green tea",)]
    if store.can.dense:
        queries.append(Query(scope=HOME, vector=rows(EAST)))
    return [sorted(ids(store.find(query).hits)) for query in queries]


def _listing(store: Store) -> list[tuple[object, int, int]]:
    return [(hit.record, hit.order, hit.seq) for hit in everything(store, Query(scope=HOME))]
