"""The store contract, order: what comes first, paging while others write, and following the changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput
from seasoned.ports import Put, Remove, Store
from seasoned.query import Order, Query
from seasoned.records import Hit, Scope
from seasoned.testing.contract_base import (
    HOME,
    NOON,
    ContractBase,
    OpenStore,
    counted,
    everything,
    examples,
    fresh_scope,
    get,
    held,
    ids,
    key,
    listed,
    need,
    note,
    pages,
    put,
    remove,
)

_Disturbance = tuple[str, int]
_disturbances = st.lists(
    st.lists(st.tuples(st.sampled_from(["add", "update", "remove"]), st.integers(0, 11)), max_size=3), max_size=6
)


class OrderRules(ContractBase):
    """Reads by order."""

    def test_records_come_as_they_were_first_written(self, store: Store) -> None:
        """Oldest first or newest first by writing, not by id, nor by when things happened, nor by an update."""
        put(store, note("m", at=NOON))
        put(store, note("z", at=NOON.replace(year=2020)), note("a", at=NOON.replace(year=2030)))
        put(store, note("m", "changed"))
        assert ids(everything(store, Query(scope=HOME))) == ["m", "z", "a"]
        assert ids(everything(store, Query(scope=HOME, order=Order.NEWEST))) == ["a", "z", "m"]

    def test_a_follower_reads_by_last_change(self, store: Store) -> None:
        """In order of change an updated record comes last, once, as it is now."""
        need(store, "ordered")
        put(store, note("a"), note("b"), note("c"))
        put(store, note("a", "changed"))
        hits = everything(store, Query(scope=HOME, order=Order.CHANGED))
        assert ids(hits) == ["b", "c", "a"]
        assert hits[-1].text == "changed"

    def test_an_update_keeps_its_place_and_takes_the_next_sequence(self, store: Store) -> None:
        """`order` stays that of the first write; `seq` is that of the last, as `apply` said."""
        need(store, "ordered")
        put(store, note("a"), note("b"))
        before = get(store, key("a"))
        applied = put(store, note("a", "changed"))
        after = get(store, key("a"))
        assert before is not None
        assert after is not None
        assert after.order == before.order
        assert after.seq == applied.seqs[0] > before.seq

    def test_sequences_count_up_through_a_batch(self, store: Store) -> None:
        """Each change of a batch takes a later sequence than the one before it, a removal too."""
        need(store, "ordered")
        first = store.apply([Put(note("a")), Put(note("b")), Remove(key("a")), Put(note("c"))]).seqs
        second = put(store, note("b", "changed")).seqs
        taken = [*first, *second]
        assert taken == sorted(set(taken))
        assert taken[0] > 0

    def test_a_removal_frees_neither_place_nor_sequence(self, store: Store) -> None:
        """What comes after a removal of the newest stands behind it, even under the same id."""
        need(store, "ordered")
        put(store, note("a"), note("b"))
        gone = get(store, key("b"))
        removal = remove(store, key("b")).seqs[0]
        put(store, note("b", "again"))
        back = get(store, key("b"))
        assert gone is not None
        assert back is not None
        assert back.order > gone.order
        assert back.seq > removal > gone.seq

    def test_an_emptied_scope_does_not_start_over(self, store: Store, open_store: OpenStore) -> None:
        """With all removed, and reopened where the engine is durable, sequences still go on upwards."""
        need(store, "ordered")
        last = put(store, note("a"), note("b")).seqs[-1]
        removal = max(remove(store, key("a"), key("b")).seqs)
        if store.can.durable:
            store.close()
            store = open_store()
        put(store, note("c"))
        after = get(store, key("c"))
        assert after is not None
        assert after.seq > removal > last

    def test_a_listing_of_1201_records_is_whole(self, store: Store) -> None:
        """No cap of 20, 100 or 1,000: following the cursor gives every record once."""
        written = [f"n{number:04}" for number in range(1201)]
        put(store, *(note(id_) for id_ in written))
        assert listed(store) == written
        assert ids(everything(store, Query(scope=HOME, k=1201))) == written
        assert counted(store, Query(scope=HOME, count=True)) == 1201

    @pytest.mark.parametrize("k", [1, 2, 3, 6, 7])
    @pytest.mark.parametrize("order", [Order.OLDEST, Order.NEWEST, Order.CHANGED])
    def test_pages_of_any_size_give_all_and_end(self, store: Store, order: Order, k: int) -> None:
        """Where the last page is full, too; no page is larger than asked."""
        if order is Order.CHANGED:
            need(store, "ordered")
        put(store, *(note(f"n{number}") for number in range(6)))
        found = list(pages(store, Query(scope=HOME, order=order, k=k)))
        assert sorted(hit.id for page in found for hit in page.hits) == [f"n{number}" for number in range(6)]
        assert all(len(page.hits) <= k for page in found)

    def test_a_page_that_is_not_full_is_the_last(self, store: Store) -> None:
        """Three records asked for by four: no cursor is left."""
        put(store, note("a"), note("b"), note("c"))
        assert store.find(Query(scope=HOME, k=4)).cursor is None

    @pytest.mark.parametrize("order", [Order.OLDEST, Order.NEWEST])
    @examples
    @given(between=_disturbances, k=st.integers(1, 4))
    def test_a_cursor_never_misses_nor_repeats_while_others_write(
        self, store: Store, order: Order, between: list[list[_Disturbance]], k: int
    ) -> None:
        """Records that stand throughout are given exactly once, whatever is added, changed or removed between pages."""
        scope, standing, seen = _numbered(store, 12)
        steps = iter(between)
        for page in pages(store, Query(scope=scope, order=order, k=k)):
            seen += ids(page.hits)
            if page.cursor is not None:
                standing -= _disturb(store, scope, next(steps, []))
        assert len(seen) == len(set(seen))
        assert standing <= set(seen)

    @examples
    @given(between=_disturbances, k=st.integers(1, 4))
    def test_a_follower_never_misses_a_change_while_others_write(
        self, store: Store, between: list[list[_Disturbance]], k: int
    ) -> None:
        """Read by change to the end, each record was given in its last state, and no state twice."""
        need(store, "ordered")
        scope, _, _ = _numbered(store, 12)
        seen: list[Hit] = []
        steps = iter(between)
        for page in pages(store, Query(scope=scope, order=Order.CHANGED, k=k)):
            seen += page.hits
            if page.cursor is not None:
                _disturb(store, scope, next(steps, []))
        states = [(hit.id, hit.seq) for hit in seen]
        assert len(states) == len(set(states))
        assert {(hit.id, hit.seq) for hit in everything(store, Query(scope=scope))} <= set(states)

    def test_a_follower_goes_on_from_the_sequence_it_has_seen(self, store: Store) -> None:
        """From there it is told of updates, additions and the keys of what was removed, and of nothing else."""
        need(store, "ordered")
        put(store, note("a"), note("b"), note("c"))
        seen = store.find(Query(scope=HOME, order=Order.CHANGED))
        assert (ids(seen.hits), list(seen.gone), seen.seq) == (["a", "b", "c"], [], seen.hits[-1].seq)
        put(store, note("a", "changed"), note("d"))
        remove(store, key("b"))
        news = store.find(Query(scope=HOME, order=Order.CHANGED, cursor=str(seen.seq)))
        assert (ids(news.hits), list(news.gone), news.reload) == (["a", "d"], [key("b")], False)
        assert counted(store, Query(scope=HOME, count=True)) == 3
        again = store.find(Query(scope=HOME, order=Order.CHANGED, cursor=str(news.seq)))
        assert (list(again.hits), list(again.gone), again.seq) == ([], [], news.seq)

    @examples
    @given(steps=_disturbances, k=st.integers(1, 4))
    def test_a_follower_never_differs_from_what_it_follows(
        self, store: Store, steps: list[list[_Disturbance]], k: int
    ) -> None:
        """Removals first, then the hits of each page: its copy equals the scope after every few writes."""
        need(store, "ordered")
        scope, _, _ = _numbered(store, 12)
        copied: dict[str, str] = {}
        seq = 0
        for step in [[], *steps]:
            _disturb(store, scope, step)
            for page in pages(store, Query(scope=scope, order=Order.CHANGED, k=k, cursor=str(seq) if seq else None)):
                copied = {id_: text for id_, text in copied.items() if key(id_, scope) not in page.gone}
                copied |= {hit.id: hit.text for hit in page.hits}
            assert not page.reload
            seq = page.seq
            assert copied == {hit.id: hit.text for hit in everything(store, Query(scope=scope))}

    def test_a_cursor_survives_a_reopen(self, store: Store, open_store: OpenStore) -> None:
        """A listing begun in one process is ended in another."""
        need(store, "durable")
        put(store, *(note(f"n{number}") for number in range(5)))
        first = store.find(Query(scope=HOME, k=2))
        store.close()
        rest = everything(open_store(), Query(scope=HOME, cursor=first.cursor))
        assert ids([*first.hits, *rest]) == ["n0", "n1", "n2", "n3", "n4"]

    @pytest.mark.parametrize("cursor", ["", "nonsense", "é", "x' OR 1=1 --", "1\n2"], ids=ascii)
    def test_a_cursor_that_no_page_gave_is_refused(self, store: Store, cursor: str) -> None:
        """It is neither the start nor the end."""
        put(store, note("a"))
        with pytest.raises(InvalidInput):
            store.find(Query(scope=HOME, cursor=cursor))

    def test_pages_of_a_subtree_give_each_record_once(self, store: Store) -> None:
        """Equal ids and equal places in several scopes do not hide each other between pages."""
        scopes = [HOME, HOME.within("a"), HOME.within("b"), HOME.within("a", "c")]
        for number in range(3):
            put(store, *(note(f"n{number}", scope=scope) for scope in scopes))
        for order in (Order.OLDEST, Order.NEWEST):
            found = everything(store, Query(scope=HOME, subtree=True, order=order, k=2))
            assert len(found) == 12
            assert {(hit.record.key.scope, hit.id) for hit in found} == {
                (scope, f"n{number}") for scope in scopes for number in range(3)
            }

    def test_pages_narrowed_by_a_kind_are_whole(self, store: Store) -> None:
        """What is narrowed away between two hits neither ends a listing nor counts toward a page."""
        put(store, *(note(f"n{number:03}", kind="rare" if number % 50 == 0 else "common") for number in range(300)))
        found = everything(store, Query(scope=HOME, kinds=("rare",), k=2))
        assert ids(found) == ["n000", "n050", "n100", "n150", "n200", "n250"]

    def test_a_hit_says_when_it_was_written(self, store: Store) -> None:
        """`written` is the store's clock, not when the thing happened."""
        put(store, note("a", at=NOON.replace(year=2001)))
        hit = get(store, key("a"))
        assert hit is not None
        assert hit.written == NOON
        assert held(store, key("a")).at == NOON.replace(year=2001)


def _numbered(store: Store, size: int) -> tuple[Scope, set[str], list[str]]:
    scope = fresh_scope()
    written = [f"n{number}" for number in range(size)]
    put(store, *(note(id_, scope=scope) for id_ in written))
    return scope, set(written), []


def _disturb(store: Store, scope: Scope, step: Sequence[_Disturbance]) -> set[str]:
    """Do what a step says; return the ids that it removed."""
    removed: set[str] = set()
    for act, number in step:
        if act == "add":
            put(store, note(f"new{number}", scope=scope))
        elif act == "remove":
            remove(store, key(f"n{number}", scope))
            removed.add(f"n{number}")
        elif (hit := get(store, key(f"n{number}", scope))) is not None:
            put(store, replace(hit.record, text=hit.text + "!"))
    return removed
