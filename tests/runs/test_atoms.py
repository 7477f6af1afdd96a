"""Atoms: the four decisions, the ring, sources, and extractors that break their promise."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput, WrongType
from seasoned.runs import L1Atom, TurnRecord, atom_id
from seasoned.runs.deciding import kept
from seasoned.runs.policy import RunPolicy
from seasoned.runs.rows import StoredAtom

from .domain import Losses, ids, play, turn


class Scripted:
    """Gives what stands for the last turn of a window."""

    def __init__(self, **by_turn: object) -> None:
        self.by_turn = {int(name[1:]): given for name, given in by_turn.items()}
        self.existing: list[list[str]] = []

    def extract(self, window, existing_atoms):
        self.existing.append(ids(existing_atoms))
        given = self.by_turn.get(window[-1].turn, [])
        if isinstance(given, Exception):
            raise given
        return given


def atom(name: str, number: int, content: str = "", priority: int = 50, type: str = "news", **rest) -> L1Atom:  # noqa: A002
    return L1Atom(name, number, type, content or f"{name} at {number}", priority, **rest)


def each_turn(make, **by_turn):
    return make(atom_extractor=Scripted(**by_turn), policy=RunPolicy(extract_every=1, max_atoms=3))


def test_an_atom_of_a_known_id_and_content_is_skipped(make):
    """It is not new, and stands once."""
    runs = each_turn(make, t1=[atom("a", 1, "Same.")], t2=[atom("a", 1, "Same.")])
    assert ids(play(runs, [1, 2])) == ["a"]
    assert len(runs.atoms()) == 1


def test_an_atom_of_a_known_id_and_other_content_is_an_update(make):
    """The turns of both are its sources."""
    runs = each_turn(make, t1=[atom("peak", 1, "Peak 10.")], t2=[atom("peak", 2, "Peak 12.")])
    assert [each.content for each in play(runs, [1, 2])] == ["Peak 10.", "Peak 12."]
    [stored] = runs.atoms()
    assert (stored.content, stored.turn, stored.turns) == ("Peak 12.", 2, [1, 2])


def test_atoms_of_one_turn_and_type_that_say_the_same_are_merged(make):
    """The first stays, with the higher priority and the turns of both."""
    first = atom("x", 2, "Shortage in the northern region of the grid", 40, turns=[1, 2])
    second = atom("y", 2, "Shortage in the northern regions of the grid", 80)
    runs = make(atom_extractor=Scripted(t2=[first, second]), policy=RunPolicy(extract_every=2))
    assert ids(play(runs, [1, 2])) == ["x"]
    [stored] = runs.atoms()
    assert (stored.priority, stored.turns, stored.content) == (80, [1, 2], first.content)


@pytest.mark.parametrize("changed", ["turn", "type", "content"])
def test_what_differs_in_turn_type_or_words_is_not_merged(make, changed):
    """Two builds of the same plant in two turns are two facts."""
    kept = {"number": 2, "type": "news", "content": "Built a plant in the north"}
    other = (
        kept | {"turn": {"number": 1}, "type": {"type": "fact"}, "content": {"content": "Fired the manager"}}[changed]
    )
    runs = make(atom_extractor=Scripted(t2=[atom("x", **kept), atom("y", **other)]), policy=RunPolicy(extract_every=2))
    assert ids(play(runs, [1, 2])) == ["x", "y"]
    assert len(runs.atoms()) == 2


def test_the_lowest_priority_leaves_the_ring_first_then_the_oldest(make):
    """What left stays stored and traceable."""
    runs = each_turn(make, t1=[atom("a", 1, priority=90)], t2=[atom("b", 2)], t3=[atom("c", 3)], t4=[atom("d", 4)])
    play(runs, range(1, 5))
    assert runs.memory_block()["key_observations"] == ["a at 1", "d at 4", "c at 3"]
    assert ids(runs.atoms()) == ["a", "b", "c", "d"]
    assert [key.id for key in runs.explain("b").roots] == ["run-1/turn/2"]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 40)), max_size=60))
def test_the_ring_always_holds_the_best(found):
    """However atoms come in: the highest priorities, of equals the newest."""
    ring: list[StoredAtom] = []
    for place, (priority, number) in enumerate(found):
        made = StoredAtom(atom(f"a{place}", number, priority=priority), (number,), datetime(2026, 1, 1, tzinfo=UTC))
        ring = kept(ring, [made], 5)
    best = sorted(((p, n, i) for i, (p, n) in enumerate(found)), reverse=True)[:5]
    assert {each.atom.id for each in ring} == {f"a{i}" for _, _, i in best}


@pytest.mark.parametrize("rubbish", [None, 7, "atoms", {"id": "a"}, ValueError("broken")])
def test_an_extractor_that_gives_rubbish_costs_its_window_three_tries_and_no_turn(make, rubbish):
    """It raises nothing; later windows go on, and the end of the run tries once more."""
    extractor = Scripted(t10=rubbish, t20=[atom("late", 20)])
    runs = make(atom_extractor=extractor)
    assert ids(play(runs, range(1, 51))) == ["late"]
    assert runs.state().failed_windows == ((1, 10),)
    assert "turns 1 to 10" in runs.last_error
    extractor.by_turn[10] = [atom("early", 10)]
    runs.summarise_run(None)
    assert ids(runs.atoms("run-1")) == ["late", "early"]


def test_what_is_no_atom_is_refused_and_told_and_the_others_are_stored(make):
    """Nothing is silent."""
    runs = make(atom_extractor=Scripted(t10=[atom("a", 3), "rubbish", None]))
    assert ids(play(runs, range(1, 11))) == ["a"]
    assert runs.last_error.startswith("2 atoms were refused: 'rubbish' is not an L1Atom")
    assert runs.state().refused_atoms == 2


def test_an_atom_of_a_turn_outside_the_window_has_the_window_as_its_sources(make):
    """So that its chain ends at turns."""
    runs = make(atom_extractor=Scripted(t20=[atom("a", 999)]))
    play(runs, range(1, 21))
    assert runs.atoms()[0].turns == [*range(11, 21)]


def test_extraction_is_due_at_multiples_of_the_cadence_or_at_the_first_call_after(make):
    """A late call reads all that has gathered; one without new turns gives nothing."""
    losses = Losses()
    runs = make(atom_extractor=losses)
    assert runs.extract_atoms(10) == []
    for number in range(1, 13):
        runs.record_turn(turn(number, -1.0 if number in (4, 12) else 1.0))
    assert runs.extract_atoms(9) == []
    assert ids(runs.extract_atoms(12)) == ["loss-start-4", "loss-start-12"]
    assert runs.extract_atoms(12) == []
    assert losses.windows == [[*range(1, 11)], [10, 11, 12]]


def test_windows_without_a_call_for_long_are_read_one_by_one(make):
    """A hundred turns give ten windows of at most eleven turns."""
    losses = Losses()
    runs = make(atom_extractor=losses)
    for number in range(1, 101):
        runs.record_turn(turn(number, -1.0 if number % 10 == 1 else 1.0))
    assert len(runs.extract_atoms(100)) == 9
    assert [len(each) for each in losses.windows] == [10] + [11] * 9


def test_turns_may_begin_at_0_and_have_gaps(make):
    """The window is what was recorded."""
    losses = Losses()
    runs = make(atom_extractor=losses)
    play(runs, [0, 3, 9, 14, 31])
    assert losses.windows == [[0, 3, 9], [9, 14], [14, 31]]


def test_the_extractor_is_given_the_ring(make):
    """As atoms, those that it found before."""
    extractor = Scripted(t1=[atom("a", 1)], t2=[atom("b", 2)])
    play(make(atom_extractor=extractor, policy=RunPolicy(extract_every=1)), [1, 2, 3])
    assert extractor.existing == [[], ["a"], ["a", "b"]]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"id": " "}, InvalidInput), ({"id": 7}, WrongType), ({"type": ""}, InvalidInput),
        ({"content": " \n"}, InvalidInput), ({"content": None}, WrongType), ({"turn": -1}, InvalidInput),
        ({"turn": 1.5}, WrongType), ({"tags": "loss"}, WrongType), ({"tags": [1]}, WrongType),
    ],
)  # fmt: skip
def test_an_atom_that_breaks_a_rule_cannot_be_made(changes, error):
    """Each error says what was found."""
    right = {"id": "a", "turn": 1, "type": "news", "content": "Something.", "priority": 5}
    with pytest.raises(error):
        L1Atom(**(right | changes))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"turn": "1"}, WrongType), ({"turn": True}, WrongType), ({"turn": -1}, InvalidInput),
        ({"events": "spike"}, WrongType), ({"events": [1]}, WrongType), ({"actions_taken": ["buy"]}, WrongType),
        ({"extra": [1]}, WrongType), ({"extra": {"x": float("nan")}}, InvalidInput), ({"extra": {1: 2}}, WrongType),
        ({"extra": {"x": object()}}, WrongType), ({"reward_unit": None}, WrongType),
    ],
)  # fmt: skip
def test_a_turn_that_breaks_a_rule_cannot_be_made(changes, error):
    """Each error says what was found."""
    right = {"turn": 1, "reward": 1.0, "reward_unit": "EUR", "events": [], "actions_taken": [], "extra": {}}
    with pytest.raises(error):
        TurnRecord(**(right | changes))


def test_numbers_of_numpy_are_taken_and_nothing_of_the_callers_is_kept():
    """What the caller changes later changes nothing in the record."""
    events, extra = ["spike"], {"p": np.float32(0.5), "n": [np.int64(3)], "t": (1, 2)}
    made = TurnRecord(np.int64(3), np.float32(1.5), "EUR", events, [{"type": "buy"}], extra)
    events.append("later")
    extra["p"] = 9
    assert made == TurnRecord(3, 1.5, "EUR", ["spike"], [{"type": "buy"}], {"p": 0.5, "n": [3], "t": [1, 2]})
    assert type(made.turn) is int


def test_the_id_of_an_atom_is_that_of_the_document():
    """The first 12 hex digits of the MD5 of "11_loss"."""
    assert atom_id(11, "loss") == "85473966490b"
