"""Figures of turns in words: rewards with their unit, and texts cut to what a prompt has room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from seasoned.runs.models import TurnRecord
from seasoned.runs.prose import MARK
from seasoned.tokens import estimate

_CHARS_PER_TOKEN: Final = 3


def number(value: float) -> str:
    """Return a number with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def unit_of(turns: Sequence[TurnRecord]) -> str:
    """Return the unit of the last turn's reward, with a space before it; "" where there is none."""
    unit = turns[-1].reward_unit.strip() if turns else ""
    return f" {unit}" if unit else ""


def reward_line(turns: Sequence[TurnRecord]) -> str:
    """Return the mean, the ends and the extremes of the rewards as a sentence."""
    if not turns:
        return ""
    rewards, unit = [each.reward for each in turns], unit_of(turns)
    return (
        f"Reward a turn{f' in{unit}' if unit else ''}: {number(sum(rewards) / len(rewards))} on average, "
        f"from {number(rewards[0])} to {number(rewards[-1])}, lowest {number(min(rewards))}, "
        f"highest {number(max(rewards))}."
    )


def share(text: str, most_tokens: int) -> str:
    """Return a text, its end cut off where it is longer than it may be."""
    if len(text) <= most_tokens * _CHARS_PER_TOKEN and estimate(text) <= most_tokens:
        return text
    kept = text[: most_tokens * _CHARS_PER_TOKEN]
    while kept and estimate(kept) > most_tokens:
        kept = kept[: len(kept) * 3 // 4]
    return kept + MARK
