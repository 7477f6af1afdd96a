"""Nested data: which fields hold secrets by their name, and texts that are JSON themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from seasoned.records import JSON

SECRET_FIELDS: Final = frozenset(
    (
        *("password", "passwd", "pwd", "passphrase", "passcode", "pin_code", "cvv", "cvc", "otp"),
        *("secret", "client_secret", "secret_key", "private_key", "api_key", "apikey", "access_key"),
        *("access_token", "auth_token", "refresh_token", "id_token", "session_token", "bearer_token", "api_token"),
        *("authorization", "credentials", "cookie", "set_cookie"),
    )
)
"""Names of fields, in snake case, whose whole value is a secret; longer names may end in one (`db_password`)."""

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN: Final = re.compile(r"[^a-z0-9]+")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def secret_field(name: str, more: tuple[str, ...] = ()) -> bool:
    """Tell whether the whole value of a field is a secret, by the field's name or one that it ends in."""
    if name in more:
        return True
    words = _BETWEEN.sub("_", _CAMEL.sub("_", name).lower()).strip("_").split("_")
    return any("_".join(words[at:]) in SECRET_FIELDS for at in range(len(words)))


def parsed_json(text: str) -> JSON:
    """Return what a text of a JSON object or list holds, None where it is no such text."""
    bare = text.strip()
    if (bare[:1], bare[-1:]) not in (("{", "}"), ("[", "]")):
        return None
    try:
        content: JSON = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    return content


def json_text(value: JSON, *, like: str) -> str:
    """Return data as JSON, spaced as another text of JSON is."""
    separators = (", ", ": ") if '": ' in like else (",", ":")
    return json.dumps(value, ensure_ascii=False, separators=separators)


def string_ranges(text: str) -> list[tuple[int, int]]:
    """Return where the strings of a JSON text begin and end, quotes included."""
    return [match.span() for match in _STRING.finditer(text)]


def texts_of(value: JSON | Mapping[str, JSON]) -> Iterator[str]:
    """Yield every text in nested data, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from texts_of(item)
