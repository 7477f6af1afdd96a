"""Following a scope: what changed since the last look, and what expired meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.following import Follower
from seasoned.ports import ABSENT, Change, Put, Remove
from seasoned.query import Page, Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock

SCOPE = Scope(("acme", "alice"))
DAY = timedelta(days=1)


class Texts:
    """A small view: the texts of the notes of a scope."""

    def __init__(self, store: MemoryStore, clock: FakeClock) -> None:
        self.follower = Follower(store, Query(scope=SCOPE, kinds=("note",), k=2))
        self.clock = clock
        self.at_hand: dict[str, str] = {}
        self.pages = 0

    def now(self) -> dict[str, str]:
        """Look, and return what there is."""
        self.follower.follow(self._take, self.at_hand.clear, self.clock.now())
        return self.at_hand

    def _take(self, page: Page) -> None:
        self.pages += 1
        for key in page.gone:
            self.at_hand.pop(key.id, None)
        self.at_hand.update((hit.id, hit.text) for hit in page.hits)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Iterator[MemoryStore]:
    with MemoryStore(clock=clock) as opened:
        yield opened


@pytest.fixture
def texts(store, clock):
    return Texts(store, clock)


def note(clock, name, text="tea", lasts=None):
    """A change that writes a note, which lasts so many days, or for good."""
    until = None if lasts is None else clock.now() + lasts * DAY
    return Put(Record(key=Key(SCOPE, "note", name), text=text, at=clock.now(), until=until))


def test_what_expires_is_gone_at_the_next_look(store, clock, texts):
    """Nothing is written when a record expires, so the time of the look tells."""
    store.apply([note(clock, "short", lasts=1), note(clock, "long", lasts=2), note(clock, "ever")])
    assert sorted(texts.now()) == ["ever", "long", "short"]
    clock.advance(DAY)
    assert sorted(texts.now()) == ["ever", "long"]
    clock.advance(DAY)
    assert sorted(texts.now()) == ["ever"]


def test_a_look_at_which_nothing_expires_reads_no_more_than_before(store, clock, texts):
    """One empty page of the store, whatever is kept and expires later."""
    store.apply([note(clock, f"n{number}", lasts=1 + number) for number in range(5)])
    texts.now()
    before = texts.pages
    texts.now()
    assert texts.pages == before + 1


def test_what_is_rewritten_to_end_in_the_past_is_gone(store, clock, texts):
    """Although the store shows no change of it to those who ask for what lasts."""
    store.apply([note(clock, "a"), note(clock, "b")])
    texts.now()
    store.apply([note(clock, "a", lasts=-1)])
    assert sorted(texts.now()) == ["b"]


def test_what_ended_between_two_looks_at_which_it_was_rewritten_is_gone(store, clock, texts):
    """It had no end when it was seen last."""
    store.apply([note(clock, "a")])
    texts.now()
    store.apply([note(clock, "a", lasts=1)])
    clock.advance(2 * DAY)
    assert texts.now() == {}


def test_what_is_given_more_time_stays(store, clock, texts):
    """The first end counts no more, and one without an end stays for good."""
    store.apply([note(clock, "a", lasts=1), note(clock, "b", lasts=1)])
    texts.now()
    store.apply([note(clock, "a", lasts=3), note(clock, "b")])
    texts.now()
    clock.advance(2 * DAY)
    assert sorted(texts.now()) == ["a", "b"]
    clock.advance(9 * DAY)
    assert sorted(texts.now()) == ["b"]


def test_a_record_that_takes_the_place_of_an_expired_one_is_shown(store, clock, texts):
    """Its id is free again."""
    store.apply([note(clock, "a", "old", lasts=1)])
    texts.now()
    clock.advance(DAY)
    store.apply([Put(note(clock, "a", "new").record, expect=ABSENT)])
    assert texts.now() == {"a": "new"}


def test_a_clock_that_is_set_back_brings_what_has_not_ended_yet(store, clock, texts):
    """By reading all anew; what had ended then stays away."""
    store.apply([note(clock, "a", lasts=1), note(clock, "b", lasts=3)])
    clock.advance(5 * DAY)
    assert texts.now() == {}
    clock.set(clock.now() - 3 * DAY)
    assert sorted(texts.now()) == ["b"]
    clock.advance(DAY)
    assert texts.now() == {}


def test_a_clock_that_is_set_back_a_little_reads_nothing_anew(store, clock, texts):
    """As long as nothing that was gone lasts again, as where threads read the time one before the other."""
    store.apply([note(clock, "a", lasts=1), note(clock, "b")])
    texts.now()
    clock.advance(2 * DAY)
    texts.now()
    before, moved = texts.pages, texts.follower.moved
    clock.set(clock.now() - timedelta(hours=1))
    assert sorted(texts.now()) == ["b"]
    assert (texts.pages, texts.follower.moved) == (before + 1, moved)


def test_time_alone_counts_as_a_move(store, clock, texts):
    """So that what is made from a view knows that it is old."""
    store.apply([note(clock, "a", lasts=1)])
    texts.now()
    assert texts.follower.moved == 0
    clock.advance(DAY)
    texts.now()
    texts.now()
    assert texts.follower.moved == 1
    clock.set(clock.now() - DAY)
    texts.now()
    assert texts.follower.moved == 2


def test_an_end_that_is_put_off_again_and_again_is_remembered_once(store, clock, texts):
    """What a follower remembers does not grow with the writes."""
    for _ in range(1_000):
        store.apply([note(clock, "a", lasts=1)])
        clock.advance(seconds=60)
        texts.now()
    assert texts.now() == {"a": "tea"}
    assert texts.follower.remembered <= 100
    clock.advance(DAY)
    assert texts.now() == {}


_NAMES = st.sampled_from(("a", "b", "c", "d", "e"))
_LASTS = st.sampled_from((None, -1, 1, 2, 5))
_STEPS = st.lists(
    st.tuples(st.just("put"), _NAMES, _LASTS)
    | st.tuples(st.just("remove"), _NAMES)
    | st.tuples(st.just("wait"), st.sampled_from((1, 3)))
    | st.tuples(st.just("back"), st.sampled_from((1, 3)))
    | st.tuples(st.just("look")),
    max_size=25,
)


@given(_STEPS)
@settings(max_examples=200, deadline=None)
def test_a_view_is_always_as_a_fresh_one(steps):
    """Whatever is written, with an end and without, and however the clock moves, back and forth."""
    clock = FakeClock()
    with MemoryStore(clock=clock) as store:
        texts = Texts(store, clock)
        for number, step in enumerate(steps):
            if step[0] == "wait":
                clock.advance(step[1] * DAY)
            elif step[0] == "back":
                clock.set(clock.now() - step[1] * DAY)
            elif step[0] == "look":
                texts.now()
            else:
                store.apply([_change(clock, step, number)])
        last = {hit.id: hit.text for hit in store.find(Query(scope=SCOPE, kinds=("note",))).hits}
        assert texts.now() == last == Texts(store, clock).now()


def _change(clock: FakeClock, step, number: int) -> Change:
    name = step[1]
    return Remove(Key(SCOPE, "note", name)) if step[0] == "remove" else note(clock, name, f"text {number}", step[2])
