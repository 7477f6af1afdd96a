"""Time and ids for tests: a clock that moves only when told, ids that count."""

from __future__ import annotations

import itertools
import threading
from datetime import UTC, date, datetime, timedelta
from typing import Final

from seasoned.errors import InvalidInput
from seasoned.ports import IdSource
from seasoned.records import checked_id, instant

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Where a `FakeClock` starts unless told otherwise."""


class FakeClock:
    """A clock that stands at `start` (as `instant` takes it) until it is moved; thread safe."""

    def __init__(self, start: datetime | date | str | float = START) -> None:
        self._now = instant(start)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return where the clock stands, in UTC."""
        with self._lock:
            return self._now

    def advance(self, by: timedelta = timedelta(0), *, seconds: float = 0.0) -> datetime:
        """Move forward by `by` and `seconds` together, and return the new time.

        Raises:
            InvalidInput: backwards; `set` does that.
        """
        step = by + timedelta(seconds=seconds)
        if step < timedelta(0):
            raise InvalidInput(f"a clock advances forwards, not by {step!r}; set() moves it anywhere")
        with self._lock:
            self._now += step
            return self._now

    def set(self, to: datetime | date | str | float) -> datetime:
        """Move to `to`, back too, as a machine's clock may when it is corrected; return the new time."""
        with self._lock:
            self._now = instant(to)
            return self._now


def sequential_ids(prefix: str = "id") -> IdSource:
    """Return a source of the ids `id-0001`, `id-0002`, …; thread safe.

    Raises:
        InvalidInput: a blank prefix.
    """
    checked_id(prefix, "a prefix")
    numbers, lock = itertools.count(1), threading.Lock()

    def source() -> str:
        with lock:
            return f"{prefix}-{next(numbers):04d}"

    return source
