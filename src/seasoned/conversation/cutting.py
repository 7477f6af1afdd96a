"""Cutting a message that is too long, with a marker that says how much is missing and where the whole is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from seasoned.conversation.messages import content_text, copied
from seasoned.ports import Message
from seasoned.records import JSON

HEAD_SHARE: Final = 0.75
"""Share of what is kept of a text that is its beginning; the rest is its end."""


def cut_message(message: Message, name: str, fits: Callable[[Message], bool]) -> Message | None:
    """Return a copy of `message` with the most of its text that `fits`, None where not even the marker does.

    The beginning and the end are kept. `name` is the id under which the full text is stored, "" where it is not. Other
    parts of the content, such as images, stay if they fit beside the marker, else the marker stands for them too.
    """
    text = content_text(message.get("content"))
    for others in _choices_of_parts(message):
        if fits(_cut(message, text, 0, name, others)):
            most = _largest(lambda kept, others=others: fits(_cut(message, text, kept, name, others)), len(text) - 1)  # type: ignore[misc]  # a default binds the loop's value
            return _cut(message, text, most, name, others)
    return None


def shortest(message: Message, name: str) -> Message:
    """Return the least that a cut message can be: the marker alone."""
    return _cut(message, content_text(message.get("content")), 0, name, [])


def _choices_of_parts(message: Message) -> list[list[JSON]]:
    content = message.get("content")
    if not isinstance(content, list):
        return [[]]
    others: list[JSON] = [
        part for part in content if isinstance(part, dict) and part.get("type") not in ("text", "refusal")
    ]
    return [others, []] if others else [[]]


def _cut(message: Message, text: str, kept: int, name: str, others: list[JSON]) -> Message:
    head = text[: round(kept * HEAD_SHARE)]
    tail = text[len(text) - (kept - len(head)) :] if kept > len(head) else ""
    without = "" if others or not _choices_of_parts(message)[0] else ", and what is not text"
    stored = f"; the whole message is stored as {name}" if name else ""
    marker = f"[… {len(text) - kept} characters{without} are left out here{stored} …]"
    shown = "\n".join(piece for piece in (head, marker, tail) if piece)
    content: JSON = [{"type": "text", "text": shown}, *others] if others else shown
    return {**copied(message), "content": content}


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number from 0 to `most` that fits, 0 known to; found by doubling and halving."""
    low, high = 0, 1
    while high < most and fits(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
