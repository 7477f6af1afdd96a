"""Numbers in answers, and answers checked against targets."""

from __future__ import annotations

import os
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.playbook.adapt import Example, Finer, Formula, quantity_in, read_rows, same_number, tags_in

ACE = os.environ.get("SEASONED_ACE_DATA")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("15.0", "15"),
        ("15", "15"),
        ("15.00%", "15"),
        ("15 percent", "15"),
        ("-5", "-5"),
        ("−5", "-5"),
        ("+5.20", "5.2"),
        ("1,234,567.89", "1234567.89"),
        ("1 234 567.89", "1234567.89"),
        ("1'234.5", "1234.5"),
        ("1,00,000", "100000"),
        ("$15.00", "15"),
        ("US$ 15", "15"),
        ("15.00 EUR", "15"),
        ("EUR 15", "15"),
        ("-$15,000", "-15000"),
        ("$-15,000", "-15000"),
        ("(1,234.50)", "-1234.5"),
        ("($1,234.50)", "-1234.5"),
        ("$(1,234)", "-1234"),
        ("(15%)", "-15"),
        ("1.5e3", "1500"),
        ("1.5E+03", "1500"),
        ("1.5 x 10^3", "1500"),
        ("1.5×10⁻³", "0.0015"),
        ("$1.2 billion", "1200000000"),
        ("-15 million", "-15000000"),
        ("3 trillion", "3000000000000"),
        ("5k", "5000"),
        ("7bn", "7000000000"),
        ("5.00x", "5"),
        ("2.50:1", "2.5"),
        ("45 days", "45"),
        (".5", "0.5"),
        ("5.", "5"),
        ("１５.00", "15"),
        ("**15.00**", "15"),
        (r"\boxed{15.00}", "15"),
        ("The operating margin is 15.00.", "15"),
        ("D_1 comes to 4.00", "4"),
        ("900,000 / 180,000 = 5.00", "5"),
        ("Over 3 years the answer is 27432.79", "27432.79"),
        ("15.00 = 15.00", "15"),
    ],
)
def test_a_number_is_read_as_people_write_it(text, value):
    """Signs, separators, currencies, percent, scales, units, exponents, and words around it."""
    found = quantity_in(text)
    assert found is not None
    assert found.value == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "nan",
        "inf",
        "-Infinity",
        "2 or 3",
        "10-20",
        "1/3",
        "12,5",
        "5^2",
        "0x1F",
        "1e999999999",
        "1e99",
        "10 x 10^400",
        "9" * 41,
        "__import__('os').system('id')",
        "().__class__.__bases__[0]",
        "15.00 (rounded to 2 decimals)",
        "=",
        "the answer is",
        "15 " + "x" * 4_000,
        "[[[[" * 900,
    ],
)
def test_what_says_no_single_number_is_none(text):
    """Code, words, ranges, several numbers, huge ones: never an exception, never a guess."""
    assert quantity_in(text) is None
    assert not same_number(text, "15.0")
    assert not Formula().check(Example(id="1", question="?", target="15.0"), text).right


@pytest.mark.parametrize(
    ("answer", "target", "same"),
    [
        ("15.00%", "15.0", True),
        ("15", "15.0", True),
        ("0.15", "15.0", False),
        ("15%", "0.15", True),
        ("15", "0.15", False),
        ("0.15", "15%", True),
        ("15%", "0.15%", False),
        ("8.3333", "8.33", True),
        ("8.335", "8.33", True),
        ("8.335", "8.34", True),
        ("8.3351", "8.33", False),
        ("8.3", "8.33", False),
        ("8.34", "8.33", False),
        ("5.004", "5.0", True),
        ("5.006", "5.0", False),
        ("0.0512", "0.05", True),
        ("1.23456", "1.2346", True),
        ("1.2345", "1.2346", False),
        ("-15 million", "-15000000.0", True),
        ("15000000", "-15000000.0", False),
        ("-0.00", "0.0", True),
    ],
)
def test_numbers_are_the_same_after_rounding_to_the_targets_digits(answer, target, same):
    """Two decimals at least; half a unit of the last one either way; percent as such or as a share."""
    assert same_number(answer, target) is same


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300))
def test_no_text_ever_makes_a_check_fail(text):
    """Whatever a model says, an answer is right or wrong."""
    assert isinstance(Formula().check(Example(id="1", question="?", target="15.0"), text).right, bool)
    assert isinstance(Finer().check(Example(id="1", question="?", target="A,B"), text).right, bool)


@given(st.text(alphabet="0123456789.,eE+-x^()% $k", max_size=4_000))
def test_reading_a_number_never_hangs(text):
    """Texts made of the very characters that numbers are made of are read in well under a second."""
    before = time.perf_counter()
    quantity_in(text)
    assert time.perf_counter() - before < 1


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=2, allow_nan=False))
def test_every_number_is_the_same_as_itself_however_it_is_written(number):
    """With thousands separated, with a currency, with parentheses where it is negative."""
    target = str(number)
    for written in (target, f"{number:,}", f"${number:,}", f"The value is {number:,} in total"):
        assert same_number(written, target)
    if number < 0:
        assert same_number(f"({-number:,})", target)


@pytest.mark.parametrize(
    ("answer", "parts", "right"),
    [
        ("Revenues,Goodwill", (2, 2), True),
        ("revenues , GOODWILL", (2, 2), True),
        ("1. Revenues\n2. Goodwill", (2, 2), True),
        ('["us-gaap:Revenues", "us-gaap_Goodwill"]', (2, 2), True),
        ("Tags: Revenues, Goodwill.", (2, 2), True),
        ("Goodwill,Revenues", (0, 2), False),
        ("Revenues", (1, 2), False),
        ("Revenues,Goodwill,LongTermDebt", (2, 2), False),
        ("Revenues,LongTermDebt", (1, 2), False),
        ("", (0, 2), False),
        ("Revenues," * 1_000, (0, 2), False),
    ],
)
def test_tags_are_compared_place_by_place(answer, parts, right):
    """Order counts, case and punctuation do not; one tag too many makes the example wrong, not its other tags."""
    check = Finer().check(Example(id="1", question="?", target="Revenues,Goodwill"), answer)
    assert (check.parts, check.right) == (parts, right)


def test_feedback_says_what_was_expected_and_which_tag_differs():
    """So that a reflector has something to go by."""
    example = Example(id="1", question="?", target="Revenues,Goodwill")
    assert Finer().check(example, "Revenues,X,Y").feedback == (
        "Wrong: Revenues,Goodwill was expected; tag 2 of 2 differs; 3 tags were given, 2 are wanted."
    )
    number = Example(id="1", question="?", target="15.0")
    assert "15.0 was expected" in Formula().check(number, "3").feedback
    assert "no single number" in Formula().check(number, "three").feedback


def test_an_empty_target_is_never_right():
    """A row without a target cannot be answered by saying nothing."""
    example = Example(id="1", question="?", target="")
    assert not Finer().check(example, "").right
    assert not Formula().check(example, "").right


@pytest.mark.skipif(ACE is None, reason="SEASONED_ACE_DATA names no folder with the FiNER and Formula rows")
def test_every_published_target_is_right_against_itself():
    """And against itself as people might write it."""
    folder = Path(ACE or "")
    formula = [each for path in sorted(folder.glob("formula_*.jsonl")) for each in read_rows(path)]
    finer = [each for path in sorted(folder.glob("finer_*.jsonl")) for each in read_rows(path)]
    assert len(formula) > 900
    assert len(finer) > 900
    for each in formula:
        number = float(each.target)
        for written in (each.target, f"{number:.2f}", f"{number:,.2f}", f"${number:,.2f}", f"{number:.2f}%"):
            assert Formula().check(each, written).right, (each.id, written)
        assert not Formula().check(each, str(number + 0.02)).right
    for each in finer:
        check = Finer().check(each, each.target.replace(",", ", "))
        assert check.right
        assert check.parts == (4, 4)
        assert len(tags_in(each.target)) == 4
