"""URLs of engines: `scheme://user:key@host:port/path?option=value`, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from seasoned.errors import InvalidInput

_FOLDERS: Final = (".", "..")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """What a URL says: `scheme`, `host` ("" for none), `port`, `path` after the host, `user`, `key`, and `options`."""

    scheme: str
    host: str
    port: int | None
    path: str
    user: str | None
    key: str | None
    options: dict[str, str]


def parse_url(url: str, schemes: Sequence[str], options: Sequence[str]) -> Address:
    """Return what an engine's URL says; every part is percent-decoded. No message shows the whole URL or its key.

    A path that begins with `./` or `../` in place of a host is relative to the working directory.

    Raises:
        InvalidInput: another scheme, an impossible port, or an option that is unknown or given twice.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput(f"the URL of an engine has an impossible host or port: {error}") from None
    if parts.scheme not in schemes:
        raise InvalidInput(f"a URL begins with {' or '.join(f'{name}://' for name in schemes)}, not {parts.scheme!r}")
    given = parse_qsl(parts.query, keep_blank_values=True)
    for name, _ in given:
        if name not in options or sum(other == name for other, _ in given) > 1:
            known = ", ".join(options) or "none"
            raise InvalidInput(f"the URL of an engine has an unknown or repeated option {name!r}; there are: {known}")
    host, path = parts.hostname or "", unquote(parts.path)
    if host in _FOLDERS:
        host, path = "", f"{host}{path}"
    return Address(
        scheme=parts.scheme,
        host=host,
        port=port,
        path=path,
        user=None if parts.username is None else unquote(parts.username),
        key=None if parts.password is None else unquote(parts.password),
        options=dict(given),
    )
