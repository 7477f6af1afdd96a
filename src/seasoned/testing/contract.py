"""The store contract: what every engine must do, as tests that an engine's own test class inherits."""

from __future__ import annotations

from typing import Final

from seasoned.errors import MissingExtra

try:
    import hypothesis  # noqa: F401  # the parts need it; said here, once, in words
    import pytest
except ImportError as error:
    raise MissingExtra("testing", "the store contract runs in pytest with hypothesis; one of them") from error

_PARTS: Final = ("base", "changes", "credits", "dense", "filters", "lifetime", "order", "scopes", "values", "words")
pytest.register_assert_rewrite(*(f"seasoned.testing.contract_{part}" for part in _PARTS))

# pytest explains only the assertions of modules registered before their import.
from seasoned.testing.contract_changes import ChangeRules  # noqa: E402
from seasoned.testing.contract_credits import CreditRules  # noqa: E402
from seasoned.testing.contract_dense import DenseRules  # noqa: E402
from seasoned.testing.contract_filters import FilterRules  # noqa: E402
from seasoned.testing.contract_lifetime import LifetimeRules  # noqa: E402
from seasoned.testing.contract_order import OrderRules  # noqa: E402
from seasoned.testing.contract_scopes import ScopeRules  # noqa: E402
from seasoned.testing.contract_values import ValueRules  # noqa: E402
from seasoned.testing.contract_words import WordRules  # noqa: E402


class StoreContract(
    OrderRules, FilterRules, ScopeRules, ChangeRules, CreditRules, WordRules, DenseRules, ValueRules, LifetimeRules
):
    """Certifies an engine: subclass it in pytest and say how to open a store.

        class TestMyStore(StoreContract):
            def make_store(self, place, clock):
                return MyStore(place / "my.db", clock=clock)

    `place` is an empty directory, new for each test; an engine that keeps nothing in files may take a name from it.
    Called again with the same place after `close`, a store that declares `durable` must hold what it held. What the
    engine does not declare in `can` is skipped. Needs pytest and hypothesis.

    Raises:
        MissingExtra: (on import) pytest or hypothesis is not installed.
    """


__all__ = ["StoreContract"]
