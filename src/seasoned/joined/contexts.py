"""One context over all that is remembered, in one token budget; the stable part first, so that prompt caches hit.

First the system part, then the rolling summary, the window, and inside the newest user message what changes with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seasoned.context import Context
from seasoned.conversation.assembly import Wanted as Assembly
from seasoned.conversation.assembly import assemble
from seasoned.conversation.following import Session
from seasoned.conversation.messages import content_text
from seasoned.conversation.relevance import no_relevance, relevance_to
from seasoned.conversation.summary import summary_message
from seasoned.conversation.units import Layout, Turn
from seasoned.errors import BudgetTooSmall
from seasoned.joined.changing import About, Chooser
from seasoned.joined.snapshots import system_part
from seasoned.joined.sources import Sources, Wanted
from seasoned.joined.system import System
from seasoned.joined.traces import traced
from seasoned.ports import Message

_TASK: Final = ""
"""The id of the task where it is the user message: it is stored nowhere."""


def build(sources: Sources, wanted: Wanted) -> Context:
    """Return the context and keep its trace.

    The playbook and then the lessons yield before the newest user message is cut.

    Raises:
        BudgetTooSmall: pinned notes, system messages and the newest user message, cut as far as it goes, need more.
    """
    *longer, shortest = system_part(sources, wanted).forms()
    for system in longer:
        try:
            context, newest = _built(sources, wanted, system)
        except BudgetTooSmall:
            continue
        if newest not in context.truncated:
            break
    else:
        context, newest = _built(sources, wanted, shortest)
    return traced(sources, wanted, context, newest or None)


def _built(sources: Sources, wanted: Wanted, system: System) -> tuple[Context, str]:
    """Return the context, and the id of the user message that it answers."""
    if wanted.session is None:
        return _assembled(sources, wanted, system, None)
    with sources.conversation.followed(wanted.session) as kept:
        return _assembled(sources, wanted, system, kept)


def _assembled(sources: Sources, wanted: Wanted, system: System, kept: Session | None) -> tuple[Context, str]:
    layout = kept.layout(wanted.counter) if kept else Layout(wanted.counter)
    if layout.newest_user() < 0:
        layout, kept = _task_alone(wanted, layout), None
    newest, front = layout.units[layout.newest_user()].turns[0], _front(wanted, layout, system)
    left = wanted.budget - (wanted.counter.one(front) if front else 0)
    room = int(wanted.policy.changing * max(0, left))
    chooser = Chooser(sources, wanted, About(room=room, says=system.says, newest=newest, session=kept))
    scored = wanted.conversation.selection == "scored"
    context = assemble(
        Assembly(
            layout=layout,
            policy=wanted.conversation,
            budget=wanted.budget,
            relevance=relevance_to(wanted.task) if scored else no_relevance,
            pinned=kept.pinned() if kept else frozenset(),
            summary=summary_message(kept.summary) if kept and kept.summary and wanted.conversation.summary else None,
            recall=chooser.recall() if wanted.policy.changing else None,
            unreadable=sorted(kept.unreadable) if kept else (),
            front=front,
        )
    )
    return _said(context, system, chooser), newest.id


def _said(context: Context, system: System, chooser: Chooser) -> Context:
    """Return a context with what it shows, what is left out of it, and what did not work."""
    choice = chooser.choice
    return replace(
        context,
        used=(*system.used, *(choice.used if choice and context.recalled else ())),
        left_out=(*context.left_out, *system.left_out, *(choice.left_out if choice else ())),
        degraded=tuple(dict.fromkeys((*system.degraded, *chooser.degraded))),
    )


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
    own = [content_text(turn.message.get("content")) for turn in layout.system]
    parts = _once([part for part in (wanted.instruction, *own) if part.strip()])
    text = "\n\n".join([*parts, system.text] if system.text else parts)
    return {"role": "system", "content": text} if text else None


def _once(parts: list[str]) -> list[str]:
    """Return parts without those that stand as whole paragraphs in another.

    So a front that was stored again as a message of its own is what it was.
    """
    unique = list(dict.fromkeys(parts))
    return [
        one for one in unique if not any(one != other and f"\n\n{one}\n\n" in f"\n\n{other}\n\n" for other in unique)
    ]
