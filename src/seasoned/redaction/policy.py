"""What is replaced and how: a policy is checked when it is made, so one that does not parse writes nothing."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from seasoned.errors import InvalidInput, WrongType

KINDS: Final[Mapping[str, str]] = {
    "secret": "SECRET",
    "email": "EMAIL",
    "phone": "PHONE",
    "card": "CREDIT_CARD",
    "iban": "IBAN",
    "ip": "IP_ADDRESS",
    "mac": "MAC_ADDRESS",
    "wallet": "CRYPTO_WALLET",
    "imei": "IMEI",
    "vin": "VIN",
    "bic": "BIC",
    "position": "GEO_COORDINATES",
    "birth": "DATE_OF_BIRTH",
}
"""What can be found anywhere, and what depii calls it."""

DEFAULT_KINDS: Final = ("secret", "email", "phone", "card", "iban")

Stable: TypeAlias = Literal["no", "record", "scope"]

MIN_KEY: Final = 16
MAX_KEY: Final = 64
"""A key's length in bytes: what keyed BLAKE2b takes, and no less than nobody can guess."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z][a-z0-9]*)*\Z")
_COUNTRY: Final = re.compile(r"[a-z]{2}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionPolicy:
    """What is replaced in everything that is written.

    `kinds` are names of `KINDS`. `patterns` are your own: a kind's name (`employee`) and a regular expression; its
    group `value`, if there is one, is what is replaced. `countries` adds the national numbers of countries ("us",
    "de"), `regions` the telephone numbers written without "+" in these ("US", "CN"). `allow` are exact values that are
    kept, whatever their case. `fields` are more names of fields whose whole value is a secret, besides `password` and
    its like.

    `stable` says what a placeholder tells: "no" its kind (`[email]`), "record" which values of one record are equal
    (`[email-1]`), "scope" which values of one scope are, by a keyed digest (`[email-1c9ee07b]`), for which `key` is
    needed: 16 to 64 secret bytes. With a key, ids and session names that hold personal data are replaced by such a
    digest too; without one they are refused, since two of them must never become one.

    Raises:
        InvalidInput: an unknown kind, a pattern that does not compile or that fits nothing at all, a missing key.
        WrongType: a value of another type.
    """

    kinds: tuple[str, ...] = DEFAULT_KINDS
    patterns: Mapping[str, str] = field(default_factory=dict)
    countries: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    stable: Stable = "no"
    key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("kinds", "countries", "regions", "allow", "fields"):
            object.__setattr__(self, name, _words(getattr(self, name), name))
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            raise InvalidInput(f"kinds are of {', '.join(KINDS)}; found {', '.join(map(repr, unknown))}")
        if odd := [each for each in self.countries if not _COUNTRY.match(each)]:
            raise InvalidInput(f"countries are two small letters such as 'us', found {odd[0]!r}")
        if odd := [each for each in self.regions if not _COUNTRY.match(each.lower()) or not each.isupper()]:
            raise InvalidInput(f"regions are two capital letters such as 'US', found {odd[0]!r}")
        if not (self.kinds or self.patterns or self.countries):
            raise InvalidInput("a policy replaces something: name kinds, patterns or countries")
        _check_patterns(self.patterns)
        object.__setattr__(self, "patterns", dict(self.patterns))
        self._check_key()

    def _check_key(self) -> None:
        if self.stable not in get_args(Stable):
            raise InvalidInput(f"stable is one of {', '.join(get_args(Stable))}, not {self.stable!r}")
        if self.key is None:
            if self.stable == "scope":
                raise InvalidInput("stable='scope' needs a key: a digest without one is found by trying every value")
            return
        if not isinstance(self.key, bytes):
            raise WrongType(f"a key is bytes, not {type(self.key).__name__}")
        if not MIN_KEY <= len(self.key) <= MAX_KEY:
            raise InvalidInput(f"a key has {MIN_KEY} to {MAX_KEY} bytes, found {len(self.key)}")


def _words(values: object, what: str) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
        raise WrongType(f"{what} are a list of strings, not {type(values).__name__}: {values!r:.80}")
    if any(not value.strip() for value in values):
        raise InvalidInput(f"{what} hold no blank string, found one in {values!r:.80}")
    return tuple(values)


def _check_patterns(patterns: object) -> None:
    if not isinstance(patterns, Mapping):
        raise WrongType(f"patterns are a mapping from kinds to regular expressions, not {patterns!r:.80}")
    for name, pattern in patterns.items():
        if not isinstance(name, str) or not isinstance(pattern, str):
            raise WrongType(f"a pattern is a text under a kind's name, not {pattern!r:.80} under {name!r:.80}")
        if not _NAME.match(name) or name in KINDS:
            raise InvalidInput(
                f"a kind of yours is named in small letters and digits, unlike ours: 'employee', not {name!r}"
            )
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise InvalidInput(f"the pattern of {name!r} does not compile: {error}") from error
        if compiled.match(""):
            raise InvalidInput(f"the pattern of {name!r} fits an empty text, so it would fit everywhere: {pattern!r}")


def read_policy(path: str | os.PathLike[str], *, key: bytes | None = None) -> RedactionPolicy:
    """Return the policy that a TOML file (or JSON, by its ending) describes: the fields of `RedactionPolicy` by name.

    A key does not belong in the file; hand it in.

    Raises:
        InvalidInput: the file cannot be read or parsed, names an unknown field, or breaks a rule of a policy.
        WrongType: a value of another type.
    """
    place = Path(path)
    load: Callable[[str], object] = json.loads if place.suffix == ".json" else tomllib.loads
    try:
        given = load(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the policy {os.fspath(path)!r} cannot be read: {error}") from error
    if not isinstance(given, dict):
        raise InvalidInput(f"a policy is a table of fields, not {type(given).__name__}")
    known = {each.name for each in fields(RedactionPolicy)} - {"key"}
    if unknown := sorted(given.keys() - known):
        raise InvalidInput(f"a policy has the fields {', '.join(sorted(known))}; found {', '.join(unknown)}")
    return RedactionPolicy(**given, key=key)
