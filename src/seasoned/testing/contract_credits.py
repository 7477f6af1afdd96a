"""The store contract, credits: numbers that are added to, once for each giver."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput, NotFound, SeasonedError, WrongType
from seasoned.ports import Credit, Put, Store
from seasoned.records import JSON
from seasoned.testing.contract_base import (
    EAST,
    ContractBase,
    OpenStore,
    credit,
    examples,
    fresh_scope,
    get,
    held,
    key,
    nearest,
    need,
    note,
    put,
    remove,
    rows,
)

LARGEST: Final = 1.7976931348623157e308


class CreditRules(ContractBase):
    """Counters that need no version."""

    def test_a_credit_is_added_and_counts_as_a_write(self, store: Store) -> None:
        """The number grows, the version too, and the rest of the record stays."""
        put(store, note("a", "green tea", {"x": [1]}, sources=(key("m"),), worth=1.5))
        before = get(store, key("a"))
        applied = credit(store, key("a"), 2.0, "run-1")
        after = get(store, key("a"))
        assert before is not None
        assert after is not None
        assert after.record == replace(before.record, worth=3.5, version=2)
        assert applied.versions == (2,)
        assert after.order == before.order
        assert not store.can.ordered or after.seq == applied.seqs[0] > before.seq

    def test_a_credit_given_before_changes_nothing(self, store: Store) -> None:
        """The same giver counts once, in another call or within one, whatever the amount; it takes no sequence."""
        put(store, note("a"))
        store.apply([Credit(key("a"), "worth", 1.0, "run-1"), Credit(key("a"), "worth", 1.0, "run-1")])
        applied = credit(store, key("a"), 5.0, "run-1")
        assert (held(store, key("a")).worth, held(store, key("a")).version) == (1.0, 2)
        assert (tuple(applied.versions), tuple(applied.seqs)) == ((2,), (0,))

    def test_two_givers_add_up(self, store: Store) -> None:
        """Names that differ in case, space or form are two."""
        put(store, note("a"))
        for by in ("run", "Run", " run", "run ", "é", "e\u0301"):
            credit(store, key("a"), 1.0, by)
        assert held(store, key("a")).worth == 6.0

    def test_a_giver_counts_once_for_each_record_and_field(self, store: Store) -> None:
        """One outcome credits everything that was used, and several counters of one thing."""
        put(store, note("a"), note("b"), note("a", kind="message"))
        for name in (key("a"), key("b"), key("a", kind="message")):
            credit(store, name, 1.0, "run")
            credit(store, name, 2, "run", "data.helpful")
        assert [held(store, name).worth for name in (key("a"), key("b"), key("a", kind="message"))] == [1.0, 1.0, 1.0]
        assert held(store, key("a")).data == {"helpful": 2}

    def test_a_credit_is_remembered_through_a_rewrite(self, store: Store, open_store: OpenStore) -> None:
        """A later put sets the number, and the same giver still counts once; after a reopen too."""
        put(store, note("a"))
        credit(store, key("a"), 1.0, "run")
        put(store, replace(held(store, key("a")), text="changed", worth=10.0))
        if store.can.durable:
            store.close()
            store = open_store()
        credit(store, key("a"), 1.0, "run")
        assert held(store, key("a")).worth == 10.0
        credit(store, key("a"), 1.0, "another run")
        assert held(store, key("a")).worth == 11.0

    def test_a_credit_may_be_negative_or_broken(self, store: Store) -> None:
        """Fractions and penalties are amounts."""
        put(store, note("a", worth=1.0))
        credit(store, key("a"), -2.5, "x")
        credit(store, key("a"), 0.25, "y")
        assert held(store, key("a")).worth == -1.25

    @pytest.mark.parametrize(
        ("data", "field", "expected"),
        [
            ({"n": 1}, "data.n", {"n": 3}),
            ({"n": 1.5}, "data.n", {"n": 3.5}),
            ({}, "data.n", {"n": 2}),
            ({"n": None}, "data.n", {"n": 2}),
            ({"o": {"n": 1, "m": 9}}, "data.o.n", {"o": {"n": 3, "m": 9}}),
            ({"it's": 1}, "data.it's", {"it's": 3}),
            ({"ключ": 1}, "data.ключ", {"ключ": 3}),
        ],
        ids=["integer", "fraction", "missing", "null", "nested", "quote", "script"],
    )
    def test_a_credit_goes_to_a_number_in_data(
        self, store: Store, data: dict[str, JSON], field: str, expected: dict[str, JSON]
    ) -> None:
        """Missing and null count from 0; neighbours stay."""
        put(store, note("a", data=data))
        credit(store, key("a"), 2, "x", field)
        assert held(store, key("a")).data == expected

    @pytest.mark.parametrize(
        "field",
        [
            "text",
            "id",
            "kind",
            "at",
            "until",
            "version",
            "data",
            "data.s",
            "data.b",
            "data.l",
            "data.o",
            "data.s.x",
            "nope",
            "",
        ],
    )
    def test_a_credit_to_what_is_no_number_is_refused(self, store: Store, field: str) -> None:
        """Nothing is turned into a number, and nothing is changed."""
        put(store, note("a", "text", {"s": "3", "b": True, "l": [1], "o": {"n": 1}}))
        with pytest.raises(InvalidInput):
            credit(store, key("a"), 1.0, "x", field)
        assert held(store, key("a")).data == {"s": "3", "b": True, "l": [1], "o": {"n": 1}}
        assert held(store, key("a")).version == 1

    @pytest.mark.parametrize("amount", [float("nan"), float("inf"), "1", None, True], ids=repr)
    def test_an_amount_that_is_no_finite_number_is_refused(self, store: Store, amount: float) -> None:
        """A number that is not one would spoil the sum for good."""
        put(store, note("a"))
        with pytest.raises((InvalidInput, WrongType)):
            credit(store, key("a"), amount, "x")
        assert held(store, key("a")).worth == 0.0

    def test_a_sum_beyond_every_number_is_refused(self, store: Store) -> None:
        """The largest number and as much again is not stored as infinity."""
        put(store, note("a", worth=LARGEST))
        with pytest.raises(InvalidInput):
            credit(store, key("a"), LARGEST, "x")
        assert held(store, key("a")).worth == LARGEST

    def test_a_credit_to_a_missing_record_is_not_found(self, store: Store) -> None:
        """One never written and one removed; nothing is created."""
        put(store, note("a"))
        remove(store, key("a"))
        for name in (key("a"), key("b")):
            with pytest.raises(NotFound):
                credit(store, name, 1.0, "x")
            assert get(store, name) is None

    def test_a_credit_keeps_the_vectors(self, store: Store) -> None:
        """The text is the same, so it is found as before."""
        need(store, "dense")
        store.apply([Put(note("a", "green tea"), rows(EAST))])
        credit(store, key("a"), 1.0, "x")
        assert [hit.record.worth for hit in nearest(store, rows(EAST))] == [1.0]

    def test_a_refused_credit_may_be_given_again(self, store: Store) -> None:
        """A giver whose batch failed has not given yet."""
        need(store, "atomic")
        put(store, note("a"))
        with pytest.raises(NotFound):
            store.apply([Credit(key("a"), "worth", 1.0, "x"), Credit(key("nobody"), "worth", 1.0, "x")])
        credit(store, key("a"), 1.0, "x")
        assert held(store, key("a")).worth == 1.0

    @examples
    @given(given_credits=st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9), st.booleans()), max_size=12))
    def test_a_sum_always_counts_each_giver_once(
        self, store: Store, given_credits: list[tuple[str, int, bool]]
    ) -> None:
        """In whatever order, repeated or not, in one batch or several, the first amount of each giver counts."""
        scope = fresh_scope()
        put(store, note("a", scope=scope))
        first: dict[str, int] = {}
        batch: list[Credit] = []
        for by, amount, wait in given_credits:
            first.setdefault(by, amount)
            batch.append(Credit(key("a", scope), "worth", amount, by))
            if not wait:
                store.apply(batch)
                batch = []
        store.apply(batch)
        assert held(store, key("a", scope)).worth == sum(first.values())

    def test_credits_from_eight_threads_all_count(self, store: Store) -> None:
        """Twenty-five from each, and each also repeats one that all give."""
        need(store, "compare")
        put(store, note("a"))

        def give(thread: int) -> None:
            for number in range(25):
                credit(store, key("a"), 1.0, f"{thread}/{number}")
                credit(store, key("a"), 1.0, "shared", "data.n")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(give, range(8)))
        assert (held(store, key("a")).worth, held(store, key("a")).data) == (200.0, {"n": 1})

    @pytest.mark.parametrize("by", ["", "  "], ids=["empty", "blank"])
    def test_a_giver_without_a_name_never_counts_twice(self, store: Store, by: str) -> None:
        """It is refused, or it is a name like any other."""
        put(store, note("a"))
        try:
            credit(store, key("a"), 1.0, by)
            credit(store, key("a"), 1.0, by)
        except SeasonedError:
            assert held(store, key("a")).worth == 0.0
        else:
            assert held(store, key("a")).worth == 1.0
