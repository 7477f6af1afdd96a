"""The seams: what an engine, an embedder, a token counter, a clock and a model are to the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from seasoned.errors import InvalidInput, WrongType
from seasoned.query import Page, Query
from seasoned.records import JSON, Key, Record, checked_id, finite

Message: TypeAlias = dict[str, JSON]
"""One message in OpenAI form: `role`, `content` (text, parts, None), optional `name`, `tool_calls`, `tool_call_id`."""


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """Return the present instant, aware and in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        return datetime.now(UTC)


IdSource: TypeAlias = Callable[[], str]
"""Gives a new id at each call, unlike any before."""


def new_id() -> str:
    """Return a random id of 32 hexadecimal digits."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Names a vector space. Vectors of different fingerprints never meet."""

    name: str
    version: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.name}/{self.version}/{self.dimension}"


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The vector space that the embedder writes to."""
        ...

    @property
    def weight(self) -> float:
        """How far its cosines count beside words, from 0 (only words) to 1 (only cosines)."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row a text, shape (n, dimension)."""
        ...


TokenCounter: TypeAlias = Callable[[Sequence[Message]], int]
"""Counts the tokens of a list of messages, as the model will see it."""


class Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
"""As `expect`: the record must not exist yet."""

Expect: TypeAlias = int | Absent | None
"""The version a record must have for a change to be applied; `ABSENT`; or None for any."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of one record in one space: unit rows, float32, shape (parts, dimension); parts >= 1."""

    fingerprint: Fingerprint
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float32, order="C")
        if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] != self.fingerprint.dimension:
            raise WrongType(
                f"vectors of {self.fingerprint} have shape (parts, {self.fingerprint.dimension}), not {values.shape}"
            )
        if not np.isfinite(values).all():
            raise InvalidInput(f"vectors of {self.fingerprint} must be finite, found NaN or infinity")
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, slots=True)
class Put:
    """Write a record whole; without `vectors` those of an unchanged text are kept, those of a changed one dropped."""

    record: Record
    vectors: Vectors | None = None
    expect: Expect = None

    def __post_init__(self) -> None:
        _check(self.record, Record, "record")
        if self.vectors is not None:
            _check(self.vectors, Vectors, "vectors")
        _check_expect(self.expect)


@dataclass(frozen=True, slots=True)
class Credit:
    """Add `amount` to a number of a record: `worth` or `data.x`; once only for each `by` and field.

    Who gave is remembered as long as the record exists, through every rewrite of it; so keep a `Put` and a `Credit` of
    one record in separate calls, or a repeated call would reset the number and skip the credit.
    """

    key: Key
    field: str
    amount: float
    by: str

    def __post_init__(self) -> None:
        _check(self.key, Key, "key")
        checked_id(self.field, "a field")
        checked_id(self.by, "who gives a credit")
        finite(self.amount, "a credit")


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a record; removing one that is not there changes nothing, unless `expect` is a version."""

    key: Key
    expect: Expect = None

    def __post_init__(self) -> None:
        _check(self.key, Key, "key")
        _check_expect(self.expect)


Change: TypeAlias = Put | Credit | Remove


def _check(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise WrongType(f"{what} is of {kind.__name__}, not {value!r:.80}")


def _check_expect(expect: object) -> None:
    if expect is not None and expect is not ABSENT and (isinstance(expect, bool) or not isinstance(expect, int)):
        raise WrongType(f"expect is a version, ABSENT or None, not {expect!r:.80}")


@dataclass(frozen=True, slots=True)
class Applied:
    """For each change in order: the record's version after it (0 where there is none now) and the sequence it took.

    A change that had no effect (a credit given before, a removal of nothing) takes no sequence: its `seqs` entry is 0.
    """

    versions: tuple[int, ...]
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Can:
    """What an engine can do. What it cannot it declares, and the contract asks only for what is declared.

    `atomic`: a batch is applied whole or not at all. `compare`: versions are checked within the write. `ordered`:
    it keeps a sequence. `lexical`, `dense`: it answers by words, by vector. `fresh`: it reads its own writes at
    once. `durable`: what was acknowledged survives the process.
    """

    atomic: bool
    compare: bool
    ordered: bool
    lexical: bool
    dense: bool
    fresh: bool
    durable: bool


@runtime_checkable
class Store(Protocol):
    """The narrow seam to an engine. Thread safe; every call on a closed store raises `StoreClosed`."""

    @property
    def can(self) -> Can:
        """What the engine can do."""
        ...

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`; filters run before the top k in every arm."""
        ...

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes in order, all or none where the engine is atomic.

        Raises:
            Conflict: a record was not in the version that its change expects.
            NotFound: a credit for a record that does not exist.
        """
        ...

    def close(self) -> None:
        """Release everything; closing twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that `check` found wrong: where, and what."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much a purge removed, by the place it lay in."""

    rows: int = 0
    vectors: int = 0
    postings: int = 0
    history: int = 0
    log_bytes: int = 0
    pending: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@runtime_checkable
class Upkeep(Protocol):
    """What engines that keep derived indexes or files of their own do besides; optional."""

    def check(self) -> list[Finding]:
        """Compare every derived index with the rows, and the file with itself; [] where all is well."""
        ...

    def rebuild(self) -> int:
        """Make every derived index anew from the rows; return how many records were read."""
        ...

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove the records for good: no byte of them stays in rows, indexes or logs."""
        ...

    def stats(self) -> Mapping[str, JSON]:
        """Return sizes and counts of the engine."""
        ...


Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "function"]
ChatReply: TypeAlias = str | Awaitable[str]


class ChatModel(Protocol):
    """A model as this package calls it; sync or async."""

    def chat(self, messages: Sequence[Message], *, max_tokens: int, temperature: float, tag: str) -> ChatReply:
        """Return the reply's text."""
        ...
