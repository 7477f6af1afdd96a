"""What a joined context is made from: the four memories and the notes of one scope, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass

from seasoned.conversation import ConversationMemory, ConversationPolicy
from seasoned.experience import ExperienceMemory
from seasoned.joined.lessons import KnownLessons
from seasoned.joined.policy import ContextPolicy
from seasoned.notes import Notes
from seasoned.playbook import Playbook
from seasoned.ports import Clock, IdSource, Store
from seasoned.records import Scope
from seasoned.runs import RunMemory
from seasoned.search import Searcher
from seasoned.tokens import Counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The memories of one scope over one store."""

    store: Store
    scope: Scope
    searcher: Searcher
    clock: Clock
    ids: IdSource
    notes: Notes
    conversation: ConversationMemory
    runs: RunMemory
    experience: ExperienceMemory
    playbook: Playbook
    lessons: KnownLessons


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a context is asked for: `budget` is without the reserve, in tokens of the conversation policy's counter."""

    task: str
    budget: int
    session: str | None
    run: str | None
    profile: str
    instruction: str
    policy: ContextPolicy
    conversation: ConversationPolicy
    trace: bool = True

    @property
    def counter(self) -> Counter:
        """What counts tokens."""
        return self.conversation.counter

    def tokens(self, text: str) -> int:
        """Return what a text counts as a system message."""
        return self.counter.one({"role": "system", "content": text})
