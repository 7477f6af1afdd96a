"""Records as they are stored: nested data, ids, placeholders, filters and queries."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import InvalidInput
from seasoned.ports import Credit, Put, Remove
from seasoned.query import Query, parse_filter
from seasoned.records import Key, Record, Scope
from seasoned.redaction import RedactionPolicy, Redactor

SCOPE = Scope(("acme", "alice"))
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
KEY = b"sixteen bytes or more"


def note(text: str = "", name: str = "n1", scope: Scope = SCOPE, **data: object) -> Record:
    return Record(key=Key(scope, "note", name), text=text, at=NOON, data=data)


def data_of(redactor: Redactor, **data: object) -> dict[str, object]:
    return dict(redactor.record(note(**data)).data)


def test_nested_data_is_redacted_to_its_leaves():
    """Texts, names of fields, card numbers that are numbers, and whole fields that are named as secrets."""
    made = data_of(
        Redactor(),
        deep=[{"mails": ["alice@example.com", 3]}, None, True],
        card=4111111111111111,
        at=1700000000000000,
        settings={"dbPassword": "correct horse", "pin": 12, "cvv": 123, "headers": {"Authorization": "x y"}},
        credentials={"user": "app", "ports": [1, 2]},
    )
    assert made == {
        "deep": [{"mails": ["[email]", 3]}, None, True],
        "card": "[card]",
        "at": 1700000000000000,
        "settings": {"dbPassword": "[secret]", "pin": 12, "cvv": "[secret]", "headers": {"Authorization": "[secret]"}},
        "credentials": {"user": "[secret]", "ports": ["[secret]", "[secret]"]},
    }


def test_names_of_fields_never_become_one():
    """Two addresses as names of fields are two fields afterwards, so no value is lost."""
    made = data_of(Redactor(), counts={"a@example.com": 1, "b@example.com": 2})
    assert made["counts"] == {"[email]": 1, "[email] (2)": 2}


def test_more_fields_can_be_secret():
    """A field of yours is a secret as a whole."""
    made = data_of(Redactor(RedactionPolicy(fields=("diagnosis",))), diagnosis="a cold", patient={"diagnosis": "flu"})
    assert made == {"diagnosis": "[secret]", "patient": {"diagnosis": "[secret]"}}


def test_a_record_without_such_values_is_the_same_object():
    """Nothing is copied."""
    record = note("Green tea is kept in the tin.", room="kitchen")
    assert Redactor().record(record) is record


def test_placeholders_of_a_record_tell_equal_values():
    """Numbered as they are met; the same value, however it is written, has one number."""
    redactor = Redactor(RedactionPolicy(stable="record"))
    made = redactor.record(note("a@example.com, B@example.com, A@EXAMPLE.COM", to="b@example.com"))
    assert (made.text, made.data["to"]) == ("[email-1], [email-2], [email-1]", "[email-2]")


def test_numbers_go_on_where_a_record_has_some():
    """A value that is added later never takes the number of one that was replaced before."""
    redactor = Redactor(RedactionPolicy(stable="record"))
    assert redactor.record(note("[email-1] and c@example.com")).text == "[email-1] and [email-2]"


def test_placeholders_of_a_scope_tell_equal_values_in_it_alone():
    """The same address is the same in two records of one scope, and another in another scope."""
    redactor = Redactor(RedactionPolicy(stable="scope", key=KEY))
    one, two = (redactor.record(note("a@example.com", name)).text for name in ("n1", "n2"))
    other = redactor.record(note("a@example.com", scope=Scope(("acme", "bob")))).text
    assert one == two != other
    assert Redactor(RedactionPolicy(stable="scope", key=KEY[::-1])).record(note("a@example.com")).text != one


def test_an_id_or_session_with_personal_data_is_refused_without_a_key():
    """Two of them must never become one, so a kind alone cannot stand there; the message does not quote it."""
    for record in (note(name="alice@example.com"), note(session="alice@example.com")):
        with pytest.raises(InvalidInput, match="kind 'email'") as refused:
            Redactor().record(record)
        assert "alice" not in str(refused.value)


def test_ids_and_sessions_become_digests_with_a_key(keyed):
    """Each its own, and found again by what it was."""
    one, two = (keyed.record(note(name=f"{who}@example.com", session=f"{who}@example.com")) for who in ("a", "b"))
    assert one.key.id != two.key.id
    assert one.data["session"] != two.data["session"]
    query = keyed.query(Query(scope=SCOPE, where=parse_filter({"data.session": "a@example.com"})))
    assert query.where == parse_filter({"data.session": one.data["session"]})


def test_names_and_tags_are_the_same_in_every_record(keyed):
    """So a filter by the value finds them: a digest with a key, the kind without one, whatever texts say."""
    for redactor in (keyed, Redactor(RedactionPolicy(stable="record"))):
        made = redactor.record(note("x@example.com", tags=["vip", "a@example.com"], name="n1"))
        asked = redactor.query(Query(scope=SCOPE, where=parse_filter({"data.tags": "a@example.com"}))).where
        assert asked == parse_filter({"data.tags": made.data["tags"][1]})


def test_every_part_of_a_query_is_redacted(keyed):
    """Words, keys, source and filters of any form."""
    key = Key(SCOPE, "note", "a@example.com")
    where = {"or": [{"text": "a@example.com"}, {"not": {"id": {"in": ["a@example.com", "n1"]}}}, {"worth": {"gt": 1}}]}
    asked = keyed.query(Query(scope=SCOPE, keys=(key,), source=key, where=parse_filter(where)))
    ranked = keyed.query(Query(scope=SCOPE, words="who is a@example.com"))
    assert "example.com" not in repr(asked) + repr(ranked)
    assert ranked.words == "who is [email]"


def test_changes_of_every_kind_are_redacted(keyed):
    """A put, a credit and a removal name the same record."""
    record = note(name="a@example.com")
    put, credit, remove = (
        keyed.change(change) for change in (Put(record), Credit(record.key, "worth", 1.0, "u"), Remove(record.key))
    )
    assert put.record.key == credit.key == remove.key != record.key


def test_what_was_replaced_is_counted():
    """By kind; the values are not kept."""
    redactor = Redactor()
    redactor.record(note("a@example.com b@example.com", key="AKIAIOSFODNN7EXAMPLE"))
    assert redactor.replaced == {"email": 2, "secret": 1}


VALUES = st.sampled_from(["alice@example.com", "AKIAIOSFODNN7EXAMPLE", "4111111111111111", "DE89370400440532013000"])
TREES = st.recursive(
    st.one_of(st.none(), st.integers(-9, 9), st.text(max_size=8), VALUES, VALUES.map("密{}钥".format)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(VALUES | st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), TREES, max_size=3), st.sampled_from(["no", "record", "scope"]))
@settings(max_examples=150, deadline=None)
def test_no_value_is_ever_left_in_a_record(data, stable):
    """Wherever it stands in data; and a record that was redacted stays as it is."""
    redactor = Redactor(RedactionPolicy(stable=stable, key=KEY))
    made = redactor.record(note("mail alice@example.com", data=data))
    said = repr(made)
    assert not any(value in said for value in ("alice@example", "AKIAIOSF", "41111111", "DE893704"))
    assert redactor.record(made) == made
