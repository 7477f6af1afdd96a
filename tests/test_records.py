"""Scopes, keys, records and instants: what they accept, what they refuse, and what they keep exactly."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput, InvalidScope, WrongType
from seasoned.records import (
    MAX_DEPTH,
    MAX_ID,
    Hit,
    Key,
    Record,
    Scope,
    checked_id,
    clean_json,
    clean_text,
    finite,
    from_micros,
    instant,
    to_micros,
)

SCOPE = Scope(("acme", "alice"))
KEY = Key(SCOPE, "note", "n1")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)

parts = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=8).filter(
    lambda part: part.strip()
)
part_tuples = st.lists(parts, min_size=1, max_size=4).map(tuple)
separators = st.lists(st.text("a%/25F:.|_", min_size=1, max_size=6), min_size=1, max_size=3).map(tuple)


def nested(levels: int) -> dict[str, object]:
    """Objects inside each other, `levels` of them."""
    found: dict[str, object] = {}
    for _ in range(levels - 1):
        found = {"x": found}
    return found


# Scopes


def test_a_string_is_a_scope_of_one_part():
    """One name alone may be written without a tuple, and is not read letter by letter."""
    assert Scope("alice") == ("alice",)


def test_a_list_is_a_scope_too():
    """JSON has no tuples, so a list of the same parts is the same scope."""
    assert Scope(["acme", "alice"]) == SCOPE


def test_a_scope_keeps_space_and_case_exactly():
    """Nothing is stripped or folded: these are four scopes, each with the characters it was given."""
    assert [tuple(Scope(name)) for name in (" Alice ", "Alice", "alice", "ALICE")] == [
        (" Alice ",),
        ("Alice",),
        ("alice",),
        ("ALICE",),
    ]


@pytest.mark.parametrize("wrong", [(), [], "", "   ", ("acme", ""), ("acme", "\t"), ("\u2003",)], ids=repr)
def test_a_blank_scope_is_refused(wrong):
    """No parts, or a part of nothing but space, names nobody."""
    with pytest.raises(InvalidScope):
        Scope(wrong)


@pytest.mark.parametrize("char", ["\x00", "\x1f", "\n", "\x7f", "\x85", "\ud800"], ids=ascii)
def test_a_scope_refuses_control_characters_and_lone_surrogates(char):
    """They cannot be seen, and some engine would store them otherwise."""
    with pytest.raises(InvalidScope):
        Scope(("acme", f"a{char}b"))


def test_a_scope_part_may_have_max_id_characters_and_no_more():
    """The limit itself is allowed, one over is not."""
    assert len(Scope("x" * MAX_ID)[0]) == MAX_ID
    with pytest.raises(InvalidScope, match=str(MAX_ID + 1)):
        Scope("x" * (MAX_ID + 1))


@pytest.mark.parametrize(
    "wrong", [42, None, ("acme", 42), ("acme", None), {"acme": 1}, b"acme", ("acme", b"x")], ids=repr
)
def test_a_scope_of_another_type_is_refused_and_never_coerced(wrong):
    """The user 42 and the user "42" would otherwise be one."""
    with pytest.raises(WrongType):
        Scope(wrong)


@pytest.mark.parametrize("name", ["Jānis", "太郎", "a,b:(c)/d", "main", "project-name", "_", "`", "|", "%", "👩‍👧"])
def test_a_name_of_any_script_is_a_scope(name):
    """Names are not limited to what a backend likes."""
    assert Scope.decode(Scope(("acme", name)).encode()) == ("acme", name)


def test_within_gives_the_scope_below():
    """`within` adds parts at the inner end and leaves the outer scope as it was."""
    assert SCOPE.within("run", "7") == ("acme", "alice", "run", "7")
    assert SCOPE == ("acme", "alice")


def test_a_scope_holds_itself_and_those_below_only():
    """A name that starts alike is not below, nor is the parent."""
    foo = Scope("foo")
    assert foo.holds(foo)
    assert foo.holds(Scope(("foo", "bar")))
    assert not foo.holds(Scope("foobar"))
    assert not Scope(("foo", "bar")).holds(foo)


@given(separators, separators)
def test_two_scopes_never_have_one_encoding(one, other):
    """However parts imitate separators and escapes, the encoded forms differ where the scopes do."""
    assert (Scope(one).encode() == Scope(other).encode()) == (one == other)


@given(st.one_of(part_tuples, separators))
def test_an_encoded_scope_always_decodes_to_itself(given_parts):
    """`decode` undoes `encode`, for every script and every imitation of a separator."""
    found = Scope.decode(Scope(given_parts).encode())
    assert tuple(found) == given_parts
    assert isinstance(found, Scope)


@given(st.one_of(part_tuples, separators), st.one_of(part_tuples, separators))
def test_an_encoded_prefix_always_means_a_scope_above(one, other):
    """`encode` of a scope starts `encode` of another exactly when it holds the other."""
    upper, lower = Scope(one), Scope(other)
    assert lower.encode().startswith(upper.encode()) == upper.holds(lower)


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda scope: pickle.loads(pickle.dumps(scope))])  # noqa: S301
def test_a_scope_survives_copying_and_pickling(copied):
    """Processes and dataclasses may pass it on."""
    assert copied(SCOPE) == SCOPE
    assert isinstance(copied(SCOPE), Scope)


def test_a_scope_says_what_it_is():
    """Its repr can be pasted back."""
    assert repr(SCOPE) == "Scope(('acme', 'alice'))"


# Keys and ids


def test_a_key_takes_a_scope_in_any_written_form():
    """A tuple or a string becomes a Scope, so equal keys are equal."""
    assert Key(("acme", "alice"), "note", "n1") == KEY
    assert isinstance(Key("alice", "note", "n1").scope, Scope)


@pytest.mark.parametrize(
    ("kind", "id_"), [("", "n1"), (" ", "n1"), ("note", ""), ("note", "  "), ("note", "a\nb"), ("a\x00", "n1")]
)
def test_a_key_with_a_blank_or_unprintable_name_is_refused(kind, id_):
    """Kind and id follow the rule of scope parts."""
    with pytest.raises(InvalidInput):
        Key(SCOPE, kind, id_)


@pytest.mark.parametrize("wrong", [7, None, b"n1", True], ids=repr)
def test_an_id_of_another_type_is_refused(wrong):
    """An id is a string; a number is not made one."""
    with pytest.raises(WrongType):
        Key(SCOPE, "note", wrong)


@pytest.mark.parametrize(
    "id_", ["x" * MAX_ID, "🦊" * MAX_ID, "a/b:c%d", "' OR 1=1 --", "\u200b.", "é", "e\u0301", "שלום"]
)
def test_an_id_of_any_printable_characters_is_kept_exactly(id_):
    """No form is normalised, and `MAX_ID` counts characters, not bytes."""
    assert checked_id(id_) == id_


def test_an_id_over_the_limit_is_refused():
    """One character more than `MAX_ID` is one too many."""
    with pytest.raises(InvalidInput):
        checked_id("x" * (MAX_ID + 1))


# Texts


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\0b", "a\ufffdb"),
        ("é\0", "é\ufffd"),
        ("bad \ud800", "bad \ufffd"),
        ("\udc00 bad", "\ufffd bad"),
        ("\ud800\ud800x", "\ufffd\ufffdx"),
        ("\ud83e\udd8a", "🦊"),
        ("\ufeffmark", "\ufeffmark"),
        ("\ufffe", "\ufffe"),
        ("🦊 tab\tline\n\x1b[31m", "🦊 tab\tline\n\x1b[31m"),
    ],
    ids=ascii,
)
def test_only_what_no_engine_stores_is_replaced_in_a_text(text, clean):
    """NUL and lone surrogates become U+FFFD, a pair of surrogates its character; all else stays."""
    assert clean_text(text) == clean


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_a_text_of_real_characters_is_never_changed(text):
    """Cleaning touches nothing that can be stored."""
    assert clean_text(text) == text


@given(st.text(st.characters()))
def test_a_cleaned_text_can_always_be_stored_and_stays_as_it_is(text):
    """It encodes as UTF-8 without NUL, and cleaning it again changes nothing."""
    found = clean_text(text)
    assert b"\0" not in found.encode()
    assert clean_text(found) == found


# Plain JSON


def test_data_is_copied_deeply_and_its_texts_cleaned():
    """Tuples become lists, mappings objects; texts and keys are cleaned; numbers and null stay."""
    given_data = {"t": (1, 2.5), "n": None, "b": True, "d": {"k\0": "v\ud800"}}
    assert clean_json(given_data) == {"t": [1, 2.5], "n": None, "b": True, "d": {"k\ufffd": "v\ufffd"}}
    assert given_data == {"t": (1, 2.5), "n": None, "b": True, "d": {"k\0": "v\ud800"}}


def test_a_caller_that_changes_its_data_later_changes_no_record():
    """The record has a copy, at every depth."""
    mine = {"list": [1], "object": {"a": 1}}
    record = Record(key=KEY, text="x", at=NOON, data=mine)
    mine["list"].append(2)
    mine["object"]["a"] = 2
    assert record.data == {"list": [1], "object": {"a": 1}}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused_in_data(number):
    """JSON has none, at any depth."""
    with pytest.raises(InvalidInput, match="finite"):
        clean_json({"a": [{"b": number}]})


@pytest.mark.parametrize("value", [{1, 2}, b"x", NOON, object(), 1j, lambda: 1], ids=lambda value: type(value).__name__)
def test_a_value_that_is_not_json_is_refused_in_data(value):
    """Nothing is turned into a string or pickled behind the caller's back."""
    with pytest.raises(WrongType):
        clean_json({"a": value})


@pytest.mark.parametrize("key", [1, None, True, ("a",)], ids=repr)
def test_a_key_that_is_not_a_string_is_refused_in_data(key):
    """JSON would make 1 and "1" one key."""
    with pytest.raises(WrongType):
        clean_json({key: "x"})


def test_data_may_be_nested_to_the_limit_and_no_deeper():
    """`MAX_DEPTH` objects inside each other pass, one more does not."""
    assert clean_json(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(InvalidInput, match="nested"):
        clean_json(nested(MAX_DEPTH + 1))


def test_data_that_holds_itself_is_refused():
    """An endless object ends at the limit, not in the stack."""
    endless: dict[str, object] = {}
    endless["self"] = endless
    with pytest.raises(InvalidInput):
        clean_json(endless)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_an_integer_of_64_bits_is_kept_in_data(number):
    """The largest and the smallest that every engine has."""
    assert clean_json({"a": [number]}) == {"a": [number]}


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**5000], ids=lambda number: f"{number.bit_length()} bits")
def test_an_integer_of_more_than_64_bits_is_refused_in_data(number):
    """Engines would round it or refuse it later; written as text it is kept."""
    with pytest.raises(InvalidInput, match="64"):
        clean_json({"a": [number]})


# Instants

TOKYO = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 1, 31, 12), NOON),
        (datetime(2026, 1, 31, 21, tzinfo=TOKYO), NOON),
        (date(2026, 1, 31), datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T21:00:00+09:00", NOON),
        (" 2026-01-31 12:00 ", NOON),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        (1769860800, NOON),
        (1769860800.5, NOON + timedelta(milliseconds=500)),
        (1769860800000, NOON),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
    ids=repr,
)
def test_what_callers_have_for_a_time_becomes_an_instant_in_utc(value, expected):
    """Naive, offset, date, ISO text, seconds and milliseconds all name the same moment."""
    found = instant(value)
    assert found == expected
    assert found.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "wrong",
    [
        "", "soon", "Feb 30", "2026-02-30", "十万年前", "12000-01-01", float("nan"), float("inf"), 1e30, 10**400,
        datetime(1, 1, 1, tzinfo=TOKYO), "0001-01-01T00:00:00+09:00",
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_what_is_not_a_time_is_refused(wrong):
    """Texts, numbers and dates outside the years 1 to 9999 are a clear error."""
    with pytest.raises(InvalidInput):
        instant(wrong)


@pytest.mark.parametrize("wrong", [None, True, b"2026-01-31", [2026], ("2026",)], ids=repr)
def test_a_time_of_another_type_is_refused(wrong):
    """None is no time unless the caller says which it stands for."""
    with pytest.raises(WrongType):
        instant(wrong)


def test_none_is_the_default_instant_where_there_is_one():
    """A caller that gives a default gets it."""
    assert instant(None, default=NOON) is NOON


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_always_give_the_instant_back(at):
    """From the year 1 to 9999 no microsecond is lost."""
    assert from_micros(to_micros(at)) == at


def test_microseconds_count_from_1970():
    """One second after the epoch is a million; one microsecond before it minus one."""
    assert to_micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == 1_000_000
    assert to_micros(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


# Records


def test_a_record_has_plain_defaults():
    """No data, no sources, no worth, no expiry, version 0."""
    record = Record(key=KEY, text="hello", at=NOON)
    assert (record.data, record.sources, record.worth, record.until, record.version) == ({}, (), 0.0, None, 0)


def test_a_record_is_frozen():
    """A change is a new record."""
    record = Record(key=KEY, text="hello", at=NOON)
    with pytest.raises(FrozenInstanceError):
        record.text = "bye"
    assert replace(record, text="bye").text == "bye"


def test_a_record_cleans_and_converts_what_it_is_given():
    """Text, times and worth are in one form from the start."""
    record = Record(
        key=KEY,
        text="a\0",
        at="2026-01-31T21:00:00+09:00",
        until=date(2026, 2, 1),
        worth=3,
        sources=[KEY],
        data={"a": (1,)},
    )
    assert record.text == "a\ufffd"
    assert record.at == NOON
    assert record.until == datetime(2026, 2, 1, tzinfo=UTC)
    assert isinstance(record.worth, float)
    assert record.sources == (KEY,)
    assert record.data == {"a": [1]}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"text": None}, WrongType),
        ({"text": b"x"}, WrongType),
        ({"text": 7}, WrongType),
        ({"data": [("a", 1)]}, WrongType),
        ({"data": None}, WrongType),
        ({"data": {"a": float("nan")}}, InvalidInput),
        ({"worth": float("nan")}, InvalidInput),
        ({"worth": float("inf")}, InvalidInput),
        ({"worth": 10**400}, InvalidInput),
        ({"worth": "3"}, WrongType),
        ({"worth": True}, WrongType),
        ({"worth": None}, WrongType),
        ({"at": None}, WrongType),
        ({"at": "soon"}, InvalidInput),
        ({"until": "soon"}, InvalidInput),
        ({"until": True}, WrongType),
        ({"version": -1}, InvalidInput),
        ({"version": "1"}, WrongType),
        ({"version": True}, WrongType),
        ({"sources": ("n1",)}, WrongType),
        ({"sources": None}, WrongType),
        ({"sources": KEY}, WrongType),
        ({"key": ("acme", "note", "n1")}, WrongType),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_record_refuses_a_field_that_breaks_its_rule(fields, error):
    """Whatever is wrong is said when the record is made, before any store sees it."""
    with pytest.raises(error):
        Record(**{"key": KEY, "text": "hello", "at": NOON, **fields})


def test_a_worth_keeps_its_extremes():
    """The largest and smallest finite numbers are worths."""
    assert [finite(value, "worth") for value in (1.7976931348623157e308, -5e-324, 0)] == [
        1.7976931348623157e308,
        -5e-324,
        0.0,
    ]


def test_a_hit_names_the_id_and_text_of_its_record():
    """A caller need not dig for what it always needs."""
    hit = Hit(record=Record(key=KEY, text="hello", at=NOON))
    assert (hit.id, hit.text, hit.score, hit.why) == ("n1", "hello", 0.0, {})
