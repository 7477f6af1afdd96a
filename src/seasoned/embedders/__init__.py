"""Embedders: what turns texts into unit vectors, from no model at all to any model of yours."""

from seasoned.embedders.callables import CallableEmbedder, EmbeddingFunction
from seasoned.embedders.choice import EmbedderSpec, resolve
from seasoned.embedders.hashing import HashingEmbedder
from seasoned.embedders.langchain import LangChainEmbedder
from seasoned.embedders.minilm import MiniLMEmbedder
from seasoned.embedders.rows import embed_checked
from seasoned.embedders.static import StaticEmbedder

__all__ = [
    "CallableEmbedder",
    "EmbedderSpec",
    "EmbeddingFunction",
    "HashingEmbedder",
    "LangChainEmbedder",
    "MiniLMEmbedder",
    "StaticEmbedder",
    "embed_checked",
    "resolve",
]
