"""Every error of seasoned, as one tree.

SeasonedError
├── InvalidInput (ValueError)      a value that breaks a documented rule
│   ├── InvalidScope               a scope that is empty, blank or ambiguous
│   ├── InvalidFilter              an unknown field, operator or operand
│   ├── InvalidMessage             a message that is not in OpenAI form
│   └── BudgetTooSmall             a budget that cannot hold what must be there
├── WrongType (TypeError)          a value of a type that is not accepted
├── NotFound (LookupError)         no record has that id
├── Conflict                       a record was not in the expected version
├── StoreError                     the engine could not do it
│   ├── StoreClosed                it was closed before
│   ├── StoreBusy                  another writer held it for too long
│   ├── StoreFull                  no space is left
│   ├── StoreReadOnly              it cannot be written
│   ├── StoreCorrupt               what was read is damaged
│   ├── StoreLocked                its key is not here
│   └── SchemaTooNew               a newer seasoned wrote it
├── EmbeddingError                 an embedder failed or broke its promise
├── ModelError                     a model failed, or answered in an unusable form
├── BundleError                    an import file is damaged or not understood
└── MissingExtra (ImportError)     an optional package is not installed
"""

from __future__ import annotations

from collections.abc import Sequence


class SeasonedError(Exception):
    """The root: catching it catches every error that seasoned raises on purpose."""


class InvalidInput(SeasonedError, ValueError):
    """A value breaks a documented rule; nothing was written."""


class InvalidScope(InvalidInput):
    """A scope is empty, or one of its parts is blank or holds a control character."""


class InvalidFilter(InvalidInput):
    """A filter names an unknown field or operator, or compares with an impossible value."""


class InvalidMessage(InvalidInput):
    """A message is not in OpenAI form."""


class BudgetTooSmall(InvalidInput):
    """A token budget cannot hold what must be in a context."""

    def __init__(
        self, *, needed: int, budget: int, what: str = "the system messages and the newest user message"
    ) -> None:
        super().__init__(
            f"{what} need {needed} tokens, but the budget leaves {budget}; raise the budget or shorten them"
        )
        self.needed = needed
        self.budget = budget


class WrongType(SeasonedError, TypeError):
    """A value is of a type that is not accepted; nothing was written."""


class NotFound(SeasonedError, LookupError):
    """No record has that id in this scope."""


class Conflict(SeasonedError):
    """A record was not in the expected version, so nothing of the change was applied."""

    def __init__(self, key: object, *, expected: object, found: object) -> None:
        super().__init__(f"{key} was expected in version {expected}, found {found}; read it again and retry")
        self.key = key
        self.expected = expected
        self.found = found


class StoreError(SeasonedError):
    """The engine could not do what was asked."""


class StoreClosed(StoreError):
    """The store was closed before this call."""


class StoreBusy(StoreError):
    """Another writer held the store for longer than the timeout."""


class StoreFull(StoreError):
    """No space is left on the device; the change was rolled back."""


class StoreReadOnly(StoreError):
    """The store cannot be written."""


class StoreCorrupt(StoreError):
    """What was read is damaged, or is not a seasoned store."""


class StoreLocked(StoreError):
    """A scope is encrypted, and the key that could answer is not here; nothing was written.

    `scope` is whose memory it is, `name` the key that is wanted ("" where nobody named one).
    """

    def __init__(self, *, scope: Sequence[str], name: str) -> None:
        super().__init__(
            f"locked: the key {name!r} of {scope} is not here, or is not the one that it was sealed with; "
            "open the memory with keys= that have it"
        )
        self.scope = tuple(scope)
        self.name = name


class SchemaTooNew(StoreError):
    """A newer version of seasoned wrote this store."""


class EmbeddingError(SeasonedError):
    """An embedder failed, or returned something other than it promised."""


class ModelError(SeasonedError):
    """A model failed, or answered in a form that cannot be used."""


class BundleError(SeasonedError):
    """An import file is damaged or in a format that is not understood; nothing was imported from it."""


class MissingExtra(SeasonedError, ImportError):
    """An optional package is not installed."""

    def __init__(self, extra: str, needs: str) -> None:
        super().__init__(f"{needs} is not installed; run: pip install 'seasoned[{extra}]'")
        self.extra = extra
