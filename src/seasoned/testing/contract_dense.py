"""The store contract, vectors: the nearest first, each space for itself."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from seasoned.ports import Fingerprint, Put, Store, Vectors
from seasoned.query import MAX_K, Filter, Query, parse_filter
from seasoned.testing.clock import FakeClock
from seasoned.testing.contract_base import (
    EAST,
    HOME,
    NEAR_EAST,
    NOON,
    NORTH,
    OTHER_SPACE,
    SPACE,
    WEST,
    ContractBase,
    OpenStore,
    counted,
    everything,
    examples,
    fresh_scope,
    ids,
    key,
    nearest,
    need,
    note,
    put,
    remove,
    rows,
)


class DenseRules(ContractBase):
    """Reads by vector; only where the engine declares `dense`."""

    def test_identical_stands_above_near_above_far(self, store: Store) -> None:
        """By cosine, with scores in [0, 1] that fall with the distance, identical near 1."""
        need(store, "dense")
        store.apply(
            [
                Put(note("opposite", "d"), rows(WEST)),
                Put(note("near", "b"), rows(NEAR_EAST)),
                Put(note("far", "c"), rows(NORTH)),
                Put(note("same", "a"), rows(EAST)),
            ]
        )
        hits = nearest(store, rows(EAST))
        assert ids(hits) == ["same", "near", "far", "opposite"]
        scores = [hit.score for hit in hits]
        assert scores[0] > scores[1] > scores[2] >= scores[3] >= 0.0
        assert 0.9 <= scores[0] <= 1.0

    def test_a_subtree_is_ranked_as_one(self, store: Store) -> None:
        """The nearest come first whichever scope below they lie in, though each of them may be alone there."""
        need(store, "dense")
        places = {"far": NORTH, "near": NEAR_EAST, "opposite": WEST}
        store.apply([Put(note(id_, id_, scope=HOME.within(id_)), rows(place)) for id_, place in places.items()])
        hits = store.find(Query(scope=HOME, subtree=True, vector=rows(EAST))).hits
        assert ids(hits) == ["near", "far", "opposite"]
        assert ids(store.find(Query(scope=HOME, subtree=True, vector=rows(EAST), k=1)).hits) == ["near"]

    def test_a_crowd_does_not_hide_the_nearest_of_a_subtree(self, store: Store) -> None:
        """A scope full of near records still has the nearest, beside one with a single record that is less near."""
        need(store, "dense")
        crowd = [Put(note(f"n{number}", "tea", scope=HOME.within("a")), rows(NEAR_EAST)) for number in range(20)]
        best = Put(note("best", "tea", scope=HOME.within("a")), rows((0.9, 0.43588989, 0.0, 0.0)))
        lone = Put(note("lone", "tea", scope=HOME.within("b")), rows((0.5, 0.0, 0.8660254, 0.0)))
        store.apply([*crowd, best, lone])
        hits = store.find(Query(scope=HOME, subtree=True, vector=rows(EAST))).hits
        assert hits[0].id == "best"
        assert hits[-1].id == "lone"

    def test_a_record_of_several_parts_counts_by_its_best(self, store: Store) -> None:
        """One part that fits is enough, and the record comes once."""
        need(store, "dense")
        store.apply([Put(note("parts", "a"), rows(WEST, EAST, NORTH)), Put(note("whole", "b"), rows(NEAR_EAST))])
        assert ids(nearest(store, rows(EAST))) == ["parts", "whole"]
        assert ids(nearest(store, rows(EAST), k=1)) == ["parts"]
        assert ids(nearest(store, rows(NEAR_EAST))) == ["whole", "parts"]

    def test_vectors_of_another_space_never_meet(self, store: Store) -> None:
        """The same numbers under another fingerprint, of one dimension or another, are another language."""
        need(store, "dense")
        wide = Fingerprint("contract", "1", 5)
        store.apply(
            [
                Put(note("one", "a"), rows(EAST)),
                Put(note("other", "b"), rows(EAST, space=OTHER_SPACE)),
                Put(note("wide", "c"), rows((*EAST, 0.0), space=wide)),
                Put(note("none", "d")),
            ]
        )
        assert ids(nearest(store, rows(EAST))) == ["one"]
        assert ids(nearest(store, rows(EAST, space=OTHER_SPACE))) == ["other"]
        assert ids(nearest(store, rows((*EAST, 0.0), space=wide))) == ["wide"]

    def test_a_vector_of_an_unknown_space_finds_nothing_by_itself(self, store: Store) -> None:
        """No dense hits and no error; words beside it still answer."""
        need(store, "dense")
        store.apply([Put(note("n1", "green tea"), rows(EAST))])
        unknown = rows(EAST, space=Fingerprint("nobody", "9", 4))
        assert nearest(store, unknown) == []
        if store.can.lexical:
            assert ids(store.find(Query(scope=HOME, words="tea", vector=unknown)).hits) == ["n1"]

    def test_lacking_lists_exactly_those_without(self, store: Store) -> None:
        """What has text and no vectors of that space, paged and counted; a blank text never needs any."""
        need(store, "dense")
        store.apply(
            [
                Put(note("one", "a"), rows(EAST)),
                Put(note("none", "b")),
                Put(note("other", "c"), rows(EAST, space=OTHER_SPACE)),
                Put(note("empty", "")),
                Put(note("blank", " \n\t")),
                Put(note("also none", "d")),
            ]
        )
        query = Query(scope=HOME, lacking=str(SPACE), k=2)
        assert ids(everything(store, query)) == ["none", "other", "also none"]
        assert counted(store, Query(scope=HOME, lacking=str(SPACE), count=True)) == 3
        assert ids(everything(store, Query(scope=HOME, lacking="nobody/9/4"))) == ["one", "none", "other", "also none"]
        store.apply([Put(note("none", "b"), rows(NORTH))])
        assert ids(everything(store, query)) == ["other", "also none"]

    def test_new_vectors_replace_the_old(self, store: Store) -> None:
        """Of the same space, with the same text or another, in more parts or fewer; removed, they are gone."""
        need(store, "dense")
        store.apply([Put(note("n1", "a"), rows(EAST, NORTH)), Put(note("n2", "b"), rows(NEAR_EAST))])
        assert ids(nearest(store, rows(EAST))) == ["n1", "n2"]
        store.apply([Put(note("n1", "a"), rows(WEST))])
        assert ids(nearest(store, rows(EAST))) == ["n2", "n1"]
        store.apply([Put(note("n1", "changed"), rows(EAST))])
        assert ids(nearest(store, rows(EAST))) == ["n1", "n2"]
        remove(store, key("n1"))
        assert ids(nearest(store, rows(EAST))) == ["n2"]

    def test_an_array_changed_after_the_write_changes_nothing(self, store: Store) -> None:
        """The store has its own copy."""
        need(store, "dense")
        mine = np.array([EAST], dtype=np.float32)
        store.apply([Put(note("n1", "a"), Vectors(SPACE, mine)), Put(note("n2", "b"), rows(NEAR_EAST))])
        mine[:] = WEST
        assert ids(nearest(store, rows(EAST))) == ["n1", "n2"]

    def test_vectors_survive_a_reopen(self, store: Store, open_store: OpenStore) -> None:
        """They are stored with the record, each space for itself."""
        need(store, "dense", "durable")
        store.apply([Put(note("n1", "a"), rows(WEST, EAST)), Put(note("n2", "b"), rows(EAST, space=OTHER_SPACE))])
        store.close()
        again = open_store()
        assert ids(nearest(again, rows(EAST))) == ["n1"]
        assert ids(everything(again, Query(scope=HOME, lacking=str(SPACE)))) == ["n2"]

    @examples
    @given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40), k=st.integers(1, 45))
    def test_the_nearest_are_always_those_by_cosine(self, store: Store, seed: int, size: int, k: int) -> None:
        """With as few as forty records no engine may miss one: the best k of an exact scan, best first."""
        need(store, "dense")
        scope, random = fresh_scope(), np.random.default_rng(seed)
        values = _unit(random.normal(size=(size + 1, 8)))
        space = Fingerprint("random", "1", 8)
        store.apply(
            [
                Put(note(f"n{number}", f"t{number}", scope=scope), Vectors(space, values[number : number + 1]))
                for number in range(size)
            ]
        )
        hits = nearest(store, Vectors(space, values[size:]), k=k, scope=scope)
        cosines = (values[:size] @ values[size]).tolist()
        assert len(hits) == min(k, size)
        found = [cosines[int(hit.id[1:])] for hit in hits]
        assert found == pytest.approx(sorted(cosines, reverse=True)[:k], abs=1e-4)

    @pytest.mark.parametrize(("k", "expected"), [(1, 1), (4, 4), (5, 5), (6, 5), (MAX_K, 5)])
    def test_k_bounds_what_is_nearest(self, store: Store, k: int, expected: int) -> None:
        """One, some, as many as there are, more than there are, and the maximum."""
        need(store, "dense")
        store.apply([Put(note(f"n{number}", f"t{number}"), rows(EAST, NORTH)) for number in range(5)])
        assert len(nearest(store, rows(EAST), k=k)) == expected

    @pytest.mark.parametrize(
        "narrowing",
        [
            {"where": parse_filter({"data.mine": True})},
            {"where": parse_filter({"at": {"lt": NOON}})},
            {"kinds": ("rare",)},
            {"source": key("origin")},
        ],
        ids=["data", "at", "kind", "source"],
    )
    def test_one_eligible_record_is_nearest_below_five_hundred_others(
        self, store: Store, narrowing: dict[str, Filter]
    ) -> None:
        """Filters run before the top k: however near the ineligible are, they take no place."""
        need(store, "dense")
        store.apply([Put(note(f"n{number}", "green tea"), rows(EAST)) for number in range(500)])
        wanted = note(
            "wanted", "far off", {"mine": True}, kind="rare", sources=(key("origin"),), at=NOON - timedelta(days=1)
        )
        store.apply([Put(wanted, rows(NORTH))])
        assert ids(store.find(Query(scope=HOME, vector=rows(EAST), k=1, **narrowing)).hits) == ["wanted"]  # type: ignore[arg-type]

    def test_expired_and_foreign_vectors_take_no_place(self, store: Store, clock: FakeClock) -> None:
        """Nearer ones that are past their time, or in a scope below, do not push out what may be seen."""
        need(store, "dense")
        soon = clock.now() + timedelta(hours=1)
        store.apply([Put(note(f"n{number}", "tea", until=soon), rows(EAST)) for number in range(200)])
        store.apply([Put(note(f"n{number}", "tea", scope=HOME.within("x")), rows(EAST)) for number in range(200)])
        store.apply([Put(note("wanted", "coffee"), rows(NORTH))])
        clock.advance(timedelta(hours=2))
        assert ids(nearest(store, rows(EAST), k=1)) == ["wanted"]

    def test_words_and_vector_add_up(self, store: Store) -> None:
        """Of two equally near the one that has the word comes first; one found by a single arm is found still."""
        need(store, "dense", "lexical")
        store.apply(
            [
                Put(note("near", "black coffee"), rows(EAST)),
                Put(note("both", "green tea"), rows(EAST)),
                Put(note("said", "green tea")),
            ]
        )
        hits = store.find(Query(scope=HOME, words="green tea", vector=rows(EAST))).hits
        assert hits[0].id == "both"
        assert set(ids(hits)) == {"near", "both", "said"}

    def test_records_without_vectors_do_not_disturb(self, store: Store) -> None:
        """A vector alone finds only what has one."""
        need(store, "dense")
        put(store, note("none", "green tea"))
        store.apply([Put(note("far", "coffee"), rows(NORTH))])
        assert ids(nearest(store, rows(EAST))) == ["far"]


def _unit(values: NDArray[np.float64]) -> NDArray[np.float32]:
    lengths: NDArray[np.float64] = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / lengths, dtype=np.float32)
