"""The block of a playbook in a prompt: within its budget, the same all through a run, and with a stable beginning."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.embedders import resolve
from seasoned.errors import InvalidInput, StoreReadOnly, WrongType
from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Add, Remove, Tag, Update
from seasoned.playbook.entries import Counts, Entry, Mark, Outcome
from seasoned.playbook.layout import Block, block
from seasoned.playbook.rendering import line, read_lines, xml
from seasoned.playbook.snapshots import LAYOUT
from seasoned.ports import Applied, Change, Message, Store
from seasoned.ports import Remove as Gone
from seasoned.query import Query
from seasoned.records import Key, Scope
from seasoned.search import Searcher
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import FakeClock

SCOPE = Scope(("acme", "alice"))
CLOSING = "\n  </s>\n</playbook>"


def a_core(store: Store, clock: FakeClock | None = None) -> Core:
    return Core(store, SCOPE, searcher=Searcher(store, resolve("hashing")), clock=clock)  # type: ignore[arg-type]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    opened: Store = (
        MemoryStore(clock=clock) if request.param == "memory" else SQLiteStore(tmp_path / "a.db", clock=clock)
    )
    yield opened
    opened.close()


@pytest.fixture
def core(store: Store, clock: FakeClock) -> Core:
    return a_core(store, clock)


def words(messages: Sequence[Message]) -> int:
    return sum(len(str(message["content"]).split()) + 4 for message in messages)


def layouts(store: Store) -> int:
    return store.find(Query(scope=SCOPE, kinds=(LAYOUT,), count=True)).count or 0


def grow(core: Core, *contents: str, section: str = "s", **fields: object) -> list[str]:
    adds = [Add(content=content, section=section, **fields) for content in contents]  # type: ignore[arg-type]
    return [effect.id for effect in core.apply(adds).effects]


def beginning(text: str) -> str:
    """Return a block without the tags that close it."""
    return text.rpartition("\n  </")[0]


def test_a_playbook_that_fits_is_shown_whole(core: Core, store: Store) -> None:
    """Without a run nothing is written, and the block is that of all entries."""
    grow(core, "one", "two")
    grow(core, "three", section="t", outcome=Outcome.SUCCESS)
    shown = block(core, budget=None)
    assert shown.text == xml(core.entries())
    assert shown.ids == ("s-00001", "s-00002", "t-00003")
    assert (shown.left_out, shown.number, shown.degraded) == (0, 2, ())
    assert layouts(store) == 0


def test_an_empty_playbook_shows_nothing(core: Core) -> None:
    """No text, no tokens; a budget of nothing shows nothing either, and says how much was left out."""
    assert block(core, budget=2_000) == Block()
    grow(core, "one")
    assert block(core, budget=0) == Block(left_out=1, number=1)
    assert not block(core, budget=None, max_entries=0)


def test_retired_entries_are_not_shown(core: Core) -> None:
    """Nor counted as left out; brought back, they are shown again."""
    name, _ = grow(core, "one", "two")
    core.apply([Update(id=name, retired="outdated")])
    assert "one" not in block(core, budget=None).text
    assert block(core, budget=None).left_out == 0
    core.apply([Update(id=name, retired="")])
    assert "one" in block(core, budget=None).text


def test_what_harms_is_shown_as_what_to_avoid(core: Core) -> None:
    """A failure, and advice that harmed more often than it helped."""
    grow(core, "fails", outcome=Outcome.FAILURE)
    grow(core, "harms", counts=Counts(harmful=2, helpful=1))
    assert block(core, budget=None).text.split("\n")[2:4] == ["    [-] fails", "    [-] harms"]


def test_counters_change_nothing_that_is_shown(core: Core) -> None:
    """They would change the prompt at every run; only the mark says what they say."""
    (name,) = grow(core, "one", counts=Counts(helpful=1))
    before = block(core, budget=None).text
    core.apply([Tag(id=name, mark=Mark.HELPFUL, times=5)])
    assert block(core, budget=None).text == before


def test_a_run_keeps_its_block(core: Core, store: Store, clock: FakeClock) -> None:
    """Whatever is learned meanwhile; for another process as well, and whatever task comes later."""
    name, *_ = grow(core, "one", "two")
    first = block(core, budget=500, run="r1", task="the task")
    grow(core, "three")
    core.apply([Update(id=name, content="one, better"), Remove(id="s-00002")])
    clock.advance(timedelta(days=29))
    assert block(core, budget=500, run="r1") == first
    assert block(a_core(store, clock), budget=500, run="r1", task="another") == first
    assert "one, better" in block(core, budget=500, run="r2").text
    assert "two" not in block(core, budget=500, run="r2").text


def test_a_restart_gives_the_same_bytes(tmp_path: Path) -> None:
    """The block of a run is in the file."""
    with_one = SQLiteStore(tmp_path / "a.db")
    grow(a_core(with_one), "one\n  [+] two", section="my cat 1")
    first = block(a_core(with_one), budget=500, run="r1")
    grow(a_core(with_one), "three")
    with_one.close()
    with_other = SQLiteStore(tmp_path / "a.db")
    assert block(a_core(with_other), budget=500, run="r1") == first
    with_other.close()


def test_a_block_is_kept_for_thirty_days(core: Core, store: Store, clock: FakeClock) -> None:
    """After that a run is a new one."""
    grow(core, "one")
    block(core, budget=500, run="r1")
    grow(core, "two")
    clock.advance(timedelta(days=31))
    assert "two" in block(a_core(store, clock), budget=500, run="r1").text


def test_each_budget_of_a_run_has_its_block(core: Core) -> None:
    """Two agents of one run, one with less room, must not get each other's."""
    grow(core, *(f"advice number {i}" for i in range(30)))
    large, small = block(core, budget=1_000, run="r1"), block(core, budget=100, run="r1")
    assert small.tokens <= 100 < large.tokens
    assert block(core, budget=1_000, run="r1") == large


def test_forgetting_an_entry_takes_it_out_of_every_block(core: Core, store: Store, clock: FakeClock) -> None:
    """At once, within a run too, and in each process: what keeps the block goes along."""
    name, _ = grow(core, "the code is 4711", "two")
    other = a_core(store, clock)
    assert "4711" in block(core, budget=500, run="r1").text
    assert "4711" in block(other, budget=500, run="r1").text
    memory = Memory(store, scope=SCOPE, embedder="hashing", clock=clock)
    memory.forget(name)
    memory.close()
    again = block(core, budget=500, run="r1")
    assert "4711" not in again.text
    assert again.ids == ("s-00002",)
    assert block(other, budget=500, run="r1") == again


def test_processes_that_ask_at_once_get_the_same_block(tmp_path: Path) -> None:
    """The first to keep it decides, whatever task the others had."""
    opening = SQLiteStore(tmp_path / "a.db")
    grow(
        a_core(opening), *(f"advice {i} on {word}" for i, word in enumerate(["files", "queues", "mail", "cards"] * 20))
    )
    stores = [SQLiteStore(tmp_path / "a.db") for _ in range(4)]
    found, start = list[Block](), threading.Barrier(4)

    def ask(store: Store, task: str) -> None:
        mine = a_core(store)
        start.wait()
        found.append(block(mine, budget=300, run="r1", task=task))

    threads = [
        threading.Thread(target=ask, args=pair)
        for pair in zip(stores, ["files", "queues", "mail", "cards"], strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert {each.text for each in found} == {found[0].text}
    for each in (opening, *stores):
        each.close()


class Sealed(MemoryStore):
    """A store that can be read and, once sealed, no longer written."""

    sealed = False

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Refuse every change once sealed."""
        if self.sealed:
            raise StoreReadOnly("the store is sealed")
        return super().apply(changes)


def test_on_a_read_only_store_the_block_comes_and_says_so() -> None:
    """Nothing can be kept, so within this process it stays the same, and elsewhere it may differ."""
    store = Sealed()
    core = a_core(store)
    grow(core, "one")
    store.sealed = True
    shown = block(core, budget=500, run="r1")
    assert "one" in shown.text
    assert shown.degraded == ("layout: the store is sealed",)
    store.sealed = False
    grow(core, "two")
    assert block(core, budget=500, run="r1") == shown
    core.store.apply([Gone(Key(SCOPE, "entry", "s-00001"))])
    assert block(core, budget=500, run="r1").ids == ("s-00002",)
    store.close()


def test_the_task_decides_what_comes_last(core: Core) -> None:
    """Where not all fit, what suits the task stands behind the stable part."""
    grow(core, *(f"general advice number {i}" for i in range(60)), "to refund a payment, first look up the order")
    shown = block(core, budget=300, run="r1", task="refund the payment of an order")
    assert shown.left_out > 0
    assert "refund" in shown.text[shown.stable :]
    other = block(core, budget=300, run="r2", task="general advice number 57")
    assert "number 57" in other.text[other.stable :]
    assert "refund" not in other.text
    assert other.text.startswith(shown.text[: shown.stable])


def test_new_entries_are_appended(core: Core) -> None:
    """Also to a section that stands further up: it opens a second time."""
    grow(core, "one")
    grow(core, "two", section="t")
    before = block(core, budget=500, run="r1")
    grow(core, "three")
    grow(core, "four", section="t")
    after = block(core, budget=500, run="r2")
    assert after.ids == ("s-00001", "t-00002", "t-00004", "s-00003")
    assert after.text.startswith(beginning(before.text))
    assert block(core, budget=500).text == after.text


def test_a_mark_that_got_better_waits_and_one_that_warns_does_not(core: Core) -> None:
    """Praise is no reason to change the prompt; what turned out to harm is."""
    good, bad = grow(core, "good", "bad")
    before = block(core, budget=500, run="r1").text
    core.apply([Tag(id=good, mark=Mark.HELPFUL)])
    assert block(core, budget=500, run="r2").text == before
    core.apply([Tag(id=bad, mark=Mark.HARMFUL)])
    assert block(core, budget=500, run="r3").text == before.replace("[o] bad", "[-] bad")


def test_what_was_removed_or_retired_goes_with_the_next_run(core: Core) -> None:
    """Showing it would be wrong; the rest stays in its place."""
    one, two, _ = grow(core, "one", "two", "three")
    block(core, budget=500, run="r1")
    core.apply([Remove(id=one), Update(id=two, retired="outdated")])
    assert block(core, budget=500, run="r2").ids == ("s-00003",)


def test_a_bound_of_entries_keeps_the_proven_ones(core: Core) -> None:
    """The newest 32 neutral notes do not push the proven ones out."""
    proven = grow(core, *(f"proven {i}" for i in range(20)), outcome=Outcome.SUCCESS)
    grow(core, *(f"note {i}" for i in range(100)))
    shown = block(core, budget=None, max_entries=32)
    assert len(shown.ids) == 32
    assert set(proven) <= set(shown.ids)
    assert shown.left_out == 88


def test_of_equally_useful_entries_the_last_changed_comes_first(core: Core, clock: FakeClock) -> None:
    """And of two that nobody marked, the one that suits the task."""
    for content in ("on files", "on queues", "on mail"):
        grow(core, content)
        clock.advance(timedelta(days=1))
    assert "mail" in block(core, budget=None, max_entries=1).text
    assert "files" in block(core, budget=None, max_entries=1, task="open the files").text
    core.apply([Tag(id="s-00002", mark=Mark.HELPFUL)])
    assert "queues" in block(core, budget=None, max_entries=1, task="open the files").text


def test_an_entry_too_long_for_the_budget_keeps_no_other_out(core: Core) -> None:
    """It is left out; what comes behind it is shown."""
    grow(core, "word " * 1_900, outcome=Outcome.SUCCESS)
    short = grow(core, "one", "two", outcome=Outcome.SUCCESS)
    assert block(core, budget=100).ids == tuple(short)


@pytest.mark.parametrize(
    "wrong",
    [{"budget": -1}, {"budget": None, "max_entries": -1}, {"budget": 1, "run": " "}],
)
def test_a_bound_below_nothing_is_refused(core: Core, wrong: dict[str, int]) -> None:
    """As is a run without a name."""
    with pytest.raises(InvalidInput):
        block(core, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"budget": 1.5}, {"budget": True}, {"budget": 1, "task": 3}, {"budget": 1, "run": 3}]
)
def test_an_argument_of_another_type_is_refused(core: Core, wrong: dict[str, object]) -> None:
    """Before anything is read."""
    with pytest.raises(WrongType):
        block(core, **wrong)  # type: ignore[arg-type]


counters: st.SearchStrategy[Callable[[Sequence[Message]], int] | None] = st.sampled_from(
    [
        None,
        words,
        lambda messages: sum(len(str(message["content"])) for message in messages),
        lambda messages: sum(str(message["content"]).count("\n") * 7 for message in messages),
        lambda messages: sum(len(str(message["content"]).encode()) // 3 for message in messages),
    ]
)
outcomes = st.sampled_from(list(Outcome))
advice = st.builds(
    Add,
    content=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(str.strip),
    section=st.sampled_from(["s", "t", "my cat 1"]),
    outcome=outcomes,
    counts=st.builds(Counts, helpful=st.integers(0, 3), harmful=st.integers(0, 3)),
)
runs = st.lists(st.lists(advice, max_size=12), min_size=1, max_size=6)


def is_proven(entry: Entry) -> bool:
    return entry.counts.helpful + (entry.outcome is not Outcome.NEUTRAL) > entry.counts.harmful


@given(runs, st.integers(0, 400), counters, st.one_of(st.none(), st.integers(0, 20)))
def test_a_block_never_exceeds_its_bounds(
    grown: list[list[Add]],
    budget: int,
    counter: Callable[[Sequence[Message]], int] | None,
    most: int | None,
) -> None:
    """By the caller's own counter, over the whole block as a system message, run after run."""
    store = MemoryStore()
    core = a_core(store)
    for number, adds in enumerate(grown):
        core.apply(adds)
        shown = block(core, budget=budget, run=str(number), task="a task", counter=counter, max_entries=most)
        if counter is not None and shown:
            assert counter([{"role": "system", "content": shown.text}]) == shown.tokens
        assert shown.tokens <= budget
        assert len(shown.ids) <= (most if most is not None else len(shown.ids))
        assert len(shown.ids) + shown.left_out == len(core.entries())
        assert len(set(shown.ids)) == len(shown.ids)
    store.close()


@given(
    st.lists(st.lists(st.tuples(outcomes, st.integers(0, 2), st.integers(0, 2)), max_size=15), max_size=8),
    st.integers(1, 40),
)
def test_no_note_takes_the_place_of_a_proven_entry(grown: list[list[tuple[Outcome, int, int]]], most: int) -> None:
    """While one without evidence is shown, all with evidence are, however new it is and however it suits the task."""
    store = MemoryStore()
    core = a_core(store)
    for number, new in enumerate(grown):
        core.apply(
            Add(
                content=f"note {number} {i} on payments",
                outcome=outcome,
                counts=Counts(helpful=helpful, harmful=harmful),
            )
            for i, (outcome, helpful, harmful) in enumerate(new)
        )
        shown = set(block(core, budget=None, run=str(number), task="payments", max_entries=most).ids)
        entries = core.entries()
        assert len(shown) == min(most, len(entries))
        if any(not is_proven(each) and each.id in shown for each in entries):
            assert all(each.id in shown for each in entries if is_proven(each))
    store.close()


def test_what_worked_once_and_harmed_more_often_since_makes_room(core: Core) -> None:
    """Five harmful marks outweigh a success: the entry is shown after notes of which nobody knows anything."""
    (harmful,) = grow(core, "delete the old files first", outcome=Outcome.SUCCESS, counts=Counts(harmful=5))
    notes = grow(core, *(f"note {i}" for i in range(3)))
    assert block(core, budget=None, max_entries=3).ids == tuple(notes)
    core.apply([Tag(id=harmful, mark=Mark.HELPFUL, times=6)])
    assert harmful in block(core, budget=None, max_entries=3).ids


@pytest.mark.parametrize(("budget", "sections", "notes"), [(None, "stu", 2), (400, "stu", 9), (2_000, "sssst", 2)])
def test_a_growing_playbook_keeps_its_beginning_but_for_a_few_steps(
    budget: int | None, sections: str, notes: int
) -> None:
    """Entry by entry from none to 500, after each success some notes: one step a doubling, and one when it is full."""
    store = MemoryStore()
    core = a_core(store)
    steps, last = 0, Block()
    for number in range(500):
        outcome = Outcome.NEUTRAL if number % (notes + 1) else Outcome.SUCCESS
        section = sections[number % len(sections)]
        core.apply([Add(content=f"advice number {number} for some tasks", section=section, outcome=outcome)])
        shown = block(core, budget=budget, run=str(number))
        steps += not shown.text.startswith(last.text[: last.stable])
        assert budget is not None or shown.stable == len(beginning(shown.text))
        last = shown
    assert steps <= 8
    store.close()


@given(st.lists(st.lists(advice, max_size=4), min_size=1, max_size=8))
def test_while_all_entries_fit_all_are_shown(grown: list[list[Add]]) -> None:
    """However the block has grown, it has every entry once, in the words and the section that it has."""
    store = MemoryStore()
    core = a_core(store)
    for number, adds in enumerate(grown):
        core.apply(adds)
        shown = block(core, budget=100_000, run=str(number))
        assert sorted(shown.ids) == sorted(entry.id for entry in core.entries())
        lines = {each.id: each for each in read_lines(shown.text, shown.ids)}
        for entry in core.entries():
            now = line(entry)
            assert (lines[entry.id].section, lines[entry.id].text[3:]) == (now.section, now.text[3:])
            assert (lines[entry.id].mark == "[-]") == (now.mark == "[-]")
    store.close()


def test_retired_entries_take_no_place_from_those_that_suit_the_task(core: Core) -> None:
    """However many of them speak of it more plainly."""
    grow(core, *(f"parse the invoice total {i}" for i in range(100)))
    core.apply([Update(id=entry.id, retired="old") for entry in core.entries()])
    grow(core, *(f"nothing to do with it, number {i}" for i in range(60)))
    (wanted,) = grow(core, "to read an invoice begin at its end, where the total most often stands, and go up")
    grow(core, *(f"nothing to do with it either, number {i}" for i in range(60)))
    assert wanted in block(core, budget=300, task="parse the invoice total").ids
