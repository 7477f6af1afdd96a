"""Models that lie on this machine: the one place that imports `tokenizers` and `safetensors`, late and only to read.

Nothing here reaches the network. Packages are located without being imported, since importing `wordllama`
configures the root logger and loads requests and pydantic.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from seasoned.errors import EmbeddingError, MissingExtra

T = TypeVar("T")


class Encoding(Protocol):
    """A text as token ids."""

    @property
    def ids(self) -> list[int]:
        """The ids, in the order of the text."""
        ...


class Tokenizer(Protocol):
    """What is used of `tokenizers.Tokenizer`. Only `encode`: `encode_batch` starts threads, and warns after a fork."""

    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> Encoding:
        """Return the text as token ids."""
        ...


class Once(Generic[T]):
    """A value that is loaded when first asked for, by one thread, and kept. A failed load is tried again."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._kept: list[T] = []

    def __call__(self) -> T:
        """Return the value, loading it if this is the first call."""
        if not self._kept:
            with self._lock:
                if not self._kept:
                    self._kept.append(self._load())
        return self._kept[0]


def require(extra: str, *packages: str) -> None:
    """Raise `MissingExtra` for the first of `packages` that is not installed; import none of them."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(extra, package)


def package_folder(package: str) -> Path | None:
    """Return where an installed package lies, without importing it; None where it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def load_tokenizer(path: Path, *, max_tokens: int | None = None) -> Tokenizer:
    """Read a tokenizer file, without padding, cutting at `max_tokens` where given.

    Raises:
        EmbeddingError: the file is damaged or cannot be read.
    """
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise EmbeddingError(f"cannot read the tokenizer {str(path)!r}: {error}") from error
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    read: Tokenizer = tokenizer
    return read


def load_tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read every tensor of a safetensors file, in the type it has there.

    Raises:
        EmbeddingError: the file is damaged or cannot be read.
    """
    import safetensors
    import safetensors.numpy

    try:
        tensors: dict[str, NDArray[np.float32]] = safetensors.numpy.load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise EmbeddingError(f"cannot read the weights {str(path)!r}: {error}") from error
    return tensors


def digest(path: Path, prefix: str) -> str:
    """Return eight hex digits that tell these weights from others, read from a part of each tensor under `prefix`.

    Training changes every row of a map that it touches, and a merged adapter touches only some maps; so a few rows of
    every tensor are enough, and the rest of the file is not read.

    Raises:
        EmbeddingError: the file is damaged, cannot be read or has no such tensor.
    """
    import safetensors

    seen = sha256()
    try:
        with safetensors.safe_open(path, framework="np") as weights:
            names = sorted(name for name in weights.keys() if name.startswith(prefix))  # noqa: SIM118  no dict
            for name in names:
                part = weights.get_slice(name)
                middle = part.get_shape()[0] // 2
                seen.update(f"{name} {part.get_shape()} ".encode() + part[middle : middle + 4].tobytes())
    except (OSError, safetensors.SafetensorError) as error:
        raise EmbeddingError(f"cannot read the weights {str(path)!r}: {error}") from error
    if not names:
        raise EmbeddingError(f"the weights {str(path)!r} have no tensor {prefix!r}")
    return seen.hexdigest()[:8]
