"""LangChainEmbedder: a real `Embeddings` of langchain_core."""

from __future__ import annotations

import numpy as np
import pytest

from seasoned.embedders import LangChainEmbedder, resolve

embeddings = pytest.importorskip("langchain_core.embeddings", reason="langchain-core is not installed")


@pytest.fixture
def five():
    """Return LangChain's own deterministic embedding of five numbers."""
    return embeddings.DeterministicFakeEmbedding(size=5)


def test_its_documents_vectors_are_used(five):
    """The rows are those of `embed_documents`, normalised."""
    theirs = np.array(five.embed_documents(["fog", "dawn"]))
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    np.testing.assert_allclose(LangChainEmbedder(five).embed(["fog", "dawn"]), theirs, atol=1e-6)


def test_it_is_named_after_its_class(five):
    """Without a model attribute, the class is the name."""
    assert str(LangChainEmbedder(five).fingerprint) == "DeterministicFakeEmbedding/1/5"


def test_it_is_named_after_its_model_too():
    """Two models of one class are two vector spaces."""

    class Served(embeddings.Embeddings):
        def __init__(self, model: str) -> None:
            self.model = model

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 2.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 2.0]

    names = {LangChainEmbedder(Served(model)).fingerprint.name for model in ("small", "large")}
    assert names == {"Served:small", "Served:large"}


def test_resolve_knows_it_by_its_method(five):
    """A LangChain `Embeddings` can be handed in as it is."""
    assert isinstance(resolve(five), LangChainEmbedder)
