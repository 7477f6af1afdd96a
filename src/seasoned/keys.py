"""Keys of encrypted scopes: the port that they come through, how a sealed record is told, and what became of a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, runtime_checkable

from seasoned.errors import InvalidInput
from seasoned.following import pages
from seasoned.ports import Store
from seasoned.query import Compare, Op, Order, Query
from seasoned.records import JSON, Hit, Key, Scope

FIELD: Final = "sealed"
"""The one field of data of a sealed record, as the engine has it: `key`, `mark` and `box`."""

_SEALED: Final = Compare(f"data.{FIELD}.box", Op.EXISTS, True)

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@runtime_checkable
class Keys(Protocol):
    """Keys by scope and name. Thread safe; asked at every call of the store, so it should answer from memory.

    A name stands for one key for ever: a new key gets a new name, and that is its version.
    """

    def current(self, scope: Scope) -> str | None:
        """Return the name of the key that a scope is written with, None for a scope that is not encrypted.

        A scope whose key was lost or dropped keeps its name, so that nothing is written to it in the clear.
        """
        ...

    def get(self, scope: Scope, name: str) -> bytes | None:
        """Return the 32 bytes of a key, None where it is not here, or not any more."""
        ...

    def forget(self, scope: Scope) -> None:
        """Destroy every key of a scope for good; `current` still names one, `get` finds none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What a rotation did: `resealed` records, those that the current key had sealed before (`current`), and the rest.

    `locked` are records whose own key is not here, `unreadable` damaged ones: both are as they were. `busy` are those
    that another writer changed meanwhile, with whatever key is current there; rotate again until there are none.
    """

    resealed: int = 0
    current: int = 0
    locked: tuple[Key, ...] = ()
    unreadable: tuple[Key, ...] = ()
    busy: tuple[Key, ...] = ()

    @property
    def done(self) -> bool:
        """Whether nothing that can be read needs an older key any more."""
        return not (self.locked or self.busy)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyForgotten:
    """What forgetting the keys of a scope made unreadable, in that scope and those below it.

    `scopes` are those whose records nobody can read any more, and `by_kind` counts these records. `readable` counts
    what can still be read there: scopes in the clear, or with keys of their own. `exports` are the bundles that
    were written of it: those files are as they were.
    """

    scopes: tuple[Scope, ...] = ()
    by_kind: Mapping[str, int] = field(default_factory=dict)
    readable: int = 0
    exports: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many records cannot be read any more."""
        return sum(self.by_kind.values())


@runtime_checkable
class Sealing(Protocol):
    """A store with encrypted scopes."""

    @property
    def keys(self) -> Keys:
        """Where its keys come from."""
        ...

    def rotate(
        self, scope: Scope | tuple[str, ...] | str, *, subtree: bool = False, progress: Progress | None = None
    ) -> Rotated:
        """Seal anew with the current key what an older one sealed."""
        ...

    def forget_key(self, scope: Scope | tuple[str, ...] | str) -> KeyForgotten:
        """Destroy the keys of a scope."""
        ...


def sealed_form(data: Mapping[str, JSON]) -> tuple[str, str, str] | None:
    """Return a key's name, its mark and the ciphertext, from the data of a record of the engine; None in the clear."""
    held = data.get(FIELD)
    if len(data) != 1 or not isinstance(held, dict) or held.keys() != {"key", "mark", "box"}:
        return None
    name, mark, box = held["key"], held["mark"], held["box"]
    return (name, mark, box) if isinstance(name, str) and isinstance(mark, str) and isinstance(box, str) else None


def is_sealed(hit: Hit) -> bool:
    """Tell whether a record of the engine is sealed."""
    return sealed_form(hit.record.data) is not None


def ends_of(engine: Store, scope: Scope) -> list[Hit]:
    """Return the newest and the oldest record of a scope, past their time or not; [] where it is empty."""
    asked = (Query(scope=scope, order=order, k=1, expired=True) for order in (Order.NEWEST, Order.OLDEST))
    return [hit for query in asked for hit in engine.find(query).hits]


def holds_sealed(store: Store, scope: Scope) -> bool:
    """Tell whether any record of a scope, or of one below it, is sealed in the engine; it looks at each of them."""
    engine: Store = layers(store)[-1]  # type: ignore[assignment]  # what stands before a store ends with one
    query = Query(scope=scope, subtree=True, where=_SEALED, expired=True)
    return any(is_sealed(hit) for page in pages(engine, query) for hit in page.hits)


def sealing(store: Store) -> Sealing:
    """Return the layer of a store that encrypts.

    Raises:
        InvalidInput: there is none.
    """
    for layer in layers(store):
        if isinstance(layer, Sealing):
            return layer
    raise InvalidInput("this memory is not encrypted; open it with keys=")


def layers(store: object) -> list[object]:
    """Return a store and those that it stands before, the engine last."""
    found = [store]
    while (inner := getattr(found[-1], "inner", None)) is not None:
        found.append(inner)
    return found
