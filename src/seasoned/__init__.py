"""Memory for agents that learn from what they did."""

from seasoned.aio import AsyncMemory
from seasoned.context import Context
from seasoned.conversation import ConversationMemory, ConversationPolicy
from seasoned.embedders import (
    CallableEmbedder,
    HashingEmbedder,
    LangChainEmbedder,
    MiniLMEmbedder,
    StaticEmbedder,
)
from seasoned.errors import SeasonedError
from seasoned.explain import Explanation
from seasoned.joined.outcomes import Credited
from seasoned.joined.policy import ContextPolicy
from seasoned.memory import Memory
from seasoned.notes import Revision
from seasoned.playbook import Playbook, PlaybookPolicy
from seasoned.ports import Clock, Embedder, Fingerprint, Message, Store, SystemClock, TokenCounter, Upkeep
from seasoned.query import And, Compare, Filter, Not, Op, Or, Order, Page
from seasoned.ranking import Blend
from seasoned.records import JSON, Hit, Key, Record, Scope, Why
from seasoned.results import Added, Receipt, Status, Swept
from seasoned.retention import Retention, Rule
from seasoned.runs import L1Atom, L2Episode, Lesson, RunMemory, RunPolicy, TurnRecord
from seasoned.search import Hits
from seasoned.stores.memory import MemoryStore
from seasoned.stores.sqlite import SQLiteStore
from seasoned.transfer.bundle import Transferred
from seasoned.transfer.copying import Copied
from seasoned.trust import Origin

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
