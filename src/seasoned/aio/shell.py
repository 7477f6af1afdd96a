"""What an async shell is made of: a verb of the memory below becomes a coroutine of the same signature."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, TypeAlias, TypeVar

from seasoned.aio.threads import Lane, Threads

R = TypeVar("R")
P = ParamSpec("P")
Below = TypeVar("Below")
Below_co = TypeVar("Below_co", covariant=True)

Coro: TypeAlias = Coroutine[object, object, R]
"""What a verb returns when it is called: to be awaited, or made a task."""


class Shell(Generic[Below_co]):
    """The verbs of a memory as coroutines; `below` gives that memory and may open it, so it is called off the loop."""

    def __init__(self, below: Callable[[], Below_co], threads: Threads) -> None:
        self._below = below
        self._threads = threads

    def __init_subclass__(cls) -> None:
        """Name each verb for the place where it stands, as tracebacks and warnings show it."""
        for name, value in vars(cls).items():
            if hasattr(value, "__wrapped__"):
                value.__name__, value.__qualname__, value.__module__ = name, f"{cls.__name__}.{name}", cls.__module__


def reading(verb: Callable[Concatenate[Below, P], R]) -> Callable[Concatenate[Shell[Below], P], Coro[R]]:
    """Return a verb as a coroutine that only reads what it is asked for.

    It embeds nothing, reads no whole scope first, and waits for no lock of what does.
    """
    return _threaded(verb, Lane.READ)


def working(verb: Callable[Concatenate[Below, P], R]) -> Callable[Concatenate[Shell[Below], P], Coro[R]]:
    """Return any other verb as a coroutine."""
    return _threaded(verb, Lane.WORK)


def _threaded(verb: Callable[Concatenate[Below, P], R], lane: Lane) -> Callable[Concatenate[Shell[Below], P], Coro[R]]:
    @wraps(verb)
    async def call(shell: Shell[Below], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await shell._threads.run(lane, lambda: verb(shell._below(), *args, **kwargs))

    return call


def asking(verb: Callable[Concatenate[Below, P], Awaitable[R]]) -> Callable[Concatenate[Shell[Below], P], Coro[R]]:
    """Return a verb that asks a model, and is a coroutine already: an async model runs on the caller's loop."""

    @wraps(verb)
    async def call(shell: Shell[Below], /, *args: P.args, **kwargs: P.kwargs) -> R:
        below = await shell._threads.run(Lane.READ, shell._below)
        return await verb(below, *args, **kwargs)

    return call
