"""Outcomes: each rater's last word counts once, everything that a context showed is credited, and ranks by it later."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import InvalidInput, NotFound, StoreBusy, WrongType
from seasoned.joined.policy import ContextPolicy
from seasoned.playbook import Counts
from seasoned.ports import Applied, Can, Change
from seasoned.query import Page, Query
from seasoned.runs import L1Atom, TurnRecord
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock, sequential_ids

from .helping import furnish, learn, parts, say

TASK = "A late parcel: when does the harbour office in Lisbon open?"


def worth(memory: Memory, name: str, kind: str) -> float:
    return memory.get(name, kind).record.worth


def standing(memory: Memory) -> dict[str, object]:
    """What outcomes change: worth of every record, counts of entries, ratings of decisions."""
    kinds = ("note", "message", "lesson", "atom", "episode", "decision")
    hits = memory.store.find(Query(scope=memory.scope, kinds=kinds, k=1_000)).hits
    ratings = {
        hit.id: [(each.overall_effectiveness, each.unexpected_effects) for each in said]
        for hit in hits
        if hit.record.key.kind == "decision" and (said := memory.experience.feedback_history(decision=hit.id))
    }
    return {
        "worth": {f"{hit.record.key.kind} {hit.id}": round(hit.record.worth, 9) for hit in hits},
        "counts": {entry.id: entry.counts for entry in memory.playbook.entries()},
        "ratings": ratings,
    }


def busy(memory: Memory) -> str:
    """Furnish a memory with a run under way, and return the trace of a context that shows something of everything."""
    furnish(memory)
    memory.runs.start_run("r1")
    for turn in range(1, 11):
        memory.runs.record_turn(TurnRecord(turn, 5.0, "EUR", ["storm"], [{"type": "sell"}], {}))
    memory.runs.extract_atoms(10)
    context = memory.context(TASK, run="r1")
    assert parts(context).keys() == {"notes", "lessons", "playbook", "observations", "examples", "recalled"}
    return str(context.trace)


def test_everything_that_was_shown_is_credited(memory):
    """Entries are marked, the decision is rated, and notes, messages, lessons and observations gain worth."""
    trace = busy(memory)
    before = standing(memory)["worth"]
    done = memory.outcome(trace, rating=9)
    assert (done.effect, done.status, done.replaced, done.left_out) == (0.8, "written", None, ())
    kinds = {key.kind for key in done.credited}
    assert kinds == {"note", "lesson", "entry", "atom", "decision", "message"}
    after = standing(memory)["worth"]
    gained = {name.partition(" ")[0] for name in after if after[name] == pytest.approx(before[name] + 0.8)}
    assert gained == {"note", "lesson", "atom", "message"}
    assert {entry.counts for entry in memory.playbook.entries()} == {Counts(helpful=1)}
    said = memory.experience.feedback(decision="d1")
    assert (said.overall_effectiveness, said.unexpected_effects) == (9, "as an example in a later context")
    assert worth(memory, "d1", "decision") == 0.9


def test_the_same_word_again_changes_nothing(memory):
    """And says so."""
    trace = busy(memory)
    first = memory.outcome(trace, rating=9, note="Good.")
    after = standing(memory)
    again = memory.outcome(trace, reward=0.8, note="Good.")
    assert (again.status, again.credited) == ("duplicate", first.credited)
    assert standing(memory) == after


def test_a_later_word_of_the_same_rater_takes_the_place_of_the_earlier(memory):
    """What it gave is taken back; as if only the later had been said."""
    trace = busy(memory)
    before = standing(memory)["worth"]
    memory.outcome(trace, rating=9)
    done = memory.outcome(trace, rating=1, note="It was wrong.")
    assert (done.effect, done.replaced, done.status) == (-0.8, 0.8, "written")
    after = standing(memory)
    assert worth(memory, "n2", "note") == pytest.approx(-0.8)
    assert {entry.counts for entry in memory.playbook.entries()} == {Counts(harmful=1)}
    assert after["ratings"] == {"d1": [(1, "as an example in a later context: It was wrong.")]}
    memory.outcome(trace, reward=0.0)
    assert standing(memory)["worth"] == before
    assert {entry.counts for entry in memory.playbook.entries()} == {Counts(neutral=1)}


def test_several_raters_count_each(memory):
    """A person and a program; and the same rater on another trace."""
    trace = busy(memory)
    memory.outcome(trace, reward=1)
    memory.outcome(trace, reward=0.5, by="checker")
    other = memory.context(f"{TASK} Please.", run="r1").trace
    memory.outcome(other, reward=-0.25)
    assert worth(memory, "n2", "note") == pytest.approx(1.25)
    assert {entry.counts for entry in memory.playbook.entries()} == {Counts(helpful=2, harmful=1)}
    assert len(memory.experience.feedback_history(decision="d1")) == 3


@pytest.mark.parametrize(("effect", "mark"), [(1, "helpful"), (0.2, "helpful"), (0.1, "neutral"), (-0.1, "neutral"),
                                              (-0.2, "harmful"), (-7, "harmful")])  # fmt: skip
def test_a_small_effect_marks_an_entry_neutral(memory, effect, mark):
    """From 0.2 on it counts as helpful, from -0.2 down as harmful; beyond 1 it counts as 1."""
    memory.playbook.add("Confirm the address.", "shipping", id="e1")
    done = memory.outcome(memory.context("hello").trace, reward=effect)
    assert done.effect == max(-1, effect)
    assert memory.playbook.get("e1").counts == Counts(**{mark: 1})


def test_what_a_person_said_of_a_decision_stands(memory):
    """Whether it was said before the outcome or after it."""
    trace = busy(memory)
    memory.experience.rate(2, decision="d1", note="They were angry.")
    done = memory.outcome(trace, rating=9)
    assert [(key.id, why) for key, why in done.left_out] == [("d1", "a person said how it went")]
    assert memory.experience.feedback(decision="d1").overall_effectiveness == 2
    memory.experience.record("a late parcel", "call", 0.8, reasoning="A voice is warm.", id="d2")
    other = memory.context("a late parcel, what now?").trace
    memory.outcome(other, rating=9)
    memory.experience.rate(3, decision="d2", note="Too late.")
    memory.outcome(other, rating=7)
    said = [each.overall_effectiveness for each in memory.experience.feedback_history(decision="d2")]
    assert said == [7, 3]


def test_what_is_gone_is_left_out_and_the_others_are_credited(memory):
    """A note, an entry and a decision that were forgotten since; the trace says no more of them than their ids."""
    trace = busy(memory)
    memory.outcome(trace, reward=0.5)
    memory.forget(["n2", "d1", "e1"])
    done = memory.outcome(trace, reward=1)
    assert "m1" in {key.id for key in done.credited}
    assert not {"n2", "d1", "e1"} & {key.id for key in done.credited}
    assert worth(memory, "m1", "message") == 1


def test_an_entry_merged_since_is_credited_as_what_it_became(memory):
    """And taken back from it."""
    memory.playbook.add("Confirm the address before shipping.", "shipping", id="e1")
    memory.playbook.add("Check the address before shipping.", "shipping", id="e2")
    trace = memory.context("hello").trace
    memory.outcome(trace, reward=1)
    memory.playbook.merge_entries(["e1", "e2"])
    assert memory.playbook.get("e2").counts == Counts(helpful=2)
    memory.outcome(trace, reward=-1)
    assert memory.playbook.get("e1").counts == Counts(harmful=2)


def test_an_outcome_of_no_trace_is_refused(memory):
    """As is one without a word, with two, or out of range; nothing is written."""
    trace = memory.context("hello").trace
    before = memory.store.find(Query(scope=memory.scope, count=True)).count
    with pytest.raises(NotFound, match="no context has the trace 'nothing'"):
        memory.outcome("nothing", reward=1)
    for wrong in ({}, {"reward": 1, "rating": 5}, {"rating": 11}, {"rating": -1}, {"reward": float("nan")},
                  {"reward": 1, "by": " "}):  # fmt: skip
        with pytest.raises(InvalidInput):
            memory.outcome(trace, **wrong)
    for wrong in ({"reward": "good"}, {"rating": True}, {"reward": 1, "note": 5}, {"reward": 1, "by": None}):
        with pytest.raises(WrongType):
            memory.outcome(trace, **wrong)
    assert memory.store.find(Query(scope=memory.scope, count=True)).count == before


def test_names_of_any_length_and_form_are_told_apart(memory):
    """A rater whose name looks like a trace's, one with slashes, one as long as a name may be."""
    memory.remember("The harbour of Lisbon opens at nine.", id="n1")
    trace = memory.context("harbour of Lisbon").trace
    for rater in ("a/b", "a", f"{trace}/a", "r" * 512, "ü 好"):
        memory.outcome(trace, reward=1, by=rater)
        memory.outcome(trace, reward=1, by=rater)
    assert worth(memory, "n1", "note") == 5


class Failing:
    """A store whose write number `at` fails: before it, or right after it was done."""

    def __init__(self, inner: MemoryStore, at: int, *, done: bool) -> None:
        self.inner, self.at, self.done = inner, at, done

    @property
    def can(self) -> Can:
        return self.inner.can

    def find(self, query: Query) -> Page:
        return self.inner.find(query)

    def apply(self, changes: Sequence[Change]) -> Applied:
        self.at -= 1
        if self.at == 0 and self.done:
            self.inner.apply(changes)
        if self.at == 0:
            raise StoreBusy("the process ends here")
        return self.inner.apply(changes)

    def close(self) -> None:
        """Do nothing: the store below goes on."""


def over(store: object) -> Memory:
    return Memory(store, scope=("acme", "alice"), embedder="hashing", clock=FakeClock(), ids=sequential_ids("n"))  # type: ignore[arg-type]


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("later", [0.9, -0.5], ids=["same word", "another word"])
def test_a_call_that_broke_off_is_completed_by_the_next(done, later):
    """At each of its writes, whatever the next call says: the end is as if none had failed."""
    whole = MemoryStore(clock=FakeClock())
    with over(whole) as memory:
        trace = busy(memory)
        memory.outcome(trace, reward=-1)
        for reward in dict.fromkeys((0.9, later)):
            memory.outcome(trace, reward=reward)
        expected = standing(memory)
    failures = 0
    for at in range(1, 20):
        store = MemoryStore(clock=FakeClock())
        with over(store) as memory:
            trace = busy(memory)
            memory.outcome(trace, reward=-1)
        with over(Failing(store, at, done=done)) as memory:
            try:
                memory.outcome(trace, reward=0.9)
            except StoreBusy:
                failures += 1
        with over(store) as memory:
            memory.outcome(trace, reward=later)
            assert standing(memory) == expected
    assert 4 <= failures < 19


@settings(max_examples=40)
@given(
    words=st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from(["a", "b"]), st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0])),
        max_size=12,
    )
)
def test_worth_is_always_the_sum_of_the_last_words(words):
    """Of every rater on every trace, in whatever order they were said."""
    with Memory(embedder="hashing") as memory:
        memory.remember("The harbour of Lisbon opens at nine.", id="n1")
        memory.playbook.add("Confirm the address.", "shipping", id="e1")
        traces = [memory.context("harbour of Lisbon").trace, memory.context("Lisbon harbour").trace]
        last = {}
        for place, by, effect in words:
            memory.outcome(traces[place], reward=effect, by=by)
            last[place, by] = effect
        assert worth(memory, "n1", "note") == pytest.approx(sum(last.values()))
        helpful = sum(effect >= 0.2 for effect in last.values())
        harmful = sum(effect <= -0.2 for effect in last.values())
        counts = Counts(helpful=helpful, harmful=harmful, neutral=len(last) - helpful - harmful)
        assert memory.playbook.get("e1").counts == counts


def test_many_raters_at_once_all_count(opened, tmp_path):
    """Eight threads, and four of the same rater among them."""
    memory = opened(tmp_path / "agent.db")
    memory.remember("The harbour of Lisbon opens at nine.", id="n1")
    trace = memory.context("harbour of Lisbon").trace
    raters = ["same", "same", "same", "same", "a", "b", "c", "d"]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda by: memory.outcome(trace, reward=1, by=by), raters))
    assert worth(memory, "n1", "note") == 5


def test_a_lesson_keeps_its_credit_when_it_is_learned_again(memory):
    """It gains a run and loses nothing of what outcomes gave it, nor can the same outcome give it twice."""
    learn(memory, "r1", 5.0)
    before = memory.runs.lessons()[0]
    trace = memory.context("hello").trace
    memory.outcome(trace, reward=-0.5)
    learn(memory, "r2", 5.0)
    memory.outcome(trace, reward=-0.5)
    after = next(each for each in memory.runs.lessons() if each.id == before.id)
    assert (after.times, after.credit) == (before.times + 1, -0.5)
    assert worth(memory, after.id, "lesson") == pytest.approx(after.times - 0.5)


def test_an_observation_keeps_its_credit_when_it_is_seen_again(memory):
    """An atom that is found anew with another priority."""
    trace = busy(memory)
    atom = next(used.key for used in memory.context(TASK, run="r1").used if used.part == "observations")
    before = worth(memory, atom.id, "atom")
    memory.outcome(trace, reward=1)
    memory.runs.configure(atom_extractor=_Again(memory.get(atom.id, "atom").record.data))
    for turn in range(11, 21):
        memory.runs.record_turn(TurnRecord(turn, 5.0, "EUR", ["storm"], [{"type": "sell"}], {}))
    memory.runs.extract_atoms(20)
    record = memory.get(atom.id, "atom").record
    assert record.data["priority"] == 7
    assert record.worth == pytest.approx(0.07 + 1)
    assert before < record.worth


class _Again:
    """Finds one atom again, with a priority of 7."""

    def __init__(self, data) -> None:
        self._data = data

    def extract(self, window, existing_atoms):
        data = self._data
        return [L1Atom(data["atom"], data["turn"], data["type"], "It is seen again.", 7, ["again"], data["turns"])]


ONE = ContextPolicy(recall_k=1, lessons=0.03)
"""Shows the best of what is recalled, and one lesson."""


def test_what_did_harm_ranks_lower_later_a_note(memory):
    """Of two that match alike, the newer comes first, until a context that showed it went badly."""
    for name in ("n1", "n2"):
        memory.remember(f"The harbour office opens at nine, says {name}.", id=name)
    context = memory.context("harbour office", policy=ONE)
    assert parts(context)["recalled"] == ["n2"]
    memory.outcome(context.trace, reward=-1)
    assert [hit.id for hit in memory.recall("harbour office")] == ["n1", "n2"]
    assert parts(memory.context("harbour office", policy=ONE))["recalled"] == ["n1"]


def test_what_did_harm_ranks_lower_later_a_message(memory):
    """As a note does."""
    for number in (1, 2):
        memory.conversation.add(say("user", f"The harbour office, word {number}"), f"s{number}", ids=f"m{number}")
    context = memory.context("harbour office", policy=ONE)
    assert parts(context)["recalled"] == ["m2"]
    memory.outcome(context.trace, reward=-1)
    assert [hit.id for hit in memory.conversation.search("harbour office")] == ["m1", "m2"]
    assert parts(memory.context("harbour office", policy=ONE))["recalled"] == ["m1"]


def test_what_did_harm_ranks_lower_later_a_lesson(memory):
    """Of two found in one run each; learning both again does not bring it back."""
    learn(memory, "r1", 5.0)
    first, second = (each.id for each in memory.runs.lessons())
    context = memory.context("hello", policy=ONE)
    assert parts(context)["lessons"] == [first]
    memory.outcome(context.trace, reward=-1)
    assert [each.id for each in memory.runs.lessons()] == [second, first]
    learn(memory, "r2", 5.0)
    assert parts(memory.context("hello", policy=ONE))["lessons"] == [second]


def test_what_helped_ranks_higher_later_an_observation(memory):
    """In a search over all that is remembered; in its own run the priority goes on to decide."""
    trace = busy(memory)
    shown = {key.id for key in memory.outcome(trace, reward=1).credited if key.kind == "atom"}
    found = [hit.id for hit in memory.recall("storm happened", kinds=["atom"], k=100)]
    assert set(found[: len(shown)]) == shown
    assert len(found) > len(shown)


def test_what_did_harm_ranks_lower_later_an_entry(memory):
    """Where there is room for one, the other is shown next."""
    for name in ("e1", "e2"):
        memory.playbook.add(f"Advice {name} about parcels and couriers.", "shipping", id=name)
    context = memory.context("hello", 280)
    (shown,) = parts(context)["playbook"]
    memory.outcome(context.trace, reward=-1)
    (other,) = parts(memory.context("hello", 280))["playbook"]
    assert {shown, other} == {"e1", "e2"}


def test_what_did_harm_ranks_lower_later_a_decision(memory):
    """As an example it did badly: another comes first, and it is shown as what to avoid."""
    memory.experience.record("a late parcel", "refund", 0.9, reasoning="A fast refund.", id="d1")
    memory.experience.record("a late parcel", "call", 0.8, reasoning="A voice is warm.", id="d2")
    assert [match.id for match in memory.experience.similar("a late parcel")] == ["d1", "d2"]
    memory.forget("d2")
    trace = memory.context("a late parcel").trace
    memory.experience.record("a late parcel", "call", 0.8, reasoning="A voice is warm.", id="d2")
    memory.outcome(trace, rating=0)
    assert next(match.id for match in memory.experience.similar("a late parcel")) == "d2"
    assert "- Avoid: [REFUND]" in memory.context("a late parcel, again").text
