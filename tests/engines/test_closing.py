"""A `with` block closes every store, and what stands before one."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from seasoned.errors import StoreClosed
from seasoned.query import Query
from seasoned.records import Scope
from seasoned.redaction import RedactionPolicy, Redactor, redacting_store

from .engines import ENGINES, Engine

QUICK = [engine for engine in ENGINES if not engine.slow or os.environ.get("SEASONED_ENGINES")]


@pytest.mark.parametrize("engine", QUICK, ids=lambda engine: engine.name)
def test_a_with_block_closes_a_store(engine: Engine, tmp_path):
    """Whatever happens inside; closed again it does no harm."""
    with engine.open(tmp_path) as store:
        with suppress(KeyError), store as entered:
            assert entered is store
            raise KeyError
        with pytest.raises(StoreClosed):
            store.find(Query(scope=Scope(("a",))))


def test_what_stands_before_a_store_closes_it(engine_of_memory, tmp_path):
    """Its own `with` block closes both."""
    with redacting_store(engine_of_memory, Redactor(RedactionPolicy())) as outer:
        assert list(outer.find(Query(scope=Scope(("a",)))).hits) == []
    with pytest.raises(StoreClosed):
        engine_of_memory.find(Query(scope=Scope(("a",))))


def test_what_encrypts_a_store_closes_it(engine_of_memory):
    """As its own `with` block ends."""
    encrypted = pytest.importorskip("seasoned.stores.encrypted")
    with encrypted.EncryptedStore(engine_of_memory, encrypted.KeyRing({})) as outer:
        assert list(outer.find(Query(scope=Scope(("a",)))).hits) == []
    with pytest.raises(StoreClosed):
        engine_of_memory.find(Query(scope=Scope(("a",))))


@pytest.fixture
def engine_of_memory(tmp_path):
    """A store in this process."""
    with next(engine for engine in ENGINES if engine.name == "in memory").open(tmp_path) as store:
        yield store
