"""Arguments as callers write them: one or several, checked."""

from __future__ import annotations

from collections.abc import Sequence

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import checked_id, clean_text


def check_type(value: object, kind: type, what: str) -> None:
    """Refuse a value that is neither None nor of its type.

    Raises:
        WrongType: it is not.
    """
    if value is not None and not isinstance(value, kind):
        raise WrongType(f"{what} is a {kind.__name__}, not {value!r:.80}")


def checked_text(text: object, what: str, *, blank: bool = False) -> str:
    """Return a text, cleaned; one that is blank only where `blank` allows it.

    Raises:
        InvalidInput: it is blank.
        WrongType: not a string.
    """
    if not isinstance(text, str):
        raise WrongType(f"{what} is a text, not {text!r:.80}")
    if not blank and not text.strip():
        raise InvalidInput(f"{what} must not be blank, found {text!r:.80}")
    return clean_text(text)


def checked_list(given: object, what: str) -> Sequence[object]:
    """Return a list or tuple.

    Raises:
        WrongType: something else, such as one string.
    """
    if not isinstance(given, (list, tuple)):
        raise WrongType(f"{what} are a list, not {given!r:.80}")
    return given


def checked_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return one kind or several as a tuple."""
    return tuple(checked_id(kind, "a kind") for kind in _several(kinds, "kinds"))


def checked_ids(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return one id or several as a tuple, None for none."""
    return None if given is None else _several(given, "ids")


def _several(given: str | Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, (list, tuple, set, frozenset)):
        raise WrongType(f"{what} are one string or a list of them, not {given!r:.80}")
    return tuple(given)
