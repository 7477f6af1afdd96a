"""Arrays that grow: what the in-process index is made of."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

T = TypeVar("T", bound=np.generic)


class Column(Generic[T]):
    """A numpy array with amortised appending; `view` is the part in use, shape (n, *rest)."""

    __slots__ = ("_array", "_used")

    def __init__(self, dtype: DTypeLike, rest: tuple[int, ...] = (), start: NDArray[T] | None = None) -> None:
        self._array: NDArray[T] = np.zeros((0, *rest), dtype) if start is None else np.ascontiguousarray(start, dtype)
        self._used = len(self._array)

    def __len__(self) -> int:
        return self._used

    @property
    def view(self) -> NDArray[T]:
        """The rows in use; writing to it changes the column."""
        return self._array[: self._used]

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return self._array.nbytes

    def append(self, value: float) -> None:
        """Add one row."""
        self.reserve(1)
        self._array[self._used] = value
        self._used += 1

    def extend(self, values: NDArray[T]) -> None:
        """Add rows."""
        self.reserve(len(values))
        self._array[self._used : self._used + len(values)] = values
        self._used += len(values)

    def reserve(self, more: int) -> None:
        """Make room for so many more rows."""
        needed = self._used + more
        if needed <= len(self._array):
            return
        grown = np.zeros((max(needed, 16, len(self._array) * 3 // 2), *self._array.shape[1:]), self._array.dtype)
        grown[: self._used] = self._array[: self._used]
        self._array = grown
