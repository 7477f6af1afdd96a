"""The store contract, filters: every operator on every field means what `seasoned.query.matches` says."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.ports import Put, Store
from seasoned.query import And, Compare, Filter, Not, Op, Or, Query, matches, parse_filter
from seasoned.records import JSON, Key, Record, Scope
from seasoned.testing.contract_base import (
    EAST,
    HOME,
    NOON,
    ContractBase,
    counted,
    everything,
    examples,
    fresh_scope,
    ids,
    key,
    listed,
    note,
    put,
    rows,
)

HOSTILE: Final = (
    "x' OR 1=1 --", '" OR ""="', "'; DROP TABLE records; --", "%", "_", "*", "a%", "\\", "\\'", "$ne", "{'$ne': 1}",
    "${x}", "?1", ":id", "@id", "null", "true", "1", "\x1f", "a\nb", "🦊", "é", "e\u0301",
)  # fmt: skip
"""Values that some engine has once read as a statement, a pattern, a parameter or another type."""

_NAMES: Final = ("a", "b", "o", "ключ", "a b", "it's", "x%y", "[0]", "$", "0", "select", "é", "A")
_TEXTS: Final = ("", "a", "A", "b", "é", "1", "true", "null", "🦊", "\uffee", "a\nb", "x' OR 1=1 --", "%")
_NUMBERS: Final = (
    0, 1, -1, 2, 1.0, 1.5, -0.0, 2**31, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 2.0**63, 1e300, 5e-324,
)  # fmt: skip
_TIMES: Final = (NOON, NOON + timedelta(microseconds=1), NOON - timedelta(days=9000), NOON.replace(year=9999))

_scalars = st.sampled_from((None, True, False, *_NUMBERS, *_TEXTS))
_values = st.one_of(
    _scalars,
    st.lists(_scalars, max_size=2),
    st.dictionaries(st.sampled_from(_NAMES), _scalars, max_size=3),
)
_data = st.dictionaries(st.sampled_from(_NAMES), _values, max_size=5)


@st.composite
def _records(draw: st.DrawFn) -> dict[str, object]:
    return {
        "id": draw(st.sampled_from(("n1", "N1", "n 2", "é", "100%", "x' OR 1=1 --"))),
        "kind": draw(st.sampled_from(("note", "Note", "message"))),
        "text": draw(st.sampled_from(_TEXTS)),
        "data": draw(_data),
        "worth": float(draw(st.sampled_from((0, 1, -1, 1.5, 1e300)))),
        "at": draw(st.sampled_from(_TIMES)),
        "until": draw(st.sampled_from((None, *_TIMES))),
    }


_TEXT_POOL: Final = (*_TEXTS, "note", "Note", "n1", "N1", "100%")
_field_names = st.one_of(
    st.sampled_from(("kind", "id", "text", "worth", "version")),
    st.sampled_from(_NAMES).map("data.{}".format),
    st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES)).map(lambda path: "data." + ".".join(path)),
)


@st.composite
def _compares(draw: st.DrawFn) -> Filter:
    op = draw(st.sampled_from(Op))
    if draw(st.integers(0, 4)) == 0:
        name, plain, ordered = (
            draw(st.sampled_from(("at", "until"))),
            st.sampled_from((None, *_TIMES)),
            st.sampled_from(_TIMES),
        )
        return Compare(name, op, draw(_operands(op, plain, ordered)))  # type: ignore[arg-type]  # checked when made
    plain_scalar = st.sampled_from((None, True, False, *_NUMBERS, *_TEXT_POOL))
    return Compare(draw(_field_names), op, draw(_operands(op, plain_scalar, st.sampled_from((*_NUMBERS, *_TEXT_POOL)))))  # type: ignore[arg-type]  # checked when made


def _operands(
    op: Op, plain: st.SearchStrategy[object], ordered: st.SearchStrategy[object]
) -> st.SearchStrategy[object]:
    if op is Op.EXISTS:
        return st.booleans()
    if op is Op.IN:
        return st.lists(plain, max_size=4)
    return plain if op in (Op.EQ, Op.NE) else ordered


_filters = st.recursive(
    _compares(),
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, max_size=3).map(lambda of: And(tuple(of))),
        st.lists(inner, max_size=3).map(lambda of: Or(tuple(of))),
    ),
    max_leaves=6,
)


class FilterRules(ContractBase):
    """Reads narrowed by a filter."""

    @examples
    @given(
        given_records=st.lists(_records(), min_size=1, max_size=8), filters=st.lists(_filters, min_size=1, max_size=6)
    )
    def test_a_filter_always_means_what_matches_says(
        self, store: Store, given_records: list[dict[str, object]], filters: list[Filter]
    ) -> None:
        """The engine's own translation agrees with `matches` on every record, listing and counting alike."""
        scope = fresh_scope()
        put(store, *(_made(fields, scope) for fields in given_records))
        stored = [hit.record for hit in everything(store, Query(scope=scope, expired=True))]
        for where in filters:
            query = Query(scope=scope, where=where, expired=True)
            assert {hit.record.key for hit in everything(store, query)} == _passing(where, stored), where
            counting = Query(scope=scope, where=where, expired=True, count=True)
            assert counted(store, counting) == len(_passing(where, stored)), where

    @examples
    @given(datas=st.lists(_data, min_size=1, max_size=5), where=_filters)
    def test_a_filter_always_means_the_same_in_a_search(
        self, store: Store, datas: list[dict[str, JSON]], where: Filter
    ) -> None:
        """By words and by vector it lets the same records through as in a listing."""
        scope = fresh_scope()
        records = [note(f"n{number}", "green tea", data, scope=scope) for number, data in enumerate(datas)]
        store.apply([Put(record, rows(EAST)) for record in records])
        stored = [hit.record for hit in everything(store, Query(scope=scope))]
        for query in _searches(store, scope, where):
            assert {hit.record.key for hit in store.find(query).hits} == _passing(where, stored), where

    @pytest.mark.parametrize("value", HOSTILE, ids=ascii)
    def test_a_value_is_never_a_statement_or_a_pattern(self, store: Store, value: str) -> None:
        """What looks like a query finds the record that holds exactly that, and harms none."""
        put(store, note("n1", data={"v": value}), note("n2", data={"v": "other"}), note("n3"))
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.v": value})))) == ["n1"]
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.v": {"in": [value]}})))) == ["n1"]
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.v": {"ne": value}})))) == ["n2", "n3"]
        for field in ("id", "kind", "text"):
            assert everything(store, Query(scope=HOME, where=parse_filter({field: value}))) == []
        assert listed(store) == ["n1", "n2", "n3"]

    @examples
    @given(found=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1))
    def test_a_number_always_equals_itself(self, store: Store, found: float) -> None:
        """To its last digit, as a worth and in data, below and above which nothing else lies."""
        scope = fresh_scope()
        put(store, note("n1", data={"x": found}, scope=scope, worth=float(found)))
        for field, value in (("data.x", found), ("worth", float(found))):
            for op, expected in ((Op.EQ, 1), (Op.LE, 1), (Op.GE, 1), (Op.LT, 0), (Op.GT, 0), (Op.NE, 0)):
                query = Query(scope=scope, where=Compare(field, op, value), count=True)
                assert counted(store, query) == expected, query.where

    def test_a_list_of_thousands_is_one_condition(self, store: Store) -> None:
        """`in` takes as many values as the caller has, and so do keys and kinds."""
        put(store, *(note(f"n{number}", data={"x": number}) for number in range(10)))
        many = tuple(range(5, 5000))
        assert len(everything(store, Query(scope=HOME, where=Compare("data.x", Op.IN, many)))) == 5
        assert len(everything(store, Query(scope=HOME, where=Compare("id", Op.IN, tuple(f"n{n}" for n in many))))) == 5
        assert len(everything(store, Query(scope=HOME, kinds=("note", *(f"kind{number}" for number in many))))) == 10
        keys = tuple(key(f"n{number}") for number in range(5, 40_000))
        assert counted(store, Query(scope=HOME, keys=keys, count=True)) == 5

    def test_a_filter_of_a_thousand_conditions_is_answered(self, store: Store) -> None:
        """Wide filters are allowed, whatever an engine's own limit is."""
        put(store, *(note(f"n{number}", data={"x": number}) for number in range(10)))
        wide = Or(tuple(Compare("data.x", Op.EQ, number) for number in range(5, 1500)))
        assert len(everything(store, Query(scope=HOME, where=wide))) == 5
        assert len(everything(store, Query(scope=HOME, where=Not(wide)))) == 5

    @pytest.mark.parametrize("name", ["a' OR 1=1 --", "a) OR (1=1", "$", "[0]", "*", "%", "a b", "ключ", "it's", "0"])
    def test_a_name_in_data_is_never_a_path_or_a_statement(self, store: Store, name: str) -> None:
        """Only dots divide; every other character belongs to the name."""
        put(store, note("n1", data={name: 1, "o": {name: 2}}), note("n2", data={"a": 1}))
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({f"data.{name}": 1})))) == ["n1"]
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({f"data.o.{name}": 2})))) == ["n1"]
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({f"data.{name}": 2})))) == []

    def test_every_condition_counts(self, store: Store) -> None:
        """Of two conditions neither is dropped."""
        put(store, note("n1", data={"a": 1, "b": 2}), note("n2", data={"a": 1, "b": 3}))
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.a": 1, "data.b": 2})))) == ["n1"]

    def test_a_missing_field_and_null_are_one(self, store: Store) -> None:
        """Both equal None, differ from every value, do not exist and have no order."""
        put(
            store,
            note("null", data={"x": None}),
            note("missing"),
            note("zero", data={"x": 0}),
            note("empty", data={"x": ""}),
        )
        for condition, expected in (
            ({"eq": None}, ["null", "missing"]),
            ({"exists": False}, ["null", "missing"]),
            ({"exists": True}, ["zero", "empty"]),
            ({"ne": 0}, ["null", "missing", "empty"]),
            ({"in": [None, 0]}, ["null", "missing", "zero"]),
            ({"lt": 1}, ["zero"]),
            ({"ge": ""}, ["empty"]),
        ):
            assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.x": condition})))) == expected

    def test_a_list_equals_each_of_its_items(self, store: Store) -> None:
        """A stored list is `eq` to what one of its items equals; it has no order, and its lists are no items."""
        put(
            store,
            note("n1", data={"x": ["a", 1, None, ["b"]]}),
            note("n2", data={"x": "a"}),
            note("n3", data={"x": []}),
        )
        for condition, expected in (
            ("a", ["n1", "n2"]),
            (1, ["n1"]),
            (True, []),
            ("b", []),
            (None, []),
            ({"ne": "a"}, ["n3"]),
            ({"in": ["b", 1]}, ["n1"]),
            ({"lt": 2}, []),
            ({"exists": True}, ["n1", "n2", "n3"]),
        ):
            assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.x": condition})))) == expected

    def test_true_is_not_one(self, store: Store) -> None:
        """A boolean equals neither a number nor a text."""
        put(store, note("true", data={"x": True}), note("one", data={"x": 1}), note("text", data={"x": "true"}))
        for value, expected in ((True, ["true"]), (1, ["one"]), (1.0, ["one"]), ("true", ["text"])):
            assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.x": value})))) == expected

    def test_kinds_are_matched_exactly(self, store: Store) -> None:
        """No folding, no prefix; several kinds add up; a kind that nothing has gives nothing."""
        put(store, *(note("n1", kind=kind) for kind in ("note", "Note", "notes", "no%")))
        assert {hit.record.key.kind for hit in everything(store, Query(scope=HOME, kinds=("note",)))} == {"note"}
        assert {hit.record.key.kind for hit in everything(store, Query(scope=HOME, kinds=("Note", "no%")))} == {
            "Note",
            "no%",
        }
        assert everything(store, Query(scope=HOME, kinds=("' OR 1=1 --",))) == []

    def test_a_count_follows_every_narrowing_and_no_page_size(self, store: Store) -> None:
        """Kinds, filter, subtree and source narrow a count; `k` does not."""
        put(store, *(note(f"n{number}", data={"even": number % 2 == 0}) for number in range(7)))
        put(store, note("m", kind="message", sources=(key("n1"),)), note("below", scope=HOME.within("x")))
        for narrowing, expected in (
            (Query(scope=HOME, count=True, k=2), 8),
            (Query(scope=HOME, count=True, subtree=True), 9),
            (Query(scope=HOME, count=True, kinds=("note",)), 7),
            (Query(scope=HOME, count=True, where=parse_filter({"data.even": True})), 4),
            (Query(scope=HOME, count=True, source=key("n1")), 1),
            (Query(scope=Scope("nobody"), count=True), 0),
        ):
            assert counted(store, narrowing) == expected

    def test_a_text_is_filtered_as_it_was_stored(self, store: Store) -> None:
        """A NUL in the filter finds the record whose NUL was replaced."""
        put(store, note("n1", "a\0b", {"v": "\ud800"}))
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({"text": "a\0b"})))) == ["n1"]
        assert ids(everything(store, Query(scope=HOME, where=parse_filter({"data.v": "\ud800"})))) == ["n1"]


def _made(fields: dict[str, object], scope: Scope) -> Record:
    name = Key(scope, str(fields["kind"]), str(fields["id"]))
    rest = {field: value for field, value in fields.items() if field not in ("kind", "id")}
    return Record(key=name, **rest)  # type: ignore[arg-type]  # drawn to fit


def _passing(where: Filter, stored: list[Record]) -> set[Key]:
    return {record.key for record in stored if matches(where, record)}


def _searches(store: Store, scope: Scope, where: Filter) -> list[Query]:
    need_one = [Query(scope=scope, words="tea", where=where)] if store.can.lexical else []
    return [*need_one, Query(scope=scope, vector=rows(EAST), where=where)] if store.can.dense else need_one
