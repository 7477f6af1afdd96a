"""LangChain's standard tests over the adapters."""

from __future__ import annotations

from typing import Any

import pytest

from seasoned import Memory

pytest.importorskip("langchain_tests", reason="langchain-tests is not installed")
pytest.importorskip("pytest_asyncio", reason="pytest-asyncio is not installed")
from langchain_core.embeddings import Embeddings  # only where it is installed
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import EmbeddingsIntegrationTests, RetrieversIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from seasoned.integrations.langchain_adapters import SeasonedEmbeddings, SeasonedRetriever


@pytest.mark.filterwarnings("ignore:The test .* is marked with:pytest.PytestWarning")
@pytest.mark.asyncio
class TestRetriever(RetrieversIntegrationTests):
    """The retriever over a memory of five notes."""

    @pytest.fixture(autouse=True)
    def memory(self) -> Any:
        with Memory(embedder="hashing") as memory:
            for number in range(5):
                memory.remember(f"tea number {number}")
            self.held = memory
            yield memory

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return SeasonedRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.held}

    @property
    def retriever_query_example(self) -> str:
        return "tea"


class _Hashing:
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return SeasonedEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": "hashing"}


class TestEmbeddings(_Hashing, EmbeddingsUnitTests):
    """The embeddings, made."""


@pytest.mark.filterwarnings("ignore:The test .* is marked with:pytest.PytestWarning")
@pytest.mark.asyncio
class TestEmbeddingsAtWork(_Hashing, EmbeddingsIntegrationTests):
    """The embeddings, used."""
