"""How far an adaptation is, told to whoever wants to know."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, TypeAlias

Progress: TypeAlias = Callable[[int, int, float], object]
"""Told after each example how many are through, of how many, and the accuracy in the phase under way (0 to 1)."""

_LOG: Final = logging.getLogger("seasoned.playbook")


class Meter:
    """Counts examples; a callback that raises is not called again. Thread safe: calls come one after the other."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._lock = threading.Lock()
        self._progress = progress
        self._total = total
        self._done = 0
        self._phase = ""
        self._right = self._seen = 0

    def tick(self, phase: str, *, right: bool, times: int = 1) -> None:
        """Count an example of a phase."""
        with self._lock:
            if phase != self._phase:
                self._phase, self._right, self._seen = phase, 0, 0
            self._done = min(self._done + times, self._total)
            self._seen += 1
            self._right += right
            if self._progress is None:
                return
            try:
                self._progress(self._done, self._total, self._right / self._seen)
            except Exception:  # noqa: BLE001  # the caller's own code: a display must not end the run
                _LOG.warning("the progress callback failed and is not called again", exc_info=True)
                self._progress = None
