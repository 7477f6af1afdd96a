"""Filters as SQL over `record r`, with the meaning of `seasoned.filters.matches`; every value is bound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from seasoned.filters import NUMBER_FIELDS, TIME_FIELDS, And, Compare, Filter, Not, Op, Or, Scalar
from seasoned.records import to_micros

_SYMBOL: Final = {Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">="}
_SAYS: Final = "x #>> '{}'"
_NUMBER: Final = "'number'"


class Bound:
    """The values of a statement by the names under which it reads them."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def __call__(self, value: object, kind: str) -> str:
        """Bind a value, and return how the statement reads it."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"%({name})s::{kind}"


def to_sql(where: Filter, bound: Bound) -> str:
    """Return an expression that is true or false, never null."""
    match where:
        case And(of=parts):
            return f"({' AND '.join(to_sql(part, bound) for part in parts)})" if parts else "true"
        case Or(of=parts):
            return f"({' OR '.join(to_sql(part, bound) for part in parts)})" if parts else "false"
        case Not(of=part):
            return f"(NOT {to_sql(part, bound)})"
        case Compare():
            return _compare(where, bound)


def _compare(where: Compare, bound: Bound) -> str:
    if where.op is Op.NE:
        return f"(NOT {_compare(Compare(where.field, Op.EQ, where.value), bound)})"
    if where.field.startswith("data."):
        return _data(where, bound)
    if isinstance(where.value, tuple):
        return _column_in(where.field, where.value, bound)
    return _column(where.field, where.op, where.value, bound)


def _column(name: str, op: Op, value: Scalar, bound: Bound) -> str:
    if op is Op.EXISTS:
        return f"((r.{name} IS NOT NULL) = {bound(value, 'boolean')})"
    if op is Op.EQ and value is None:
        return f"(r.{name} IS NULL)"
    if not _fits(name, value):
        return "false"
    if name == "worth":
        return _against_float("r.worth", op, value, bound)
    sign, other = _SYMBOL.get(op, "="), _exact(value)
    kind = "bigint" if name in TIME_FIELDS else "numeric" if name == "version" else "text"
    return f"coalesce(r.{name} {sign} {bound(other, kind)}, false)"


def _fits(name: str, value: Scalar) -> bool:
    if name in TIME_FIELDS:
        return isinstance(value, datetime)
    if name in NUMBER_FIELDS:
        return _is_number(value)
    return isinstance(value, str)


def _is_number(value: Scalar) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _exact(value: Scalar) -> object:
    if isinstance(value, datetime):
        return to_micros(value)
    return Decimal(value) if isinstance(value, float) else value


def _column_in(name: str, values: Sequence[Scalar], bound: Bound) -> str:
    if name in ("kind", "id", "text"):
        texts = [value for value in values if isinstance(value, str)]
        return f"(r.{name} = ANY({bound(texts, 'text[]')}))"
    made = [_column(name, Op.EQ, value, bound) for value in dict.fromkeys(values) if not isinstance(value, bool)]
    return f"({' OR '.join(made)})" if made else "false"


def _against_float(found: str, op: Op, value: Scalar, bound: Bound) -> str:
    """Compare a stored float with a number exactly, though an integer may lie between two floats."""
    assert isinstance(value, (int, float))  # noqa: S101  # the caller asked
    near = float(value)
    if near != value and op is Op.EQ:
        return "false"
    sign = _SYMBOL.get(op, "=")
    if near > value:
        sign = {"<=": "<", ">": ">="}.get(sign, sign)
    elif near < value:
        sign = {"<": "<=", ">=": ">"}.get(sign, sign)
    return f"({found} {sign} {bound(near, 'float8')})"


def _data(where: Compare, bound: Bound) -> str:
    """Return a condition on a value `x` inside data, which is taken out once."""
    path = " -> ".join(["r.data", *(bound(part, "text") for part in where.field.split(".")[1:])])
    return f"EXISTS (SELECT FROM (SELECT {path} AS x OFFSET 0) d WHERE {_inside(where, bound)})"


def _inside(where: Compare, bound: Bound) -> str:
    op, value = where.op, where.value
    if op is Op.EXISTS:
        return f"(coalesce(json_typeof(x), 'null') <> 'null') = {bound(value, 'boolean')}"
    if isinstance(value, tuple) or op is Op.EQ:
        return _equal(value if isinstance(value, tuple) else (value,), bound)
    return _ordered(op, value, bound)


def _ordered(op: Op, value: Scalar, bound: Bound) -> str:
    if isinstance(value, str):
        return f"json_typeof(x) = 'string' AND ({_SAYS}) COLLATE \"C\" {_SYMBOL[op]} {bound(value, 'text')}"
    if not _is_number(value):
        return "false"
    return f"CASE json_typeof(x) WHEN {_NUMBER} THEN {_number(op, value, bound)} ELSE false END"


def _number(op: Op, value: Scalar, bound: Bound) -> str:
    """Compare the number `x`: a float if it was written as one, else a whole number, each exactly."""
    whole = f"({_SAYS})::numeric {_SYMBOL.get(op, '=')} {bound(_exact(value), 'numeric')}"
    broken = _against_float(f"({_SAYS})::float8", op, value, bound)
    return f"CASE WHEN {_SAYS} ~ '[.eE]' THEN {broken} ELSE {whole} END"


def _equal(values: Sequence[Scalar], bound: Bound) -> str:
    """Return whether `x` is one of some values, or a list that holds one; absent is None."""
    made = [_SAME[kind](chosen, bound) for kind, chosen in _by_type(values).items() if chosen]
    same = f"CASE json_typeof(x) {' '.join(made)} ELSE false END" if made else "false"
    listed = f"EXISTS (SELECT FROM json_array_elements(x) AS item(x) WHERE {same})"
    absent = "true" if any(value is None for value in values) else "false"
    return f"CASE coalesce(json_typeof(x), 'null') WHEN 'null' THEN {absent} WHEN 'array' THEN {listed} ELSE {same} END"


def _by_type(values: Sequence[Scalar]) -> dict[str, list[Scalar]]:
    return {
        "string": [value for value in values if isinstance(value, str)],
        "boolean": [value for value in values if isinstance(value, bool)],
        "number": [value for value in values if _is_number(value)],
    }


def _texts(values: list[Scalar], bound: Bound) -> str:
    return f"WHEN 'string' THEN ({_SAYS}) = ANY({bound(values, 'text[]')})"


def _booleans(values: list[Scalar], bound: Bound) -> str:
    words = [str(value).lower() for value in values]
    return f"WHEN 'boolean' THEN ({_SAYS}) = ANY({bound(words, 'text[]')})"


def _numbers(values: list[Scalar], bound: Bound) -> str:
    floats = [float(value) for value in values if _is_number(value) and float(value) == value]  # type: ignore[arg-type]
    exact = [Decimal(value) for value in values if _is_number(value)]  # type: ignore[arg-type]
    broken = f"({_SAYS})::float8 = ANY({bound(floats, 'float8[]')})"
    whole = f"({_SAYS})::numeric = ANY({bound(exact, 'numeric[]')})"
    return f"WHEN {_NUMBER} THEN CASE WHEN {_SAYS} ~ '[.eE]' THEN {broken} ELSE {whole} END"


_SAME: Final = {"string": _texts, "boolean": _booleans, "number": _numbers}
