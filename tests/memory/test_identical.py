"""A record's own text, asked as a query, stands first and near 1, however long it is and whatever surrounds it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.stores.embedded import Indexes
from seasoned.text import Analyser

WORDS = st.lists(st.sampled_from(["tea", "rain", "dog", "sea", "茶", "night"]), min_size=1, max_size=8).map(" ".join)


@pytest.mark.parametrize("sentences", [1, 20, 70, 300])
def test_a_text_of_any_length_finds_itself_near_one(sentences):
    """Also where it is matched in many passages."""
    own = " ".join(f"In year {number} the river rose by {number * 7} feet." for number in range(sentences))
    with Memory(embedder="hashing") as memory:
        for number in range(30):
            memory.remember(f"In year {number} nothing rose and nobody wrote about feet or rivers.")
        memory.remember(own, id="own")
        best, *others = memory.recall(own)
    assert best.id == "own"
    assert best.score >= 0.99
    assert all(other.score < best.score for other in others)


@given(st.lists(WORDS, min_size=2, max_size=6, unique=True))
def test_a_text_always_finds_itself_first(texts):
    """Even among texts of the same few words."""
    with Memory(embedder="hashing") as memory:
        for number, text in enumerate(texts):
            memory.conversation.add({"role": "user", "content": text, "name": "tea"}, ids=str(number))
        for number, text in enumerate(texts):
            assert memory.recall(text, k=1)[0].id == str(number)


def test_the_size_of_the_indexes_is_never_miscounted():
    """Growing, dropping and growing again leaves exactly what is held in the sum."""
    indexes = Indexes(Analyser(), cache_bytes=100)
    with indexes.held("a") as first:
        with indexes.held("b") as second:
            second.size = 150
        first.size = 1000
    with indexes.held("c") as third:
        third.size = 10
    with indexes.held("d") as fourth:
        fourth.size = 20
    with indexes.held("c") as again:
        assert again is third
