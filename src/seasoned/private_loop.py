"""One event loop in a background thread, on which sync code waits for async models.

One for the process and not one a call: an async client keeps connections that belong to the loop they were opened on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # at run time where it is used: it takes a tenth of the whole import, and only async code needs it
    import asyncio

T = TypeVar("T")


def wait_for(coroutine: Coroutine[object, object, T]) -> T:
    """Return the result of `coroutine`, run on the private loop in a copy of this thread's context.

    Interrupted, it cancels the coroutine. Called on the private loop it would wait for itself: see `is_private_loop`.
    """
    import asyncio

    future = asyncio.run_coroutine_threadsafe(coroutine, _PRIVATE.running())
    try:
        return future.result()
    finally:
        future.cancel()


def is_private_loop() -> bool:
    """Tell whether this thread is the one that the private loop runs in."""
    return threading.get_ident() == _PRIVATE.thread_id


class _PrivateLoop:
    """Starts the loop at its first use in a process; a fork starts its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    @property
    def thread_id(self) -> int | None:
        return None if self._thread is None else self._thread.ident

    def running(self) -> asyncio.AbstractEventLoop:
        import asyncio

        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="seasoned-loop", daemon=True)
                self._thread.start()
                atexit.register(self.stop)
            return self._loop

    def stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or self._pid != os.getpid():
            return
        self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=1.0)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    stopped = False
    while not stopped:
        with contextlib.suppress(KeyboardInterrupt, SystemExit):  # a model raised it; who waits for it gets it too
            loop.run_forever()
            stopped = True
    loop.close()


_PRIVATE = _PrivateLoop()
