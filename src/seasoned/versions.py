"""Checking the version that a change expects: the same rule for every engine."""

from __future__ import annotations

from seasoned.errors import Conflict
from seasoned.ports import ABSENT, Expect
from seasoned.records import Key


def check_version(key: Key, expect: Expect, version: int | None) -> None:
    """Refuse a change whose record is not in the version it expects; `version` is None where there is no record.

    Raises:
        Conflict: it is in another version, or is there although it must not be, or is not.
    """
    if expect is None:
        return
    if (expect is ABSENT and version is not None) or (expect is not ABSENT and version != expect):
        raise Conflict(key, expected=expect, found="none" if version is None else version)
