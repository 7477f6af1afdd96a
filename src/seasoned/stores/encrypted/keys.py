"""Keys held in this process: a ring of them, and what tells one from another."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import Scope, checked_id

KEY_BYTES: Final = 32
"""How long a key is."""


def new_key() -> bytes:
    """Return a random key of 32 bytes."""
    return secrets.token_bytes(KEY_BYTES)


def checked_key(key: object) -> bytes:
    """Return a key if it is one.

    Raises:
        InvalidInput: of another length than 32 bytes.
        WrongType: not bytes.
    """
    if not isinstance(key, bytes):
        raise WrongType(f"a key is bytes, not {type(key).__name__}")
    if len(key) != KEY_BYTES:
        raise InvalidInput(
            f"a key has {KEY_BYTES} bytes, found {len(key)}; seasoned.stores.encrypted.new_key makes one"
        )
    return key


def mark_of(key: bytes | None) -> str | None:
    """Return what tells one key from another without telling anything of it; None for no key."""
    return None if key is None else hmac.digest(key, b"seasoned: which key this is", "sha256")[:8].hex()


class KeyRing:
    """Keys held in this process: for each scope its keys by name, oldest first; the last is the current one.

    A scope below one that is named has the same keys, unless it is named itself. Where the keys lie when the process
    ends is the caller's affair: a secret store, the environment, a file of its own; never the memory's file.

    Raises:
        InvalidInput: a scope without keys, a key of another length, a blank name.
        WrongType: a key that is not bytes.
    """

    def __init__(self, keys: Mapping[Scope | tuple[str, ...] | str, Mapping[str, bytes]]) -> None:
        self._lock = threading.Lock()
        self._keys: dict[Scope, dict[str, bytes | None]] = {}
        if not isinstance(keys, Mapping):
            raise WrongType(f"keys are a mapping from scopes to names and keys, not {type(keys).__name__}")
        for scope, named in keys.items():
            if not isinstance(named, Mapping):
                raise WrongType(f"{scope!r} has keys by name, such as {{'2026-01': key}}, not {type(named).__name__}")
            if not named:
                raise InvalidInput(f"{scope!r} has no key; leave it out, or give it one")
            for name, key in named.items():
                self.add(scope, name, key)

    def add(self, scope: Scope | tuple[str, ...] | str, name: str, key: bytes) -> None:
        """Give a scope a key, which is the current one from now on.

        Raises:
            InvalidInput: the scope has another key of that name.
        """
        if not isinstance(name, str):
            raise WrongType(f"the name of a key is a string, not {type(name).__name__}")
        checked_id(name, "the name of a key")
        with self._lock:
            ring = self._keys.setdefault(Scope(scope), {})
            if ring.get(name) not in (None, key):
                raise InvalidInput(f"{scope!r} has had another key of the name {name!r}; give the new one a new name")
            ring.pop(name, None)
            ring[name] = checked_key(key)

    def drop(self, scope: Scope | tuple[str, ...] | str, name: str) -> None:
        """Let go of one key of a scope, such as the one before a rotation; what it sealed is locked from now on."""
        with self._lock:
            ring = self._keys.get(Scope(scope), {})
            if name in ring:
                ring[name] = None

    def current(self, scope: Scope) -> str | None:
        """Return the name of the key that was added last, None for a scope that is not encrypted."""
        with self._lock:
            return next((next(reversed(ring)) for ring in self._rings(scope) if ring), None)

    def get(self, scope: Scope, name: str) -> bytes | None:
        """Return a key of the scope or, where it has none of that name, of one above; None where it is not here.

        So what the key of a scope above sealed can be read, and sealed anew, after this one was given its own.
        """
        with self._lock:
            return next((ring[name] for ring in self._rings(scope) if name in ring), None)

    def forget(self, scope: Scope) -> None:
        """Let go of every key of a scope.

        Raises:
            InvalidInput: the scope has no keys of its own.
        """
        with self._lock:
            if scope not in self._keys:
                raise InvalidInput(f"{tuple(scope)!r} has no keys of its own; forget those of the scope that has them")
            self._keys[scope] = dict.fromkeys(self._keys[scope])

    def __repr__(self) -> str:
        return f"KeyRing({ {tuple(scope): [*ring] for scope, ring in self._keys.items()} })"

    def _rings(self, scope: Scope) -> Iterator[dict[str, bytes | None]]:
        """Yield the keys of the scopes that have some, the nearest first."""
        for end in range(len(scope), 0, -1):
            if found := self._keys.get(scope[:end]):  # type: ignore[call-overload]  # equal to the scope of these parts
                yield found
