"""Namespaces and keys as scopes and ids, one to one."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final
from urllib.parse import quote, unquote

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import MAX_ID, Scope, checked_id

_MORE: Final = ".+"
"""Starts a scope part that is a piece of an escaped label, of which more follows. No label begins with a period."""

_LAST: Final = ".="
"""Starts the last piece of an escaped label, and an escaped key."""

_DIGEST: Final = ".#"
"""Starts the id of a key that is too long for one."""

_PIECE: Final = MAX_ID - len(_MORE)


def scope_of(base: Scope, namespace: Sequence[str]) -> Scope:
    """Return the scope of a namespace whose labels were checked."""
    return base.within(*(part for label in namespace for part in _parts(label))) if namespace else base


def namespace_of(base: Scope, scope: Scope) -> tuple[str, ...]:
    """Return the namespace that `scope_of` wrote."""
    labels: list[str] = []
    begun = ""
    for part in scope[len(base) :]:
        if part.startswith(_MORE):
            begun += part.removeprefix(_MORE)
        elif part.startswith(_LAST):
            labels.append(_unescaped(begun + part.removeprefix(_LAST)))
            begun = ""
        else:
            labels.append(part)
    return tuple(labels)


def id_of(key: object) -> str:
    """Return the id of a key: itself where it can be one.

    Raises:
        WrongType: it is not a string.
    """
    if not isinstance(key, str):
        raise WrongType(f"a key is a string, not {key!r:.80}")
    if _can_be(key):
        return key
    escaped = _LAST + _escaped(key)
    return escaped if len(escaped) <= MAX_ID else _DIGEST + blake2b(escaped.encode(), digest_size=32).hexdigest()


def long_key(key: str) -> str | None:
    """Return what is to be stored beside the id of a key, None where the id says it all."""
    return _escaped(key) if id_of(key).startswith(_DIGEST) else None


def key_of(name: str, long: object) -> str:
    """Return the key that `id_of` and `long_key` wrote."""
    if name.startswith(_LAST):
        return _unescaped(name.removeprefix(_LAST))
    return _unescaped(long) if name.startswith(_DIGEST) and isinstance(long, str) else name


def _parts(label: str) -> tuple[str, ...]:
    if _can_be(label):
        return (label,)
    text = _escaped(label)
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    return (*(_MORE + piece for piece in pieces[:-1]), _LAST + pieces[-1])


def _can_be(name: str) -> bool:
    if name.startswith("."):
        return False
    try:
        checked_id(name)
    except InvalidInput:
        return False
    return True


def _escaped(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def _unescaped(text: str) -> str:
    return unquote(text, errors="surrogatepass")
