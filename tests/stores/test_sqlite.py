"""The SQLite store keeps the contract, on one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from seasoned.errors import InvalidInput
from seasoned.ports import Clock, Store
from seasoned.stores.sqlite import SQLiteStore
from seasoned.testing import StoreContract


class TestSQLiteStore(StoreContract):
    """Every rule of the contract, with what survives a power cut."""

    def make_store(self, place: Path, clock: Clock) -> Store:
        """The file is made at first use."""
        return SQLiteStore(place / "agent.db", clock=clock)


def test_a_store_in_sqlite_declares_everything(tmp_path):
    """Atomic, compare, ordered, lexical, dense, fresh and durable."""
    store = SQLiteStore(tmp_path / "agent.db")
    can = store.can
    store.close()
    assert (can.atomic, can.compare, can.ordered, can.lexical, can.dense, can.fresh, can.durable) == (True,) * 7


@pytest.mark.parametrize("word", ["FULL", "off", "", None, 2], ids=repr)
def test_a_durability_that_does_not_exist_is_refused(tmp_path, word):
    """There are "full" and "normal", and no file is made for another."""
    with pytest.raises(InvalidInput):
        SQLiteStore(tmp_path / "agent.db", durability=word)
    assert list(tmp_path.iterdir()) == []


def test_a_path_may_be_a_string_with_any_characters(tmp_path):
    """A name with spaces, a question mark, a percent or a hash is a file of that name, not a URI."""
    names = ["my agent.db", "a?mode=ro", "50%25.db", "a#b.db", "太郎.db", "' OR 1.db"]
    for name in names:
        SQLiteStore(str(tmp_path / name)).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
