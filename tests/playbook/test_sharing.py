"""A playbook that threads, processes and engines of every kind share."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from seasoned import Memory
from seasoned.errors import Conflict, StoreError
from seasoned.playbook import Add, Applied, Counts, Merge, Playbook, Remove, Tag, Update
from seasoned.playbook.entries import ENTRY
from seasoned.playbook.journal import KINDS
from seasoned.ports import ABSENT, Put
from seasoned.query import Query
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock, sequential_ids

WRITER = Path(__file__).with_name("writer.py")


def test_two_processes_that_learn_at_once_lose_nothing(tmp_path):
    """No delta is lost, no advice stands twice, no id was given twice, and the history has every change."""
    path = tmp_path / "a.db"
    with Playbook(path, embedder="hashing") as p:
        p.add("both mark this", id="seed-00001")
    writers = [
        subprocess.Popen([sys.executable, WRITER, path, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n", "ready\n"]
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    with Playbook(path, embedder="hashing") as p:
        entries = p.entries()
        assert len({entry.id for entry in entries}) == len({entry.content for entry in entries}) == len(entries) == 121
        assert p.get("seed-00001").counts == Counts(helpful=80)
        assert {entry.counts.helpful for entry in entries if entry.content.startswith("shared")} == {2}
        assert [change.number for change in p.history()] == [*range(1, 82)]
        assert {change.by for change in p.history()[1:]} == {
            f"{name} {k}" for name in ("one", "two") for k in range(40)
        }
        p.rollback(1)
        assert [entry.content for entry in p.entries()] == ["both mark this"]


def test_eight_threads_over_two_playbooks_lose_nothing(make):
    """Adding, marking and reading at once."""
    one, two = make(), make()
    one.add("all mark this")

    def work(number):
        p = (one, two)[number % 2]
        for place in range(10):
            p.apply([Add(content=f"{place} of {number}"), Add(content="the same"), Tag(id="oth-00001", mark="helpful")])
            assert p.get("oth-00001").counts.helpful > place
            assert len(p.entries()) > place

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert one.entries() == two.entries()
    assert len({entry.content for entry in one.entries()}) == len(one.entries()) == 82
    assert one.get("oth-00001").counts == Counts(helpful=80)
    assert one.number == 81


def test_what_another_process_writes_is_seen_at_the_next_look(make):
    """Additions, changes, removals, merges; and `seq` tells that there is something new."""
    one, two = make(), make()
    one.apply([Add(id="a", content="x"), Add(id="b", content="y")])
    assert [entry.id for entry in two.entries()] == ["a", "b"]
    seen = two.seq
    assert two.seq == seen
    one.tag("a", "helpful")
    assert two.seq > seen
    assert two.get("a").counts == Counts(helpful=1)
    seen = two.seq
    one.merge_entries(["a", "b"])
    assert (two.resolve("b"), two.seq > seen) == ("a", True)
    seen = two.seq
    one.remove("a")
    assert (two.resolve("a"), two.resolve("b"), two.seq > seen) == (None, None, True)


def test_seq_stands_still_while_only_other_things_are_written(make, store):
    """Notes of the same scope are none of its business."""
    p = make()
    p.add("a")
    seen = p.seq
    with Memory(store, scope=p.scope, embedder="hashing") as memory:
        memory.remember("a note")
    assert p.seq == seen


def test_an_entry_that_is_forgotten_meanwhile_is_not_written_again(make, store):
    """Whoever marks it a moment later is told that it is not there."""
    p = make()
    p.apply([Add(content="a"), Add(content="b")])
    with Memory(store, scope=p.scope, embedder="hashing") as memory:
        memory.forget("oth-00001")
    changed = p.apply([Tag(id="oth-00001", mark="helpful"), Tag(id="oth-00002", mark="helpful")])
    assert [effect.status for effect in changed.effects] == [Applied.REFUSED, Applied.WRITTEN]
    assert [entry.id for entry in p.entries(retired=True)] == ["oth-00002"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_goes_on(tmp_path):
    """Parent and child each write, and each sees what the other wrote."""
    with Playbook(tmp_path / "a.db", embedder="hashing") as p:
        p.add("before")
        child = os.fork()
        if child == 0:
            done = p.apply([Add(content="of the child"), Tag(id="oth-00001", mark="helpful")]).number
            os._exit(0 if done == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        p.add("of the parent")
        assert [entry.content for entry in p.entries()] == ["before", "of the child", "of the parent"]
        assert p.get("oth-00001").counts == Counts(helpful=1)


class Cut:
    """A store that writes one record after the other, and breaks down after `left` more of them; None: never."""

    def __init__(self, store):
        self.store = store
        self.left = None

    @property
    def can(self):
        return replace(self.store.can, atomic=False)

    def find(self, query):
        return self.store.find(query)

    def apply(self, changes):
        applied = None
        for change in changes:
            if self.left == 0:
                raise StoreError("the connection broke")
            applied = self.store.apply([change])
            self.left = None if self.left is None else self.left - 1
        return applied

    def close(self):
        self.store.close()


FIRST = [Add(id="a-00001", content="x"), Add(id="b-00002", content="y"), Add(id="c-00003", content="z")]
SECOND = [
    Merge(ids=("a-00001", "b-00002"), content="x and y"),
    Remove(id="c-00003"),
    Add(content="new", counts=Counts(helpful=1)),
    Update(id="a-00001", section="S"),
]


def opened(store):
    return Playbook(store, embedder="hashing", clock=FakeClock(), ids=sequential_ids("again"))


def state(playbook):
    return [replace(entry, version=0) for entry in playbook.entries(retired=True)]


def ended(change, *, cut):
    """Return the store after a change that broke down after `cut` records, and whether it did."""
    store = Cut(MemoryStore(clock=FakeClock()))
    p = Playbook(store, embedder="hashing", clock=FakeClock(), ids=sequential_ids("token"))
    p.apply(FIRST)
    store.left = cut
    broke = False
    try:
        change(p)
    except StoreError:
        broke = True
    store.left = None
    return store, broke


CHANGES = {
    "a batch": lambda p: p.apply(SECOND, by="run 7"),
    "a rollback": lambda p: p.rollback(0),
    "a clearing": lambda p: p.clear(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_cut_anywhere_a_change_has_happened_or_has_not_and_repeating_completes_it(change):
    """On an engine that is not atomic, after every number of records; what was begun is completed at the next look."""
    whole, _ = ended(change, cut=None)
    after, before = state(opened(whole)), state(opened(ended(lambda p: None, cut=None)[0]))
    assert before != after
    seen, cut, broke = [], 0, True
    while broke:
        store, broke = ended(change, cut=cut)
        p = opened(store)
        seen.append(state(p))
        assert seen[-1] in (before, after)
        assert [each.number for each in p.history()] == [*range(1, p.number + 1)]
        change(p)
        assert (state(p), state(opened(store))) == (after, after)
        p.rollback(1)
        assert state(opened(store)) == before
        store.close()
        cut += 1
    assert seen[0] == before
    assert seen[-2] == after  # only the head was missing
    assert cut > 8


def test_on_an_engine_that_is_not_atomic_two_writers_lose_nothing():
    """The one that comes second works its deltas out anew, and leaves nothing behind."""
    store = Cut(MemoryStore())
    one, two = (Playbook(store, embedder="hashing", ids=sequential_ids(name)) for name in ("one", "two"))
    one.add("all mark this")

    def work(number):
        for place in range(15):
            (one, two)[number].apply([Add(content=f"{place} of {number}"), Tag(id="oth-00001", mark="helpful")])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    assert one.entries() == two.entries()
    assert one.get("oth-00001").counts == Counts(helpful=30)
    assert (len(one), one.number) == (31, 31)
    steps = store.find(Query(scope=one.scope, kinds=("playbook-step",), count=True)).count
    assert steps == sum(len(change.steps) for change in one.history()) == 61
    store.close()


@pytest.mark.parametrize("ordered", [True, False])
def test_a_change_that_came_in_with_a_bundle_is_not_completed(ordered):
    """It was not left half made here: its steps are those of another playbook, in which the ids name other advice."""
    theirs, ours = MemoryStore(), MemoryStore()
    store = Cut(ours) if ordered else Unordered(ours)
    p, other = opened(store), Playbook(theirs, embedder="hashing", ids=sequential_ids("theirs"))
    for number in range(4):
        other.add(f"theirs {number}")
    p.apply([Add(content="ours 0"), Add(content="ours 1")])
    for kind in (ENTRY, *KINDS):
        for hit in theirs.find(Query(scope=other.scope, kinds=(kind,), k=100)).hits:
            with suppress(Conflict):
                ours.apply([Put(replace(hit.record, version=0), expect=ABSENT)])
    for playbook in (p, opened(store)):
        assert [entry.content for entry in playbook.entries()] == ["ours 0", "ours 1", "theirs 2", "theirs 3"]
    assert p.add("ours 2").id == "oth-00005"
    again = opened(store)
    assert [change.number for change in again.history()] == [1, 5]
    again.tag("oth-00001", "helpful")
    assert (p.get("oth-00001").content, p.number) == ("ours 0", 6)
    again.rollback(1)
    assert [entry.content for entry in p.entries()] == ["ours 0", "ours 1", "theirs 2", "theirs 3"]
    theirs.close()
    store.close()


class Between(Cut):
    """A store that writes one record after the other, and lets another writer in before the one that `left` counts."""

    def __init__(self, store, meanwhile):
        super().__init__(store)
        self.meanwhile = meanwhile

    def apply(self, changes):
        applied = None
        for change in changes:
            if self.left == 0:
                self.left = None
                self.meanwhile()
            self.left = None if self.left is None else self.left - 1
            applied = self.store.apply([change])
        return applied


@pytest.mark.parametrize("left", range(14))
def test_another_writer_may_come_in_anywhere(left):
    """Between any two records of a change on an engine that is not atomic: both changes happen, one after the other."""
    store = Between(MemoryStore(clock=FakeClock()), lambda: two.apply([Tag(id="b-00002", mark="helpful")], by="two"))
    one, two = opened(store), Playbook(store, embedder="hashing", clock=FakeClock(), ids=sequential_ids("two"))
    one.apply(FIRST)
    store.left = left
    done = one.apply(SECOND, by="one")
    store.left = None
    assert {effect.status for effect in done.effects} <= {Applied.WRITTEN, Applied.CREDITED}
    two.apply([Tag(id="b-00002", mark="helpful")], by="two")
    assert one.entries() == two.entries() == opened(store).entries()
    assert {entry.content: entry.counts.helpful for entry in one.entries()} == {"x and y": 1, "new": 1}
    assert sorted(change.by for change in one.history()[1:]) == ["one", "two"]
    assert [change.number for change in one.history()] == [1, 2, 3]
    steps = store.find(Query(scope=one.scope, kinds=("playbook-step",), count=True)).count
    assert steps == sum(len(change.steps) for change in one.history())
    one.rollback(1)
    assert [entry.id for entry in one.entries()] == ["a-00001", "b-00002", "c-00003"]
    store.close()


class Unordered(Cut):
    """A store that keeps no sequence, so that a follower reads all of it."""

    @property
    def can(self):
        return replace(self.store.can, ordered=False)


def test_on_an_engine_without_a_sequence_changes_are_seen_as_well():
    """By reading all entries at each look; `seq` still grows only with a change."""
    store = Unordered(MemoryStore())
    one, two = Playbook(store, embedder="hashing"), Playbook(store, embedder="hashing")
    one.add("a")
    seen = two.seq
    assert two.seq == seen
    one.tag("oth-00001", "helpful")
    assert two.seq > seen
    assert two.get("oth-00001").counts == Counts(helpful=1)
    store.close()


class Counting(Cut):
    """A store that counts the records it gives."""

    given = 0

    @property
    def can(self):
        return self.store.can

    def find(self, query):
        page = self.store.find(query)
        self.given += len(page.hits)
        return page


def test_a_look_reads_only_what_changed():
    """However many entries there are: nothing where nothing changed, and of a mark the entry and the head."""
    store = Counting(MemoryStore())
    one, two = Playbook(store, embedder="hashing"), Playbook(store, embedder="hashing")
    one.apply([Add(content=f"advice {number}") for number in range(500)])
    assert len(two) == len(one) == 500
    before = store.given
    assert two.get("oth-00007").content == "advice 6"
    assert store.given == before
    one.tag("oth-00007", "helpful")
    assert two.get("oth-00007").counts == Counts(helpful=1)
    assert store.given - before == 2
    store.close()
