"""Filters of `BaseStore.search`: what they mean, and what of them a store can narrow by.

A filter holds where every field does. A plain value asks for an equal one (true is not 1, a list is compared whole), an
object for one whose named fields hold in turn, an object of operators for `$eq $ne $gt $gte $lt $lte`; the last four
hold between two numbers or two texts only. A field that is missing is null. A key is taken literally; one that the
value does not have and that holds periods is a path.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, TypeGuard

from seasoned.errors import InvalidFilter
from seasoned.query import And, Compare, Filter, Op
from seasoned.records import JSON, clean_text

ItemFilter: TypeAlias = dict[str, JSON]
"""A filter, checked and copied; numbers may be infinite or NaN, which a store is never asked for."""

_ORDERS: Final[Mapping[str, Op]] = {"$gt": Op.GT, "$gte": Op.GE, "$lt": Op.LT, "$lte": Op.LE}
_OPERATORS: Final = ("$eq", "$ne", *_ORDERS)
_NAMED_IN_STORES: Final = re.compile(r'[^."\\\x00-\x1f\ud800-\udfff]+\Z')
_MAX_DEPTH: Final = 32


def parsed(given: object) -> ItemFilter:
    """Return a copy of a filter; {} for None.

    Raises:
        InvalidFilter: it is no mapping of texts, or has an unknown operator or a value that no item can have.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidFilter(f"a filter is a mapping of keys to values, not {given!r:.80}")
    return {_key(key): _checked(value, 0) for key, value in given.items()}


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidFilter(f"a filter's key is a string, not {key!r:.80}")
    return clean_text(key)


def _checked(wanted: object, depth: int) -> JSON:
    if depth > _MAX_DEPTH:
        raise InvalidFilter(f"a filter is nested deeper than {_MAX_DEPTH}")
    if isinstance(wanted, str):
        return clean_text(wanted)
    if wanted is None or isinstance(wanted, (bool, int, float)):
        return wanted
    if isinstance(wanted, (list, tuple)):
        return [_checked(each, depth + 1) for each in wanted]
    if isinstance(wanted, Mapping):
        made = {_key(key): _checked(each, depth + 1) for key, each in wanted.items()}
        if _has_operators(made):
            _check_operators(made)
        return made
    raise InvalidFilter(f"a filter compares with plain JSON, not {type(wanted).__name__}: {wanted!r:.80}")


def _has_operators(wanted: Mapping[str, JSON]) -> bool:
    return any(name.startswith("$") for name in wanted)


def _check_operators(wanted: Mapping[str, JSON]) -> None:
    for name, operand in wanted.items():
        if name not in _OPERATORS:
            raise InvalidFilter(f"unsupported operator {name!r}; there are {', '.join(_OPERATORS)}")
        if name in _ORDERS and not _can_be_ordered(operand):
            raise InvalidFilter(f"{name} orders numbers or texts, not {operand!r:.80}")


def _can_be_ordered(value: JSON) -> bool:
    return isinstance(value, str) or _is_number(value)


def passes(value: Mapping[str, JSON], wanted: ItemFilter) -> bool:
    """Tell whether an item's value passes a filter that `parsed` returned."""
    return all(_holds(_field(value, key), each) for key, each in wanted.items())


def _field(value: Mapping[str, JSON], key: str) -> JSON:
    if key in value or "." not in key:
        return value.get(key)
    found: JSON = dict(value)
    for part in key.split("."):
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    return found


def _holds(found: JSON, wanted: JSON) -> bool:
    if isinstance(wanted, dict):
        if _has_operators(wanted):
            return all(_compares(found, name, operand) for name, operand in wanted.items())
        return isinstance(found, dict) and all(_holds(found.get(key), each) for key, each in wanted.items())
    if isinstance(wanted, list):
        alike = isinstance(found, list) and len(found) == len(wanted)
        return alike and all(_holds(one, each) for one, each in zip(found, wanted, strict=True))  # type: ignore[arg-type]  # a list, as `alike` says
    return _equal(found, wanted)


def _compares(found: JSON, name: str, operand: JSON) -> bool:
    if name == "$eq":
        return _equal(found, operand)
    if name == "$ne":
        return not _equal(found, operand)
    if isinstance(found, str) and isinstance(operand, str):
        return _in_order(name, (found > operand) - (found < operand))
    if _is_number(found) and _is_number(operand) and operand == operand:  # NaN is in no order
        return _in_order(name, (found > operand) - (found < operand))
    return False


def _is_number(value: JSON) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _in_order(name: str, sign: int) -> bool:
    return {"$gt": sign > 0, "$gte": sign >= 0, "$lt": sign < 0, "$lte": sign <= 0}[name]


def _equal(found: JSON, wanted: JSON) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_equal, found, wanted))
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_equal(found[key], wanted[key]) for key in found)
    return found == wanted


def narrowing(wanted: ItemFilter) -> Filter | None:
    """Return a filter of the store that everything which `passes` also passes; None where it cannot tell anything."""
    parts = tuple(part for key, each in wanted.items() for part in _narrowed("data.value", key, each))
    return None if not parts else parts[0] if len(parts) == 1 else And(parts)


def _narrowed(above: str, key: str, wanted: JSON) -> Iterator[Filter]:
    if not _NAMED_IN_STORES.match(key):
        return
    name = f"{above}.{key}"
    if not isinstance(wanted, dict):
        yield from _compared(name, Op.EQ, wanted)
    elif _has_operators(wanted):
        for sign, operand in wanted.items():
            if sign != "$ne":  # a list is equal to each of its items there, so `ne` would leave out too much
                yield from _compared(name, _ORDERS.get(sign, Op.EQ), operand)
    else:
        for inner, each in wanted.items():
            yield from _narrowed(name, inner, each)


def _compared(name: str, sign: Op, operand: JSON) -> Iterator[Filter]:
    if isinstance(operand, (list, dict)):
        return
    if isinstance(operand, float) and not math.isfinite(operand):
        return
    if isinstance(operand, int) and abs(operand) >= 2**63:
        return
    yield Compare(name, sign, operand)
