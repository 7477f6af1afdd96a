"""The four memories of a scope and what joins them, put together; loaded when the first of them is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seasoned.arguments import check_type, checked_text
from seasoned.context import Context, budget_left
from seasoned.conversation import ConversationMemory, ConversationPolicy
from seasoned.conversation.messages import session_name
from seasoned.experience import ExperienceMemory
from seasoned.joined.contexts import build
from seasoned.joined.lessons import KnownLessons
from seasoned.joined.outcomes import credit, word
from seasoned.joined.policy import ContextPolicy
from seasoned.joined.sources import Sources, Wanted
from seasoned.layer import Opening, lent
from seasoned.locked import readable
from seasoned.notes import Notes
from seasoned.playbook import Playbook
from seasoned.ports import Clock, IdSource, Store
from seasoned.records import Scope
from seasoned.results import Credited
from seasoned.runs import RunMemory
from seasoned.runs.profiles import safe_id
from seasoned.runs.rows import run_name
from seasoned.search import Searcher


@dataclass(slots=True, kw_only=True)
class Parts:
    """What the memories of one scope stand on, and the memories: `sources`."""

    store: Store
    opening: Opening
    scope: Scope
    searcher: Searcher
    notes: Notes
    clock: Clock
    ids: IdSource
    policy: ConversationPolicy = field(default_factory=ConversationPolicy)
    sources: Sources = field(init=False)

    def __post_init__(self) -> None:
        below = readable(lent(self.store, self.opening))
        searcher = self.searcher.over(below)
        self.sources = Sources(
            store=below,
            scope=self.scope,
            searcher=searcher,
            clock=self.clock,
            ids=self.ids,
            notes=self.notes,
            conversation=ConversationMemory(
                below, self.scope, searcher=searcher, clock=self.clock, ids=self.ids, policy=self.policy
            ),
            runs=RunMemory(below, self.scope, searcher=searcher, clock=self.clock),
            experience=ExperienceMemory(below, self.scope, searcher, self.clock, self.ids),
            playbook=Playbook(below, scope=self.scope, searcher=searcher, clock=self.clock, ids=self.ids),
            lessons=KnownLessons(below, self.scope, self.clock),
        )

    def context(
        self,
        task: str,
        budget: int,
        reserve: int,
        session: str | None,
        run: str | None,
        *,
        instruction: str,
        profile: str,
        policy: ContextPolicy | None,
        trace: bool,
        conversation: Mapping[str, object],
    ) -> Context:
        """Do as `Memory.context`."""
        check_type(policy, ContextPolicy, "policy")
        shares = policy or ContextPolicy()
        cut: dict[str, object] = {"step": shares.step, "recall_share": shares.changing}
        wanted = Wanted(
            task=checked_text(task, "a task"),
            budget=budget_left(budget, reserve),
            session=None if session is None else session_name(session),
            run=None if run is None else run_name(run),
            profile=safe_id(profile),
            instruction=checked_text(instruction, "an instruction", blank=True),
            policy=shares,
            conversation=self.policy.overridden(**{**cut, **conversation}),
            trace=bool(trace),
        )
        return build(self.sources, wanted)

    def outcome(self, trace: str, reward: float | None, rating: float | None, note: str | None, by: str) -> Credited:
        """Do as `Memory.outcome`."""
        return credit(self.sources, word(trace, reward, rating, note, by))


def check_policy(policy: object) -> None:
    """Refuse what is no policy of conversations.

    Raises:
        WrongType: it is none.
    """
    check_type(policy, ConversationPolicy, "policy")
