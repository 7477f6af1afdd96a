"""Ready-made rules: each alone, combined, and the same however the turns are cut into windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput, WrongType
from seasoned.runs import (
    PORTFOLIO_EVENT,
    ActionChange,
    Combined,
    Crossing,
    NamedEvent,
    NewExtreme,
    SignChange,
    Streak,
    TurnRecord,
    TurnWindow,
)


def turns(*rewards: float, **fields) -> list[TurnRecord]:
    return [TurnRecord(place, reward, "EUR", [], [], dict(fields)) for place, reward in enumerate(rewards, 1)]


def said(extractor, window) -> list[str]:
    return [each.content for each in extractor.extract(window, [])]


def priced(*prices: float | None) -> list[TurnRecord]:
    return [TurnRecord(n, 0.0, "", [], [], {"m": {"price": p}, "flat.x": p}) for n, p in enumerate(prices, 1)]


def test_a_crossing_is_seen_in_both_directions():
    """To the threshold or above it is up, below it is down; a turn without the value is passed over."""
    window = priced(90, 100, 120, 99, None, 101)
    assert said(Crossing("m.price", 100), window) == [
        "T2: m.price rose to 100, over 100.",
        "T4: m.price fell to 99, under 100.",
        "T6: m.price rose to 101, over 100.",
    ]
    assert [each.turns for each in Crossing("m.price", 100).extract(window, [])] == [[1, 2], [3, 4], [4, 6]]
    assert len(said(Crossing("m.price", 100, "up"), window)) == 2
    assert len(said(Crossing("flat.x", 100, "down"), window)) == 1
    assert said(Crossing("unknown", 100), window) == []


def test_a_sign_change_counts_zero_as_not_negative():
    """Gains and losses only."""
    assert said(SignChange(), turns(1, 0, -2, -1, 0, 3)) == [
        "T3: reward turned negative, from 0 to -2.",
        "T5: reward turned positive, from -1 to 0.",
    ]


def test_a_streak_is_told_once_when_it_is_full():
    """A longer one is the same streak."""
    [atom] = Streak(3).extract(turns(1, -1, -1, -1, -1, 1, -1, -1), [])
    assert (atom.turn, atom.turns, atom.content) == (4, [2, 3, 4], "T4: reward below 0 for 3 turns, since T2.")
    assert said(Streak(2, above=5), turns(6, 7, 1)) == ["T2: reward above 5 for 2 turns, since T1."]


def test_a_new_extreme_passes_the_turns_before():
    """Of a row of new highs the first is told; the fewest turns to compare with are `least`."""
    assert said(NewExtreme(within=3, least=2), turns(5, 5, 7, 8, 6, 9, 1)) == [
        "T3: reward 7, the highest in 3 turns.",
        "T6: reward 9, the highest in 3 turns.",
        "T7: reward 1, the lowest in 3 turns.",
    ]


def test_a_changed_action_and_named_events():
    """Sets of kinds are compared; an event counts once a turn."""
    window = [
        TurnRecord(1, 0, "", ["a"], [{"type": "buy"}]),
        TurnRecord(2, 0, "", ["b", "b", " "], [{"type": "buy"}, {"type": "buy"}]),
        TurnRecord(3, 0, "", ["a", "b"], []),
    ]
    assert said(ActionChange(), window) == ["T3: action changed from buy to none."]
    assert ActionChange().extract(window, [])[0].type == PORTFOLIO_EVENT
    assert said(NamedEvent("b"), window) == ["T2: b happened.", "T3: b happened."]
    assert said(NamedEvent(), window) == ["T1: a happened.", "T2: b happened.", "T3: a happened.", "T3: b happened."]


def test_rules_combine_and_take_type_priority_and_tags():
    """Those of each rule stand in its atoms; the widest look back counts for all."""
    both = Combined(SignChange(priority=99, tags=("alarm",)), NamedEvent("x", type="mine"), Streak(4))
    assert both.lookback == 4
    window = turns(1, -1)
    [atom] = both.extract(window, [])
    assert (atom.priority, atom.tags) == (99, ["reward_negative", "alarm"])


@given(
    rewards=st.lists(st.integers(-3, 3), min_size=1, max_size=40),
    cuts=st.sets(st.integers(1, 39)),
)
def test_the_same_is_found_however_windows_are_cut(rewards, cuts):
    """With as many turns before the new ones as the rule asks for."""
    rule = Combined(SignChange(), Streak(3), NewExtreme(within=5, least=2), Crossing("reward", 2), NamedEvent())
    record = turns(*map(float, rewards))
    whole = [each.id for each in rule.extract(record, [])]
    found, done = list[str](), 0
    for end in [*sorted(cut for cut in cuts if cut < len(record)), len(record)]:
        start = max(0, done - rule.lookback)
        found += [each.id for each in rule.extract(TurnWindow(record[start:end], done - start), [])]
        done = end
    assert sorted(found) == sorted(whole)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Crossing("x", float("nan")), InvalidInput),
        (lambda: Crossing("x", 1, "sideways"), InvalidInput),  # type: ignore[arg-type]
        (lambda: Streak(1), InvalidInput),
        (lambda: Streak(2.5), WrongType),  # type: ignore[arg-type]
        (lambda: Streak(3, below=0, above=1), InvalidInput),
        (lambda: NewExtreme(within=3, least=4), InvalidInput),
        (lambda: NamedEvent(3), WrongType),  # type: ignore[arg-type]
        (lambda: Combined(len), WrongType),  # type: ignore[arg-type]
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(make, error):
    """When it is made."""
    with pytest.raises(error):
        make()
