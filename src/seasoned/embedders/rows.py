"""What goes into an embedder and what comes out, made sound: texts without lone surrogates, finite unit rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasoned.errors import EmbeddingError, SeasonedError, WrongType
from seasoned.ports import Embedder

_UNIT_TOLERANCE = 1e-6


class ChecksItself:
    """Marks an embedder of this package, whose rows were checked when they were made."""

    __slots__ = ()


def embed_checked(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the rows of `texts` from any embedder, checked against what its fingerprint promises.

    The result is float32, C-contiguous, of shape (n, dimension), finite, and every row is unit or zero: rows of
    another length are normalised, everything else that is wrong raises.

    Raises:
        EmbeddingError: the embedder failed, or returned another shape or something that is not a finite number.
        WrongType: `texts` is a single string, or holds something that is not a string.
    """
    asked = clean_texts(texts)
    fingerprint = embedder.fingerprint
    if not asked:
        return np.zeros((0, fingerprint.dimension), dtype=np.float32)
    try:
        rows = embedder.embed(asked)
    except SeasonedError:
        raise
    except Exception as error:  # the caller's own code: whatever it raises, the reader learns who did
        raise EmbeddingError(f"the embedder {fingerprint} failed: {error!r}") from error
    if isinstance(embedder, ChecksItself):
        return rows
    return checked_rows(rows, count=len(asked), dimension=fingerprint.dimension, who=str(fingerprint))


def clean_texts(texts: Sequence[str]) -> list[str]:
    """Return `texts` as a list of strings that can all be encoded: a lone surrogate becomes U+FFFD.

    Raises:
        WrongType: `texts` is a single string, or holds something that is not a string.
    """
    if isinstance(texts, str | bytes):
        raise WrongType(f"an embedder takes a list of strings, not one {type(texts).__name__}: {texts[:40]!r}")
    return [_encodable(text) for text in texts]


def checked_rows(found: ArrayLike, *, count: int, dimension: int | None, who: str) -> NDArray[np.float32]:
    """Return `found` as `count` finite unit rows of `dimension` numbers (of any, where it is None).

    Raises:
        EmbeddingError: the shape is another, or a value is not a finite number; says what was found and wanted.
    """
    table = _table(found, who)
    _check_shape(table, count, dimension, who)
    if not np.isfinite(table).all():
        bad = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise EmbeddingError(f"{who} returned a value that is not finite, in row {bad} of {count}")
    return unit_rows(table)


def unit_rows(table: NDArray[np.float64] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows divided by their lengths, as float32; zero rows stay zero, unit rows stay as they are."""
    largest = np.abs(table).max(axis=1, initial=0.0, keepdims=True)
    scaled = table / np.where(largest > 0, largest, 1)  # so that no square overflows or vanishes
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64))[:, None]
    is_unit = np.abs(lengths * np.minimum(largest, 2) - 1) < _UNIT_TOLERANCE  # above 2 it is not, and could overflow
    rows = np.where(is_unit, table, scaled / np.where(lengths > 0, lengths, 1))
    return np.ascontiguousarray(rows, dtype=np.float32)


def _encodable(text: str) -> str:
    if not isinstance(text, str):
        raise WrongType(f"an embedder takes strings, not {type(text).__name__}: {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _table(found: ArrayLike, who: str) -> NDArray[np.float64]:
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor that still wants its gradient
        what = f"{type(found).__name__} that is not a table of numbers, one row a text"
        raise EmbeddingError(f"{who} returned {what}: {error}") from error


def _check_shape(table: NDArray[np.float64], count: int, dimension: int | None, who: str) -> None:
    wanted = (count, "any" if dimension is None else dimension)
    fits = table.ndim == 2 and table.shape[0] == count and table.shape[1] == (dimension or table.shape[1])
    if not fits or table.shape[1] == 0:
        raise EmbeddingError(f"{who} returned shape {table.shape}, wanted {wanted}")
