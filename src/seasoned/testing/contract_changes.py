"""The store contract, changes: versions and what they guard, batches, removal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from seasoned.errors import Conflict, NotFound
from seasoned.ports import ABSENT, Change, Credit, Expect, Put, Remove, Store
from seasoned.query import Query
from seasoned.records import Scope
from seasoned.testing.contract_base import (
    EAST,
    HOME,
    SPACE,
    ContractBase,
    counted,
    everything,
    fresh_scope,
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

_State = dict[str, tuple[str, dict[str, object], float]]


class ChangeRules(ContractBase):
    """Writes."""

    def test_versions_count_up_from_one(self, store: Store) -> None:
        """Each write of a record is the next version, as `apply` says and as the record shows."""
        assert put(store, note("a")).versions == (1,)
        assert put(store, note("a", "changed"), note("b")).versions == (2, 1)
        assert held(store, key("a")).version == 2

    def test_the_version_that_a_written_record_carries_is_not_believed(self, store: Store) -> None:
        """A record read, changed and written back takes the store's next version, whatever it says itself."""
        put(store, replace(note("a"), version=41))
        assert held(store, key("a")).version == 1
        put(store, held(store, key("a")))
        assert held(store, key("a")).version == 2

    def test_a_put_replaces_the_record_whole(self, store: Store) -> None:
        """Nothing of the old text, data, sources, worth or expiry shines through."""
        put(store, note("a", "old", {"x": 1, "y": {"z": 1}}, sources=(key("m"),), worth=3.0))
        put(store, note("a", "new", {"y": {}}))
        found = held(store, key("a"))
        assert (found.text, found.data, found.sources, found.worth, found.until) == ("new", {"y": {}}, (), 0.0, None)

    def test_one_batch_may_change_one_record_several_times(self, store: Store) -> None:
        """The changes of a batch see those before them."""
        applied = store.apply(
            [
                Put(note("a"), expect=ABSENT),
                Put(note("a", "second"), expect=1),
                Remove(key("a"), expect=2),
                Put(note("a", "third"), expect=ABSENT),
            ]
        )
        assert (applied.versions[:3], len(applied.versions)) == ((1, 2, 0), 4)
        assert held(store, key("a")).text == "third"

    def test_an_empty_batch_changes_nothing(self, store: Store) -> None:
        """It is allowed, and says so."""
        applied = store.apply([])
        assert (tuple(applied.versions), tuple(applied.seqs)) == ((), ())

    @pytest.mark.parametrize(
        ("expect", "found"),
        [(2, 1), (ABSENT, 1), (99, 1)],
        ids=["an earlier version", "there though ABSENT", "far off"],
    )
    def test_a_version_that_is_not_the_expected_one_is_a_conflict(
        self, store: Store, expect: Expect, found: int
    ) -> None:
        """The error names the key, what was expected and what was found; the record stays as it was."""
        put(store, note("a", "first"))
        for change in (Put(note("a", "second"), expect=expect), Remove(key("a"), expect=expect)):
            with pytest.raises(Conflict) as caught:
                store.apply([change])
            assert (caught.value.key, caught.value.expected, caught.value.found) == (key("a"), expect, found)
        assert (held(store, key("a")).text, held(store, key("a")).version) == ("first", 1)

    def test_a_version_expected_of_a_missing_record_is_a_conflict(self, store: Store) -> None:
        """A put does not create it, a removal does not pass over it."""
        for change in (Put(note("a"), expect=1), Remove(key("a"), expect=1)):
            with pytest.raises(Conflict):
                store.apply([change])
        assert listed(store) == []

    def test_the_expected_version_lets_a_change_through(self, store: Store) -> None:
        """An integer, ABSENT and None each where they hold."""
        store.apply([Put(note("a", "1"), expect=ABSENT)])
        store.apply([Put(note("a", "2"), expect=1)])
        store.apply([Put(note("a", "3"), expect=None)])
        assert (held(store, key("a")).text, held(store, key("a")).version) == ("3", 3)
        store.apply([Remove(key("a"), expect=3)])
        assert listed(store) == []

    def test_a_removed_record_is_gone_from_everything(self, store: Store) -> None:
        """By key, order, count, words, vector and source."""
        store.apply([Put(note("a", "green tea", sources=(key("m"),)), rows(EAST)), Put(note("b", "black tea"))])
        applied = remove(store, key("a"))
        assert applied.versions == (0,)
        assert get(store, key("a")) is None
        assert listed(store) == ["b"]
        assert counted(store, Query(scope=HOME, count=True)) == 1
        assert everything(store, Query(scope=HOME, source=key("m"))) == []
        if store.can.lexical:
            assert said(store, "green tea") == ["b"]
        if store.can.dense:
            assert nearest(store, rows(EAST)) == []

    def test_removing_what_is_not_there_changes_nothing(self, store: Store) -> None:
        """No error, no version and no sequence; the same for a second removal."""
        put(store, note("a"))
        assert remove(store, key("b")).versions == (0,)
        assert store.apply([Remove(key("b"), expect=ABSENT)]).versions == (0,)
        remove(store, key("a"))
        applied = remove(store, key("a"))
        assert (tuple(applied.versions), tuple(applied.seqs)) == ((0,), (0,))

    def test_a_thousand_and_a_half_records_are_removed_in_one_call(self, store: Store) -> None:
        """No page of them stays behind; those of another scope do."""
        written = [f"n{number}" for number in range(1500)]
        put(store, *(note(id_) for id_ in written), note("n1", scope=Scope("bob")))
        remove(store, *(key(id_) for id_ in written))
        assert counted(store, Query(scope=HOME, count=True)) == 0
        assert listed(store, Scope("bob")) == ["n1"]

    def test_a_put_without_vectors_keeps_those_of_an_unchanged_text(self, store: Store) -> None:
        """New data, worth or a credit need no new vectors; a new text drops the old ones; given ones replace."""
        need(store, "dense")
        lacking = Query(scope=HOME, lacking=str(SPACE))
        store.apply([Put(note("a", "green tea"), rows(EAST))])
        put(store, note("a", "green tea", {"x": 1}))
        store.apply([Credit(key("a"), "worth", 1.0, "x")])
        assert ids(nearest(store, rows(EAST))) == ["a"]
        assert ids(everything(store, lacking)) == []
        put(store, note("a", "black tea"))
        assert nearest(store, rows(EAST)) == []
        assert ids(everything(store, lacking)) == ["a"]
        store.apply([Put(note("a", "black tea"), rows(EAST))])
        assert ids(everything(store, lacking)) == []

    def test_a_record_written_anew_after_removal_has_no_old_vectors(self, store: Store) -> None:
        """The same id and the same text are still another record."""
        need(store, "dense")
        store.apply([Put(note("a", "green tea"), rows(EAST))])
        remove(store, key("a"))
        put(store, note("a", "green tea"))
        assert nearest(store, rows(EAST)) == []

    @pytest.mark.parametrize("position", range(6))
    @pytest.mark.parametrize("failure", ["conflict", "absent", "credit", "removal"])
    def test_a_failing_batch_changes_nothing_or_leaves_a_prefix(
        self, store: Store, position: int, failure: str
    ) -> None:
        """An atomic engine is as it was, wherever the failure stands; another kept the changes before it."""
        scope = _prepared(store)
        prefixes = [] if store.can.atomic else [_after(store, _prepared(store), n) for n in range(position + 1)]
        before, count = _state(store, scope), counted(store, Query(scope=scope, count=True))
        batch = _batch(scope)
        with pytest.raises((Conflict, NotFound)):
            store.apply([*batch[:position], _failing(failure, scope), *batch[position:]])
        assert _state(store, scope) in (before, *prefixes)
        if store.can.atomic:
            assert counted(store, Query(scope=scope, count=True)) == count
            assert not store.can.lexical or said(store, "brand new text", scope=scope) == []
            assert not store.can.dense or nearest(store, rows(EAST), scope=scope) == []

    @pytest.mark.parametrize("stop", range(7))
    def test_a_batch_stopped_anywhere_and_repeated_ends_the_same(self, store: Store, stop: int) -> None:
        """After any number of its changes, the same `apply` again completes it."""
        expected, stopped = _after(store, _prepared(store)), _prepared(store)
        _after(store, stopped, stop)
        assert _after(store, stopped) == expected
        assert _after(store, stopped) == expected

    def test_a_refused_batch_takes_no_sequence_from_a_follower(self, store: Store) -> None:
        """What was rolled back is not seen, and the next write is."""
        need(store, "ordered", "atomic")
        put(store, note("a"))
        with pytest.raises(Conflict):
            store.apply([Put(note("b")), Put(note("a"), expect=ABSENT)])
        put(store, note("c"))
        assert listed(store) == ["a", "c"]
        assert get(store, key("b")) is None


def _prepared(store: Store) -> Scope:
    scope = fresh_scope()
    put(store, note("old", "old", scope=scope, worth=1.0), note("doomed", scope=scope))
    return scope


def _batch(scope: Scope) -> Sequence[Change]:
    """Six changes of all sorts, sources before what is derived from them."""
    return (
        Put(note("source", "brand new text", scope=scope), rows(EAST)),
        Put(note("derived", "derived", {"n": 1}, scope=scope, sources=(key("source", scope),))),
        Credit(key("old", scope), "worth", 2.0, "batch"),
        Credit(key("old", scope), "data.used", 1, "batch"),
        Remove(key("doomed", scope)),
        Put(note("head", "head", {"upto": 6}, scope=scope)),
    )


def _failing(failure: str, scope: Scope) -> Change:
    failures: dict[str, Change] = {
        "conflict": Put(note("old", "overwritten", scope=scope), expect=7),
        "absent": Put(note("old", "overwritten", scope=scope), expect=ABSENT),
        "credit": Credit(key("nobody", scope), "worth", 1.0, "x"),
        "removal": Remove(key("nobody", scope), expect=1),
    }
    return failures[failure]


def _after(store: Store, scope: Scope, stop: int = 6) -> _State:
    """Apply the batch, or so many of its changes, and return what the scope then holds."""
    store.apply(_batch(scope)[:stop])
    return _state(store, scope)


def _state(store: Store, scope: Scope) -> _State:
    hits = everything(store, Query(scope=scope))
    return {hit.id: (hit.text, dict(hit.record.data), hit.record.worth) for hit in hits}
