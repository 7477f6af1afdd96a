"""The Qdrant store keeps the contract in a folder, where each write waits for the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("qdrant_client")

from seasoned.ports import Clock, Store
from seasoned.stores.qdrant import QdrantStore
from seasoned.testing import StoreContract

from .engine_rules import EngineRules


class TestQdrantStoreInAFolder(EngineRules, StoreContract):
    """Every rule, with what survives the process."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The folder is made at first use."""
        return QdrantStore(path=place / "qdrant", clock=clock)

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """A collection of that name in one folder."""
        return QdrantStore(path=place / "qdrant", collection_name=name, clock=clock)
