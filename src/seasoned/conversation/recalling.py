"""What is recalled for a query: messages outside the window, in a block inside the newest user message.

They are chosen once for each user message, among what was stored before it, and kept at hand as long as each of them is
stored as it was, so that every step of a tool loop shows the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.context import Item, block
from seasoned.conversation.assembly import NAME, NOTE, Recall, Recalled
from seasoned.conversation.following import MESSAGE, Session, in_session
from seasoned.conversation.messages import SYSTEM_ROLES
from seasoned.conversation.policy import ConversationPolicy
from seasoned.conversation.units import Turn
from seasoned.query import Not, Query
from seasoned.records import Hit, Key, Scope
from seasoned.search import Searcher
from seasoned.text import likeness
from seasoned.trust import trusted

SAME: Final = 0.9
"""From this likeness on, two messages say the same, and the better hit is shown alone."""

LEAST_CHARS: Final = 80
"""A message that does not fit is shown cut, if this much of it fits."""

LEAST_SHARE: Final = 0.35
"""A message whose score is a smaller share of the best one's is not recalled, even where there is room."""

_SHOWN: Final = 200
"""How many of the messages shown anyway are allowed for among the hits."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to recall for: its text, the newest user message, its session, the scope and the budget."""

    query: str
    newest: Turn
    session: str
    scope: Scope
    budget: int


@dataclass(frozen=True, slots=True)
class _Choice:
    """What was chosen, and the texts it was made from."""

    shown: Recalled
    said: dict[Key, str]


def nothing_recalled(shown: Collection[str], fits: Callable[[str], bool]) -> None:
    """Recall nothing: what is asked has no words. The room for it is set aside all the same, so the cut stays."""


def recaller(searcher: Searcher, kept: Session, policy: ConversationPolicy, asked: Asked) -> Recall:
    """Return what chooses the block for a question; the session's lock must be held when it is called."""
    key = (
        asked.query,
        asked.newest.id,
        asked.budget,
        policy.recall_k,
        policy.recall_share,
        policy.recall_session,
        policy.counter.identity,
    )

    def recall(shown: Collection[str], fits: Callable[[str], bool]) -> Recalled | None:
        known = kept.recalled.get(key)
        if isinstance(known, _Choice) and fits(known.shown.text) and _still_stored(searcher, asked.scope, known):
            return known.shown
        hits = distinct(_hits(searcher, policy, asked, shown), policy.recall_k)
        found = _shown_block(hits, asked, fits)
        if found is not None:
            kept.remember(key, _Choice(found, {hit.record.key: hit.text for hit in hits if hit.id in found.ids}))
        return found

    return recall


def _still_stored(searcher: Searcher, scope: Scope, choice: _Choice) -> bool:
    """Tell whether each recalled text is there as it was: not removed, changed or past its time."""
    page = searcher.store.find(Query(scope=scope, keys=tuple(choice.said), k=len(choice.said)))
    return {hit.record.key: hit.text for hit in page.hits} == choice.said


def _hits(searcher: Searcher, policy: ConversationPolicy, asked: Asked, shown: Collection[str]) -> Iterable[Hit]:
    """Give hits, best first, that were stored before the newest user message and are not shown anyway."""
    where = Not(in_session(asked.session)) if policy.recall_session == "others" else None
    k = 4 * policy.recall_k + 8 + min(len(shown), _SHOWN)
    hits = searcher.search(asked.query, k=k, scope=asked.scope, kinds=(MESSAGE,), where=where)
    hidden = set(shown)
    return (hit for hit in hits if hit.order < asked.newest.order and hit.id not in hidden and may_be_shown(hit))


def may_be_shown(hit: Hit) -> bool:
    """Tell whether a record may be recalled: it says something, and is no system message."""
    return bool(hit.text.strip()) and hit.record.data.get("role") not in SYSTEM_ROLES


def distinct(hits: Iterable[Hit], most: int, said: Sequence[str] = ()) -> list[Hit]:
    """Return the best hits, each thing that is said once and not in `said`, down to those that hardly answer."""
    chosen: list[Hit] = []
    for hit in hits:
        if len(chosen) == most or (chosen and hit.score < LEAST_SHARE * chosen[0].score):
            break
        if all(likeness(hit.text, other) < SAME for other in (*said, *(each.text for each in chosen))):
            chosen.append(hit)
    return chosen


def _shown_block(hits: list[Hit], asked: Asked, fits: Callable[[str], bool]) -> Recalled | None:
    """Return the block of the hits that fit, the best first to be taken, shown in the order in which they were said."""
    taken: list[tuple[int, str, Item]] = []
    for hit in hits:
        item = _fitting(hit, asked, lambda extra: fits(_text([*taken, extra])))
        if item is not None:
            taken.append(item)
    return (
        Recalled(_text(taken), tuple(name for _, name, _ in sorted(taken, key=lambda each: each[0]))) if taken else None
    )


def _text(taken: list[tuple[int, str, Item]]) -> str:
    return block(NAME, NOTE, [item for _, _, item in sorted(taken, key=lambda each: each[0])])


def _fitting(hit: Hit, asked: Asked, fits: Callable[[tuple[int, str, Item]], bool]) -> tuple[int, str, Item] | None:
    """Return a hit as an item, cut where the whole does not fit, None where too little does."""
    whole = (hit.order, hit.id, _item(hit, hit.text, asked))
    if fits(whole):
        return whole
    kept = longest(hit, lambda text: fits((hit.order, hit.id, _item(hit, text, asked))))
    return None if kept is None else (hit.order, hit.id, _item(hit, kept, asked))


def longest(hit: Hit, fits: Callable[[str], bool]) -> str | None:
    """Return about as much of the beginning of a record's text as fits, marked; None where too little does."""
    low, high = 0, len(hit.text)
    while high - low > 16:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(cut_text(hit, middle)) else (low, middle)
    return cut_text(hit, low) if low >= LEAST_CHARS else None


def cut_text(hit: Hit, kept: int) -> str:
    """Return the beginning of a record's text, and where the rest is."""
    return f"{hit.text[:kept]} [… {len(hit.text) - kept} characters more, stored as {hit.id} …]"


def _item(hit: Hit, text: str, asked: Asked) -> Item:
    data = hit.record.data
    session, name = str(data.get("session", "")), data.get("name")
    labels = [
        ("from", "this conversation" if session == asked.session else f"an earlier session, {session}"),
        ("date", hit.record.at.date().isoformat()),
        ("trust", trusted(hit.record)),
        *([("name", name)] if isinstance(name, str) else []),
    ]
    return Item(text=text, labels=labels)
