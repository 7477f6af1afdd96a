"""What changed, and taking it back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import InvalidInput, NotFound, WrongType
from seasoned.playbook import Add, Applied, Counts, Mark, Merge, Outcome, Playbook, Remove, Tag, Update
from seasoned.ports import Remove as RemoveRecord
from seasoned.query import Query
from seasoned.records import Key
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock


def plain(playbook):
    """Every entry, retired ones too, without the versions of their records."""
    return [replace(entry, version=0) for entry in playbook.entries(retired=True)]


def test_each_change_is_kept_with_what_it_did_to_each_entry(p, clock):
    """Number, time, by whom, why, and each entry before and after."""
    p.apply([Add(content="a"), Add(content="b")], by="run 7", reason="learned from a trace")
    clock.advance(seconds=5)
    p.apply([Tag(id="oth-00001", mark="helpful"), Remove(id="oth-00002")])
    first, second = p.history()
    assert (first.number, first.by, first.reason) == (1, "run 7", "learned from a trace")
    assert [(step.id, step.before, step.after.content) for step in first.steps] == [
        ("oth-00001", None, "a"),
        ("oth-00002", None, "b"),
    ]
    assert (second.number, second.by, second.reason, second.at) == (2, "", "", clock.now())
    tagged, removed = second.steps
    assert (tagged.before.counts, tagged.after.counts) == (Counts(), Counts(helpful=1))
    assert (removed.before.content, removed.after, removed.merged_into) == ("b", None, None)


def test_a_merge_says_where_entries_went(p):
    """The step of each that is gone names the one it is now part of."""
    p.apply([Add(id="a", content="x"), Add(id="b", content="y")])
    p.merge_entries(["a", "b"], "x and y")
    steps = {step.id: step for step in p.history()[-1].steps}
    assert (steps["b"].after, steps["b"].merged_into) == (None, "a")
    assert (steps["a"].before.content, steps["a"].after.content) == ("x", "x and y")


def test_the_history_of_an_entry_has_those_merged_into_it(p):
    """And nothing of any other."""
    p.apply([Add(id="a", content="x"), Add(id="c", content="z")])
    p.apply([Add(id="b", content="y")])
    p.tag("c", "helpful")
    p.merge_entries(["a", "b"])
    told = [(change.number, [step.id for step in change.steps]) for change in p.history("a")]
    assert told == [(1, ["a"]), (2, ["b"]), (4, ["b", "a"])]
    assert [change.number for change in p.history("b")] == [2, 4]
    assert p.history("nobody") == []


def test_the_last_changes_can_be_asked_for(p):
    """However long the history is."""
    for number in range(5):
        p.add(f"advice {number}")
    p.tag("oth-00001", "helpful")
    assert [change.number for change in p.history(last=2)] == [5, 6]
    assert [change.number for change in p.history("oth-00001", last=1)] == [6]
    assert len(p.history(last=100)) == 6
    for wrong in (0, -1, True, "2"):
        with pytest.raises(InvalidInput):
            p.history(last=wrong)


def test_a_history_of_many_changes_and_many_steps_is_whole(p):
    """More than one page of either."""
    p.apply([Add(content=f"advice {number}") for number in range(2_100)])
    assert len(p.history()[0].steps) == 2_100
    p.clear()
    assert [change.number for change in p.history()] == [1, 2]
    p.rollback(1)
    assert len(p) == 2_100
    assert [entry.id for entry in p.entries()][::2_099] == ["oth-00001", "oth-02100"]


def test_the_history_grows_by_what_changes_and_not_by_what_is_there(p, store):
    """A mark on one of 500 entries is one change and one step."""
    p.apply([Add(content=f"advice {number}") for number in range(500)])
    count = Query(scope=p.scope, kinds=("playbook-change", "playbook-step"), count=True)
    before = store.find(count).count
    p.tag("oth-00001", "helpful")
    assert store.find(count).count - before == 2


def test_a_rollback_makes_the_entries_what_they_were(p):
    """Added ones go, removed ones come back, changed and marked ones are as before; it is a change of its own."""
    p.apply([Add(content="a"), Add(content="b"), Add(content="c")])
    before = plain(p)
    p.apply([Update(id="oth-00001", content="A", outcome="failure"), Remove(id="oth-00002"), Add(content="d")])
    p.tag("oth-00003", "harmful")
    changed = p.rollback(1)
    assert (changed.number, p.number) == (4, 4)
    assert {effect.id for effect in changed.effects} == {"oth-00001", "oth-00002", "oth-00003", "oth-00004"}
    assert plain(p) == before
    assert p.history()[-1].reason == "rolled back to 1"


def test_a_rollback_can_be_rolled_back(p):
    """And that again."""
    p.add("a")
    p.add("b")
    after = plain(p)
    p.rollback(1)
    p.rollback(2)
    assert plain(p) == after
    p.rollback(3)
    assert [entry.content for entry in p.entries()] == ["a"]
    p.rollback(0)
    assert plain(p) == []


def test_after_a_rollback_merged_entries_are_entries_again(p, make):
    """Their ids name them, not the one that they were part of; and the other way round."""
    p.apply([Add(id=name, content=name, counts=Counts(helpful=1)) for name in "abc"])
    p.merge_entries(["a", "b"])
    p.merge_entries(["c", "a"])
    p.rollback(2)
    assert [make().resolve(name) for name in "abc"] == ["a", "a", "c"]
    p.rollback(1)
    assert [make().resolve(name) for name in "abc"] == ["a", "b", "c"]
    assert [entry.counts.helpful for entry in p.entries()] == [1, 1, 1]
    p.rollback(3)
    assert [make().resolve(name) for name in "abc"] == ["c", "c", "c"]


def test_a_rollback_to_where_it_stands_changes_nothing(p):
    """No change is written, and what cannot be gone back to is refused."""
    p.add("a")
    assert (p.rollback(1).number, p.rollback(1).effects) == (1, ())
    for wrong in (-1, 2):
        with pytest.raises(InvalidInput, match="from 0 to 1"):
            p.rollback(wrong)
    with pytest.raises(WrongType):
        p.rollback("1")


def test_a_rollback_names_only_what_it_changes(p):
    """An entry that was changed and changed back is as it was."""
    p.apply([Add(content="a"), Add(content="b")])
    p.update("oth-00001", content="A")
    p.update("oth-00001", content="a")
    p.tag("oth-00002", "helpful")
    assert [effect.id for effect in p.rollback(1).effects] == ["oth-00002"]


def test_the_history_says_when_an_id_led_to_another_entry(p):
    """As it came with advice that was there, as that was rolled back, and as it came again."""
    p.add("a")
    for _ in range(2):
        p.apply([Add(id="other", content="a")])
        p.rollback(1)
    told = [(change.number, change.steps[0].merged_into) for change in p.history("other")]
    assert told == [(2, "oth-00001"), (3, None), (4, "oth-00001"), (5, None)]


def test_clear_takes_out_all_and_can_be_undone(p):
    """Retired ones as well; an empty playbook has nothing to clear."""
    p.apply([Add(content="a"), Add(content="b"), Update(id="oth-00002", retired="old")])
    before = plain(p)
    changed = p.clear(reason="a new customer")
    assert [effect.id for effect in changed.effects] == ["oth-00001", "oth-00002"]
    assert (p.entries(retired=True), p.history()[-1].reason) == ([], "a new customer")
    assert p.clear().number == 2
    p.rollback(1)
    assert plain(p) == before


def test_a_reason_is_kept_to_its_first_500_characters(p):
    """It says why, it is no place for texts."""
    p.apply([Add(content="a")], reason="x" * 600)
    assert p.history()[0].reason == "x" * 500


def test_history_and_entries_survive_reopening(tmp_path):
    """All of it is in the file."""
    with Playbook(tmp_path / "a.db", embedder="hashing") as p:
        p.add("a")
        p.tag("oth-00001", "helpful")
        entries, history = p.entries(), p.history()
    with Playbook(tmp_path / "a.db", embedder="hashing") as p:
        assert (p.entries(), p.history(), p.number) == (entries, history, 2)
        p.rollback(1)
        assert p.get("oth-00001").counts == Counts()


def forgotten_file(tmp_path, forget):
    """Return the bytes of a store's files after entries were learned, changed, and forgotten."""
    with Memory(tmp_path / "a.db", scope=("acme", "alice"), embedder="hashing") as memory:
        p = Playbook(memory.store, scope=memory.scope, embedder="hashing")
        p.add("the password is swordfish", sources=[Key(p.scope, "note", "n-1")])
        p.add("the harmless one")
        p.add("the key is mackerel")
        p.update("oth-00001", content="the password is swordfish again")
        forget(p, memory)
    return b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_forgetting_an_entry_takes_its_history_along(tmp_path):
    """With `hard` no byte of it stays in the file, and the others keep theirs."""

    def forget(p, memory):
        memory.forget("oth-00001", hard=True)
        assert [entry.content for entry in p.entries()] == ["the harmless one", "the key is mackerel"]
        assert [[step.id for step in change.steps] for change in p.history()] == [["oth-00002"], ["oth-00003"]]
        p.rollback(0)
        assert p.entries() == []
        p.rollback(p.number - 1)
        assert [entry.id for entry in p.entries()] == ["oth-00002", "oth-00003"]

    left = forgotten_file(tmp_path, forget)
    assert b"swordfish" not in left
    assert b"mackerel" in left


def test_a_removed_entry_can_be_forgotten_by_its_id(tmp_path):
    """Its history was kept until then."""

    def forget(p, memory):
        p.remove("oth-00001")
        memory.forget("oth-00001", hard=True)
        assert p.history("oth-00001") == []

    assert b"swordfish" not in forgotten_file(tmp_path, forget)


def test_forgetting_a_merged_entry_takes_along_what_it_was_made_of(tmp_path):
    """However long ago, and however often merged."""

    def forget(p, memory):
        p.merge_entries(["oth-00003", "oth-00001"], "the password is swordfish, the key is mackerel")
        p.merge_entries(["oth-00002", "oth-00003"])
        p.rollback(p.number - 1)
        p.merge_entries(["oth-00002", "oth-00001"])
        memory.forget("oth-00002", hard=True)
        assert p.entries() == []

    left = forgotten_file(tmp_path, forget)
    assert b"swordfish" not in left
    assert b"mackerel" not in left


@pytest.mark.parametrize("removed", [True, False])
def test_forgetting_what_an_entry_was_learned_from_forgets_it(tmp_path, removed):
    """Its history too, also where the entry was removed before."""

    def forget(p, memory):
        memory.remember("a note", id="n-1")
        if removed:
            p.remove("oth-00001")
        memory.forget("n-1", hard=True)
        assert p.resolve("oth-00001") is None

    assert b"swordfish" not in forgotten_file(tmp_path, forget)


def test_an_entry_that_is_forgotten_stays_forgotten(p, store):
    """No rollback brings it back, not even to before it was merged."""
    p.apply([Add(id="a", content="x"), Add(id="b", content="y")])
    p.merge_entries(["a", "b"])
    for kind, name in (("entry", "a"), ("playbook-id", "a"), ("playbook-id", "b")):
        found = store.find(Query(scope=p.scope, source=Key(p.scope, kind, name))).hits
        store.apply([RemoveRecord(hit.record.key) for hit in found] + [RemoveRecord(Key(p.scope, kind, name))])
    for number in (1, 2, 0):
        p.rollback(number)
        assert p.entries() == []


class Meanwhile:
    """A store in which something else happens once, just before a change is written."""

    def __init__(self, store):
        self.store = store
        self.can = store.can
        self.act = None

    def find(self, query):
        return self.store.find(query)

    def apply(self, changes):
        act, self.act = self.act, None
        if act is not None:
            act()
        return self.store.apply(changes)

    def close(self):
        self.store.close()


@pytest.mark.parametrize("removed", [True, False])
def test_an_entry_that_is_forgotten_while_a_change_is_written_stays_forgotten(removed):
    """The change is worked out anew, without it."""
    store = Meanwhile(MemoryStore())
    p = Playbook(store, embedder="hashing")
    p.apply([Add(content="a"), Add(content="b")])
    if removed:
        p.remove("oth-00001")
    with Memory(store.store, scope=p.scope, embedder="hashing") as memory:
        store.act = lambda: memory.forget("oth-00001")
        if removed:
            p.rollback(1)
        else:
            p.apply([Tag(id="oth-00001", mark="helpful"), Tag(id="oth-00002", mark="helpful")])
        assert [entry.id for entry in p.entries(retired=True)] == ["oth-00002"]
        assert p.history("oth-00001") == []
    store.close()


def test_a_bundle_brings_the_history_along(tmp_path):
    """Into another scope: entries, sources and history are those of the new scope, and rolling back works there."""
    with Memory(tmp_path / "a.db", scope=("acme", "alice"), embedder="hashing") as memory:
        p = Playbook(memory.store, scope=memory.scope, embedder="hashing")
        p.add("a", sources=[Key(p.scope, "run", "r"), Key(("elsewhere",), "run", "r")])
        p.remove("oth-00001")
        memory.export(tmp_path / "all.jsonl")
    with Memory(tmp_path / "b.db", scope=("bob",), embedder="hashing") as memory:
        memory.import_(tmp_path / "all.jsonl")
        p = Playbook(memory.store, scope=memory.scope, embedder="hashing")
        assert (p.number, p.entries()) == (2, [])
        p.rollback(1)
        assert p.get("oth-00001").sources == (Key(("bob",), "run", "r"), Key(("elsewhere",), "run", "r"))
        assert p.add("b").id == "oth-00002"


def test_a_bundle_from_a_longer_history_does_not_block_a_playbook(tmp_path):
    """Both go on: what is written next follows the highest number of both."""
    with Memory(tmp_path / "a.db", scope=("acme",), embedder="hashing") as memory:
        p = Playbook(memory.store, scope=memory.scope, embedder="hashing")
        p.apply([Add(id=f"theirs-{number}", content=f"theirs {number}") for number in range(1)])
        for number in range(1, 5):
            p.apply([Add(id=f"theirs-{number}", content=f"theirs {number}")])
        memory.export(tmp_path / "all.jsonl")
    with Memory(tmp_path / "b.db", scope=("acme",), embedder="hashing") as memory:
        p = Playbook(memory.store, scope=memory.scope, embedder="hashing")
        p.apply([Add(id="ours", content="ours")])
        memory.import_(tmp_path / "all.jsonl")
        assert len(p) == 6
        assert p.apply([Tag(id="ours", mark="helpful"), Tag(id="theirs-4", mark="helpful")]).number == 6
        assert p.get("theirs-4").counts == p.get("ours").counts == Counts(helpful=1)
        assert Playbook(memory.store, scope=memory.scope, embedder="hashing").apply([Add(content="more")]).number == 7


def test_changes_that_came_in_with_a_bundle_are_no_changes_of_the_playbook_that_was_there(tmp_path):
    """What is there stays as it is under ids that both have, in the history and when it is rolled back, too."""
    with Memory(tmp_path / "a.db", scope=("acme",), embedder="hashing") as memory:
        p = Playbook(memory.store, scope=memory.scope, embedder="hashing")
        for number in range(4):
            p.add(f"theirs {number}")
        p.tag("oth-00001", "helpful")
        memory.export(tmp_path / "all.jsonl")
    with Memory(tmp_path / "b.db", scope=("acme",), embedder="hashing") as memory:
        p = Playbook(memory.store, scope=memory.scope, embedder="hashing")
        p.add("ours 0")
        p.add("ours 1")
        memory.import_(tmp_path / "all.jsonl")
        last = p.add("ours 2")
        assert (last.id, p.number) == ("oth-00005", 6)
        assert [change.number for change in p.history()] == [1, 2, 6]
        assert [change.number for change in p.history(last=2)] == [2, 6]
        assert [step.after.content for change in p.history("oth-00001") for step in change.steps] == ["ours 0"]
        p.rollback(1)
        assert [entry.content for entry in p.entries()] == ["ours 0", "theirs 2", "theirs 3"]
        p.rollback(6)
        assert {entry.content for entry in p.entries()} == {"ours 0", "ours 1", "ours 2", "theirs 2", "theirs 3"}


def test_how_far_another_playbook_is_refined_says_nothing_of_the_one_that_was_there(tmp_path):
    """A bundle brings it along; what was there is compared all the same."""
    with Memory(tmp_path / "a.db", scope=("acme",), embedder="hashing") as memory:
        for number in range(4):
            memory.playbook.add(f"theirs {number}", id=f"theirs-{number}")
        memory.playbook.refine()
        memory.export(tmp_path / "all.jsonl")
    with Memory(tmp_path / "b.db", scope=("acme",), embedder="hashing") as memory:
        p = memory.playbook
        text = "Always retry a failed call of the index with a pause before you give up, and log each of the tries"
        p.apply([Add(content=f"{text} quickly.", id="ours-1"), Add(content=f"{text} fully.", id="ours-2")])
        memory.import_(tmp_path / "all.jsonl")
        p.add("something else")
        p.refine()
        assert p.resolve("ours-2") == "ours-1"


NAMES = st.sampled_from(["a-00001", "b-00002", "c", "d", "oth-00003", "nobody"])
CONTENTS = st.sampled_from(["one", "two", "three"])
DELTAS = st.one_of(
    st.builds(
        Add,
        content=CONTENTS,
        section=st.sampled_from(["OTHERS", "S"]),
        outcome=st.sampled_from(Outcome),
        id=st.none() | NAMES,
        counts=st.builds(Counts, helpful=st.integers(0, 2), harmful=st.integers(0, 2)),
    ),
    st.builds(Update, id=NAMES, content=st.none() | CONTENTS, retired=st.sampled_from([None, "", "old"])),
    st.builds(Tag, id=NAMES, mark=st.sampled_from(Mark), times=st.integers(1, 3)),
    st.builds(Merge, ids=st.lists(NAMES, min_size=2, max_size=3, unique=True).map(tuple), content=st.none() | CONTENTS),
    st.builds(Remove, id=NAMES),
)
ACTS = st.lists(DELTAS, min_size=1, max_size=5) | st.just("clear") | st.floats(0, 1)
"""A batch, a clearing, or a rollback to this share of the history."""


def acted(p, act):
    if act == "clear":
        return p.clear()
    return p.rollback(round(act * p.number)) if isinstance(act, float) else p.apply(act)


@settings(max_examples=150)
@given(acts=st.lists(ACTS, min_size=1, max_size=8), share=st.floats(0, 1))
def test_whatever_was_done_a_rollback_gives_what_was_there_after_any_change(acts, share):
    """Entries, their order, and what every id resolves to; and back again. Another process sees the same."""
    store, clock = MemoryStore(), FakeClock()
    p = Playbook(store, embedder="hashing", clock=clock)
    known, states = set(), {0: ([], {})}
    for act in acts:
        clock.advance(seconds=1)
        changed = acted(p, act)
        known |= {effect.id for effect in changed.effects if effect.id}
        known |= {name for entry in p.entries(retired=True) for name in (entry.id, *entry.aliases)}
        states.setdefault(changed.number, (plain(p), {name: p.resolve(name) for name in known}))
        assert changed.number == p.number
    to = round(share * p.number)
    last = p.number
    p.rollback(to)
    other = Playbook(store, embedder="hashing", clock=clock)
    for playbook in (p, other):
        assert plain(playbook) == states[to][0]
        assert all(playbook.resolve(name) == states[to][1].get(name) for name in known)
    other.rollback(last)
    assert plain(p) == states[last][0]
    assert [change.number for change in p.history()] == [*range(1, p.number + 1)]
    store.close()


@settings(max_examples=300)
@given(batches=st.lists(st.lists(DELTAS, min_size=1, max_size=5), max_size=8))
def test_counts_are_never_negative_and_no_id_is_lost(batches):
    """Every id that was given names an entry for as long as nobody removed it; marks are neither lost nor invented."""
    store = MemoryStore()
    p = Playbook(store, embedder="hashing", clock=FakeClock())
    alive = set()
    for delta in (delta for batch in batches for delta in batch):
        target = p.resolve(delta.id) if isinstance(delta, Remove) else None
        removed = Counts() if target is None else p.get(target).counts
        gone = {name for name in alive if target is not None and p.resolve(name) == target}
        before = marks(p)
        (effect,) = p.apply([delta]).effects
        named = {effect.id, delta.id} if isinstance(delta, Add) and delta.id else {effect.id}
        alive |= named if effect.status in (Applied.WRITTEN, Applied.CREDITED) else set()
        alive -= gone | ({effect.id} if isinstance(delta, Remove) else set())
        assert marks(p) + removed == before + gained(delta, effect)
        assert all(p.resolve(name) is not None for name in alive)
    fingerprints = [(entry.section, entry.content, entry.outcome) for entry in p.entries(retired=True)]
    if not any(isinstance(delta, (Update, Merge)) for batch in batches for delta in batch):
        assert len(set(fingerprints)) == len(fingerprints)
    store.close()


def marks(p):
    """Return the sum of all counts."""
    return sum((entry.counts for entry in p.entries(retired=True)), Counts())


def gained(delta, effect):
    """Return the marks that a delta gives where it is not refused."""
    if effect.status in (Applied.REFUSED, Applied.UNCHANGED):
        return Counts()
    if isinstance(delta, Tag):
        return Counts(**{str(delta.mark): delta.times})
    return delta.counts if isinstance(delta, Add) else Counts()


@pytest.mark.parametrize("merged", [True, False])
def test_forgetting_an_entry_that_is_gone_takes_the_blocks_of_earlier_runs_along(tmp_path, merged):
    """A run was shown it before it was removed, or merged into the one that is forgotten."""

    def forget(p, memory):
        p.tag("oth-00001", "helpful")
        assert p.block(run="r1", max_entries=1).ids == ("oth-00001",)
        if merged:
            p.merge_entries(["oth-00002", "oth-00001"])
        else:
            p.remove("oth-00001")
        memory.forget("oth-00002" if merged else "oth-00001", hard=True)

    assert b"swordfish" not in forgotten_file(tmp_path, forget)


def test_no_word_of_a_callers_forgets_what_a_playbook_keeps_of_itself(p, store):
    """The preamble of its file, and how far it is refined."""
    p.load_text("Hints.\n## S\n[s-00001] helpful=1 harmful=0 :: x\n")
    p.refine()
    with Memory(store, scope=p.scope, embedder="hashing") as memory:
        for name in ("style", "refined", "head", "paper"):
            with pytest.raises(NotFound):
                memory.forget(name)
    assert p.to_text().startswith("Hints.\n")
