"""`Closing`: what a `with` block closes at its end."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Something with a `close` that may be called twice; `with x:` calls it, whatever happens inside."""

    def close(self) -> None:
        """Release everything."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
