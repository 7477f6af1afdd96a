"""The embedders under test, each made once; those that need an absent package are skipped, and say so."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from seasoned.embedders import CallableEmbedder, HashingEmbedder, MiniLMEmbedder, StaticEmbedder
from seasoned.errors import EmbeddingError, MissingExtra
from seasoned.ports import Embedder


def by_length(texts: list[str]) -> list[list[float]]:
    """Stand for a caller's own model: any function of the text alone."""
    return [[1.0, float(len(text)), float(text.count("e"))] for text in texts]


@pytest.fixture(scope="session")
def minilm() -> MiniLMEmbedder:
    try:
        return MiniLMEmbedder()
    except (MissingExtra, EmbeddingError) as error:
        pytest.skip(f"all-MiniLM-L6-v2 is not on this machine: {error}")


@pytest.fixture(scope="session")
def static() -> StaticEmbedder:
    if find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed")
    return StaticEmbedder()


@pytest.fixture(params=["hashing", "static", "minilm", "callable"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hashing":
        return HashingEmbedder()
    if request.param == "callable":
        return CallableEmbedder(by_length, "by-length")
    made: Embedder = request.getfixturevalue(request.param)
    return made
