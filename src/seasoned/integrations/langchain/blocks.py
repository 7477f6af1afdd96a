"""What a search found, as a delimited block: each text labelled with its source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from seasoned.context import Item, block
from seasoned.conversation.assembly import NAME, NOTE
from seasoned.records import Hit
from seasoned.trust import trusted

ITEM_CHARS: Final = 1_200
"""How much of one message is shown."""


def _item(hit: Hit) -> Item:
    left = len(hit.text) - ITEM_CHARS
    text = hit.text if left <= 0 else f"{hit.text[:ITEM_CHARS]} [… {left} characters more, stored as {hit.id} …]"
    session = str(hit.record.data.get("session", ""))
    return Item(text=text, labels=[("from", f"session {session}"), ("date", hit.record.at.date().isoformat()),
                                   ("trust", trusted(hit.record))])  # fmt: skip


def found_block(hits: Sequence[Hit]) -> str:
    """Return what a search found, for a tool's result: each text with its kind, date and source."""
    return block(NAME, NOTE, [_result(hit) for hit in hits])


def _result(hit: Hit) -> Item:
    item = _item(hit)
    if hit.record.key.kind == "message":
        return item
    return Item(text=item.text, labels=[("from", hit.record.key.kind), *item.labels[1:2], ("id", hit.id)])
