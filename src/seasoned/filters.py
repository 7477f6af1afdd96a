"""Filters: a small typed grammar over named record fields, and its one meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from seasoned.errors import InvalidFilter, InvalidInput, WrongType
from seasoned.records import Record, clean_text, finite, instant

MAX_FILTER_DEPTH: Final = 16
"""Deepest nesting of a filter."""

Scalar: TypeAlias = bool | int | float | str | datetime | None

TEXT_FIELDS: Final = ("kind", "id", "text")
TIME_FIELDS: Final = ("at", "until")
NUMBER_FIELDS: Final = ("worth", "version")
_DATA_FIELD: Final = re.compile(r'data(?:\.[^."\\\x00-\x1f\ud800-\udfff]+)+\Z')


class Op(StrEnum):
    """How a field is compared."""

    EQ = "eq"
    """Equal; None equals what is absent, and a list is equal to what one of its items equals."""
    NE = "ne"
    """Not equal: exactly where `EQ` does not hold, so for absent fields too."""
    LT = "lt"
    """Less, earlier, or before by code point."""
    LE = "le"
    """Less or equal."""
    GT = "gt"
    """Greater, later, or after by code point."""
    GE = "ge"
    """Greater or equal."""
    IN = "in"
    """Equal to any of the values given."""
    EXISTS = "exists"
    """Present (True) or absent (False); null is absent."""


@dataclass(frozen=True, slots=True)
class Compare:
    """One comparison of a record's field.

    Fields are `kind`, `id`, `text`, `at`, `until`, `worth`, `version` and `data.x` (`data.x.y` for nested objects).
    A missing field and null are the same: absent. `eq` None holds for absent; `ne` is exactly `not eq`, so it holds
    for absent too; an order (`lt` … `ge`) holds only between two numbers, two texts (by code point) or two times;
    true is not 1. A stored list is `eq` to a value that one of its items equals. `in` is `eq` to any of the values
    given. `exists` takes True or False. An integer of over 64 bits is compared as the nearest float.

    Raises:
        InvalidFilter: an unknown field or operator, or an operand that the operator cannot take.
    """

    field: str
    op: Op
    value: Scalar | tuple[Scalar, ...]

    def __post_init__(self) -> None:
        _check_field(self.field)
        put = object.__setattr__
        try:
            put(self, "op", Op(self.op))
        except ValueError:
            raise InvalidFilter(f"unknown operator {self.op!r}; there are {', '.join(Op)}, and, or, not") from None
        put(self, "value", _operand(self.field, self.op, self.value))


@dataclass(frozen=True, slots=True)
class And:
    """All of them hold; of none, true."""

    of: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_parts(self.of)


@dataclass(frozen=True, slots=True)
class Or:
    """At least one holds; of none, false."""

    of: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_parts(self.of)


@dataclass(frozen=True, slots=True)
class Not:
    """It does not hold."""

    of: Filter

    def __post_init__(self) -> None:
        _check_parts((self.of,))


Filter: TypeAlias = Compare | And | Or | Not
"""A filter, checked: what `parse_filter` returns."""
Where: TypeAlias = Filter | Mapping[str, object] | None
"""A filter as callers write it: `{"kind": "note", "data.x": {"gt": 3}, "or": [{…}, {…}]}`, or made of the classes."""


def _check_parts(parts: object) -> None:
    if not isinstance(parts, tuple):
        raise InvalidFilter(f"filters are joined as a tuple of them, not {parts!r:.80}")
    for part in parts:
        if not isinstance(part, (Compare, And, Or, Not)):
            raise InvalidFilter(f"a filter is made of Compare, And, Or and Not, not of {part!r:.80}")
        if _depth(part) >= MAX_FILTER_DEPTH:
            raise InvalidFilter(f"a filter is nested deeper than {MAX_FILTER_DEPTH}")


def _depth(part: Filter) -> int:
    if isinstance(part, Compare):
        return 0
    inner = part.of if isinstance(part.of, tuple) else (part.of,)
    return 1 + max((_depth(each) for each in inner), default=0)


def _check_field(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidFilter(f"a field is a string, not {name!r}")
    if name in TEXT_FIELDS or name in TIME_FIELDS or name in NUMBER_FIELDS or _DATA_FIELD.match(name):
        return
    known = ", ".join((*TEXT_FIELDS, *TIME_FIELDS, *NUMBER_FIELDS))
    raise InvalidFilter(f"unknown field {name!r}; there are {known} and data.x")


def _operand(name: str, op: Op, value: object) -> Scalar | tuple[Scalar, ...]:
    if op is Op.EXISTS:
        if not isinstance(value, bool):
            raise InvalidFilter(f"exists takes True or False, not {value!r}")
        return value
    if op is Op.IN:
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise InvalidFilter(f"in takes a list of values, not {value!r}")
        return tuple(_scalar(name, item) for item in value)
    scalar = _scalar(name, value)
    if op not in (Op.EQ, Op.NE) and (scalar is None or isinstance(scalar, bool)):
        raise InvalidFilter(f"{op} orders numbers, texts or times, not {value!r}")
    return scalar


def _scalar(name: str, value: object) -> Scalar:
    if value is None:
        return None
    if name in TIME_FIELDS:
        return _time(name, value)
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, (int, float)):
        return _number(name, value)
    raise InvalidFilter(f"{name} is compared with a text, number, boolean or None, not {value!r}")


def _time(name: str, value: object) -> datetime:
    try:
        return instant(value)
    except (InvalidInput, WrongType) as error:
        raise InvalidFilter(f"{name} is compared with a time: {error}") from error


def _number(name: str, value: float) -> float:
    try:
        return finite(value, name)
    except InvalidInput as error:
        raise InvalidFilter(str(error)) from error


def parse_filter(where: Where, depth: int = 0) -> Filter | None:
    """Return the filter that `where` writes, or None for no filter.

    Keys are fields, or `and` / `or` (a list) / `not`; a plain value means `eq`, a list means `in`, a mapping holds
    operators. Several keys and several operators must all hold.

    Raises:
        InvalidFilter: anything that is not in the grammar; a condition is never dropped.
    """
    if where is None:
        return None
    if isinstance(where, (Compare, And, Or, Not)):
        return where
    if not isinstance(where, Mapping):
        raise InvalidFilter(f"a filter is a mapping of fields to conditions, not {where!r}")
    if depth > MAX_FILTER_DEPTH:
        raise InvalidFilter(f"a filter is nested deeper than {MAX_FILTER_DEPTH}")
    parts = tuple(part for name, condition in where.items() for part in _conditions(name, condition, depth))
    return parts[0] if len(parts) == 1 else And(parts)


def _conditions(name: object, condition: object, depth: int) -> tuple[Filter, ...]:
    if name in ("and", "or"):
        if not isinstance(condition, (list, tuple)):
            raise InvalidFilter(f"{name} takes a list of filters, not {condition!r}")
        parts = tuple(_required(item, depth) for item in condition)
        return (And(parts) if name == "and" else Or(parts),)
    if name == "not":
        return (Not(_required(condition, depth)),)
    _check_field(name)
    if isinstance(condition, Mapping):
        return _operators(str(name), condition)
    op = Op.IN if isinstance(condition, (list, tuple, set, frozenset)) else Op.EQ
    return (Compare(str(name), op, condition),)  # type: ignore[arg-type]  # checked when made


def _operators(name: str, condition: Mapping[object, object]) -> tuple[Filter, ...]:
    if not condition:
        raise InvalidFilter(f"no operator for {name!r}; write {{'eq': …}} or one of {', '.join(Op)}")
    return tuple(Compare(name, op, value) for op, value in condition.items())  # type: ignore[arg-type]  # checked when made


def _required(where: object, depth: int) -> Filter:
    found = parse_filter(where, depth + 1)  # type: ignore[arg-type]  # checked inside
    if found is None:
        raise InvalidFilter("a filter inside and, or, not must not be None")
    return found


def both(*filters: Filter | None) -> Filter | None:
    """Return the filter that holds where all of those given hold."""
    given = tuple(part for part in filters if part is not None)
    return None if not given else given[0] if len(given) == 1 else And(given)


def matches(where: Filter | None, record: Record) -> bool:
    """Tell whether `record` passes the filter: the meaning that every engine's own translation must have."""
    match where:
        case None:
            return True
        case And(of=parts):
            return all(matches(part, record) for part in parts)
        case Or(of=parts):
            return any(matches(part, record) for part in parts)
        case Not(of=part):
            return not matches(part, record)
        case Compare(field=name, op=op, value=value):
            return _holds(_value(name, record), op, value)


def _value(name: str, record: Record) -> object:
    if name == "kind":
        return record.key.kind
    if name == "id":
        return record.key.id
    if not name.startswith("data."):
        return getattr(record, name)
    found: object = record.data
    for part in name.split(".")[1:]:
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def _holds(found: object, op: Op, value: object) -> bool:
    if op is Op.EXISTS:
        return (found is not None) is value
    if op is Op.EQ:
        return _same(found, value)
    if op is Op.NE:
        return not _same(found, value)
    if op is Op.IN and isinstance(found, str):
        return found in value  # type: ignore[operator]  # a tuple, checked when made; a text equals only a text
    if op is Op.IN:
        return any(_same(found, item) for item in value)  # type: ignore[attr-defined]  # a tuple, checked when made
    return _comparable(found, value) and _ORDERS[op](found, value)


_ORDERS: Final[Mapping[Op, Callable[[object, object], bool]]] = {
    Op.LT: lambda a, b: a < b,  # type: ignore[operator]
    Op.LE: lambda a, b: a <= b,  # type: ignore[operator]
    Op.GT: lambda a, b: a > b,  # type: ignore[operator]
    Op.GE: lambda a, b: a >= b,  # type: ignore[operator]
}


def _same(found: object, value: object) -> bool:
    if found is None or value is None:
        return found is value
    if isinstance(found, list):
        return any(_comparable(item, value, booleans=True) and item == value for item in found)
    return _comparable(found, value, booleans=True) and found == value


def _comparable(found: object, value: object, *, booleans: bool = False) -> bool:
    if isinstance(found, bool) or isinstance(value, bool):
        return booleans and isinstance(found, bool) and isinstance(value, bool)
    kinds = (str, (int, float), datetime)
    return any(isinstance(found, kind) and isinstance(value, kind) for kind in kinds)
