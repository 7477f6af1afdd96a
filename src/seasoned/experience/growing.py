"""A column that takes values one by one and joins them to its array when it is read: quick to fill, quick to scan."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from seasoned.columns import Column

T = TypeVar("T", bound=np.generic)


class Growing(Generic[T]):
    """A numpy array with cheap appending; `view` is all of it, shape (n,)."""

    __slots__ = ("_column", "_waiting", "append")

    def __init__(self, dtype: DTypeLike) -> None:
        self._column: Column[T] = Column(dtype)
        self._waiting: list[float] = []
        self.append = self._waiting.append

    def __len__(self) -> int:
        return len(self._column) + len(self._waiting)

    @property
    def view(self) -> NDArray[T]:
        """All values; writing to it changes the column."""
        if self._waiting:
            self._column.extend(np.array(self._waiting, self._column.view.dtype))
            self._waiting.clear()
        return self._column.view
