"""Maximal marginal relevance."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seasoned.diversity import mmr


def test_a_copy_comes_after_what_is_new():
    """Two equal ones and a weaker other: the other is second."""
    alike = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], float)
    assert mmr([1.0, 0.9, 0.3], alike, 3) == [0, 2, 1]
    assert mmr([1.0, 0.9, 0.3], alike, 3, diversity=0.0) == [0, 1, 2]


def test_nothing_in_nothing_out():
    """No scores, no k."""
    assert mmr([], np.zeros((0, 0)), 3) == []
    assert mmr([1.0], np.ones((1, 1)), 0) == []
    assert mmr([0.0, 0.0], np.zeros((2, 2)), 2) == [0, 1]


@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 15), st.floats(0, 1))
def test_each_place_is_taken_at_most_once_and_the_best_always_first(scores, k, diversity):
    """min(k, n) different places; the first has the best score unless only diversity counts."""
    taken = mmr(scores, np.eye(len(scores)), k, diversity)
    assert len(set(taken)) == len(taken) == min(k, len(scores))
    if taken and diversity < 1 and max(scores) > 0:
        assert scores[taken[0]] == max(scores)
