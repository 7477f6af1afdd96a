"""What of an item is searched: its texts at some paths, and their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seasoned.embedders import LangChainEmbedder
from seasoned.embedders.rows import checked_rows
from seasoned.errors import EmbeddingError, InvalidInput, SeasonedError, WrongType
from seasoned.integrations.langchain_adapters import SeasonedEmbeddings
from seasoned.integrations.langgraph.framework import (
    Embeddings,
    IndexConfig,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)
from seasoned.ports import Fingerprint, Vectors
from seasoned.records import JSON

WHOLE: Final = "$"
"""The path of the whole value."""

Rows: TypeAlias = NDArray[np.float32]

_KNOWN: Final = ("dims", "embed", "fields")


def texts_at(value: dict[str, JSON], paths: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of a value at some paths, blank ones left out; the whole value is one text, its JSON."""
    found = (text for path in paths for text in get_text_at_path(value, _tokens(path)))
    return tuple(text for text in found if text.strip())


def words_at(value: dict[str, JSON], paths: Sequence[str]) -> str:
    """Return the text that is searched by words: the texts at some paths; of the whole value its texts and numbers."""
    found = (leaves(value) if path == WHOLE else get_text_at_path(value, _tokens(path)) for path in paths)
    return "\n".join(text for texts in found for text in texts if text.strip())


def _tokens(path: str) -> str | list[str]:
    return path if path == WHOLE else tokenize_path(path)


def leaves(value: JSON) -> Iterator[str]:
    """Yield the texts and numbers in a value."""
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def checked_paths(index: object, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that the `index` argument of `put` names: None for the default, False for none.

    Raises:
        WrongType: it is something else than None, False or a list of texts.
    """
    if index is None:
        return default
    if index is False:
        return ()
    if not isinstance(index, (list, tuple)) or not all(isinstance(path, str) for path in index):
        raise WrongType(f"index is None, False or a list of paths, not {index!r:.80}")
    return tuple(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The rows of the texts and of the queries of one batch; empty where nothing is embedded."""

    texts: Mapping[str, Rows]
    queries: Mapping[str, Rows]
    fingerprint: Fingerprint | None = None

    def of(self, texts: Sequence[str]) -> Vectors | None:
        """Return the vectors of an item with these texts; None for one without any."""
        if self.fingerprint is None or not texts:
            return None
        return Vectors(self.fingerprint, np.stack([self.texts[text] for text in texts]))

    def query(self, text: str) -> Vectors | None:
        """Return the vector of a query."""
        return None if self.fingerprint is None else Vectors(self.fingerprint, self.queries[text][None, :])


NOTHING: Final = Embedded(texts={}, queries={})


class Index:
    """The texts that are searched, and the model that embeds them, as an `IndexConfig` says.

    Raises:
        InvalidInput: an unknown name, no `embed`, `dims` below 1.
        WrongType: a value of another type.
    """

    def __init__(self, config: IndexConfig) -> None:
        check_names(config, _KNOWN, "an index configuration")
        self.fields = checked_paths(config.get("fields") or None, (WHOLE,))
        self._dims = _checked_dims(config.get("dims"))
        given = config.get("embed")
        if given is None:
            raise InvalidInput("an index configuration names what embeds texts: {'embed': …}")
        self.embeddings: Embeddings = ensure_embeddings(given)
        self._name = _space_name(given, self.embeddings)

    def embed(self, texts: Sequence[str], queries: Sequence[str]) -> Embedded:
        """Return the vectors of some texts and queries, each embedded once.

        Raises:
            EmbeddingError: the model failed, or returned another shape than wanted.
        """
        with self._named_errors():
            rows = self.embeddings.embed_documents([*texts]) if texts else []
            asked = [self.embeddings.embed_query(query) for query in queries]
        return self._checked(texts, rows, queries, asked)

    async def aembed(self, texts: Sequence[str], queries: Sequence[str]) -> Embedded:
        """Return what `embed` does, by the model's async methods."""
        with self._named_errors():
            rows = await self.embeddings.aembed_documents([*texts]) if texts else []
            asked = [await self.embeddings.aembed_query(query) for query in queries]
        return self._checked(texts, rows, queries, asked)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except SeasonedError:
            raise
        except Exception as error:  # the caller's own code: whatever it raises, the reader learns who did
            raise EmbeddingError(f"{self._name} failed: {error!r:.300}") from error

    def _checked(
        self, texts: Sequence[str], rows: list[list[float]], queries: Sequence[str], asked: list[list[float]]
    ) -> Embedded:
        if not texts and not queries:
            return NOTHING
        found = self._rows(texts, rows)
        found_asked = self._rows(queries, asked)
        assert self._dims is not None  # noqa: S101  # known since the first row
        return Embedded(texts=found, queries=found_asked, fingerprint=self._fingerprint(self._dims))

    def _rows(self, texts: Sequence[str], rows: list[list[float]]) -> dict[str, Rows]:
        if not texts:
            return {}
        table = checked_rows(rows, count=len(texts), dimension=self._dims, who=self._name)
        self._dims = table.shape[1]
        return dict(zip(texts, table, strict=True))

    def _fingerprint(self, dims: int) -> Fingerprint:
        if isinstance(self.embeddings, SeasonedEmbeddings):
            return self.embeddings.embedder.fingerprint
        return Fingerprint(self._name, "1", dims)


def check_names(config: object, known: Sequence[str], what: str) -> None:
    """Refuse a configuration with a name that means nothing here.

    Raises:
        InvalidInput: it has one.
        WrongType: it is not a mapping.
    """
    if not isinstance(config, Mapping):
        raise WrongType(f"{what} is a mapping, not {config!r:.80}")
    unknown = [name for name in config if name not in known]
    if unknown:
        raise InvalidInput(f"{what} has {', '.join(known)}; found {', '.join(map(repr, unknown))}")


def _checked_dims(dims: object) -> int | None:
    if dims is None:
        return None
    if isinstance(dims, bool) or not isinstance(dims, int):
        raise WrongType(f"dims is an integer, not {dims!r:.80}")
    if dims < 1:
        raise InvalidInput(f"dims is 1 or more, found {dims}")
    return dims


def _space_name(given: object, embeddings: Embeddings) -> str:
    """Return the name of a model's vectors: the one that a memory gives to the same model."""
    if given is embeddings or isinstance(given, str):
        return LangChainEmbedder(embeddings, dimension=1).fingerprint.name
    kind = type(given)
    return f"{getattr(given, '__module__', kind.__module__)}.{getattr(given, '__qualname__', kind.__qualname__)}"
