"""A static model: the mean of a table's rows, one for each token; about 0.1 ms a text, no network, no torch.

The table is the one that ships inside the `wordllama` package (l2_supercat, 32,000 tokens of 256 numbers, MIT). It
is read from the package's files, and the package is never imported, for reasons seen in version 0.4.0.post1: importing
it calls `logging.basicConfig(level=INFO)` on the root logger of the whole process and loads requests and pydantic; its
loader looks for the tokenizer in the wrong folder, so it downloads the file that it ships, or fails if told not to.
Averaging rows is little enough to do here, and a test holds that the vectors are those of wordllama's own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasoned.embedders.packaged import Once, Tokenizer, digest, load_tensors, load_tokenizer, package_folder, require
from seasoned.embedders.rows import ChecksItself, clean_texts, unit_rows
from seasoned.errors import EmbeddingError
from seasoned.ports import Fingerprint

_TABLE = "embedding.weight"
_DIMENSION = 256


class StaticEmbedder(ChecksItself):
    """Embeds a text of any length as the mean of its tokens' vectors, whatever the order of the words.

    Needs the extra `static`. Loads 16 MB at the first `embed`; the fingerprint is known at once, and its version
    comes from the table itself. Usable from several threads.

    Raises:
        MissingExtra: `wordllama`, `tokenizers` or `safetensors` is not installed.
        EmbeddingError: the installed wordllama does not carry the table.
    """

    def __init__(self) -> None:
        require("static", "wordllama", "tokenizers", "safetensors")
        weights = _shipped("weights/l2_supercat_256.safetensors")
        tokenizer = _shipped("tokenizers/l2_supercat_tokenizer_config.json")
        self._fingerprint = Fingerprint("wordllama-l2-supercat", digest(weights, _TABLE), _DIMENSION)
        self._table = Once(lambda: load_tensors(weights)[_TABLE])
        self._tokenizer = Once(lambda: load_tokenizer(tokenizer))

    @property
    def fingerprint(self) -> Fingerprint:
        """The vector space that the embedder writes to."""
        return self._fingerprint

    @property
    def weight(self) -> float:
        """Half beside words: it knows synonyms, but not sentences."""
        return 0.5

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row a text, shape (n, 256); the row of a text without any token is zero."""
        table, tokenizer = self._table(), self._tokenizer()
        asked = clean_texts(texts)
        sums = np.zeros((len(asked), _DIMENSION), dtype=np.float32)
        for row, text in zip(sums, asked, strict=True):
            row[:] = _sum_of_rows(table, _token_ids(tokenizer, text))
        return unit_rows(sums)


def _shipped(name: str) -> Path:
    folder = package_folder("wordllama")
    path = folder / name if folder else Path(name)
    if not path.is_file():
        raise EmbeddingError(f"the installed wordllama does not carry {name!r}; seasoned needs wordllama 0.4 or later")
    return path


def _token_ids(tokenizer: Tokenizer, text: str) -> NDArray[np.intp]:
    return np.array(tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.intp)


def _sum_of_rows(table: NDArray[np.float32], ids: NDArray[np.intp]) -> NDArray[np.float32]:
    """Sum the rows of `ids`, each row once times its count, so that a long text needs no more memory than the table."""
    once, counts = np.unique(np.minimum(ids, len(table) - 1), return_counts=True)
    total: NDArray[np.float32] = counts.astype(np.float32) @ table[once].astype(np.float32)
    return total
