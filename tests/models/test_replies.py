"""Finding JSON in what models write around it."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.models.replies import Parsed, json_from, without_thinking
from seasoned.records import clean_json

FACTS = {"facts": ["Anna lives in Riga"]}
TEXT = '{"facts": ["Anna lives in Riga"]}'

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
CONTAINERS = st.lists(VALUES, max_size=4) | st.dictionaries(st.text(), VALUES, max_size=4)
PROSE = st.text(st.characters(exclude_characters="[{<"))


@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}```",
        f"Here are the facts: {TEXT}",
        f"Here are the [requested] facts:\n\n{TEXT}\n\nLet me know if {{more}} is needed.",
        f'First an example: {{"facts": []}}. Now yours: {TEXT}',
        f"<think>Maybe {{}} or {TEXT[:-2]}?</think>\n{TEXT}",
        f"Maybe nothing.</think>{TEXT}",
        f"\ufeff{TEXT}",
        TEXT.replace(" lives", " lives"),
    ],
)
def test_the_json_is_found_whatever_stands_around_it(reply):
    """Fences, prefaces, examples, thinking and words after it are passed over."""
    assert json_from(reply) == Parsed(FACTS)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("[1, 2]", [1, 2]),
        ('{"facts": null}', {"facts": None}),
        ('{"a": NaN, "b": [-Infinity]}', {"a": None, "b": [None]}),
        ('{"a": "bad \\ud800 half"}', {"a": "bad \ufffd half"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": 1} and {"b": 2}', {"b": 2}),
        ("{}", {}),
    ],
)
def test_unusual_json_is_read_as_far_as_it_means_something(reply, value):
    """Values that cannot be stored are replaced; of two equally long pieces the last counts."""
    assert json_from(reply) == Parsed(value)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "the reply is empty"),
        (" \n", "the reply is empty"),
        ("I cannot help with that.", "the reply holds no JSON object or list"),
        ("null", "the reply holds no JSON object or list"),
        (TEXT[:-1], "cut off"),
        (TEXT[:20], "cut off"),
        (f"```json\n{TEXT[:-1]}\n```", "cut off"),
        ('[{"a": 1}, {"b": 2}, {"c"', "cut off"),
        ('{"facts": [{"a": 1}], wrong: {"b": 2}}', "malformed"),
        ("<think>I wonder about {", "no text after its thinking"),
        ('{"a": 1e999}', "cannot be kept"),
        ("[" * 40 + "]" * 40, "cannot be kept"),
        ('{"a": ' + "9" * 5000 + "}", "cannot be read"),
        ('{"a":' * 100_000, "cannot be read"),
    ],
)
def test_where_there_is_no_whole_json_the_reason_is_said(reply, reason):
    """A part of it is never taken for the whole."""
    found = json_from(reply)
    assert found.value is None
    assert reason in found.reason


@given(st.text())
def test_it_never_raises_on_any_text(reply):
    """Either there is a value, or a reason why not."""
    found = json_from(reply)
    assert (found.reason == "") == isinstance(found.value, (dict, list))


@given(st.text(st.sampled_from('[]{}":,\\ntrue01e-.<think/> `\ud800')))
def test_it_never_raises_on_text_that_is_almost_json(reply):
    """The same, where nearly every text is nearly JSON."""
    found = json_from(reply)
    assert (found.reason == "") == isinstance(found.value, (dict, list))


@given(PROSE, CONTAINERS, PROSE)
def test_any_json_is_found_in_any_prose(before, value, after):
    """What was written comes back, cleaned as records clean it."""
    found = json_from(f"{before}{json.dumps(value, ensure_ascii=False)}{after}")
    assert found == Parsed(clean_json(value))


@given(CONTAINERS, st.data())
def test_a_part_of_an_object_is_never_taken_for_the_whole(value, data):
    """Cut anywhere, the reply gives nothing."""
    whole = json.dumps({"all": value})
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert json_from(whole[:cut]).value is None


@pytest.mark.parametrize("piece", ["[1,", '{"a":[', '["', "{", "[1 ", '{"a":1} [', '["\\x', "<think>", "[[1],x"])
def test_the_time_grows_with_the_length_and_not_with_its_square(piece):
    """A megabyte of openings takes no longer than a second, where a square would take hours."""
    start = time.perf_counter()
    json_from(piece * (1_000_000 // len(piece)))
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<think>hm</think> Riga", "Riga"),
        ("\n<thinking>hm\n</thinking>\nRiga", "Riga"),
        ("hm</think>Riga", "Riga"),
        ("<think>hm", ""),
        ("Riga", "Riga"),
        ("A <think> tag and </think> in prose", "A <think> tag and </think> in prose"),
    ],
)
def test_thinking_at_the_beginning_is_left_out(reply, text):
    """What stands after the block is the reply."""
    assert without_thinking(reply) == text
