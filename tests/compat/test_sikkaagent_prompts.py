"""A system prompt that is not stored stands before a context and counts in its limit, whatever counts it."""

from __future__ import annotations

import pytest

from seasoned.compat.sikkaagent.memories import Memory
from seasoned.errors import BudgetTooSmall

from .test_sikkaagent_memory import filled, words


def pairs(messages) -> int:
    """Count a list more than its parts: its words times the square of its length."""
    return words(messages) * len(messages) ** 2


def test_a_prompt_before_a_list_that_counts_more_than_its_parts_still_fits():
    """Two of three messages: six words, times three squared, are 54 of 60; all would be 128."""
    memory = filled("u: a b", "u: c d", "u: e f", token_counter=pairs, token_limit=60)
    context = memory.context(system_prompt="be kind")
    assert [message["content"] for message in context.messages] == ["be kind", "c d", "e f"]
    assert context.tokens == 54
    assert context.cache_points == (1, 3)


@pytest.mark.parametrize(("limit", "fits"), [(15, False), (16, True)])
def test_a_prompt_that_cannot_stand_with_the_newest_message_is_said_so(limit, fits):
    """Two words each, squared by two: 16."""
    memory = filled("u: a b", token_counter=pairs, token_limit=limit)
    if fits:
        assert memory.context(system_prompt="be kind").tokens == 16
        return
    with pytest.raises(BudgetTooSmall) as raised:
        memory.context(system_prompt="be kind")
    assert raised.value.budget == 15


@pytest.mark.parametrize(("limit", "fits"), [(1, False), (2, True)])
def test_a_prompt_alone_may_fill_the_limit(limit, fits):
    """While nothing was said."""
    memory = Memory(token_counter=words, token_limit=limit)
    if fits:
        assert memory.context(system_prompt="be kind").tokens == 2
        return
    with pytest.raises(BudgetTooSmall, match=r"2 tokens.* 1"):
        memory.context(system_prompt="be kind")


@pytest.mark.parametrize("counter", [None, words])
def test_a_prompt_is_counted_with_the_whole_list(counter):
    """By the estimate and by a counter of the caller's; the settings' limit holds, and what fits is kept."""
    memory = filled("s: rules", "u: a b", "u: c d", "u: e f", token_counter=counter)
    whole = memory.context(system_prompt="be kind")
    assert [message["content"] for message in whole.messages] == ["be kind", "rules", "a b", "c d", "e f"]
    assert whole.cache_points == (2, 5)
    memory.token_limit = whole.tokens
    assert memory.context(system_prompt="be kind").messages == whole.messages
    memory.token_limit = whole.tokens - 1
    assert len(memory.context(system_prompt="be kind").messages) == 4


@pytest.mark.parametrize(("said", "limit"), [("s: " + "rule " * 30, 40), ("u: hi", 3)])
def test_a_prompt_that_leaves_no_room_is_said_with_both_numbers(said, limit):
    """By the estimate, whether the prompt alone or what stands beside it needs too much."""
    memory = filled(said, token_limit=limit)
    with pytest.raises(BudgetTooSmall) as raised:
        memory.context(system_prompt="be very kind")
    assert raised.value.budget == limit
    assert raised.value.needed > limit


@pytest.mark.parametrize("prompt", [None, "", " \n"])
def test_a_blank_prompt_is_none(prompt):
    """Nothing stands first."""
    assert filled("u: hi").context(system_prompt=prompt).messages == [{"role": "user", "content": "hi"}]
