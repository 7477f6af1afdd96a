"""A process that is killed goes on where it was: property tests over the places where it dies."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from seasoned.ports import Applied, Change
from seasoned.query import Page, Query
from seasoned.records import Scope
from seasoned.runs import Combined, NewExtreme, RunMemory, Streak
from seasoned.runs.policy import RunPolicy
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock

from .domain import Losses, Outcome, Phases, loss, turn

TURNS = 60
SCOPE = Scope(("acme", "bot"))


class Sums:
    """An extractor whose atoms depend on where windows are cut."""

    def extract(self, window, existing_atoms):
        last, total = window[-1].turn, sum(each.reward for each in window)
        made = loss(last)
        return [type(made)(f"sum-{last}", last, "sum", f"T{last}: {total:.0f} over {len(window)} turns.", 40)]


def opened(store: object) -> RunMemory:
    return RunMemory(
        store,  # type: ignore[arg-type]  # a store or one that stops
        SCOPE,
        clock=FakeClock(),
        atom_extractor=Combined(Losses(), Sums(), Streak(3), NewExtreme(within=7, least=2)),
        episode_classifier=Phases(),
        retro_classifier=Outcome(),
        policy=RunPolicy(extract_every=7, episode_every=10, max_atoms=6),
    )


def steps(runs: RunMemory, number: int, rewards: list[float]) -> list[Callable[[], object]]:
    return [
        lambda: runs.record_turn(turn(number, rewards[number])),
        lambda: runs.extract_atoms(number),
        lambda: runs.update_episode(None, number),
    ]


def outcome(runs: RunMemory) -> object:
    """What is there at the end; the last turn's verbs are called again, as one that died between them does."""
    runs.extract_atoms(TURNS)
    runs.update_episode(None, TURNS)
    block = runs.memory_block()
    return runs.turns(), sorted(runs.atoms(), key=lambda each: each.id), runs.episodes(), block


def unbroken(rewards: list[float]) -> object:
    runs = opened(MemoryStore())
    for number in range(1, TURNS + 1):
        for step in steps(runs, number, rewards):
            step()
    return outcome(runs)


REWARDS = st.lists(st.sampled_from([-2.0, -1.0, 1.0, 2.0, 5.0]), min_size=TURNS + 1, max_size=TURNS + 1)


@settings(max_examples=60)
@example(rewards=[-2.0] * (TURNS + 1), kills={58})  # dies between the atoms and the episode that are due at one turn
@given(rewards=REWARDS, kills=st.sets(st.integers(0, 3 * TURNS - 1), max_size=6))
def test_a_process_killed_anywhere_leaves_the_same_atoms_and_episodes(rewards, kills):
    """It dies before any of its calls and is started again on the same store: nothing differs from an unbroken run."""
    store = MemoryStore()
    runs, number = opened(store), 1
    while number <= TURNS:
        for place, step in enumerate(steps(runs, number, rewards)):
            if 3 * (number - 1) + place in kills:
                break
            step()
        else:
            number += 1
            continue
        kills = kills - {3 * (number - 1) + place}
        runs = opened(store)
        number = (runs.state().last_turn or 0) + 1
    assert outcome(runs) == unbroken(rewards)


class Stopping:
    """A store that is not atomic: from the n-th change on it writes nothing and raises, as a killed process."""

    def __init__(self, inner: MemoryStore, left: int) -> None:
        self.inner, self.left = inner, left
        self.can = inner.can

    def find(self, query: Query) -> Page:
        return self.inner.find(query)

    def apply(self, changes: list[Change]) -> Applied:
        done = []
        for change in changes:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            done.append(self.inner.apply([change]))
        return Applied(tuple(one.versions[0] for one in done), tuple(one.seqs[0] for one in done))

    def close(self) -> None:
        self.inner.close()


@settings(max_examples=60)
@given(rewards=REWARDS, stop=st.integers(0, 90))
def test_every_prefix_of_a_batch_is_a_legal_state(rewards, stop):
    """On an engine that is not atomic a crash after any change is completed by going on."""
    inner = MemoryStore()
    runs, number = opened(Stopping(inner, stop)), 1
    while number <= TURNS:
        try:
            for step in steps(runs, number, rewards):
                step()
        except KeyboardInterrupt:
            runs = opened(inner)
            number = (runs.state().last_turn or 0) + 1
            continue
        number += 1
    assert outcome(runs) == unbroken(rewards)


def test_the_heat_of_an_episode_is_there_after_a_restart(make):
    """What was shown before the last turn was recorded is counted."""
    runs = make()
    for number in range(1, 28):
        runs.record_turn(turn(number))
        runs.update_episode(None, number)
        runs.memory_block()
    again = make()
    assert again.episodes()[0].heat == 2
    again.memory_block()
    again.record_turn(turn(28))
    assert make().episodes()[0].heat == 3


def test_a_named_run_is_gone_on_with_by_its_name(make):
    """Two runs are open; each is resumed, and a closed one is refused."""
    runs = make()
    assert runs.start_run("a") == "a"
    runs.record_turn(turn(1))
    assert runs.start_run("b") == "b"
    runs.record_turn(turn(1))
    again = make()
    assert again.state().run_id == "b"
    assert again.start_run("a") == "a"
    again.record_turn(turn(2))
    assert [each.turn for each in again.turns("a")] == [1, 2]
    assert [each.turn for each in again.turns("b")] == [1]
