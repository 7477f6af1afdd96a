"""Doubts: what a pattern found, but is more likely a date, a count or a word than somebody's number or secret."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

ADDRESSES: Final = frozenset(("git@github.com", "git@gitlab.com", "git@bitbucket.org", "git@ssh.dev.azure.com"))
"""Addresses that name a service, and nobody."""

_WITH_CONTEXT: Final = 0.9
"""From this score on, depii has seen a word for telephone beside the number."""

_DATE: Final = re.compile(
    r"\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)\d\d(?!\d)|(?:19|20)\d\d[-./ ]\d{1,2}[-./ ]\d{1,2}(?!\d)"
)
_YEAR: Final = re.compile(r"\((?:19|20)\d\d\)")
_TELEPHONE: Final = re.compile(
    r"(?i:(?<![^\W_])(?:phone|tel|telephone|telefon|t[eé]l[eé]fono?|t[eé]l[eé]phone|telefone|telefoon|mobile|mobil|"
    r"m[oó]vil|handy|whatsapp|fax|sms|puhelin)[^\d]{0,12}\Z)|(?:电话|電話|手机|手機|전화|携帯)[^\d]{0,8}\Z"
)
_AFTER_WEAK_NAME: Final = re.compile(r"(?i:(?<![a-z_-])(?:token|secret))[\"']?\s{0,4}[:=]\s{0,4}[\"']?\Z")
_OF_SENTENCES: Final = frozenset(
    ("must", "should", "shall", "will", "needs", "required", "optional", "never", "always", "ask", "reset", "changed",
     "forgotten", "unknown", "missing", "incorrect", "wrong", "invalid", "valid", "string", "with", "what", "that")
)  # fmt: skip

NEAR: Final = 48
"""How many characters before a find are looked at."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a detector found: its name, how sure it is from 0 to 1, the value, and what stands before it."""

    detector: str
    score: float
    value: str
    before: str


def is_doubtful(found: Candidate) -> bool:
    """Tell whether a find is kept as it is."""
    before = found.before[-NEAR:]
    if found.detector.startswith("phone_"):
        return _is_no_phone(found, before)
    if found.detector == "secret_assignment":
        return _is_no_secret(found.value.strip(";)]}>.,").lower(), weak=bool(_AFTER_WEAK_NAME.search(before)))
    if found.detector == "authorization_header":
        return (found.value.isalpha() and found.value[1:].islower()) or _is_hyphenated(found.value)
    return found.detector == "email" and found.value in ADDRESSES


def _is_no_phone(found: Candidate, before: str) -> bool:
    value, sure = found.value, found.score >= _WITH_CONTEXT
    if _DATE.match(value) or _YEAR.match(value):
        return True
    if found.detector == "phone_generic":
        return not _TELEPHONE.search(before)
    if found.detector == "phone_nanp":
        return not sure and not any(mark in value for mark in "-.(")
    if found.detector == "phone_in_mobile":
        return not sure
    return found.detector == "phone_parenthesised" and not sure and sum(char.isdigit() for char in value) < 9


def _is_no_secret(value: str, *, weak: bool) -> bool:
    """Tell a word of a sentence about passwords; after "token:" most often stands one about language models."""
    if weak and (len(value) < 8 or value.isalpha() or value.isdigit()):
        return True
    return not value or value in _OF_SENTENCES


def _is_hyphenated(value: str) -> bool:
    return all(part.isalpha() and part.islower() for part in value.split("-"))
