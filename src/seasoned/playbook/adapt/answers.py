"""Numbers in answers: found in text with signs, separators, units and scales, compared after rounding; no eval.

What is read as a number: digits with an optional point; thousands separated by commas, apostrophes or single spaces; a
sign, a currency or both before it; after it a percent sign, a scale (k, m, bn, thousand, million, billion, trillion),
":1", or any unit; an exponent (1.5e3, 1.5 x 10^3). Parentheses right around it make it negative. Words around it are
passed over, and so are digits that belong to a name, such as D_1. An answer that holds several numbers says one only
where that one alone stands after the last "=", "≈" or "answer"; else it says none. A decimal comma is not understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Final

from seasoned.playbook.adapt.tasks import MAX_ANSWER

MAX_DIGITS: Final = 40
"""Most digits of a number; one with more is none."""

MAX_EXPONENT: Final = 60
"""Largest exponent of ten either way; a number with a larger one is none."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it was written: its value, scale included, and whether it is in percent."""

    value: Decimal
    percent: bool = False


def quantity_in(text: str) -> Quantity | None:
    """Return the one number that a text says; None where it says none, or several and none of them marked."""
    if len(text) > MAX_ANSWER:
        return None
    plain = _SUPERSCRIPTS.sub(_raised, text.translate(_SAME))
    found = _quantities(plain)
    if len(found) > 1:
        found = _quantities(plain[max((mark.end() for mark in _MARK.finditer(plain)), default=len(plain)) :])
    return found[0] if len(found) == 1 else None


def same_number(answer: str, target: str, *, decimals: int = 2) -> bool:
    """Tell whether an answer says the number of the target, rounded to the digits that the target shows.

    Those are its digits after the point, but at least `decimals`: 5.0 in a set of numbers with two digits is 5.00. Half
    a unit of the last digit either way is the same, so 8.335 is both 8.33 and 8.34. Where one of the two is in percent
    and the other is not, 15 % is 15, and it is 0.15.
    """
    wanted, said = quantity_in(target), quantity_in(answer)
    if wanted is None or said is None:
        return False
    places = max(decimals, -_exponent(wanted.value))
    half = Decimal(5).scaleb(-places - 1)
    readings = {said.value}
    if said.percent != wanted.percent:
        readings.add(said.value.scaleb(-2 if said.percent else 2, _WIDE))
    return any(abs(_WIDE.subtract(reading, wanted.value)) <= half for reading in readings)


_WIDE: Final = Context(prec=400)
"""Wide enough for an exact difference of any two numbers that are read."""

_SAME: Final = {
    **dict.fromkeys((0x2212, 0x2010, 0x2011, 0x2012, 0x2013, 0xFE63, 0xFF0D), "-"),
    **dict.fromkeys((0xA0, 0x2007, 0x2009, 0x202F), " "),
    **dict.fromkeys((0x2019, 0x2BC), "'"),
    **dict.fromkeys((0xFF05, 0xFE6A), "%"),
    **dict(zip(range(0xFF10, 0xFF1A), "0123456789", strict=True)),
    **dict.fromkeys(map(ord, "*_`\\"), None),
}
"""One sign for each of several that mean the same; the marks of Markdown and LaTeX are gone."""

_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPTS: Final = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_MARK: Final = re.compile(r"[=≈]|\banswer\b", re.IGNORECASE)
_CURRENCY: Final = r"(?:(?:[A-Z]{1,3})?[$€£¥₹]|USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY|Rs\.?)"

_BEFORE: Final = re.compile(
    rf"(?P<open>(?<!\w)\(\s*)?(?P<sign>(?<![\w)])[-+])?(?:(?<![A-Za-z]){_CURRENCY}\s?)?(?P<inner>[-+(])?\Z"
)
_NUMBER: Final = re.compile(
    r"""(?P<digits>(?:[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?![0-9])|[0-9]{1,3}(?:[ '][0-9]{3})+(?![0-9])|[0-9]+)
                   (?:\.[0-9]*)?|\.[0-9]+)
        (?:[eE](?P<power>[-+]?[0-9]+)|\ ?(?:[xX×·]|times)\ ?10\ ?\^\ ?\{?(?P<raised>[-+]?[0-9]+)\}?)?
        (?![A-Za-z]+[0-9])
        (?:\ ?(?P<percent>%|percent\b|per\ cent\b|pct\b)|(?P<short>[kKmMbB]|mn|MN|bn|BN|tn|TN)\b
           |[ -]?(?P<scale>thousand|million|billion|trillion)s?\b|\ ?:\ ?1(?![0-9.,]))?""",
    re.VERBOSE | re.IGNORECASE,
)
_SCALES: Final = {"t": 3, "k": 3, "m": 6, "b": 9, "tr": 12, "tn": 12}


def _raised(found: re.Match[str]) -> str:
    return "^" + found[0].translate(_RAISED)


def _quantities(text: str) -> list[Quantity]:
    """Return the numbers of a text, equal ones once; one that cannot be read stands for two, so none is said."""
    found = dict[Decimal, Quantity]()
    for number in _NUMBER.finditer(text):
        left = _BEFORE.search(text, max(0, number.start() - 12), number.start())
        if left is None or _belongs_to_a_name(text, left.start()):
            continue
        value = _value(number)
        if value is None:
            return [Quantity(Decimal(0)), Quantity(Decimal(1))]
        closed = text[number.end() : number.end() + 3].lstrip().startswith(")")
        brackets = closed and (left["open"] is not None or left["inner"] == "(")
        if brackets or "-" in (left["sign"], left["inner"]):
            value = -value
        found.setdefault(value, Quantity(value, number["percent"] is not None))
    return list(found.values())


def _belongs_to_a_name(text: str, start: int) -> bool:
    """Tell whether a letter stands right before, or an opened bracket right behind a letter: D1, x[0], round(15)."""
    if text[start : start + 1] in "$€£¥₹" and start < len(text):
        return False
    before = text[:start].removesuffix("[")
    return before[-1:].isalpha()


def _value(number: re.Match[str]) -> Decimal | None:
    digits = re.sub("[, ']", "", number["digits"])
    power, short, word = number["power"] or number["raised"] or "0", number["short"], number["scale"]
    if len(digits) > MAX_DIGITS or len(power) > 4 or abs(int(power)) > MAX_EXPONENT:
        return None
    if short:
        power = str(int(power) + _SCALES[short.lower() if short.lower() == "tn" else short.lower()[0]])
    if word:
        power = str(int(power) + _SCALES["tr" if word.lower() == "trillion" else word.lower()[0]])
    return Decimal(digits if digits != "." else "0").scaleb(int(power), _WIDE)


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0
