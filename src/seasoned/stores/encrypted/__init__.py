"""Scopes that are encrypted before anything reaches the engine: `EncryptedStore` around any other store.

- Each record of a scope for which `keys` names a key is written as one sealed field (AES-256-GCM): text, data, worth,
  sources, vectors, and who gave credits. The engine sees an empty text and no vectors, so it derives nothing.
- Its kind, id, scope, times, version and size stay readable; the associated data binds the ciphertext to key, version
  and times, so that what was altered, moved or cut is told as unreadable and never returned.
- Reads by key decrypt what they name. Everything else of such a scope answers from a copy in this process, read whole
  and decrypted at first use and followed from then on, with the hits of the SQLite store.
- Keys come through the port `Keys`. Where one is not here, hits are `LockedHit`s, and what cannot be answered without
  it raises; nothing looks like an empty scope.
- Scopes without a key go through unchanged.
"""

from seasoned.keys import KeyForgotten, Keys, Rotated
from seasoned.locked import LockedHit
from seasoned.stores.encrypted.keyfile import add_key, read_keys
from seasoned.stores.encrypted.keys import KeyRing, new_key
from seasoned.stores.encrypted.store import EncryptedStore

__all__ = [
    "EncryptedStore",
    "KeyForgotten",
    "KeyRing",
    "Keys",
    "LockedHit",
    "Rotated",
    "add_key",
    "new_key",
    "read_keys",
]
