"""What a memory says beside a history that a framework keeps itself: the joined context, without its messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from seasoned.conversation.assembly import without_block
from seasoned.joined.policy import ContextPolicy
from seasoned.memory import Memory
from seasoned.ports import Message

SPARE: Final = 20
"""One token more for each so many of the history, since it may be counted otherwise here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is asked: `held` are the tokens of the history that the model sees anyway, `budget` what is added to it.

    The shares of `policy` are of the budget. `session` is that of the history; None where it is the task alone.
    """

    task: str
    budget: int
    held: int
    session: str | None
    profile: str
    policy: ContextPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A text for the system message, one to stand inside the user's newest message, and the trace for an outcome."""

    system: str = ""
    user: str = ""
    trace: str | None = None


def said(memory: Memory, asking: Asking) -> Said:
    """Return what the memory says, in about the budget.

    Raises:
        SeasonedError: the memory cannot be asked.
    """
    whole = asking.budget + asking.held + asking.held // SPARE
    part, policy = asking.budget / whole, asking.policy
    shares = replace(
        policy, lessons=policy.lessons * part, playbook=policy.playbook * part, changing=policy.changing * part
    )
    context = memory.context(
        asking.task, whole, session=asking.session, profile=asking.profile, policy=shares, summary=False
    )
    first, last = context.messages[0], context.messages[-1]
    return Said(
        system=str(first["content"]) if first["role"] == "system" else "",
        user=_block(last) if last["role"] == "user" else "",
        trace=context.trace,
    )


def _block(message: Message) -> str:
    """Return the block that a context put into a user message, "" for none."""
    content, left = message["content"], without_block(message)["content"]
    if isinstance(content, str) and isinstance(left, str):
        return content.removesuffix(left).rstrip()
    first = content[0] if isinstance(content, list) and content != left else None
    return str(first.get("text", "")) if isinstance(first, dict) else ""
