"""What a model's reply holds: JSON found in any text, the text without thinking, each sentence once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from seasoned.errors import InvalidInput
from seasoned.records import JSON, clean_json

MAX_TRIES: Final = 1000
"""How many brackets in a reply may turn out to open no JSON before the search ends."""

_OPENING: Final = re.compile(r"[\[{]")
_SENTENCE_END: Final = re.compile(r"((?<=[.!?])\s+|(?<=[。！？])|\n+)")
_END: Final = re.compile(r"[ \t\r\n`]*\Z")
_THINKING: Final = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT: Final = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The JSON of a reply: `value`, an object or a list; or None, and the `reason` why there is none."""

    value: JSON
    reason: str = ""


def json_from(reply: str) -> Parsed:
    """Return the JSON object or list in a model's reply; never raises, whatever the text.

    Code fences, words before and after, raw line breaks in strings and a block of thinking are passed over; NaN and
    infinities become null, lone surrogates U+FFFD. Of several the longest counts, the last of equally long ones. A
    reply whose longest JSON is cut off or malformed gives None and says so: a part of it is never taken for the whole.
    Reading ends at the `MAX_TRIES`th bracket that opens no JSON, so that the time grows with the length only.
    """
    text = without_thinking(reply)
    if not text and reply.strip():
        return Parsed(None, "the reply has no text after its thinking")
    found = max(_pieces(text), key=lambda piece: (piece.length, piece.start), default=None)
    if found is None:
        return Parsed(None, "the reply is empty" if not text.strip() else "the reply holds no JSON object or list")
    return found.parsed


def without_thinking(reply: str) -> str:
    """Return the reply after its opening `<think>…</think>` block; "" where the block never ends.

    A closing tag alone ends one too, since some chat templates write the opening tag into the prompt.
    """
    opened, closed = _THINKING.match(reply), _THOUGHT.search(reply)
    if closed is not None and (opened is not None or "<think" not in reply[: closed.start()].lower()):
        return reply[closed.end() :].lstrip()
    return "" if opened is not None else reply


def said_once(text: str) -> str:
    """Return a text with each sentence where it stands first."""
    parts = [*_SENTENCE_END.split(text), ""]
    kept, seen = list[str](), set[str]()
    for sentence, end in zip(parts[::2], parts[1::2], strict=True):
        if not sentence.strip() or sentence not in seen:
            kept += sentence, end
        seen.add(sentence)
    return "".join(kept).strip()


def is_data(text: str) -> bool:
    """Return whether a text is a JSON object or list, and so says nothing to people."""
    if not text.startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False


class _Piece(NamedTuple):
    start: int
    length: int
    parsed: Parsed


def _pieces(text: str) -> list[_Piece]:
    """Read at each opening bracket, and go on where reading stopped: nothing is read twice."""
    pieces: list[_Piece] = []
    tries, at = 0, _OPENING.search(text)
    while at is not None and tries < MAX_TRIES:
        start = at.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
            pieces.append(_Piece(start, end - start, _cleaned(value)))
        except json.JSONDecodeError as error:
            if _is_cut(error, text):
                pieces.append(_Piece(start, len(text) - start, Parsed(None, "the reply was cut off within its JSON")))
                break
            tries, end = tries + 1, max(error.pos, start + 1)
            pieces.append(_Piece(start, end - start, Parsed(None, f"the reply's JSON is malformed: {error}")))
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, or brackets without end
            pieces.append(_Piece(start, len(text) - start, Parsed(None, f"the reply's JSON cannot be read: {error}")))
            break
        at = _OPENING.search(text, end)
    return pieces


def _is_cut(error: json.JSONDecodeError, text: str) -> bool:
    return error.msg.startswith("Unterminated string") or _END.match(text, error.pos) is not None


def _cleaned(value: object) -> Parsed:
    try:
        return Parsed(clean_json(value))
    except InvalidInput as error:
        return Parsed(None, f"the reply's JSON cannot be kept: {error}")
