"""The columns in which rows of one scope travel to the server, one array a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from seasoned.stores.postgres.connections import Params
from seasoned.stores.postgres.rows import literal


@dataclass(frozen=True, slots=True)
class Form:
    """Columns with their types. Statements made of it also bind `scope`, which every row lies in."""

    columns: Sequence[tuple[str, str]]

    @property
    def names(self) -> str:
        """The columns, as a statement lists them."""
        return ", ".join(name for name, _ in self.columns)

    @property
    def arrays(self) -> str:
        """The rows, as the FROM of a statement that binds `bound`."""
        made = ", ".join(f"%({name})s::{_sent(type_)}[]" for name, type_ in self.columns)
        return f"unnest({made}) AS u({self.names})"

    @property
    def same(self) -> str:
        """The condition that a row `t` of a table is one of these."""
        return " AND ".join(["t.scope = %(scope)s", *(f"t.{name} = u.{name}" for name, _ in self.columns)])

    def bound(self, scope: UUID, rows: Sequence[Sequence[object]]) -> dict[str, object]:
        """Return the rows as one array a column."""
        columns: Iterable[Iterable[object]] = zip(*rows, strict=True) if rows else (() for _ in self.columns)
        arrays = zip(self.columns, columns, strict=True)
        return {"scope": scope, **{name: literal(column) for (name, _), column in arrays}}

    def insert(self, table: str, scope: UUID, rows: Sequence[Sequence[object]]) -> list[tuple[str, Params]]:
        """Return what inserts rows into a table, if there are any."""
        values = ", ".join(_read(name, type_) for name, type_ in self.columns)
        sql = f"INSERT INTO {table} (scope, {self.names}) SELECT %(scope)s, {values} FROM {self.arrays}"
        return [(sql, self.bound(scope, rows))] if rows else []

    def update(self, table: str, scope: UUID, rows: Sequence[Sequence[object]]) -> list[tuple[str, Params]]:
        """Return what updates rows of a table, found by `row`, if there are any."""
        new = ", ".join(f"{name} = {_read(name, type_)}" for name, type_ in self.columns if name != "row")
        sql = f"UPDATE {table} t SET {new} FROM {self.arrays} WHERE t.scope = %(scope)s AND t.row = u.row"
        return [(sql, self.bound(scope, rows))] if rows else []

    def delete(self, table: str, scope: UUID, rows: Sequence[Sequence[object]]) -> list[tuple[str, Params]]:
        """Return what deletes rows of a table by all the columns, if there are any."""
        sql = f"DELETE FROM {table} t USING {self.arrays} WHERE {self.same}"
        return [(sql, self.bound(scope, rows))] if rows else []


def _sent(type_: str) -> str:
    """Return the type that a value travels in."""
    return "text" if type_ == "json" else type_


def _read(name: str, type_: str) -> str:
    return f"u.{name}::{type_}" if _sent(type_) != type_ else f"u.{name}"


RECORD: Final = Form(
    (
        ("row", "bigint"), ("key", "uuid"), ("kind", "text"), ("id", "text"), ("seq", "bigint"), ("version", "bigint"),
        ("written", "bigint"), ("at", "bigint"), ("until", "bigint"), ("worth", "double precision"),
        ("session", "uuid"), ("place", "bigint"), ("role", "text"), ("speaker", "text"), ("length", "integer"),
        ("said", "bigint"), ("digest", "bigint"), ("sources", "text"), ("data", "json"), ("text", "text"),
    )
)  # fmt: skip
CREDITED: Final = Form(
    (
        ("row", "bigint"), ("seq", "bigint"), ("version", "bigint"), ("written", "bigint"),
        ("worth", "double precision"), ("session", "uuid"), ("place", "bigint"), ("data", "json"),
    )
)  # fmt: skip
DERIVED: Final = Form(
    (
        ("row", "bigint"), ("key", "uuid"), ("session", "uuid"), ("place", "bigint"), ("role", "text"),
        ("speaker", "text"), ("length", "integer"), ("said", "bigint"), ("digest", "bigint"),
    )
)  # fmt: skip
ROW: Final = Form((("row", "bigint"),))
KEY: Final = Form((("key", "uuid"),))
CREDIT: Final = Form((("key", "uuid"), ("mark", "uuid")))
SOURCE: Final = Form((("source", "uuid"), ("row", "bigint")))
GONE: Final = Form((("seq", "bigint"), ("row", "bigint"), ("kind", "text"), ("id", "text")))
POSTING: Final = Form(
    (("place", "integer"), ("row", "bigint"), ("part", "integer"), ("times", "integer"), ("length", "integer"))
)
VECTOR: Final = Form((("row", "bigint"), ("part", "integer")))
