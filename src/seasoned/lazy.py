"""Something that is made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from seasoned.errors import StoreClosed
from seasoned.forks import StartsAnew, watch

T = TypeVar("T")


class Lazy(StartsAnew, Generic[T]):
    """Something made by whichever thread needs it first, once; what fails is tried again by the next."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self._closed = False
        self._lock = threading.Lock()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own."""
        self._lock = threading.Lock()

    def get(self) -> T:
        """Return it, made if need be.

        Raises:
            StoreClosed: after `close`.
        """
        with self._lock:
            if self._closed:
                raise StoreClosed("this memory was closed")
            if self._made is None:
                self._made = self._make()
            return self._made

    @property
    def made(self) -> T | None:
        """It, where it is made already."""
        return self._made

    def close(self) -> T | None:
        """Make it no more, and return it where it was made and not closed before."""
        with self._lock:
            made = None if self._closed else self._made
            self._closed = True
            return made
