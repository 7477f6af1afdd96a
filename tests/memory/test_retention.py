"""Retention: what is old or too much goes bit by bit, and what others need stays."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Key, Memory
from seasoned.errors import InvalidInput, WrongType
from seasoned.ports import Put
from seasoned.query import Query
from seasoned.records import Record
from seasoned.retention import EXEMPT, Retention, Rule
from seasoned.runs import RunPolicy, TurnRecord
from seasoned.testing import FakeClock

from .helping import ids

DAY = timedelta(days=1)


def everything(memory):
    """The ids of all that is stored, ended records too."""
    return ids(memory.store.find(Query(scope=memory.scope, subtree=True, expired=True, k=10_000)))


@pytest.fixture
def aged(alice, clock):
    """Ten notes, one a day, the last of today; and a fact as old as the oldest."""
    for number in range(10):
        alice.remember(f"note {number}", id=str(number), at=clock.now() - (9 - number) * DAY)
    alice.remember("fact", "fact", id="f", at=clock.now() - 9 * DAY)
    return alice


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (Rule(keep_for=3 * DAY), ["6", "7", "8", "9"]),
        (Rule(keep_last=2), ["8", "9"]),
        (Rule(keep_last=0), []),
        (Rule(keep_last=10), [str(number) for number in range(10)]),
        (Rule(keep_for=3 * DAY, keep_last=2), ["8", "9"]),
        (Rule(keep_for=3 * DAY, keep_last=20), ["6", "7", "8", "9"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_a_kind_is_kept_by_age_and_by_number(aged, rule, kept, batch):
    """What breaks either goes; other kinds stay; a second sweep has nothing to do."""
    swept = aged.sweep(Retention({"note": rule}), batch)
    assert ids(aged.list()) == [*kept, "f"]
    assert (swept.total, swept.expired, swept.skipped) == (10 - len(kept), 0, 0)
    assert aged.sweep(Retention({"note": rule}), batch).total == 0
    assert aged.check() == []


def test_each_scope_keeps_its_own_number(alice, bob):
    """Those below are swept too; the neighbour is not."""
    below = alice.within("below")
    for memory in (alice, below, bob):
        for number in range(4):
            memory.remember("note", id=f"{memory.scope[-1]}{number}")
    assert alice.sweep(Retention({"note": Rule(keep_last=1)})).by_kind == {"note": 6}
    assert (ids(alice.list(subtree=True)), bob.count()) == (["alice3", "below3"], 4)


def test_what_is_past_its_time_is_really_removed(alice, clock):
    """Notes with their old versions, snapshots and traces, whatever their kind; what has no end stays."""
    soon = clock.now() + DAY
    alice.remember("short", id="x", until=soon)
    alice.update("x", text="still short")
    alice.remember("lasting", id="y")
    for kind in ("context-trace", "playbook-layout", "langgraph_item"):
        record = Record(key=Key(alice.scope, kind, "r"), text="", at=clock.now(), until=soon)
        alice.store.apply([Put(record)])
    clock.advance(2 * DAY)
    assert ids(alice.list()) == ["y"]
    assert len(everything(alice)) == 6
    assert alice.sweep(Retention(expired=False)).total == 0
    swept = alice.sweep(Retention())
    assert swept.by_kind == {"note": 1, "superseded": 1, "context-trace": 1, "playbook-layout": 1, "langgraph_item": 1}
    assert (swept.expired, everything(alice)) == (5, ["y"])


def test_pinned_messages_and_notes_stay(alice, clock):
    """They are not counted among the last ones either."""
    add = alice.conversation.add
    add([{"role": "user", "content": f"message {n}"} for n in range(4)], ids=[f"m{n}" for n in range(4)])
    alice.conversation.pin("m0")
    for number in range(3):
        alice.remember("note", id=f"n{number}")
    pins = Record(
        key=Key(alice.scope, "context-pins", "notes"), text="", at=clock.now(), data={"pins": [["note", "n0"]]}
    )
    alice.store.apply([Put(pins)])
    clock.advance(10 * DAY)
    alice.sweep(Retention({"message": Rule(keep_last=1), "note": Rule(keep_for=DAY)}))
    assert [hit.id for hit in alice.conversation.turns()] == ["m0", "m3"]
    assert ids(alice.list(kinds=("note",))) == ["n0"]


def test_a_run_that_is_not_closed_keeps_what_it_is_still_to_read(alice, clock):
    """Its turns stay; those of a closed run go, and what was made of them stays and says that they are gone."""
    runs = alice.runs.configure(policy=RunPolicy(extract_every=5, episode_every=5))
    for name in ("done", "open"):
        runs.start_run(name)
        for turn in range(1, 11):
            runs.record_turn(TurnRecord(turn, -1.0 if turn == 4 else 1.0, "EUR", [], [], {}))
            runs.extract_atoms(turn)
            runs.update_episode(None, turn)
        if name == "done":
            runs.summarise_run(None, "p")
    atom = next(hit for hit in alice.list(kinds=("atom",)).hits if hit.record.data["run"] == "done")
    clock.advance(10 * DAY)
    swept = alice.sweep(Retention({"turn": Rule(keep_for=DAY)}))
    assert swept.by_kind == {"turn": 10}
    assert (len(runs.turns("open")), runs.turns("done")) == (10, [])
    assert len(runs.lessons("p")) == len(alice.list(kinds=("lesson",)).hits)
    assert [one.hit for one in alice.explain(atom.id).of_kind("turn")] == [None] * len(atom.record.sources)
    assert alice.forget(source=atom.record.sources[0]).by_kind["atom"] >= 1


def test_what_was_derived_goes_along_where_the_rule_says_so(alice, clock):
    """As `forget` does it: with no other source it goes, with one it is marked."""
    alice.remember("old", id="old")
    clock.advance(10 * DAY)
    alice.remember("new", id="new")
    for name, sources in (("of old", ["old"]), ("of both", ["old", "new"])):
        alice.remember(name, "fact", id=name, sources=[Key(alice.scope, "note", each) for each in sources])
    swept = alice.sweep(Retention({"note": Rule(keep_for=DAY, derived=True)}))
    assert (swept.by_kind, swept.stale) == ({"note": 1, "fact": 1}, ("of both",))
    assert ids(alice.list()) == ["new", "of both"]


def test_parts_go_with_what_they_belong_to(alice):
    """Old versions, feedback, and the history of a playbook's entry; the playbook goes on."""
    alice.experience.record("a guest", "wait", 0.5, id="d1")
    alice.experience.rate(9, decision="d1")
    alice.playbook.add("Read the manual.", id="e1")
    alice.playbook.add("Ask for the key.", id="e2")
    alice.playbook.tag("e1", "helpful")
    swept = alice.sweep(Retention({"decision": Rule(keep_last=0), "entry": Rule(keep_last=1)}))
    assert swept.by_kind == {"decision": 1, "feedback": 1, "entry": 1, "playbook-id": 1, "playbook-step": 2}
    assert [entry.id for entry in alice.playbook.entries()] == ["e2"]
    alice.playbook.add("Close the door.")
    alice.playbook.rollback(alice.playbook.number - 1)
    assert [entry.id for entry in alice.playbook.entries()] == ["e2"]


@pytest.mark.parametrize("kind", sorted(EXEMPT))
def test_a_rule_for_what_others_need_is_refused(kind):
    """Heads and bookkeeping; the error says why."""
    with pytest.raises(InvalidInput, match=kind):
        Retention({kind: Rule(keep_last=1)})


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Rule(), InvalidInput),
        (lambda: Rule(keep_for=timedelta(0)), InvalidInput),
        (lambda: Rule(keep_for=-DAY), InvalidInput),
        (lambda: Rule(keep_for=30), WrongType),
        (lambda: Rule(keep_last=-1), InvalidInput),
        (lambda: Rule(keep_last=True), WrongType),
        (lambda: Rule(keep_last=1.5), WrongType),
        (lambda: Retention([("note", Rule(keep_last=1))]), WrongType),
        (lambda: Retention({"note": 5}), WrongType),
        (lambda: Retention({"": Rule(keep_last=1)}), InvalidInput),
    ],
)
def test_a_retention_that_means_nothing_is_refused(make, error):
    """When it is made, before anything is swept."""
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(("batch", "error"), [(0, InvalidInput), (True, WrongType), ("x", WrongType)])
def test_a_batch_that_is_none_is_refused(aged, batch, error):
    """Nothing is removed."""
    with pytest.raises(error):
        aged.sweep(Retention({"note": Rule(keep_last=0)}), batch)
    with pytest.raises(WrongType):
        aged.sweep({"note": Rule(keep_last=0)})
    assert aged.count() == 11


def test_what_another_writer_changes_meanwhile_stays_for_the_next_sweep(opened, place):
    """A record that is pinned, renewed or written anew between the look and the removal is not taken away."""
    memory = opened(place)
    for number in range(4):
        memory.remember(f"note {number}", id=str(number))
    inner, done = memory.store, []

    class Meanwhile:
        """The store, behind which a writer changes a note just before the first removal."""

        def __getattr__(self, name):
            return getattr(inner, name)

        def apply(self, changes):
            if not done:
                done.append(True)
                memory.update("1", text="changed")
            return inner.apply(changes)

    swept = opened(Meanwhile()).sweep(Retention({"note": Rule(keep_last=0)}))
    assert (swept.total, swept.skipped, ids(memory.list())) == (3, 1, ["1"])
    assert memory.sweep(Retention({"note": Rule(keep_last=0)})).by_kind == {"note": 1, "superseded": 1}


def test_a_sweep_removes_a_few_records_in_one_write(opened, place):
    """No write is larger than a batch, whatever there is to remove."""
    memory, sizes = opened(place), []
    for number in range(25):
        memory.remember(f"note {number}", id=str(number))
        memory.update(str(number), text="newer")
    inner = memory.store

    class Counting:
        """The store, counting the changes of each write."""

        def __getattr__(self, name):
            return getattr(inner, name)

        def apply(self, changes):
            sizes.append(len(changes))
            return inner.apply(changes)

    assert opened(Counting()).sweep(Retention({"note": Rule(keep_last=0)}), batch=10).total == 50
    assert (max(sizes), sum(sizes)) == (10, 50)


def test_a_window_stays_valid_when_old_messages_are_swept(alice, clock):
    """A call whose message went leaves no result without it in the context."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    alice.conversation.add(
        [
            {"role": "user", "content": "look it up"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
            {"role": "user", "content": "thanks"},
        ]
    )
    alice.sweep(Retention({"message": Rule(keep_last=2)}))
    assert len(alice.conversation.turns()) == 2
    assert [message["role"] for message in alice.conversation.context(1_000).messages] == ["user"]


def test_searches_go_on_while_a_sweep_is_at_work(opened, tmp_path):
    """Each answers, and finds nothing that is gone from the rows."""
    memory = opened(tmp_path / "agent.db")
    memory.remember("what stays is tea", "fact", id="stays")
    for number in range(2_000):
        memory.remember(f"tea number {number}", id=str(number))
    answers = []

    def search():
        while len(answers) < 30:
            answers.append(memory.recall("what stays is tea", k=3))

    searching = threading.Thread(target=search)
    searching.start()
    assert memory.sweep(Retention({"note": Rule(keep_last=0)}), batch=20).total == 2_000
    searching.join()
    assert all(ids(found)[0] == "stays" for found in answers)
    assert ids(memory.recall("tea", k=3)) == ["stays"]


@given(
    ages=st.lists(st.integers(0, 20), max_size=12),
    keep_for=st.none() | st.integers(1, 20),
    keep_last=st.integers(0, 12),
    pinned=st.sets(st.integers(0, 11)),
    batch=st.integers(1, 5),
)
def test_what_a_rule_keeps_never_goes(ages, keep_for, keep_last, pinned, batch):
    """Of any notes, what is pinned, and the last ones that are young enough, stay; nothing else does."""
    clock = FakeClock()
    with Memory(embedder="hashing", clock=clock) as memory:
        for number, age in enumerate(ages):
            data = {"pinned": True} if number in pinned else {}
            memory.remember("note", id=str(number), at=clock.now() - age * DAY, data=data)
        rule = Rule(keep_for=None if keep_for is None else keep_for * DAY, keep_last=keep_last)
        memory.sweep(Retention({"note": rule}), batch)
        free = [n for n, age in enumerate(ages) if n not in pinned and (keep_for is None or age <= keep_for)]
        last = free[max(0, len(free) - keep_last) :]
        assert {int(name) for name in ids(memory.list())} == set(last) | {n for n in pinned if n < len(ages)}
