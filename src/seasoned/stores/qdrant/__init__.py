"""Qdrant: records as points of one collection, in this process, in a folder, or on a server."""

from seasoned.stores.qdrant.client import Distance
from seasoned.stores.qdrant.store import QdrantStore, open_url

__all__ = ["Distance", "QdrantStore", "open_url"]
