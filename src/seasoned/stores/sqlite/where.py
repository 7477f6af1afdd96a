"""Filters as SQL over the `record` table, with the meaning of `seasoned.filters.matches`; every value is bound."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from seasoned.filters import And, Compare, Filter, Not, Op, Or, Scalar
from seasoned.records import to_micros

_SYMBOL: Final = {Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">="}

Bound = list[object]


def to_sql(where: Filter) -> tuple[str, Bound]:
    """Return an expression that is 1 or 0, never null, and the values to bind."""
    match where:
        case And(of=parts):
            return _joined(parts, " AND ", "1")
        case Or(of=parts):
            return _joined(parts, " OR ", "0")
        case Not(of=part):
            sql, bound = to_sql(part)
            return f"(NOT {sql})", bound
        case Compare():
            sql, bound = _compare(where)
            return (sql if where.field == "id" and where.op in (Op.EQ, Op.IN) else f"coalesce({sql}, 0)"), bound


def _joined(parts: Sequence[Filter], word: str, empty: str) -> tuple[str, Bound]:
    made = [to_sql(part) for part in parts]
    return _balanced([sql for sql, _ in made], word) or empty, [value for _, bound in made for value in bound]


def _balanced(parts: Sequence[str], word: str) -> str:
    """Join expressions as a tree of little depth, since SQLite bounds it."""
    if len(parts) <= 2:
        return f"({word.join(parts)})" if parts else ""
    half = len(parts) // 2
    return f"({_balanced(parts[:half], word)}{word}{_balanced(parts[half:], word)})"


def _compare(where: Compare) -> tuple[str, Bound]:
    if where.op is Op.NE:
        sql, bound = _compare(Compare(where.field, Op.EQ, where.value))
        return f"(NOT coalesce({sql}, 0))", bound
    if isinstance(where.value, tuple):
        return _in(where.field, where.value)
    if where.field.startswith("data."):
        return _data(json_path(where.field), where.op, where.value)
    return _column(where.field, where.op, where.value)


def json_path(name: str) -> str:
    """Return the JSON path of a `data.x.y` field."""
    return "$" + "".join(f'."{part}"' for part in name.split(".")[1:])


def _column(name: str, op: Op, value: Scalar) -> tuple[str, Bound]:
    column = f"record.{name}"
    if op is Op.EXISTS:
        return f"({column} IS NOT NULL) = ?", [int(bool(value))]
    if op is Op.EQ and value is None:
        return f"{column} IS NULL", []
    return (f"{column} {_SYMBOL.get(op, '=')} ?", [_bound(value)]) if _fits(name, value) else ("0", [])


def _bound(value: Scalar) -> object:
    return to_micros(value) if isinstance(value, datetime) else value


def _fits(name: str, value: Scalar) -> bool:
    if name in ("at", "until"):
        return isinstance(value, datetime)
    if name in ("worth", "version"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str)


def _in(name: str, values: Sequence[Scalar]) -> tuple[str, Bound]:
    """Return `eq` to any of many values, each type of them as one bound list."""
    if name.startswith("data."):
        return _data_in(json_path(name), values)
    fitting = [_bound(value) for value in values if value is not None and _fits(name, value)]
    sql = f"record.{name} IN (SELECT value FROM json_each(?))"
    if name == "id":
        return sql, [json.dumps(fitting)]
    nulls = f" OR record.{name} IS NULL" if None in values else ""
    return f"(coalesce({sql}, 0){nulls})", [json.dumps(fitting)]


def _data_in(path: str, values: Sequence[Scalar]) -> tuple[str, Bound]:
    texts = [value for value in values if isinstance(value, str)]
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    made = [_typed("text", path, texts), _typed("number", path, numbers)]
    made += [_data(path, Op.EQ, value) for value in (True, False, None) if any(each is value for each in values)]
    return _balanced([f"coalesce({sql}, 0)" for sql, _ in made], " OR "), [v for _, bound in made for v in bound]


def _typed(kind: str, path: str, values: Sequence[object]) -> tuple[str, Bound]:
    types = _TYPES[kind]
    one = f"json_type(data, ?) IN {types} AND json_extract(data, ?) IN (SELECT value FROM json_each(?))"
    each = f"item.type IN {types} AND item.value IN (SELECT value FROM json_each(?))"
    listed = f"json_type(data, ?) = 'array' AND EXISTS (SELECT 1 FROM json_each(data, ?) AS item WHERE {each})"
    bound = json.dumps(values)
    return f"(({one}) OR ({listed}))", [path, path, bound, path, path, bound]


_TYPES: Final = {"text": "('text')", "number": "('integer', 'real')"}


def _data(path: str, op: Op, value: Scalar) -> tuple[str, Bound]:
    kind = "json_type(data, ?)"
    if op is Op.EXISTS:
        return f"(coalesce({kind}, 'null') <> 'null') = ?", [path, int(bool(value))]
    if value is None:
        return f"coalesce({kind}, 'null') = 'null'", [path]
    if isinstance(value, bool):
        word = "true" if value else "false"
        listed = "EXISTS (SELECT 1 FROM json_each(data, ?) AS item WHERE item.type = ?)"
        return f"({kind} = ? OR ({kind} = 'array' AND {listed}))", [path, word, path, path, word]
    types = _TYPES["text" if isinstance(value, str) else "number"]
    sign = _SYMBOL.get(op, "=")
    one = f"{kind} IN {types} AND json_extract(data, ?) {sign} ?"
    if op is not Op.EQ:
        return f"({one})", [path, path, value]
    return f"(({one}) OR {_LISTED.format(types=types)})", [path, path, value, path, path, value]


_LISTED: Final = (
    "(json_type(data, ?) = 'array' AND EXISTS"
    " (SELECT 1 FROM json_each(data, ?) AS item WHERE item.type IN {types} AND item.value = ?))"
)
