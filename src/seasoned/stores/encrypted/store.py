"""`EncryptedStore`: the seam around another store, with sealed scopes."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from seasoned.errors import Conflict, InvalidInput, StoreBusy, StoreClosed, WrongType
from seasoned.forks import watch
from seasoned.keys import KeyForgotten, Keys, Progress, Rotated, Sealing, layers
from seasoned.layer import Layer
from seasoned.locked import bare
from seasoned.ports import Applied, Change, Clock, Counts, Finding, Remove, Store, SystemClock, Upkeep
from seasoned.query import Page, Query
from seasoned.records import JSON, Key, Scope, to_micros
from seasoned.stores.documents.writing import key_of_change
from seasoned.stores.embedded import CACHE_BYTES
from seasoned.stores.encrypted.boxes import Broken, read
from seasoned.stores.encrypted.checking import check_scope
from seasoned.stores.encrypted.copies import Copies
from seasoned.stores.encrypted.losing import lost
from seasoned.stores.encrypted.reading import Reading
from seasoned.stores.encrypted.rotating import rotate
from seasoned.stores.encrypted.scopes import Scopes
from seasoned.stores.encrypted.sealing import CIPHER
from seasoned.stores.encrypted.writing import Planning, State
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

RETRIES: Final = 100
"""How often a batch is sealed anew where other writers changed its records first."""

_AT_ONCE: Final = 500


@runtime_checkable
class _Unfinished(Protocol):
    def finish_purge(self) -> tuple[str, ...]: ...


class EncryptedStore(Layer):
    """Another store, `inner`, in which the scopes that `keys` names a key for are encrypted.

    It `owns` `inner` and closes it. Give it the `clock` and the `analyser` that `inner` has. `cache_bytes` bounds the
    decrypted copies of scopes in this process; those used longest ago go first.

    Raises:
        InvalidInput: `inner` keeps no sequence, so that a scope in it cannot be followed, or encrypts already.
        WrongType: `keys` are none.
    """

    def __init__(
        self,
        inner: Store,
        keys: Keys,
        *,
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
        owns: bool = True,
    ) -> None:
        if not isinstance(keys, Keys):
            raise WrongType(
                f"keys come from a KeyRing or an object with current, get and forget, not {type(keys).__name__}"
            )
        inner = bare(inner)
        if any(isinstance(layer, Sealing) for layer in layers(inner)):
            raise InvalidInput("the store encrypts already; no record is sealed twice")
        if not inner.can.ordered:
            raise InvalidInput(f"an encrypted scope is followed by its sequence, which {type(inner).__name__} has not")
        super().__init__(inner)
        self.keys = keys
        self._clock = clock or SystemClock()
        self._analyser = analyser
        self._cache_bytes = cache_bytes
        self._owns = owns
        self._closed = False
        self.after_fork_in_child()
        watch(self)

    def before_fork(self) -> None:
        """Do nothing: the child starts anew."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""

    def after_fork_in_child(self) -> None:
        """Start with a lock and copies of its own."""
        self._lock = threading.RLock()
        self._scopes = Scopes(self.inner, self.keys)
        self._copies = Copies(self.inner, self.keys, self._cache_bytes)
        self._reading = Reading(
            inner=self.inner, keys=self.keys, scopes=self._scopes, copies=self._copies, analyser=self._analyser
        )

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`; those whose key is not here are `LockedHit`s.

        Raises:
            StoreLocked: the query asks for what is sealed, and no record of the scope can be read; or it follows the
                changes of a scope whose key is not here.
        """
        self._check_open()
        return self._reading.find(query, self._now())

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes in order, all or none where the inner engine is atomic; removals need no key.

        Raises:
            StoreLocked: the key of a scope is not here, so nothing was written.
            StoreBusy: other writers changed the same records first at every try.
        """
        self._check_open()
        keys = dict.fromkeys(key_of_change(change) for change in changes)
        shut = {scope for scope in {key.scope for key in keys} if self._scopes.sealed(scope)}
        sealed = [key for key in keys if key.scope in shut]
        if not sealed:
            return self.inner.apply(changes)
        with self._lock:
            return self._apply(changes, sealed)

    def rotate(
        self, scope: Scope | tuple[str, ...] | str, *, subtree: bool = False, progress: Progress | None = None
    ) -> Rotated:
        """Seal anew with a scope's current key what an older one sealed; stopped anywhere, the next call goes on.

        With `subtree` in the scopes below too, each with the current key of its own. Reads and writes may go on
        meanwhile, with both keys here. Once `done`, the older keys may be dropped.

        Raises:
            InvalidInput: no key is named for the scope, nor for one of those below.
            StoreLocked: no current key of them is here.
        """
        self._check_open()
        asked = Scope(scope)
        scopes = dict.fromkeys((asked, *self._scopes.below(Query(scope=asked, subtree=subtree))))
        named = [each for each in scopes if self.keys.current(each) is not None]
        if not named:
            raise InvalidInput(f"no key is named for {tuple(asked)!r}")
        if not any(map(self._scopes.is_open, named)):
            self._scopes.check_open(named[0])
        return rotate(self.inner, self.keys, named, self._scopes.seal, progress)

    def forget_key(self, scope: Scope | tuple[str, ...] | str) -> KeyForgotten:
        """Destroy the keys of a scope where they lie, and let go of what this process decrypted with them.

        What the engine holds of the scope, backups of it included, cannot be read by anyone from then on. Returns
        what cannot be read now in the scope and those below; called again, it counts again.
        """
        self._check_open()
        asked = Scope(scope)
        self.keys.forget(asked)
        self._copies.drop()
        return lost(self.inner, self.keys, self._scopes.below(Query(scope=asked, subtree=True)))

    def close(self) -> None:
        """Let go of the copies, and close the inner store if it is owned; closing twice is harmless."""
        if not self._closed:
            self._closed = True
            self._copies.drop()
        if self._owns:
            self.inner.close()

    def check(self) -> list[Finding]:
        """Check the inner store, and each sealed scope that was used here: [] where all is well and can be read."""
        self._check_open()
        inner = self.inner.check() if isinstance(self.inner, Upkeep) else []
        fresh = Copies(self.inner, self.keys, self._cache_bytes)
        now, used = self._now(), sorted(self._scopes.used)
        return [
            *inner,
            *(one for scope in used for one in check_scope(scope, self._copies, fresh, self._analyser, now)),
        ]

    def rebuild(self) -> int:
        """Drop each copy and have the inner store make its indexes anew; return how many records it read."""
        self._check_open()
        self._copies.drop()
        return self.inner.rebuild() if isinstance(self.inner, Upkeep) else 0

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove the records for good, as far as the inner engine can: `pending` has "engine" where it cannot."""
        self._check_open()
        for scope in {key.scope for key in keys}:
            self._copies.drop(scope)
        if isinstance(self.inner, Upkeep):
            return self.inner.purge(keys)
        removed = self.inner.apply([Remove(key) for key in dict.fromkeys(keys)])
        return Counts(rows=sum(seq > 0 for seq in removed.seqs), pending=("engine",))

    def finish_purge(self) -> tuple[str, ...]:
        """Finish what earlier purges could not; return what is still pending."""
        self._check_open()
        return self.inner.finish_purge() if isinstance(self.inner, _Unfinished) else ()

    def stats(self) -> Mapping[str, JSON]:
        """Return what the inner store says of itself, and the `cipher`."""
        self._check_open()
        inner = self.inner.stats() if isinstance(self.inner, Upkeep) else {}
        return {**inner, "cipher": CIPHER}

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the encrypted store was closed")

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _apply(self, changes: Sequence[Change], sealed: Sequence[Key]) -> Applied:
        for _ in range(RETRIES):
            planned = Planning(sealed, self._states(sealed), self._scopes.seal, self._now()).plan(changes)
            try:
                return planned.answer(self.inner.apply(planned.changes))
            except Conflict as error:
                if error.key not in sealed:
                    raise
        raise StoreBusy(f"other writers changed {sealed[0]} first, {RETRIES} times")

    def _states(self, keys: Sequence[Key]) -> dict[Key, State]:
        """Return what stands under keys now, read past every copy."""
        found: dict[Key, State] = {}
        for scope in dict.fromkeys(key.scope for key in keys):
            own = tuple(key for key in keys if key.scope == scope)
            for start in range(0, len(own), _AT_ONCE):
                page = self.inner.find(Query(scope=scope, keys=own[start : start + _AT_ONCE], k=_AT_ONCE))
                found |= {hit.record.key: read(hit, self.keys) for hit in page.hits}
                found |= {key: Broken(key, 0, f"the engine cannot read {key}") for key in page.unreadable}
        return found
