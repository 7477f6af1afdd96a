"""The policy: its ranges, and how a call overrides it."""

from __future__ import annotations

import pytest

from seasoned.conversation import ConversationPolicy


@pytest.mark.parametrize(
    "wrong",
    [
        {"window_size": -1},
        {"keep_rate": 1.1},
        {"keep_rate": -0.1},
        {"keep_rate": float("nan")},
        {"token_limit": 0},
        {"selection": "best"},
        {"start": "assistant"},
        {"max_item_tokens": 0},
        {"step": 0},
        {"recall_k": -1},
        {"recall_share": 2},
        {"recall_session": "mine"},
        {"summary_tokens": 1},
    ],
    ids=repr,
)
def test_a_value_out_of_its_range_is_a_value_error(wrong):
    """Never clamped in silence."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ConversationPolicy(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"window_size": 2.5}, {"token_limit": "9"}, {"keep_rate": "0.9"}, {"summary": 1}, {"token_counter": 7}],
    ids=repr,
)
def test_a_value_of_another_type_is_a_type_error(wrong):
    """Nothing is coerced."""
    with pytest.raises(TypeError):
        ConversationPolicy(**wrong)


def test_a_policy_is_overridden_for_one_call():
    """The policy itself stays as it is."""
    policy = ConversationPolicy(window_size=5)
    assert policy.overridden(keep_rate=0.5) == ConversationPolicy(window_size=5, keep_rate=0.5)
    assert policy == ConversationPolicy(window_size=5)


@pytest.mark.parametrize("name", ["window", "counter", "keeprate"])
def test_a_name_that_a_policy_does_not_have_is_a_type_error(name):
    """It says which names there are."""
    with pytest.raises(TypeError, match="it has"):
        ConversationPolicy().overridden(**{name: 1})
