"""The PostgreSQL store keeps the contract, on a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from seasoned.errors import InvalidInput
from seasoned.ports import Clock, Store
from seasoned.stores.postgres import PostgresStore
from seasoned.testing import StoreContract

from .pgserver import empty_schema, new_schema, server


class TestPostgresStore(StoreContract):
    """Every rule of the contract, each test in a schema that is empty."""

    @pytest.fixture(autouse=True)
    def _schema(self):
        """A schema of this test's own, empty again at its end."""
        with empty_schema() as self.schema:
            yield

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The schema is made at first use."""
        return PostgresStore(server().url, schema=self.schema, clock=clock)


def test_a_store_at_a_server_declares_everything():
    """Atomic, compare, ordered, lexical, dense, fresh and durable."""
    with empty_schema() as schema:
        store = PostgresStore(server().url, schema=schema)
        can = store.can
        store.close()
    assert (can.atomic, can.compare, can.ordered, can.lexical, can.dense, can.fresh, can.durable) == (True,) * 7


@pytest.mark.parametrize(
    "sizes", [{"pool_most": 1}, {"pool_least": -1}, {"pool_least": 5, "pool_most": 4}, {"timeout_s": 0}], ids=str
)
def test_a_pool_that_cannot_be_is_refused(sizes):
    """A reader and a writer need a connection each, and waiting takes some time."""
    with pytest.raises(InvalidInput):
        PostgresStore(server().url, schema=new_schema(), **sizes)
