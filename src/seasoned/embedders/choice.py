"""Which embedder is meant: by name, by what is installed, or by what was handed in."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

from seasoned.embedders.callables import CallableEmbedder, EmbeddingFunction
from seasoned.embedders.hashing import HashingEmbedder
from seasoned.embedders.langchain import Embeddings, LangChainEmbedder
from seasoned.embedders.minilm import MiniLMEmbedder
from seasoned.embedders.static import StaticEmbedder
from seasoned.errors import EmbeddingError, InvalidInput, MissingExtra, WrongType
from seasoned.ports import Embedder

logger = logging.getLogger("seasoned.embedders")

EmbedderSpec: TypeAlias = str | Embedder | Embeddings | EmbeddingFunction
"""What `resolve` accepts."""

_NAMED: Final[dict[str, Callable[[], Embedder]]] = {
    "minilm": MiniLMEmbedder,
    "static": StaticEmbedder,
    "hashing": HashingEmbedder,
}
_ACCEPTED: Final = (
    "'auto', 'minilm', 'static', 'hashing', an object with `fingerprint`, `weight` and `embed`, "
    "a LangChain Embeddings, or a function from a list of texts to a table of numbers"
)


def resolve(spec: EmbedderSpec = "auto") -> Embedder:
    """Return the embedder that `spec` means.

    "auto" is all-MiniLM-L6-v2 if its weights and packages are on this machine, else the static model if it is
    installed, else hashing; which one it was is logged once: at INFO, or at WARNING where it is hashing since only the
    weights of all-MiniLM-L6-v2 lack, with the ways to get them. "minilm", "static" and "hashing" are those. An embedder
    is returned as it is, a LangChain `Embeddings` becomes a `LangChainEmbedder`, and a function a `CallableEmbedder`
    named after it; wrap it yourself to name the model that it calls.

    Raises:
        InvalidInput: there is no embedder of that name.
        WrongType: `spec` is nothing of the kind.
        MissingExtra: the named embedder needs a package that is not installed.
        EmbeddingError: the named embedder's weights are not on this machine.
    """
    if isinstance(spec, str):
        return _by_name(spec)
    if isinstance(spec, type):
        raise WrongType(f"{spec.__name__} is a class; hand in an object of it. Accepted: {_ACCEPTED}")
    return _of_object(spec)


def _by_name(name: str) -> Embedder:
    if name == "auto":
        return _best_here()
    if name not in _NAMED:
        raise InvalidInput(f"there is no embedder {name!r}. Accepted: {_ACCEPTED}")
    return _NAMED[name]()


def _best_here() -> Embedder:
    passed: list[str] = []
    lacking = False
    for name in ("minilm", "static"):
        try:
            embedder = _NAMED[name]()
        except (MissingExtra, EmbeddingError) as error:
            passed.append(f"not {name}: {error}")
            lacking = lacking or isinstance(error, EmbeddingError)
        else:
            _say_once(str(embedder.fingerprint), "; ".join(passed))
            return embedder
    hashing = HashingEmbedder()
    _say_once(str(hashing.fingerprint), "; ".join(passed), logging.WARNING if lacking else logging.INFO)
    return hashing


@cache
def _say_once(chosen: str, why: str, level: int = logging.INFO) -> None:
    logger.log(level, "embedder auto: %s%s", chosen, f" ({why})" if why else "")


def _of_object(spec: Embedder | Embeddings | EmbeddingFunction) -> Embedder:
    # not isinstance: on Python 3.11 it would ask the fingerprint, which may call the embedder
    if _has(spec, "fingerprint", "weight", "embed"):
        return spec  # type: ignore[return-value]  # it has what an Embedder has
    if _has(spec, "embed_documents"):
        return LangChainEmbedder(spec)  # type: ignore[arg-type]  # it has what is used of Embeddings
    if callable(spec):
        return CallableEmbedder(spec, _name_of(spec))
    raise WrongType(f"{type(spec).__name__} is not an embedder. Accepted: {_ACCEPTED}")


def _has(spec: object, *names: str) -> bool:
    absent = object()
    return all(inspect.getattr_static(spec, name, absent) is not absent for name in names)


def _name_of(function: EmbeddingFunction) -> str:
    module = getattr(function, "__module__", type(function).__module__)
    return f"{module}.{getattr(function, '__qualname__', type(function).__qualname__)}"
