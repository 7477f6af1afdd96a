"""AES-256-GCM over bytes: the one place where the `cryptography` package is used."""

from __future__ import annotations

import os
from typing import Final

from seasoned.errors import MissingExtra, StoreCorrupt

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError as error:
    raise MissingExtra("encryption", "cryptography") from error

CIPHER: Final = "AES-256-GCM"

_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16


def seal(key: bytes, plain: bytes, bound: bytes) -> bytes:
    """Return a random nonce of 12 bytes, the ciphertext and its tag; `bound` is associated data.

    One key should seal at most 2**32 times (NIST SP 800-38D, random nonces): rotate before.
    """
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, bound)


def unseal(key: bytes, sealed: bytes, bound: bytes) -> bytes:
    """Return what was sealed.

    Raises:
        StoreCorrupt: it was altered, cut or moved, or sealed by another key.
    """
    if len(sealed) < _NONCE_BYTES + _TAG_BYTES:
        raise StoreCorrupt(f"the ciphertext is {len(sealed)} bytes long, too short to be one")
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound)
    except InvalidTag:
        raise StoreCorrupt("the ciphertext is not the one that was written for this record and version") from None
