"""The threads in which the verbs of one memory run, so that none of them holds up an event loop."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from typing import Final, TypeVar

from seasoned.errors import StoreClosed
from seasoned.forks import StartsAnew, watch

T = TypeVar("T")


class Lane(StrEnum):
    """Two queues, so that what reads a few rows never stands behind what waits for an embedder or a writer."""

    READ = "read"
    WORK = "work"


THREADS: Final = {Lane.READ: 8, Lane.WORK: 32}
"""Most threads of each lane. Readers are short and share one interpreter; workers may all wait for an embedder."""


class Threads(StartsAnew):
    """Threads that start when they are needed and belong to no loop; what finds none free waits its turn.

    They are the memory's own, and not those of the loop's default executor: that one has few (six on two processors),
    and the application's other work and its look-ups of host names stand in the same queue.
    """

    def __init__(self) -> None:
        self._closed = False
        self._start()
        watch(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._lanes = {lane: ThreadPoolExecutor(most, f"seasoned-{lane}") for lane, most in THREADS.items()}

    def after_fork_in_child(self) -> None:
        """Start with threads of its own: those of the parent are not there."""
        self._start()

    async def run(self, lane: Lane, call: Callable[[], T]) -> T:
        """Return what `call` returns, called in a thread, in a copy of the caller's context.

        Cancelled while it waits for a thread, it is not called; cancelled later, it is waited for: a verb is whole or
        absent, and which of the two is settled when `CancelledError` is raised.

        Raises:
            StoreClosed: after `close`.
        """
        return await _awaited(self._submitted(lane, call), droppable=True)

    def _submitted(self, lane: Lane, call: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._closed:
                raise StoreClosed("this memory was closed")
            return self._lanes[lane].submit(contextvars.copy_context().run, _called, call)

    async def close(self, last: Callable[[], None]) -> None:
        """Take no more calls, wait until those taken have ended, then call `last`; a second time nothing happens."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        closing = ThreadPoolExecutor(1, "seasoned-close")
        try:
            await _awaited(closing.submit(self._end, last), droppable=False)
        finally:
            closing.shutdown()

    def _end(self, last: Callable[[], None]) -> None:
        for lane in self._lanes.values():
            lane.shutdown()
        last()


def _called(call: Callable[[], T]) -> T:
    try:
        return call()
    except StopIteration as error:  # a future cannot carry it: who waits would wait for ever
        raise RuntimeError(f"a function of the caller's raised {error!r}") from error


async def _awaited(work: Future[T], *, droppable: bool) -> T:
    import asyncio

    ending = asyncio.wrap_future(work)
    try:
        await asyncio.wait([ending])
    except asyncio.CancelledError:
        if not (droppable and work.cancel()):
            while not ending.done():
                with contextlib.suppress(asyncio.CancelledError):  # raised below, once
                    await asyncio.wait([ending])
            ending.exception()  # taken note of: a verb that failed has not happened
        raise
    return ending.result()
