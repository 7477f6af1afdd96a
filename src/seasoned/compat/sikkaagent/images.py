"""Images of a message: a file, bytes or a URL becomes the URL that a model is sent."""

from __future__ import annotations

import base64
import binascii
import os
import re
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import clean_text

ImageSource: TypeAlias = str | bytes | os.PathLike[str]
"""An image: the path of a file, its bytes, a `data:` URL, or the address of one on the web."""

MAX_IMAGE_BYTES: Final = 20 * 2**20
"""Largest image that is taken; providers take no larger ones either."""

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")
_DATA: Final = re.compile(r"data:image/[a-zA-Z0-9.+-]+;base64,", re.ASCII)


def image_url(image: ImageSource) -> str:
    """Return a data URL of a file's or bytes' content; a URL is checked and stays as it is.

    A picture on the web is not fetched: an address in a message must not make this machine call it. Only pictures
    (PNG, JPEG, GIF, WebP, known by their first bytes) are read from files, so a message can show no other file.

    Raises:
        InvalidInput: no picture, one over `MAX_IMAGE_BYTES`, a file that cannot be read, or another kind of URL.
        WrongType: none of these.
    """
    if isinstance(image, (bytes, bytearray, memoryview)):
        return _encoded(bytes(image), "the bytes given")
    if isinstance(image, str) and _SCHEME.match(image):
        return checked_url(image)
    if isinstance(image, (str, os.PathLike)):
        return _encoded(_read(os.fspath(image)), f"the file {os.fspath(image)!r}")
    raise WrongType(f"an image is a path, bytes or a URL, not {image!r:.80}")


def checked_url(url: object) -> str:
    """Return a URL that an image can have: `data:image/…;base64,…`, `http://…` or `https://…`.

    Raises:
        InvalidInput: another one, or data that is not base64.
    """
    if isinstance(url, str):
        head = _DATA.match(url)
        if head and _is_base64(url[head.end() :]):
            return url
        if url[:8].lower().startswith(("http://", "https://")) and _has_host(url):
            return clean_text(url)
    raise InvalidInput(f"an image's URL is data:image/…;base64,…, http://… or https://…, found {url!r:.80}")


def _is_base64(encoded: str) -> bool:
    if not encoded or len(encoded) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        return False
    try:
        base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname) and not any(char.isspace() for char in url)
    except ValueError:
        return False


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_IMAGE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the image {path!r:.200} cannot be read: {error}") from error


def _encoded(data: bytes, what: str) -> str:
    if len(data) > MAX_IMAGE_BYTES:
        raise InvalidInput(f"an image has at most {MAX_IMAGE_BYTES} bytes; {what} has more")
    kind = _kind(data)
    if kind is None:
        raise InvalidInput(f"{what} is no picture: an image is a PNG, JPEG, GIF or WebP")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _kind(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
