"""What an image costs in tokens, by OpenAI's published rule, and the size that the head of its data tells."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Final

LOW_DETAIL: Final = 85
"""Tokens of an image at low detail, whatever its size; also the base at high detail."""

PER_TILE: Final = 170
"""Tokens of each tile of 512 by 512 pixels at high detail."""

UNKNOWN_SIZE: Final = LOW_DETAIL + 8 * PER_TILE
"""Tokens at high detail where the size is not known: the most that an image can cost (eight tiles)."""

HEAD_CHARS: Final = 256 * 1024
"""How much of a data URL is read to find the size: the head of a JPEG may hold a preview."""


def image_tokens(image: object) -> int:
    """Return the tokens of the value of an `image_url` part: a URL, or `{"url": …, "detail": "low"|"high"|"auto"}`.

    `auto` counts as high. The size is known from a data URL of a PNG, JPEG, GIF or WebP image.
    """
    url, detail = (image.get("url"), image.get("detail")) if isinstance(image, Mapping) else (image, None)
    if detail == "low":
        return LOW_DETAIL
    size = image_size(url) if isinstance(url, str) else None
    return UNKNOWN_SIZE if size is None else LOW_DETAIL + PER_TILE * _tiles(*size)


def _tiles(width: int, height: int) -> int:
    """Return the tiles of an image shrunk to fit 2048 by 2048, then to a shorter side of 768."""
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return math.ceil(round(width * scale, 3) / 512) * math.ceil(round(height * scale, 3) / 512)


def image_size(url: str) -> tuple[int, int] | None:
    """Return width and height in pixels from a base64 data URL, None where they cannot be told."""
    head, _, encoded = url[:HEAD_CHARS].partition(",")
    if not head.startswith("data:image/") or not head.endswith(";base64"):
        return None
    try:
        data = base64.b64decode(encoded[: len(encoded) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    size = _png(data) or _gif(data) or _webp(data) or _jpeg(data)
    return size if size and min(size) > 0 else None


def _png(data: bytes) -> tuple[int, int] | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> tuple[int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 10:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the frame header (SOF0 to SOF15 without DHT, JPG and DAC)."""
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
