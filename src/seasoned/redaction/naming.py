"""Placeholders: what stands in the place of a value, which says its kind and can never be turned back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from seasoned.records import Scope
from seasoned.redaction.policy import RedactionPolicy


class Naming:
    """Names the values of one record, in the order in which they are met.

    `present` are the record's texts before: numbers go on above those of the placeholders that stand in them.
    """

    def __init__(
        self, policy: RedactionPolicy, scope: Scope | None, placeholder: re.Pattern[str], present: Iterable[str] = ()
    ) -> None:
        self._policy = policy
        self._scope = scope
        self._numbers = dict[tuple[str, str], int]()
        self._last = dict[str, int]()
        for text in present if policy.stable == "record" else ():
            for found in placeholder.findall(text):
                self._take(found)

    def _take(self, placeholder: str) -> None:
        kind, _, number = placeholder[1:-1].rpartition("-")
        if kind and number.isdigit():
            self._last[kind] = max(self._last.get(kind, 0), int(number))

    def name(self, kind: str, value: str) -> str:
        """Return the placeholder of a value as the policy wants it."""
        if self._policy.stable == "scope" and self._policy.key is not None:
            return _digest(self._policy.key, kind, value, self._scope)
        if self._policy.stable == "no":
            return f"[{kind}]"
        same = (kind, _same(kind, value))
        if same not in self._numbers:
            self._last[kind] = self._numbers[same] = self._last.get(kind, 0) + 1
        return f"[{kind}-{self._numbers[same]}]"


def label(policy: RedactionPolicy, kind: str, value: str) -> str:
    """Return what a value becomes in a field by which records are looked for: the same in every record."""
    return f"[{kind}]" if policy.key is None else _digest(policy.key, kind, value, None)


def identity(policy: RedactionPolicy, kind: str, value: str) -> str:
    """Return what a value becomes in an id, a session or a scope part: so long that no two of many become one."""
    return f"[{kind}]" if policy.key is None else _digest(policy.key, kind, value, None, size=12)


def _digest(key: bytes, kind: str, value: str, scope: Scope | None, size: int = 4) -> str:
    text = "\0".join((kind, "" if scope is None else scope.encode(), _same(kind, value)))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=size)
    return f"[{kind}-{digest.hexdigest()}]"


def _same(kind: str, value: str) -> str:
    """Return what two spellings of one value have in common."""
    if kind in ("phone", "card"):
        return "".join(char for char in value if char.isdigit())
    return "".join(value.split()).casefold() if kind in ("email", "iban") else value
