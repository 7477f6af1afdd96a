"""What a state is: metrics that are numbers with a good and a bad end, and other values of a world."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from seasoned.errors import WrongType
from seasoned.experience.policy import MetricRules
from seasoned.records import clean_text, finite

State: TypeAlias = dict[str, "bool | int | float | str | None"]
"""A state by the names of its values."""

_WORD: Final = re.compile(r"[^\W_]+")


def checked_metrics(metrics: object, what: str = "metrics") -> State:
    """Return metrics as a plain dictionary of finite numbers; None is none.

    Raises:
        InvalidInput: a number that is not finite.
        WrongType: not a mapping from strings to numbers.
    """
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise WrongType(f"{what} are a mapping of names to numbers, not {metrics!r:.80}")
    return {_name(name, what): _number(value, name) for name, value in metrics.items()}


def _number(value: object, name: object) -> float:
    found = finite(value, f"the metric {name!r}")
    return int(found) if isinstance(value, int) and found.is_integer() and abs(found) < 2**53 else found


def checked_world(world: object) -> State:
    """Return the values of a world as a plain dictionary; None is none.

    Raises:
        InvalidInput: a number that is not finite.
        WrongType: not a mapping from strings to booleans, numbers, texts or None.
    """
    if world is None:
        return {}
    if not isinstance(world, Mapping):
        raise WrongType(f"a world is a mapping of names to values, not {world!r:.80}")
    return {_name(name, "a world"): _value(value, name) for name, value in world.items()}


def _value(value: object, name: object) -> bool | int | float | str | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, (int, float)):
        return _number(value, name)
    raise WrongType(f"the world value {name!r} is a boolean, number, text or None, not {value!r:.80}")


def _name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise WrongType(f"the names in {what} are strings, not {name!r}")
    return clean_text(name)


def is_number(value: object) -> bool:
    """Tell whether a value of a state is a number (a boolean is none)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def less_is_better(name: str, rules: MetricRules) -> bool:
    """Tell whether a metric's low end is its good one."""
    return _named(name.casefold(), tuple(each.casefold() for each in rules.inverted))


@lru_cache(maxsize=4096)
def _named(name: str, inverted: tuple[str, ...]) -> bool:
    return name in inverted or not set(_WORD.findall(name)).isdisjoint(inverted)


def span(name: str, low: float, high: float, rules: MetricRules) -> tuple[float, float]:
    """Return the range of a metric whose values seen lie between `low` and `high`.

    It is the one that was named; else 0 to 1 if all values lie there, else 0 to 100 if all lie there, else what was
    seen.
    """
    if name in rules.ranges:
        return rules.ranges[name]
    for end in (1.0, 100.0):
        if low >= 0 and high <= end:
            return 0.0, end
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def stress(name: str, value: object, rules: MetricRules) -> float:
    """Return how far a value is from its good end, 0 to 1.

    Of a metric without a named range, 0 to 100 is assumed. False is 1 and True 0; of a text or None nobody knows: 0.5.
    """
    if isinstance(value, bool):
        return 0.0 if value else 1.0
    if not isinstance(value, (int, float)):
        return 0.5
    low, high = rules.ranges.get(name, (0.0, 100.0))
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return share if less_is_better(name, rules) else 1.0 - share


def most_stressed(state: Mapping[str, object], rules: MetricRules | None = None, n: int = 3) -> list[str]:
    """Return the names of the `n` values that are furthest from their good end, the furthest first."""
    known = rules or MetricRules()
    return sorted(state, key=lambda name: (-stress(name, state[name], known), name))[:n]
