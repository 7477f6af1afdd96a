"""Any function from texts to vectors, as an embedder: a client of an embedding service, `model.encode`, your own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasoned.embedders.rows import ChecksItself, checked_rows, clean_texts
from seasoned.errors import EmbeddingError, InvalidInput, SeasonedError
from seasoned.ports import Fingerprint

EmbeddingFunction: TypeAlias = Callable[[list[str]], ArrayLike]
"""Takes a list of texts and returns a table of numbers, one row a text."""

_PROBE = "dimension"


class CallableEmbedder(ChecksItself):
    """Embeds with `function`, and checks and normalises what it returns.

    `name` and `version` stand in the fingerprint: name the model that the function calls, since vectors of one
    fingerprint are compared. `weight` (0 to 1) is how far its cosines count beside words. `dimension` is learned from
    the first vectors where it is not given; asking for the fingerprint before that embeds one short text. If the
    function is safe to call from several threads, so is this.

    Raises:
        InvalidInput: the name or version is empty, the weight is outside 0 to 1, or the dimension is less than 1.
    """

    def __init__(
        self,
        function: EmbeddingFunction,
        name: str,
        *,
        version: str = "1",
        weight: float = 0.65,
        dimension: int | None = None,
    ) -> None:
        _check(name, version, weight, dimension)
        self._function = function
        self._name = name
        self._version = version
        self._weight = weight
        self._dimension = dimension
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> Fingerprint:
        """The vector space that the embedder writes to.

        Raises:
            EmbeddingError: the dimension is not known yet, and the function failed to tell it.
        """
        dimension = self._dimension
        if dimension is None:
            dimension = self._call([_PROBE]).shape[1]
        return Fingerprint(self._name, self._version, dimension)

    @property
    def weight(self) -> float:
        """How far its cosines count beside words, as given."""
        return self._weight

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row a text, shape (n, dimension); no call is made for no texts.

        Raises:
            EmbeddingError: the function failed, or returned another shape than before, or a value that is not finite.
        """
        asked = clean_texts(texts)
        if not asked:
            return np.zeros((0, self.fingerprint.dimension), dtype=np.float32)
        return self._call(asked)

    def _call(self, texts: list[str]) -> NDArray[np.float32]:
        who = f"the embedder {self._name!r}"
        try:
            found = self._function(texts)
        except SeasonedError:
            raise
        except Exception as error:  # the caller's own code: whatever it raises, the reader learns who did
            raise EmbeddingError(f"{who} failed: {error!r}") from error
        rows = checked_rows(found, count=len(texts), dimension=self._dimension, who=who)
        self._learn(rows.shape[1], who)
        return rows

    def _learn(self, dimension: int, who: str) -> None:
        with self._lock:
            if self._dimension is None:
                self._dimension = dimension
        if self._dimension != dimension:
            raise EmbeddingError(f"{who} returned {dimension} dimensions, wanted {self._dimension} as before")


def _check(name: str, version: str, weight: float, dimension: int | None) -> None:
    if not name or not version:
        raise InvalidInput(f"an embedder needs a name and a version, not {name!r} and {version!r}")
    if not 0 <= weight <= 1:
        raise InvalidInput(f"the weight of an embedder is from 0 to 1, not {weight!r}")
    if dimension is not None and dimension < 1:
        raise InvalidInput(f"the dimension of an embedder is at least 1, not {dimension!r}")
