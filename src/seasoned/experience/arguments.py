"""Arguments that several verbs take, checked the same everywhere."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import WHEN, Key, checked_id, clean_text, finite, instant

Floor: TypeAlias = float | Literal["policy"] | None
"""The least reward: a number, None for no floor, or that of the policy."""


def situation_text(situation: object) -> str:
    """Return a situation's text, cleaned.

    Raises:
        InvalidInput: blank.
        WrongType: not a string.
    """
    if not isinstance(situation, str):
        raise WrongType(f"a situation is a text, not {situation!r:.80}")
    if not situation.strip():
        raise InvalidInput(f"a situation must not be blank, found {situation!r:.80}")
    return clean_text(situation)


def count(n: object) -> int:
    """Return how many are asked for.

    Raises:
        InvalidInput: below 1.
        WrongType: not an integer.
    """
    if isinstance(n, bool) or not isinstance(n, int):
        raise WrongType(f"n is an integer, not {n!r}")
    if n < 1:
        raise InvalidInput(f"n is 1 or more, found {n}")
    return n


def bound(reward: object) -> float | None:
    """Return a bound on rewards; None is none."""
    return None if reward is None else finite(reward, "a bound on rewards")


def names_of(names: object, what: str) -> tuple[str, ...]:
    """Return a tuple of names."""
    if isinstance(names, str) or not isinstance(names, (list, tuple, set, frozenset)):
        raise WrongType(f"{what} are a list of strings, not {names!r:.80}")
    return tuple(checked_id(name, f"one of {what}") for name in names)


def time_of(when: WHEN) -> datetime | None:
    """Return an instant; None is none."""
    return None if when is None else instant(when)


def keys_of(sources: object) -> tuple[Key, ...]:
    """Return a tuple of keys."""
    if not isinstance(sources, (list, tuple)) or not all(isinstance(key, Key) for key in sources):
        raise WrongType(f"sources are a list of keys, not {sources!r:.80}")
    return tuple(sources)
