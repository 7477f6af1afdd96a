"""Memory for agents that learn from what they did."""

from importlib import import_module
from typing import TYPE_CHECKING

from seasoned.context import Context
from seasoned.embedders import (
    CallableEmbedder,
    HashingEmbedder,
    LangChainEmbedder,
    MiniLMEmbedder,
    StaticEmbedder,
)
from seasoned.errors import SeasonedError
from seasoned.explain import Explanation
from seasoned.joined.policy import ContextPolicy
from seasoned.memory import Memory
from seasoned.notes import Note, Revision
from seasoned.ports import Clock, Embedder, Fingerprint, Message, Store, SystemClock, TokenCounter, Upkeep
from seasoned.query import And, Compare, Filter, Not, Op, Or, Order, Page
from seasoned.ranking import Blend
from seasoned.records import JSON, Hit, Key, Record, Scope, Why
from seasoned.results import Added, Credited, Receipt, Status, Swept
from seasoned.retention import Retention, Rule
from seasoned.search import Hits
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.transfer.bundle import Transferred
from seasoned.transfer.copying import Copied
from seasoned.trust import Origin

if TYPE_CHECKING:
    from seasoned.aio import AsyncMemory
    from seasoned.conversation import ConversationMemory, ConversationPolicy
    from seasoned.playbook import Playbook, PlaybookPolicy
    from seasoned.runs import L1Atom, L2Episode, Lesson, RunMemory, RunPolicy, TurnRecord

__version__ = "0.1.0"

__all__ = [
    "JSON",
    "Added",
    "And",
    "AsyncMemory",
    "Blend",
    "CallableEmbedder",
    "Clock",
    "Compare",
    "Context",
    "ContextPolicy",
    "ConversationMemory",
    "ConversationPolicy",
    "Copied",
    "Credited",
    "Embedder",
    "Explanation",
    "Filter",
    "Fingerprint",
    "HashingEmbedder",
    "Hit",
    "Hits",
    "Key",
    "L1Atom",
    "L2Episode",
    "LangChainEmbedder",
    "Lesson",
    "Memory",
    "MemoryStore",
    "Message",
    "MiniLMEmbedder",
    "Not",
    "Note",
    "Op",
    "Or",
    "Order",
    "Origin",
    "Page",
    "Playbook",
    "PlaybookPolicy",
    "Receipt",
    "Record",
    "Retention",
    "Revision",
    "Rule",
    "RunMemory",
    "RunPolicy",
    "SQLiteStore",
    "Scope",
    "SeasonedError",
    "StaticEmbedder",
    "Status",
    "Store",
    "Swept",
    "SystemClock",
    "TokenCounter",
    "Transferred",
    "TurnRecord",
    "Upkeep",
    "Why",
]

_LATER = {
    "seasoned.aio": ("AsyncMemory",),
    "seasoned.conversation": ("ConversationMemory", "ConversationPolicy"),
    "seasoned.playbook": ("Playbook", "PlaybookPolicy"),
    "seasoned.runs": ("L1Atom", "L2Episode", "Lesson", "RunMemory", "RunPolicy", "TurnRecord"),
}
"""The parts of the package that are imported when one of their names is first used, not with the package."""

if not TYPE_CHECKING:  # where types are checked, a name that is not there stays an error

    def __getattr__(name: str) -> object:
        for module, names in _LATER.items():
            if name in names:
                return getattr(import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
