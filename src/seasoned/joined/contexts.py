"""One context over all that is remembered, in one token budget; the stable part first, so that prompt caches hit.

First the system part, then the rolling summary, the window, and inside the newest user message what changes with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seasoned.context import Context
from seasoned.conversation.assembly import Recall, assemble
from seasoned.conversation.assembly import Wanted as Assembly
from seasoned.conversation.following import Session
from seasoned.conversation.messages import content_text
from seasoned.conversation.relevance import no_relevance
from seasoned.conversation.summary import summary_message
from seasoned.conversation.units import Layout, Turn
from seasoned.errors import BudgetTooSmall
from seasoned.joined.changing import Chooser
from seasoned.joined.sources import Sources, Wanted
from seasoned.joined.system import System, only_pinned, system_part
from seasoned.joined.traces import traced
from seasoned.ports import Message

_TASK: Final = "task"


def build(sources: Sources, wanted: Wanted) -> Context:
    """Return the context and keep its trace.

    Raises:
        BudgetTooSmall: pinned notes, system messages and the newest user message, cut as far as it goes, need more.
    """
    system = system_part(sources, wanted)
    try:
        context, newest = _built(sources, wanted, system)
    except BudgetTooSmall:
        context, newest = _built(sources, wanted, only_pinned(sources))
    return traced(sources, wanted, context, newest)


def _built(sources: Sources, wanted: Wanted, system: System) -> tuple[Context, str | None]:
    """Return the context, and the id of the user message that it answers, None where that is the task itself."""
    if wanted.session is None:
        return _assembled(sources, wanted, system, None)
    with sources.conversation.followed(wanted.session) as kept:
        return _assembled(sources, wanted, system, kept)


def _assembled(sources: Sources, wanted: Wanted, system: System, kept: Session | None) -> tuple[Context, str | None]:
    layout = kept.layout(wanted.counter) if kept else Layout(wanted.counter)
    alone = layout.newest_user() < 0
    if alone:
        layout = _task_alone(wanted, layout)
    newest = layout.units[layout.newest_user()].turns[0]
    chooser = Chooser(sources, wanted, system.texts, None if alone else newest)
    recall: Recall | None = chooser.recall(None if alone else kept) if wanted.policy.changing else None
    summarised = kept.summary if kept and wanted.conversation.summary and not alone else None
    context = assemble(
        Assembly(
            layout=layout,
            policy=wanted.conversation,
            budget=wanted.budget,
            relevance=no_relevance,
            pinned=kept.pinned() if kept else frozenset(),
            summary=summary_message(summarised) if summarised else None,
            recall=recall,
            unreadable=sorted(kept.unreadable) if kept else (),
            front=_front(wanted, layout, system),
        )
    )
    used = (*system.used, *(chooser.choice.used if context.recalled and chooser.choice else ()))
    degraded = tuple(dict.fromkeys((*system.degraded, *chooser.degraded)))
    return replace(context, used=used, degraded=degraded), None if alone else newest.id


def _task_alone(wanted: Wanted, layout: Layout) -> Layout:
    """Return a conversation that is the task alone, with the system messages of the session."""
    made = Layout(wanted.counter)
    for turn in layout.system:
        made.add(turn)
    message: Message = {"role": "user", "content": wanted.task}
    made.add(Turn(_TASK, 1 << 62, message, wanted.counter.one(message)))
    return made


def _front(wanted: Wanted, layout: Layout, system: System) -> Message | None:
    """Return the one system message: the instruction, the session's own, then what is remembered; None where empty."""
    own = (content_text(turn.message.get("content")) for turn in layout.system)
    parts = [part for part in (wanted.instruction, *own, system.text) if part]
    return {"role": "system", "content": "\n\n".join(parts)} if parts else None
