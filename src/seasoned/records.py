"""What is stored: scopes, keys, records and hits."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, Self, TypeAlias

from seasoned.errors import InvalidInput, InvalidScope, WrongType

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""Plain JSON: what `Record.data` may hold. Numbers are finite, integers of at most 64 bits; keys are strings."""

MAX_ID = 512
"""Longest id and longest scope part, in characters."""

MAX_DEPTH = 32
"""Deepest nesting of `Record.data`."""

_REPLACEMENT = "\ufffd"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Scope(tuple[str, ...]):
    """Whose memory it is: non-empty strings, outermost first, compared whole and exactly.

    Nothing is stripped, folded or coerced: `("Alice",)` and `("alice",)` are two scopes, and a number is a
    `WrongType`. A string is one part: slashes part a scope on the command line alone. The encoded form escapes its
    separator, so no part can imitate one.

    Raises:
        InvalidScope: no parts, a blank part, a control character, a lone surrogate, or over `MAX_ID` characters.
        WrongType: a part is not a string, or the whole is neither a string nor a sequence of them.
    """

    __slots__ = ()

    def __new__(cls, parts: Iterable[str] | str = ()) -> Self:  # noqa: D102  # the class says it
        if isinstance(parts, cls):
            return parts
        if not isinstance(parts, (str, list, tuple)):
            raise WrongType(f"a scope is a string or a tuple of strings, not {parts!r}")
        return super().__new__(cls, _checked_parts((parts,) if isinstance(parts, str) else parts))

    def within(self, *parts: str) -> Scope:
        """Return the scope below this one."""
        return Scope((*self, *parts))

    def __str__(self) -> str:
        """Return the parts with slashes between them, as the command line takes a scope: `acme/alice`, `a%2Fb`."""
        return self.encode().removesuffix("/")

    def holds(self, other: Scope) -> bool:
        """Tell whether `other` is this scope or lies below it."""
        return other[: len(self)] == tuple(self)

    def encode(self) -> str:
        """Return one string that sorts a scope directly before the scopes below it."""
        return "".join(part.replace("%", "%25").replace("/", "%2F") + "/" for part in self)

    @classmethod
    def decode(cls, text: str) -> Scope:
        """Return the scope that `encode` wrote."""
        return cls(tuple(part.replace("%2F", "/").replace("%25", "%") for part in text.split("/")[:-1]))

    def __repr__(self) -> str:
        return f"Scope({tuple(self)!r})"


def _checked_parts(parts: Sequence[str]) -> tuple[str, ...]:
    if not parts:
        raise InvalidScope("a scope needs at least one part, such as ('acme', 'alice')")
    return tuple(checked_id(part, "a scope part", InvalidScope) for part in parts)


def checked_id(value: object, what: str = "an id", error: type[InvalidInput] = InvalidInput) -> str:
    """Return `value` if it can name something: a string that is not blank, of printable characters.

    Raises:
        InvalidInput: (or `error`) blank, over `MAX_ID` characters, a control character or a lone surrogate.
        WrongType: not a string.
    """
    if not isinstance(value, str):
        raise WrongType(f"{what} is a string, not {value!r}")
    if not value.strip():
        raise error(f"{what} must not be blank, found {value!r}")
    if len(value) > MAX_ID:
        raise error(f"{what} has at most {MAX_ID} characters, found {len(value)}")
    if not value.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in value):
        raise error(f"{what} must hold no control character or lone surrogate, found {value!r}")
    return value


def clean_text(text: str) -> str:
    """Return `text` with each NUL and lone surrogate replaced by U+FFFD, since no engine stores them all."""
    if text.isascii():
        return text.replace("\0", _REPLACEMENT) if "\0" in text else text
    return text.replace("\0", _REPLACEMENT).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_json(value: object, depth: int = 0) -> JSON:
    """Return a deep copy of `value` as plain JSON; tuples become lists and texts are cleaned.

    Raises:
        InvalidInput: a number that is not finite, or nesting over `MAX_DEPTH`.
        WrongType: a value or key of another type.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InvalidInput(
                f"an integer in data has at most 64 bits, found one of {value.bit_length()}; write it as text"
            )
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"a number in data must be finite, found {value!r}")
        return value
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"data is nested deeper than {MAX_DEPTH}")
    if isinstance(value, Mapping):
        return {_json_key(key): clean_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(item, depth + 1) for item in value]
    raise WrongType(f"data holds plain JSON, not {type(value).__name__}: {value!r:.80}")


def _json_key(key: object) -> str:
    if not isinstance(key, str):
        raise WrongType(f"a key in data is a string, not {key!r}")
    return clean_text(key)


WHEN: TypeAlias = datetime | date | str | int | float | None
"""A time as callers have it; see `instant`."""


def instant(value: object, *, default: datetime | None = None) -> datetime:
    """Return an aware UTC instant from what callers have.

    A naive datetime is taken as UTC; a date is its midnight in UTC; a string is ISO 8601 (`Z` or an offset, naive
    is UTC); a number is seconds since 1970, or milliseconds from 1e11 on.

    Raises:
        InvalidInput: not a time, or outside the years 1 to 9999.
        WrongType: another type, or None without a default.
    """
    if value is None and default is not None:
        return default
    if isinstance(value, datetime):
        return _utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        return _parsed(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _since_epoch(value)
    raise WrongType(f"a time is a datetime, date, ISO 8601 string or number of seconds, not {value!r}")


def _utc(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(f"{value!r} lies outside the years 1 to 9999 in UTC") from error


def _parsed(value: str) -> datetime:
    try:
        return _utc(datetime.fromisoformat(value.strip()))
    except ValueError as error:
        raise InvalidInput(f"{value!r} is not an ISO 8601 time such as 2026-01-31T12:00:00Z") from error


def _since_epoch(value: float) -> datetime:
    try:
        seconds = value / 1000 if abs(value) >= 1e11 else value
        return _EPOCH + timedelta(seconds=seconds)
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"{value!r} is not a time in seconds or milliseconds since 1970") from error


def to_micros(value: datetime) -> int:
    """Return an aware instant as whole microseconds since 1970."""
    return (value - _EPOCH) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """Return the instant that `to_micros` encoded."""
    return _EPOCH + timedelta(microseconds=value)


@dataclass(frozen=True, slots=True)
class Key:
    """What names a record: its scope, its kind (`message`, `note`, …) and its id, unique within both."""

    scope: Scope
    kind: str
    id: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", Scope(self.scope))
        checked_id(self.kind, "a kind")
        checked_id(self.id)

    def __str__(self) -> str:
        return f"{self.kind} {self.id!r} in {self.scope}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One thing remembered; frozen, checked and cleaned when made.

    `text` is what is searched ("" is never found by words). `data` is plain JSON; search reads three optional
    fields of it: `session` (groups records that follow each other), `role` ("user" ranks higher) and `name`
    (the speaker). `sources` are the keys it was derived from. `worth` ranks: reward, priority, counters. `at` is
    when it happened, in UTC; from `until` on it is never returned. `version` counts its writes, 0 before the first.

    Raises:
        InvalidInput: a worth or a number in data that is not finite, a negative version.
        WrongType: a field of another type.
    """

    key: Key
    text: str
    at: datetime
    data: Mapping[str, JSON] = field(default_factory=dict)
    sources: tuple[Key, ...] = ()
    worth: float = 0.0
    until: datetime | None = None
    version: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise WrongType(f"text is a string, not {self.text!r:.80}")
        if not isinstance(self.data, Mapping):
            raise WrongType(f"data is a mapping of plain JSON, not {self.data!r:.80}")
        if not isinstance(self.key, Key):
            raise WrongType(f"key is a Key, not {self.key!r:.80}")
        if not isinstance(self.sources, (list, tuple)) or not all(isinstance(key, Key) for key in self.sources):
            raise WrongType(f"sources are a tuple of keys, not {self.sources!r:.80}")
        if isinstance(self.version, bool) or not isinstance(self.version, int):
            raise WrongType(f"version is an integer, not {self.version!r}")
        if self.version < 0:
            raise InvalidInput(f"version is 0 or more, found {self.version}")
        put = object.__setattr__
        put(self, "text", clean_text(self.text))
        put(self, "data", clean_json(self.data))
        put(self, "worth", finite(self.worth, "worth"))
        put(self, "at", instant(self.at))
        put(self, "sources", tuple(self.sources))
        if self.until is not None:
            put(self, "until", instant(self.until))


def trusted_record(
    key: Key,
    text: str,
    at: datetime,
    data: Mapping[str, JSON],
    sources: tuple[Key, ...],
    worth: float,
    until: datetime | None,
    version: int,
) -> Record:
    """Return a record from values that were checked when they were stored, without checking them again."""
    made = object.__new__(Record)
    put = object.__setattr__
    put(made, "key", key)
    put(made, "text", text)
    put(made, "at", at)
    put(made, "data", data)
    put(made, "sources", sources)
    put(made, "worth", worth)
    put(made, "until", until)
    put(made, "version", version)
    return made


def trusted_key(scope: Scope, kind: str, name: str) -> Key:
    """Return a key from parts that were checked when they were stored, without checking them again."""
    made = object.__new__(Key)
    put = object.__setattr__
    put(made, "scope", scope)
    put(made, "kind", kind)
    put(made, "id", name)
    return made


ODD: Final = "\x01"
"""Stands for a session that is there but is no text, or an empty one, where sessions are stored in a column."""


def session_field(data: Mapping[str, JSON]) -> str | None:
    """Return the session of a record as a column holds it: a text, None for none, `ODD` for anything else."""
    return text_field(data, "session") or (None if data.get("session") is None else ODD)


def is_odd(data: Mapping[str, JSON]) -> bool:
    """Tell whether a record's session or role is there but is no text, or an empty one."""
    return any(data.get(name) is not None and text_field(data, name) is None for name in ("session", "role"))


def text_field(data: Mapping[str, JSON], name: str) -> str | None:
    """Return a field of data if it is a text that is not empty."""
    value = data.get(name)
    return value if isinstance(value, str) and value else None


def finite(value: object, what: str) -> float:
    """Return a finite number as a float.

    Raises:
        InvalidInput: NaN or infinite.
        WrongType: not a number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongType(f"{what} is a number, not {value!r}")
    try:
        number = float(value)
    except OverflowError as error:
        raise InvalidInput(f"{what} must be finite, found an integer that no float holds") from error
    if not math.isfinite(number):
        raise InvalidInput(f"{what} must be finite, found {value!r}")
    return number


@dataclass(frozen=True, slots=True)
class Why:
    """What one arm gave to a hit: its raw `value` (BM25 score, cosine, …) and its `share` of the fused score."""

    value: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record that answers a query.

    `score` is fused and in [0, 1] (0 where nothing was ranked), identical text near 1. `why` has each part of it by
    name, such as "lexical" or "dense", as a `Why`: their shares add up to the score.
    `order` is the place at which the record was first written, `seq` that of its last change; `written` is when.
    """

    record: Record
    score: float = 0.0
    why: Mapping[str, Why] = field(default_factory=dict)
    order: int = 0
    seq: int = 0
    written: datetime | None = None

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.key.id

    @property
    def text(self) -> str:
        """The record's text."""
        return self.record.text

    @property
    def locked(self) -> bool:
        """Whether its content cannot be read, since its key is not here: text "" and data `{"locked": true}`."""
        return False
