"""Where a text comes from: what its record says, else its role, else its kind."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seasoned.errors import InvalidInput
from seasoned.records import Key, Record
from seasoned.trust import TRUST, Origin, checked_origin, origin_of, trusted


def record(kind: str, **data: object) -> Record:
    return Record(key=Key(("acme",), kind, "x"), text="x", at=datetime(2026, 1, 1, tzinfo=UTC), data=data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "data", "origin"),
    [
        ("message", {"role": "user"}, "user"),
        ("message", {"role": "assistant"}, "assistant"),
        ("message", {"role": "tool"}, "tool"),
        ("message", {"role": "function"}, "tool"),
        ("message", {"role": "developer"}, "system"),
        ("message", {"role": "root"}, "tool"),
        ("message", {"role": ["user"]}, "tool"),
        ("message", {}, "tool"),
        ("message", {"role": "user", "origin": "import"}, "import"),
        ("note", {}, "system"),
        ("note", {"origin": "tool"}, "tool"),
        ("note", {"origin": "root"}, "system"),
        ("note", {"origin": 7}, "system"),
        ("note", {"role": "user"}, "system"),
        ("decision", {}, "assistant"),
        ("feedback", {}, "user"),
        *((kind, {}, "model") for kind in ("summary", "atom", "episode", "lesson", "profile", "entry")),
    ],
)
def test_the_origin_of_a_record(kind, data, origin):
    """A word that is none counts for nothing; a message of an unknown role is believed as little as a tool."""
    assert origin_of(record(kind, **data)) == origin


def test_every_origin_has_a_word_for_its_trust():
    """And only tools and imports are not verified."""
    assert TRUST.keys() == set(Origin)
    assert {origin for origin, said in TRUST.items() if "not verified" in said} == {"tool", "import"}
    assert trusted(record("lesson")) == "derived from other records"


def test_an_origin_is_one_of_six():
    """Anything else is refused, and says which there are."""
    assert checked_origin("tool") is Origin.TOOL
    with pytest.raises(InvalidInput, match="user, assistant, tool, system, import, model"):
        checked_origin("web")
