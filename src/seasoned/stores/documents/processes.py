"""What a fork must not share: clients with their connections, and locks that nobody would release."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from seasoned.errors import StoreError
from seasoned.forks import StartsAnew, watch

T = TypeVar("T")


class ForkLock(StartsAnew):
    """A lock that its holder may take again, and that is free in a child, whoever held it in the parent."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        watch(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Be free."""
        self._lock = threading.RLock()


class PerProcess(StartsAnew, Generic[T]):
    """A client that is opened by `again` in each process that a fork makes; the parent's is kept there, and not used.

    Without `again` it belongs to the process that opened it, as files do that one process at a time can open.
    """

    def __init__(self, client: T, again: Callable[[], T] | None = None) -> None:
        self._client: T | None = client
        self._again = again
        self._lock = ForkLock()
        self._inherited: list[T] = []
        watch(self)

    @property
    def client(self) -> T:
        """The client of this process.

        Raises:
            StoreError: it cannot be opened here.
        """
        found = self._client
        return self._opened() if found is None else found

    def own(self) -> T | None:
        """Return the client if this process opened it, to close it; None of one that is the parent's."""
        return self._client

    def after_fork_in_child(self) -> None:
        """Open another one at need; what was inherited is never collected, which might speak to the server."""
        if self._client is not None:
            self._inherited.append(self._client)
            self._client = None

    def _opened(self) -> T:
        with self._lock:
            if self._client is None:
                if self._again is None:
                    raise StoreError("the process that opened this store forked; open a store in the child itself")
                self._client = self._again()
            return self._client
