"""Lessons that are given: known beforehand, or brought from another system."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import InvalidInput, WrongType

from .domain import play


def test_given_lessons_stand_in_the_notes_of_the_next_run(make):
    """In the order given among equals, on one line each, and in no other profile."""
    memory = make()
    made = memory.add_lessons(["Sell before the storm.", "Keep\n a reserve."], source="istar")
    assert [(each.text, each.times, each.runs) for each in made] == [
        ("Sell before the storm.", 1, ("istar",)),
        ("Keep a reserve.", 1, ("istar",)),
    ]
    notes = make().load_prior_run_notes()
    assert "Sell before the storm." in notes
    assert "Keep a reserve." in notes
    assert make().lessons("trader") == []


def test_given_again_by_the_same_name_nothing_changes(make):
    """By another it counts once more."""
    memory = make()
    memory.add_lessons("Sell before the storm.")
    assert memory.add_lessons("Sell before the storm.") == []
    [again] = memory.add_lessons("Sell before the storm.", source="another")
    assert (again.times, again.runs) == (2, ("given", "another"))


def test_the_opposite_of_a_lesson_marks_it(make):
    """As where a run found it."""
    memory = make()
    memory.add_lessons("Sell early in the season.")
    memory.add_lessons("Sell late in the season.", source="later")
    assert [(each.text, each.contradicted_by is None) for each in memory.lessons()] == [
        ("Sell late in the season.", True),
        ("Sell early in the season.", False),
    ]


@pytest.mark.parametrize(
    ("given_lessons", "error"), [(" ", InvalidInput), (["a", ""], InvalidInput), ([5], WrongType), (None, WrongType)]
)
def test_what_is_no_lesson_is_refused_and_nothing_is_written(make, given_lessons, error):
    """Blank, a number, nothing at all."""
    memory = make()
    with pytest.raises(error, match="lesson"):
        memory.add_lessons(given_lessons)
    assert memory.lessons() == []


def test_threads_that_give_the_same_lesson_lose_no_count(tmp_path):
    """Eight names, eight counts."""
    with Memory(tmp_path / "a.db", embedder="hashing") as memory:
        threads = [
            threading.Thread(target=memory.runs.add_lessons, args=("Keep a reserve.",), kwargs={"source": f"run {n}"})
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [lesson] = memory.runs.lessons()
        assert (lesson.times, len(lesson.runs)) == (8, 8)


@given(st.lists(st.text(max_size=60).filter(str.strip), max_size=6))
def test_giving_twice_is_giving_once(texts):
    """Whatever the lessons say."""
    with Memory(embedder="hashing") as memory:
        memory.runs.add_lessons(texts)
        once = memory.runs.lessons()
        assert memory.runs.add_lessons(texts) == []
        assert memory.runs.lessons() == once


def test_a_run_goes_on_beside_given_lessons(make):
    """Its own lessons count with them."""
    memory = make()
    memory.add_lessons("Keep a reserve.")
    play(memory, [1, 2])
    memory.summarise_run(None)
    assert "Keep a reserve." in [each.text for each in memory.lessons()]
