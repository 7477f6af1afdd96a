"""Any LangChain `Embeddings` as an embedder. It is known by its method, so LangChain itself is not imported."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from seasoned.embedders.callables import CallableEmbedder

_MODEL_ATTRIBUTES = ("model", "model_name", "model_id", "deployment")


@runtime_checkable
class Embeddings(Protocol):
    """What is used of `langchain_core.embeddings.Embeddings`."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        ...


class LangChainEmbedder(CallableEmbedder):
    """Embeds with a LangChain `Embeddings`, by `embed_documents`, for queries too.

    `name` is, unless given, the class and its model: `OpenAIEmbeddings:text-embedding-3-small`. The rest is as in
    `CallableEmbedder`.

    Raises:
        InvalidInput: the name or version is empty, the weight is outside 0 to 1, or the dimension is less than 1.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        name: str | None = None,
        *,
        version: str = "1",
        weight: float = 0.65,
        dimension: int | None = None,
    ) -> None:
        own = _class_and_model(embeddings) if name is None else name
        super().__init__(embeddings.embed_documents, own, version=version, weight=weight, dimension=dimension)


def _class_and_model(embeddings: Embeddings) -> str:
    named = (getattr(embeddings, attribute, None) for attribute in _MODEL_ATTRIBUTES)
    model = next((value for value in named if isinstance(value, str) and value), None)
    kind = type(embeddings).__name__
    return kind if model is None else f"{kind}:{model}"
