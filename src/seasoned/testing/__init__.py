"""What tests need, public for third parties: the store contract, scripted models, a clock and ids to hand.

`StoreContract` needs pytest and hypothesis, and nothing here is imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from seasoned.testing.clock import FakeClock, sequential_ids
    from seasoned.testing.contract import StoreContract
    from seasoned.testing.scripted import AsyncScriptedModel, ScriptedModel

_MODULES: Final = {
    "AsyncScriptedModel": "scripted",
    "FakeClock": "clock",
    "ScriptedModel": "scripted",
    "StoreContract": "contract",
    "sequential_ids": "clock",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *_MODULES))


__all__ = ["AsyncScriptedModel", "FakeClock", "ScriptedModel", "StoreContract", "sequential_ids"]
