"""The filter grammar and its one meaning, and what a query refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidFilter, InvalidInput, InvalidScope, WrongType
from seasoned.ports import Fingerprint, Vectors
from seasoned.query import (
    MAX_FILTER_DEPTH,
    MAX_K,
    And,
    Compare,
    Not,
    Op,
    Or,
    Order,
    Query,
    both,
    matches,
    parse_filter,
)
from seasoned.records import Key, Record, Scope

SCOPE = Scope("alice")
KEY = Key(SCOPE, "note", "n1")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def note(data=None, **fields):
    """A note of a fixed time, with the data and fields given."""
    return Record(**{"key": KEY, "text": "green tea", "at": NOON, "data": data or {}, **fields})


def passes(where, record):
    """Whether `record` passes the filter as a caller writes it."""
    return matches(parse_filter(where), record)


# What holds

RECORD = note(
    {"n": 3, "f": 2.5, "s": "tea", "t": True, "z": None, "o": {"x": {"y": 7}}, "l": [1], "0": "zero", "ключ": "да",
     "a b": 1},
    worth=2.0, version=4, until=NOON + timedelta(days=1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"kind": "note"}, True),
        ({"kind": "Note"}, False),
        ({"id": "n1"}, True),
        ({"text": "green tea"}, True),
        ({"text": {"gt": "green"}}, True),
        ({"worth": 2}, True),
        ({"worth": {"ge": 2.5}}, False),
        ({"version": {"in": [3, 4]}}, True),
        ({"at": NOON}, True),
        ({"at": "2026-01-31T21:00:00+09:00"}, True),
        ({"at": {"lt": NOON}}, False),
        ({"at": {"le": 1769860800}}, True),
        ({"until": {"gt": NOON}}, True),
        ({"until": {"exists": True}}, True),
        ({"data.n": 3}, True),
        ({"data.n": 3.0}, True),
        ({"data.n": {"gt": 2, "lt": 4}}, True),
        ({"data.n": {"gt": 2, "lt": 3}}, False),
        ({"data.n": "3"}, False),
        ({"data.n": {"lt": "4"}}, False),
        ({"data.f": {"le": 2.5}}, True),
        ({"data.s": ["coffee", "tea"]}, True),
        ({"data.s": []}, False),
        ({"data.s": {"lt": "tea "}}, True),
        ({"data.s": {"lt": "TEA"}}, False),
        ({"data.o.x.y": 7}, True),
        ({"data.o.x": 7}, False),
        ({"data.o.x": {"exists": True}}, True),
        ({"data.o.x.y.z": {"exists": True}}, False),
        ({"data.l": 1}, True),
        ({"data.l": 2}, False),
        ({"data.l": {"ne": 1}}, False),
        ({"data.l": {"lt": 2}}, False),
        ({"data.l": {"in": [2, 1]}}, True),
        ({"data.l": None}, False),
        ({"data.l": {"exists": True}}, True),
        ({"data.l.0": 1}, False),
        ({"data.0": "zero"}, True),
        ({"data.ключ": "да"}, True),
        ({"data.a b": 1}, True),
        ({}, True),
        ({"and": []}, True),
        ({"or": []}, False),
        ({"not": {"or": []}}, True),
        ({"data.n": 3, "data.s": "coffee"}, False),
        ({"or": [{"data.n": 4}, {"data.s": "tea"}]}, True),
        ({"and": [{"data.n": 3}, {"not": {"data.s": "tea"}}]}, False),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_condition_holds_exactly_when_the_grammar_says_so(where, expected):
    """Each operator on each kind of field, by hand."""
    assert passes(where, RECORD) is expected


@pytest.mark.parametrize("field", ["data.z", "data.missing", "data.o.missing", "data.s.x"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (None, True),
        ({"eq": None}, True),
        ({"eq": 0}, False),
        ({"eq": ""}, False),
        ({"eq": False}, False),
        ({"ne": 0}, True),
        ({"ne": None}, False),
        ({"in": [1, None]}, True),
        ({"in": [1, 2]}, False),
        ({"lt": 1}, False),
        ({"ge": 0}, False),
        ({"gt": ""}, False),
        ({"exists": True}, False),
        ({"exists": False}, True),
    ],
    ids=repr,
)
def test_a_missing_field_and_null_are_both_absent(field, condition, expected):
    """Absent equals None only, differs from every value, and has no order."""
    assert passes({field: condition}, RECORD) is expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"data.t": True}, True),
        ({"data.t": 1}, False),
        ({"data.t": 1.0}, False),
        ({"data.t": "true"}, False),
        ({"data.t": {"ne": 1}}, True),
        ({"data.t": {"in": [1, "true"]}}, False),
        ({"data.t": {"gt": 0}}, False),
        ({"data.n": {"ne": True}}, True),
        ({"data.one": True}, False),
        ({"data.zero": False}, False),
    ],
    ids=repr,
)
def test_true_is_not_one(where, expected):
    """Booleans equal booleans only, and are not ordered among numbers."""
    assert passes(where, note({"t": True, "n": 1, "one": 1, "zero": 0})) is expected


def test_an_integer_is_compared_exactly_however_long():
    """2**53 + 1 is not 2**53, though no float tells them apart."""
    record = note({"n": 2**53 + 1})
    assert passes({"data.n": 2**53 + 1}, record)
    assert not passes({"data.n": 2**53}, record)
    assert not passes({"data.n": float(2**53)}, record)


def test_texts_are_ordered_by_code_point():
    """Beyond the first plane too, where UTF-16 would order otherwise."""
    record = note({"s": "🦊"})
    assert passes({"data.s": {"gt": "\uffee"}}, record)
    assert passes({"data.s": {"gt": "z"}}, record)


@pytest.mark.parametrize("value", ["x' OR 1=1 --", '"; DROP TABLE record; --', "%", "_", "$.a", "\\", "*"])
def test_a_value_is_never_a_pattern_or_a_statement(value):
    """What looks like SQL or a wildcard is compared as the text it is."""
    assert passes({"data.s": value}, note({"s": value}))
    assert not passes({"data.s": value}, note({"s": "anything"}))


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(-2, 2), st.sampled_from(["", "a", "b", "1"])
)
operands = st.one_of(st.integers(-2, 2), st.floats(-2, 2), st.sampled_from(["", "a", "b", "1"]))


@given(scalars, scalars)
def test_ne_is_always_exactly_not_eq(found, value):
    """There is no third value: one of the two holds, whatever is compared."""
    record = note({"x": found})
    assert passes({"data.x": {"ne": value}}, record) is not passes({"data.x": {"eq": value}}, record)


@given(scalars, operands)
def test_two_orders_never_hold_together(found, value):
    """Below, equal and above exclude each other; `le` and `ge` are the unions."""
    record = note({"x": found})
    below, equal, above = (passes({"data.x": {op: value}}, record) for op in ("lt", "eq", "gt"))
    assert below + equal + above <= 1
    assert passes({"data.x": {"le": value}}, record) is (below or equal)
    assert passes({"data.x": {"ge": value}}, record) is (above or equal)


@given(scalars, st.lists(scalars, max_size=4))
def test_in_is_always_eq_to_any(found, values):
    """`in` is short for several `eq`."""
    record = note({"x": found})
    assert passes({"data.x": {"in": values}}, record) is any(
        passes({"data.x": {"eq": value}}, record) for value in values
    )


# What is refused


@pytest.mark.parametrize(
    "where",
    [
        {"user": "a"}, {"Kind": "note"}, {"scope": "a"}, {"data": 1}, {"data.": 1}, {"data..x": 1}, {"data.x.": 1},
        {'data.a"b': 1}, {"data.a\x00": 1}, {"data.a\n": 1}, {"data.a\\b": 1}, {"data.k\ud800": 1},
        {" data.x": 1}, {"metadata.x": 1}, {"": 1}, {7: 1},
        {None: 1},
        {"$or": [{"kind": "a"}]}, {"AND": []}, {"sources": "n1"},
    ],
    ids=repr,
)  # fmt: skip
def test_an_unknown_field_is_refused(where):
    """A condition that is not understood is never dropped."""
    with pytest.raises(InvalidFilter):
        parse_filter(where)


@pytest.mark.parametrize("op", ["$ne", "like", "EQ", "==", "contains", "", "and", 1, None], ids=repr)
def test_an_unknown_operator_is_refused(op):
    """Another product's operators are not guessed at."""
    with pytest.raises(InvalidFilter):
        parse_filter({"data.x": {op: 1}})


@pytest.mark.parametrize(
    "where",
    [
        {"data.x": {}},
        {"data.x": {"exists": 1}},
        {"data.x": {"exists": None}},
        {"data.x": {"in": "abc"}},
        {"data.x": {"in": 3}},
        {"data.x": {"in": [[1]]}},
        {"data.x": {"in": {"a": 1}}},
        {"data.x": {"lt": None}},
        {"data.x": {"ge": True}},
        {"data.x": {"lt": [1]}},
        {"data.x": {"eq": {"a": 1}}},
        {"data.x": {"eq": [1]}},
        {"data.x": {"eq": float("nan")}},
        {"data.x": {"lt": float("inf")}},
        {"data.x": b"x"},
        {"data.x": NOON},
        {"at": "soon"},
        {"at": {"lt": True}},
        {"at": {"in": [NOON, "soon"]}},
        {"until": {"gt": "Feb 30"}},
        {"and": {"kind": "note"}},
        {"or": "kind"},
        {"or": [None]},
        {"not": None},
        {"not": [{"kind": "note"}]},
        {"and": [{"nope": 1}]},
    ],
    ids=lambda value: repr(value)[:50],
)
def test_an_operand_that_an_operator_cannot_take_is_refused(where):
    """The mistake is said when the filter is written, before any store sees it."""
    with pytest.raises(InvalidFilter):
        parse_filter(where)


@pytest.mark.parametrize("where", ["kind = 'note'", [{"kind": "note"}], 7, True], ids=repr)
def test_a_filter_of_another_form_is_refused(where):
    """No query language, no bare list."""
    with pytest.raises(InvalidFilter):
        parse_filter(where)


def test_a_filter_may_be_nested_to_the_limit_and_no_deeper():
    """`MAX_FILTER_DEPTH` levels pass, one more does not."""
    where: dict[str, object] = {"kind": "note"}
    for _ in range(MAX_FILTER_DEPTH):
        where = {"not": where}
    assert passes(where, RECORD) is True
    with pytest.raises(InvalidFilter, match="nested"):
        parse_filter({"not": where})


def test_a_filter_of_classes_is_held_to_the_same_limit():
    """Depth is no way around the limit, whichever form a filter is written in."""
    deepest = reduce(lambda inner, _: Not(inner), range(MAX_FILTER_DEPTH), Compare("kind", Op.EQ, "note"))
    with pytest.raises(InvalidFilter, match="nested"):
        Not(deepest)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Not("kind"),
        lambda: Not(None),
        lambda: And((None,)),
        lambda: Or(("kind",)),
        lambda: And({"kind": "note"}),
    ],
    ids=["not text", "not None", "and None", "or text", "and mapping"],
)
def test_a_filter_class_refuses_what_is_no_filter(make):
    """Otherwise a mistaken condition would pass everything, or nothing, in silence."""
    with pytest.raises(InvalidFilter):
        make()


def test_no_filter_is_none():
    """None asks for everything."""
    assert parse_filter(None) is None
    assert matches(None, RECORD) is True


def test_a_filter_made_of_classes_is_taken_as_it_is():
    """Callers that build filters in code need no mapping."""
    made = And((Compare("kind", Op.EQ, "note"), Not(Compare("data.n", Op.EXISTS, False))))
    assert parse_filter(made) is made
    assert matches(made, RECORD)


def test_a_text_in_a_filter_is_cleaned_like_a_text_in_a_record():
    """What was stored as U+FFFD is found by what was given."""
    record = note({"s": "a\0b"})
    assert passes({"data.s": "a\0b"}, record)
    assert passes({"data.s": {"in": ["\ud800", "a\0b"]}}, record)


def test_both_joins_the_filters_that_are_there():
    """None stands for no condition."""
    one, other = Compare("kind", Op.EQ, "note"), Compare("id", Op.EQ, "n1")
    assert both() is None
    assert both(None, one) is one
    assert both(one, None, other) == And((one, other))


# Queries


def test_a_query_has_plain_defaults():
    """One scope alone, oldest first, a hundred at most, nothing expired."""
    query = Query(scope=SCOPE)
    assert (query.subtree, query.order, query.k, query.expired, query.count, query.scopes) == (
        False, Order.OLDEST, 100, False, False, False,
    )  # fmt: skip


@pytest.mark.parametrize("k", [0, -1, MAX_K + 1, 10**20])
def test_a_k_out_of_range_is_refused(k):
    """Nothing is silently raised to 1 or cut to the maximum."""
    with pytest.raises(InvalidInput):
        Query(scope=SCOPE, k=k)


@pytest.mark.parametrize("k", [2.5, 2.0, True, "3", None], ids=repr)
def test_a_k_that_is_no_integer_is_refused(k):
    """2.5 hits and True hits are a mistake of the caller."""
    with pytest.raises(WrongType):
        Query(scope=SCOPE, k=k)


@pytest.mark.parametrize("k", [1, MAX_K])
def test_the_ends_of_the_range_of_k_are_allowed(k):
    """1 and the maximum are both numbers of hits."""
    assert Query(scope=SCOPE, k=k).k == k


VECTOR = Vectors(Fingerprint("test", "1", 2), np.array([[1.0, 0.0]], dtype=np.float32))


@pytest.mark.parametrize(
    "ranked", [{"words": "tea"}, {"vector": VECTOR}, {"words": ""}], ids=["words", "vector", "no words"]
)
@pytest.mark.parametrize("other", [{"keys": (KEY,)}, {"cursor": "1"}], ids=["keys", "cursor"])
def test_two_ways_of_asking_at_once_are_refused(ranked, other):
    """A ranked query neither reads by key nor pages."""
    with pytest.raises(InvalidInput):
        Query(scope=SCOPE, **ranked, **other)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"scope": ()}, InvalidScope),
        ({"scope": 42}, WrongType),
        ({"scope": None}, WrongType),
        ({"kinds": "note"}, WrongType),
        ({"keys": KEY}, WrongType),
        ({"keys": ("n1",)}, WrongType),
        ({"source": "n1"}, WrongType),
        ({"where": {"nope": 1}}, InvalidInput),
        ({"where": "kind"}, InvalidInput),
        ({"words": 7}, WrongType),
        ({"words": b"tea"}, WrongType),
        ({"vector": [1.0, 0.0]}, WrongType),
        ({"order": "sideways"}, InvalidInput),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_query_refuses_a_field_that_breaks_its_rule(fields, error):
    """A mistake is said when the query is made; no narrowing is ignored or misread."""
    with pytest.raises(error):
        Query(**{"scope": SCOPE, **fields})


def test_a_query_takes_a_scope_in_any_written_form():
    """A tuple or a string becomes a Scope, as in a key."""
    assert Query(scope=("acme", "alice")).scope == Scope(("acme", "alice"))
    assert isinstance(Query(scope="alice").scope, Scope)


# Vectors


@pytest.mark.parametrize("shape", [(2,), (0, 2), (1, 3), (1, 1, 2)], ids=repr)
def test_vectors_of_another_shape_than_their_space_are_refused(shape):
    """One row a part, of the dimension that the fingerprint names."""
    with pytest.raises(WrongType):
        Vectors(Fingerprint("test", "1", 2), np.ones(shape, dtype=np.float32))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_vectors_that_are_not_finite_are_refused(number):
    """One such row would outrank everything, or nothing, in silence."""
    with pytest.raises(InvalidInput):
        Vectors(Fingerprint("test", "1", 2), np.array([[number, 0.0]]))


def test_vectors_become_rows_of_float32():
    """Lists and doubles are converted once."""
    found = Vectors(Fingerprint("test", "1", 2), [[1, 0], [0, 1]]).values
    assert (found.dtype, found.shape) == (np.float32, (2, 2))


def test_a_caller_that_changes_its_array_later_changes_no_vectors():
    """The vectors have their own copy."""
    mine = np.array([[1.0, 0.0]], dtype=np.float32)
    vectors = Vectors(Fingerprint("test", "1", 2), mine)
    mine[0, 0] = -1.0
    assert vectors.values[0, 0] == 1.0
