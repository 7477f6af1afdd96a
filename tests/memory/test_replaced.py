"""Replacing a text while others write what was made from it, and where some of that cannot be read or written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from seasoned import Memory
from seasoned.errors import Conflict, StoreFull, StoreLocked
from seasoned.layer import Layer
from seasoned.ports import Applied, Change, Credit, Put, Store
from seasoned.records import Key, Record, Scope
from seasoned.stores.encrypted import KeyRing
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock

ALICE = Scope(("acme", "alice"))
SOURCE = Key(ALICE, "note", "src")
KEY, NEXT = bytes(range(32)), bytes(range(1, 33))


class Crowded(Layer):
    """A store that others write to right before each change: `meddle` is called with the number of the change."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.count = 0
        self.meddle: Callable[[int, Sequence[Change]], None] = lambda number, changes: None

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Let the others write, then apply the changes."""
        self.count += 1
        self.meddle(self.count, changes)
        return self.inner.apply(changes)


def derived(number: int) -> Key:
    return Key(ALICE, "note", f"d{number}")


@pytest.fixture
def store():
    with Crowded(MemoryStore(clock=FakeClock())) as opened:
        yield opened


@pytest.fixture
def memory(store):
    """A note, and 500 that were made from it, the last of them from the one before."""
    opened = Memory(store, scope=ALICE, embedder="hashing", clock=FakeClock())
    opened.remember("source", id="src")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(500):
        sources = (SOURCE,) if number < 499 else (derived(498),)
        store.apply([Put(Record(key=derived(number), text=f"derived {number}", at=at, sources=sources))])
    store.count = 0
    return opened


def marked(memory) -> int:
    return memory.count({"data.stale": True})


def credit(store, key, number=0):
    store.inner.apply([Credit(key, "worth", 1.0, f"o{number}")])


def test_all_is_one_change_where_nobody_else_writes(memory, store):
    """The old version, the new one, and the marks."""
    memory.update("src", text="new")
    assert (store.count, marked(memory)) == (1, 500)


def test_credit_for_what_is_to_be_marked_does_not_stop_an_update(memory, store):
    """Neither the credit nor the mark is lost, and nothing else is written twice."""

    def meddle(number, changes):
        if number <= 6:
            credit(store, derived(7), number)

    store.meddle = meddle
    assert memory.update("src", text="new").text == "new"
    assert marked(memory) == 500
    record = memory.get("d7").record
    assert (record.worth, record.data) == (6.0, {"stale": True})
    assert {memory.get(f"d{number}").record.version for number in range(500) if number != 7} == {2}
    assert [each.record.text for each in memory.history("src")] == ["source", "new"]


def test_credit_for_many_of_what_is_to_be_marked_does_not_stop_an_update(memory, store):
    """Each of the first changes meets another one that was credited."""
    names = iter(range(0, 500, 11))

    def meddle(number, changes):
        name = next(names, None)
        if name is not None:
            credit(store, derived(name))

    store.meddle = meddle
    assert memory.update("src", text="new").text == "new"
    assert (marked(memory), memory.get("d0").record.worth) == (500, 1.0)


def test_a_derived_record_that_is_always_changed_first_is_named(memory, store):
    """The text stays as it was, and so does its history."""

    def meddle(number, changes):
        if any(isinstance(each, Put) and each.record.key == derived(7) for each in changes):
            credit(store, derived(7), number)

    store.meddle = meddle
    with pytest.raises(Conflict) as caught:
        memory.update("src", text="new")
    assert caught.value.key == derived(7)
    assert [each.record.text for each in memory.history("src")] == ["source"]


def test_a_source_that_is_changed_meanwhile_is_replaced_at_a_later_try(memory, store):
    """What was made from it is not read again for that, and its credits stay."""

    def meddle(number, changes):
        if number <= 5:
            credit(store, SOURCE, number)

    store.meddle = meddle
    memory.update("src", text="new")
    record = memory.get("src").record
    assert (record.text, record.worth, marked(memory), store.count) == ("new", 5.0, 500, 6)


def test_a_source_that_is_always_changed_first_is_named_with_its_versions(memory, store):
    """What the last try expected, and what it found."""
    store.meddle = lambda number, changes: credit(store, SOURCE, number)
    with pytest.raises(Conflict) as caught:
        memory.update("src", text="new")
    error = caught.value
    assert error.key == SOURCE
    assert error.found == error.expected + 1
    assert (memory.get("src").text, marked(memory)) == ("source", 0)


@pytest.mark.parametrize("stopped", range(1, 12))
def test_an_update_that_is_stopped_leaves_no_old_text_unmarked(memory, store, stopped):
    """Wherever it was: the text is as it was, or all that was made from it is marked; a second call completes it."""

    def meddle(number, changes):
        if number >= stopped:
            raise StoreFull("no space left")
        credit(store, derived(7), number)

    store.meddle = meddle
    with pytest.raises(StoreFull):
        memory.update("src", text="new")
    assert memory.get("src").text == "source"
    store.meddle = lambda number, changes: None
    memory.update("src", text="new")
    assert (memory.get("src").text, marked(memory)) == ("new", 500)


def test_what_is_made_anew_while_others_are_marked_is_marked_again(memory, store):
    """It was written from the old text, which was still there."""

    def meddle(number, changes):
        if number == 1:
            credit(store, derived(7))
        if number == 3:  # d0 is marked by now
            assert memory.get("d0").record.data == {"stale": True}
            old = memory.get("d0").record
            store.inner.apply([Put(Record(key=old.key, text="from old", at=old.at, sources=old.sources))])

    store.meddle = meddle
    memory.update("src", text="new")
    assert memory.get("d0").record.data == {"stale": True}


def below(memory: Memory, *parts: str) -> Memory:
    """A memory of a scope below, in which something was made from the source."""
    opened = memory.within(*parts)
    opened.remember(f"{parts[0]} heard of it", id="heard", sources=[SOURCE])
    opened.remember("and told others", id="told", sources=[Key(opened.scope, "note", "heard")])
    return opened


@pytest.fixture
def ring():
    return KeyRing({("acme", "alice", "bot"): {"1": KEY}, ("acme", "alice", "safe"): {"1": KEY}})


@pytest.fixture
def sealed(ring):
    """A memory in the clear, over two scopes that are encrypted and one that is not."""
    with Memory(
        MemoryStore(clock=FakeClock()), scope=ALICE, embedder="hashing", clock=FakeClock(), keys=ring
    ) as opened:
        opened.remember("source", id="src")
        for name in ("bot", "safe", "plain"):
            below(opened, name)
        yield opened


def stale(memory: Memory) -> list[tuple[str, str]]:
    """Where something is marked, and what."""
    scopes = [memory.within(name) for name in ("plain", "safe")]
    return [(each.scope[-1], hit.id) for each in scopes for hit in each.list({"data.stale": True}).hits]


ALL = [("plain", "heard"), ("plain", "told"), ("safe", "heard"), ("safe", "told")]


def test_scopes_below_whose_keys_are_gone_are_passed_over_and_named(sealed, ring, caplog):
    """One warning for each update, and the rest is marked."""
    ring.forget(Scope(("acme", "alice", "bot")))
    with caplog.at_level(logging.WARNING, "seasoned.memory"):
        assert sealed.update("src", text="new").text == "new"
    (said,) = caplog.messages
    assert (
        said
        == "the key of acme/alice/bot is not here, so what was made there from note 'src' in acme/alice is not marked"
    )
    assert stale(sealed) == ALL


def test_a_scope_below_that_can_be_read_and_not_written_is_passed_over_and_named(sealed, ring, caplog):
    """Its older key is here, the current one is not."""
    ring.add(("acme", "alice", "bot"), "2", NEXT)
    ring.drop(("acme", "alice", "bot"), "2")
    with caplog.at_level(logging.WARNING, "seasoned.memory"):
        assert sealed.update("src", text="new").text == "new"
    assert [said.split(" is not here")[0] for said in caplog.messages] == ["the key of acme/alice/bot"]
    assert stale(sealed) == ALL


def test_nothing_is_said_where_every_key_is_here(sealed, caplog):
    """All is marked."""
    with caplog.at_level(logging.WARNING, "seasoned.memory"):
        sealed.update("src", text="new")
    assert (caplog.messages, stale(sealed)) == ([], ALL)
    assert sealed.within("bot").count({"data.stale": True}) == 2


def test_a_memory_that_is_locked_itself_takes_no_update(sealed, ring):
    """The error names its scope."""
    bot = sealed.within("bot")
    ring.add(("acme", "alice", "bot"), "2", NEXT)
    ring.drop(("acme", "alice", "bot"), "2")
    with pytest.raises(StoreLocked) as caught:
        bot.update("heard", text="new")
    assert caught.value.scope == ("acme", "alice", "bot")
