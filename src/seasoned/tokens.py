"""Counting tokens: an estimate that needs no tokenizer, and the callers' own counters.

The estimate adds, over every two neighbouring characters, how often a token ends between them (`token_costs`), and a
margin that shrinks with length. Measured against the larger of the counts of cl100k_base and o200k_base: 1.1 to 1.35
times the true count on prose and code of some length, 1.5 on single sentences, up to 1.75 on Thai and Arabic. Of
23,000 texts of 80 languages, code, JSON, links, emoji and random characters it falls short of 1.6 %, of natural text by
at most a tenth, of short patterns repeated by up to a half; of 16,000 texts that it was not fitted to, of 15.
Other models' tokenizers differ from these two. Give the model's own counter where exact numbers matter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned import token_costs as costs
from seasoned.errors import InvalidInput, WrongType
from seasoned.image_tokens import image_tokens

PER_MESSAGE: Final = 4
"""Tokens around each message: its role and the marks of its start and end (OpenAI's published recipe)."""

PER_LIST: Final = 3
"""Tokens that start the reply, once a list."""

PER_CALL: Final = 8
"""Tokens around each tool call, besides its name, arguments and id."""

BLOB_CHARS_PER_TOKEN: Final = 40
"""Characters of base64 a token in audio and file parts, of which only a rough figure can be given."""

MARGIN: Final = 1.04
"""What the sum of the costs is multiplied by."""

CountedMessage = Mapping[str, object]


def estimate(text: str) -> int:
    """Return about how many tokens `text` has, rather too many than too few: 0 for "", and never less for more text."""
    if not text:
        return 0
    classes, codes = _classes(text)
    total = 1.0 + float(_table()[classes[:-1], _early(classes)[1:]].sum()) + float(_alone()[classes[0]])
    total += costs.REPEATED * _repeats(classes, codes)
    scaled = total * MARGIN
    return math.ceil(scaled + math.sqrt(scaled) - 0.7)


def _classes(text: str) -> tuple[NDArray[np.uint8], NDArray[np.generic]]:
    """Return the class of each character, and the characters as numbers."""
    if text.isascii():
        ascii_codes = np.frombuffer(text.encode("ascii"), np.uint8)
        return ascii_codes, ascii_codes
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return _class_of()[codes], codes


def _early(classes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the classes, those of small letters within the first four of a word moved to a class of their own."""
    inside = _is_letter()[classes]
    late = np.zeros(len(classes), np.bool_)
    late[4:] = inside[:-4] & inside[1:-3] & inside[2:-2] & inside[3:-1]
    return np.where(_is_small()[classes] & ~late, classes + _SHIFT, classes)


def _repeats(classes: NDArray[np.uint8], codes: NDArray[np.generic]) -> int:
    """Return how many pairs of characters, neither blank nor digit, repeat the pair before them."""
    again = (codes[3:] == codes[1:-2]) & (codes[2:-1] == codes[:-3])
    if not again.any():
        return 0
    return int(again[~_is_blank_or_digit()[classes[3:]]].sum())


_CYRILLIC: Final = 128
"""The first class of the letters а to я; ASCII characters are their own class."""
_SCRIPTS: Final = _CYRILLIC + len(costs.CYRILLIC)
_EARLY: Final = _SCRIPTS + len(costs.SCRIPTS)
"""The first class of small letters near the start of a word, which stands only for the second of two characters."""
_CLASSES: Final = _EARLY + 26
_SHIFT: Final = np.uint8(_EARLY - ord("a"))
_SMALL: Final = slice(ord("a"), ord("z") + 1)
_PUNCTUATION: Final = ("stop", "quote", "bracket", "dash", "slash", "sign")


@cache
def _class_of() -> NDArray[np.uint8]:
    """Return the class of every code point."""
    names = {name: _SCRIPTS + i for i, (name, *_) in enumerate(costs.SCRIPTS)}
    found = np.full(0x110000, names["ASTRAL"], np.uint8)
    found[:0x10000] = names["OTHER"]
    found[:128] = np.arange(128)
    for name, ranges, _, _ in costs.SCRIPTS:
        for start, end in ranges:
            found[start:end] = names[name]
    found[_coded("big5", range(0xA4, 0xC7), (*range(0x40, 0x7F), *range(0xA1, 0xFF)))] = names["HANT"]
    found[_coded("gb2312", range(0xB0, 0xD8), range(0xA1, 0xFF))] = names["HANC"]
    found[_coded("euc_jp", range(0xB0, 0xD0), range(0xA1, 0xFF))] = names["HANC"]
    found[_coded("euc_kr", range(0xB0, 0xC9), range(0xA1, 0xFF))] = names["HANGC"]
    found[0x20AC] = names["GPUN"]
    found[0x1F000:0x1FB00] = names["EMOJI"]
    letters = np.arange(_CYRILLIC, _SCRIPTS)
    found[0x410:0x430] = letters
    found[0x430:0x450] = letters
    return found


def _coded(codec: str, lead: Sequence[int], trail: Sequence[int]) -> NDArray[np.uint32]:
    """Return the characters of a block of an old national code, whose first level holds the common ones."""
    block = b"".join(bytes((a, b)) for a in lead for b in trail)
    text = "".join(char for char in block.decode(codec, "ignore") if ord(char) > 0x1FFF)
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


@cache
def _table() -> NDArray[np.float32]:
    """Return the cost between any two classes, what the second costs alone included."""
    groups = _groups()
    between = _steps(costs.BETWEEN)
    table: NDArray[np.float32] = between[groups[:, None], groups[None, :]] + _alone()[None, :]
    table[_SMALL, _SMALL] = _steps(costs.LATIN)
    table[_SMALL, _EARLY:] = _steps(costs.EARLY)
    cyrillic = slice(_CYRILLIC, _SCRIPTS)
    table[cyrillic, cyrillic] = _steps(costs.CYRILLIC)
    for i, (_, _, alone, same) in enumerate(costs.SCRIPTS):
        table[_SCRIPTS + i, _SCRIPTS + i] = alone + same
    for sign in "".join(costs.GROUPS[name] for name in _PUNCTUATION):
        table[ord(sign), ord(sign)] = costs.SAME_SIGN
    return table


@cache
def _alone() -> NDArray[np.float32]:
    """Return what a character of each class costs besides its neighbours."""
    found = np.zeros(_CLASSES, np.float32)
    found[_SCRIPTS:_EARLY] = [alone for _, _, alone, _ in costs.SCRIPTS]
    found[_CYRILLIC:_SCRIPTS] = next(alone for name, _, alone, _ in costs.SCRIPTS if name == "CYR")
    return found


def _groups() -> NDArray[np.intp]:
    """Return the group of each class, as its place in `GROUP_ORDER`."""
    place = {name: i for i, name in enumerate(costs.GROUP_ORDER)}
    found = np.full(_CLASSES, place["other"])
    found[:128] = place["control"]
    found[_SMALL] = found[_EARLY:] = place["letter"]
    for name, chars in costs.GROUPS.items():
        found[[ord(char) for char in chars]] = place[name]
    found[[_SCRIPTS + i for i, (name, *_) in enumerate(costs.SCRIPTS) if name == "LATX"]] = place["accented"]
    return found


def _steps(rows: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[ord(char) - ord("0") for char in row] for row in rows], np.float32) / np.float32(costs.SCALE)


@cache
def _is_blank_or_digit() -> NDArray[np.bool_]:
    found = np.zeros(_CLASSES, np.bool_)
    found[[ord(char) for char in " 0123456789"]] = True
    return found


@cache
def _is_small() -> NDArray[np.bool_]:
    found = np.zeros(_CLASSES, np.bool_)
    found[_SMALL] = True
    return found


@cache
def _is_letter() -> NDArray[np.bool_]:
    found = _is_small().copy()
    found[ord("A") : ord("Z") + 1] = True
    found[[_SCRIPTS + i for i, (name, *_) in enumerate(costs.SCRIPTS) if name == "LATX"]] = True
    return found


def count_message(message: CountedMessage) -> int:
    """Return about how many tokens one message of a list has: every text in it that a model may be sent."""
    total = PER_MESSAGE
    for name, value in message.items():
        if name == "content":
            total += _content(value)
        elif name == "tool_calls" and isinstance(value, Sequence):
            total += sum(_call(call) for call in value)
        elif name == "name":
            total += 1 + estimate(str(value))
        elif name != "role" and value is not None:
            total += _other(value)
    return total


def count_messages(messages: Sequence[CountedMessage]) -> int:
    """Return about how many tokens a list of messages has, the start of the reply included."""
    return PER_LIST + sum(count_message(message) for message in messages)


def _content(content: object) -> int:
    if isinstance(content, str):
        return estimate(content)
    return sum(_part(part) for part in content) if isinstance(content, Sequence) else 0


def _part(part: object) -> int:
    if not isinstance(part, Mapping):
        return estimate(str(part))
    if part.get("type") == "image_url":
        return image_tokens(part.get("image_url"))
    if part.get("type") in ("input_audio", "file"):
        return _blobs(part)
    return sum(_other(value) for name, value in part.items() if name != "type")


def _blobs(part: Mapping[str, object]) -> int:
    return PER_CALL + len(json.dumps(part, ensure_ascii=False, default=str)) // BLOB_CHARS_PER_TOKEN


def _call(call: object) -> int:
    if not isinstance(call, Mapping):
        return PER_CALL + estimate(str(call))
    inner = call.get("function") or call.get("custom")
    named = sum(_other(value) for value in inner.values()) if isinstance(inner, Mapping) else 0
    return PER_CALL + named + estimate(str(call.get("id") or ""))


def _other(value: object) -> int:
    return estimate(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


class EstimatedCounter:
    """Counts lists of messages by the documented estimate; the counter where none is given."""

    fingerprint: Final = "estimate/1"

    def __call__(self, messages: Sequence[CountedMessage]) -> int:
        """Return about how many tokens the list has."""
        return count_messages(messages)


class Counter:
    """A caller's counter, with its result checked.

    `fingerprint` names it, so that counts can be kept with the messages; None where it has no name, and then its
    counts are kept in this process only. `additive` tells that a list counts `PER_LIST` and the sum of its messages.
    """

    __slots__ = ("_count", "additive", "fingerprint")

    def __init__(self, count: Callable[[Sequence[CountedMessage]], object], fingerprint: str | None) -> None:
        self._count = count
        self.fingerprint = fingerprint
        self.additive = isinstance(count, EstimatedCounter)

    def __call__(self, messages: Sequence[CountedMessage]) -> int:
        """Return the tokens of a list of messages.

        Raises:
            InvalidInput: the counter gave a negative number.
            WrongType: it gave something other than an integer.
        """
        found = self._count(messages)
        if isinstance(found, bool) or not hasattr(found, "__index__"):
            raise WrongType(f"a token counter returns an integer, not {found!r}")
        number = int(found.__index__())
        if number < 0:
            raise InvalidInput(f"a token counter returns at least 0, found {number}")
        return number

    @property
    def identity(self) -> Hashable:
        """What equal counters share: their fingerprint, or else the caller's function itself."""
        if self.fingerprint is not None:
            return self.fingerprint
        return self._count if isinstance(self._count, Hashable) else id(self._count)

    def one(self, message: CountedMessage) -> int:
        """Return the tokens that one message adds to a list."""
        return count_message(message) if self.additive else self([message])


def resolve_counter(counter: object = None) -> Counter:
    """Return a checked counter from what callers have.

    None is the estimate. Else a callable over a list of messages, or an object with `count_tokens_from_messages`
    (CAMEL). A `fingerprint` attribute, a string that is not blank, names it.

    Raises:
        WrongType: none of these.
    """
    if isinstance(counter, Counter):
        return counter
    if counter is None:
        return Counter(EstimatedCounter(), EstimatedCounter.fingerprint)
    count = getattr(counter, "count_tokens_from_messages", None) or counter
    if isinstance(counter, type) or not callable(count):
        raise WrongType(
            "a token counter is a function from a list of messages to an integer, or an object with "
            f"count_tokens_from_messages, not {counter!r:.80}"
        )
    name = getattr(counter, "fingerprint", None)
    return Counter(count, name if isinstance(name, str) and name.strip() else None)
