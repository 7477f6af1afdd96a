"""Keys in a file of their own: TOML that its owner alone can read, kept apart from the memory that it opens.

    ["acme/alice"]                                               # a scope, its parts by slashes (%2F for a slash)
    "2026-01" = "3q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs="   # 32 bytes in base64, by name, the oldest first

A scope below one that is named has the same keys, as in a `KeyRing`.
"""

from __future__ import annotations

import binascii
import json
import os
import stat
import sys
import tempfile
import tomllib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from seasoned.errors import InvalidInput, StoreError
from seasoned.records import Scope
from seasoned.stores.encrypted.keys import KeyRing, checked_key, new_key

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MODE: Final = 0o600
"""What a file of keys may allow: its owner to read and write it."""

_CLOSED_IN_CHILDREN: Final = getattr(os, "O_CLOEXEC", 0)
_HEAD: Final = (
    "# Keys of encrypted memories: keep this file apart from them, and a copy of it. Comments are not kept.\n"
)

_Named: TypeAlias = dict[Scope, dict[str, bytes]]


def read_keys(path: str | os.PathLike[str]) -> KeyRing:
    """Return the keys that a file holds.

    Raises:
        InvalidInput: others can read it too, or it is no such file.
        StoreError: it is not there, or cannot be read.
    """
    return KeyRing({scope: named for scope, named in _read(Path(path)).items() if named})


def add_key(path: str | os.PathLike[str], scope: Scope | tuple[str, ...] | str, name: str) -> None:
    """Add a new key to a file, made if it is not there; from its next reading on it is the current one of the scope.

    Processes and threads that add at once wait for one another, at a file beside it (`.lock`), which stays.

    Raises:
        InvalidInput: the scope has a key of that name, or others can read the file.
        StoreError: the file cannot be read or written.
    """
    asked, place = Scope(scope), Path(path)
    place = Path(os.path.realpath(place)) if place.is_symlink() else place
    try:
        with _locked(place):
            _replace(place, _with_new(_read(place) if place.exists() else {}, asked, name))
    except OSError as error:
        raise StoreError(f"{place} cannot be written: {error.strerror}") from error


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold the lock of a file of keys; the system lets go of it where this process ends."""
    descriptor = os.open(place.with_name(f"{place.name}.lock"), os.O_RDWR | os.O_CREAT | _CLOSED_IN_CHILDREN, MODE)
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(place: Path, text: str) -> None:
    """Put a whole new file in the place of the old one, through one of a name of its own."""
    descriptor, beside = tempfile.mkstemp(prefix=f"{place.name}.", suffix=".new", dir=place.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise


def _with_new(named: _Named, scope: Scope, name: str) -> str:
    keys = named.setdefault(scope, {})
    if name in keys:
        raise InvalidInput(f"{tuple(scope)!r} has a key of the name {name!r}; give the new one a new name")
    KeyRing({scope: {name: bytes(32)}})  # the name breaks no rule
    keys[name] = new_key()
    return _HEAD + "".join(_table(*each) for each in named.items())


def _table(scope: Scope, keys: dict[str, bytes]) -> str:
    lines = [f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(b64encode(keys[name]).decode())}" for name in keys]
    return "\n".join([f"\n[{json.dumps(scope.encode()[:-1], ensure_ascii=False)}]", *lines, ""])


def _read(place: Path) -> _Named:
    try:
        with place.open("rb") as file:
            _check_private(place, os.fstat(file.fileno()))
            given = tomllib.load(file)
    except OSError as error:
        raise StoreError(f"the keys in {str(place)!r} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{str(place)!r} is no file of keys: {error}") from error
    return {Scope.decode(f"{scope}/"): _keys(place, scope, named) for scope, named in given.items()}


def _check_private(place: Path, found: os.stat_result) -> None:
    if os.name == "posix" and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(
            f"others can read the keys in {str(place)!r} (mode {stat.S_IMODE(found.st_mode):04o}); "
            f"run: chmod {MODE:o} {place}"
        )


def _keys(place: Path, scope: str, named: object) -> dict[str, bytes]:
    """Return the keys of one table; what is wrong is said without showing any."""
    if not isinstance(named, dict):
        raise InvalidInput(f"{str(place)!r} has keys by name under a scope; {scope!r} is no such table")
    found: dict[str, bytes] = {}
    for name, text in named.items():
        try:
            found[name] = checked_key(b64decode(text, validate=True))
        except (TypeError, ValueError, binascii.Error):
            raise InvalidInput(f"the key {name!r} of {scope!r} in {str(place)!r} is not 32 bytes in base64") from None
    return found
