"""What an importer yields: a message with its place and id, or why there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from seasoned.errors import InvalidInput, WrongType
from seasoned.ports import Message
from seasoned.records import MAX_ID, checked_id, clean_json, clean_text, instant

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all; the last call has both equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One message of a conversation that another program wrote.

    `message` is in OpenAI form. `position` orders it within its session, from 0. `at` is None where the source has no
    time that can be read. `id` depends only on the source's kind, session and own message id (else the position),
    never on the text, so that reading the same conversation twice gives the same ids.
    """

    session: str
    position: int
    id: str
    message: Message
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Something that should have been a message and cannot be read as one: where it stands, and why."""

    file: str
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, {self.place}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that a format's rules leave out, such as a hidden system message: where it stands, and why."""

    file: str
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, {self.place}: {self.reason}"


Item: TypeAlias = Imported | Refused | Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a value stands in a file, and what a conversation without an id of its own is called.

    `index` counts lines or list items from 1. `session` names conversations that have no id.
    """

    file: str
    index: int
    unit: str
    session: str

    def name(self) -> str:
        """Return what a whole conversation at this place is called when it has no id: `chat`, then `chat-2`.

        The first has the bare name, whether or not others follow, so that a file that grows keeps its names.
        """
        return self.session if self.index == 1 else f"{self.session}-{self.index}"

    def refused(self, reason: str, inner: str = "") -> Refused:
        """Return a refusal of what stands here, or of the `inner` part of it."""
        return Refused(file=self.file, place=self._text(inner), reason=reason)

    def skipped(self, reason: str, inner: str = "") -> Skipped:
        """Return a note that what stands here, or the `inner` part of it, was left out by rule."""
        return Skipped(file=self.file, place=self._text(inner), reason=reason)

    def _text(self, inner: str) -> str:
        return f"{self.unit} {self.index}, {inner}" if inner else f"{self.unit} {self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message as an importer found it, before it is cleaned and named.

    `source` is what names it within its kind, outermost first: its session and its own id, or a place as a number.
    """

    kind: str
    session: str
    position: int
    message: dict[str, object]
    source: tuple[str | int, ...]
    at: object = None
    inner: str = ""


def finished(draft: Draft, place: Place) -> Imported | Refused:
    """Return the draft cleaned and named, or why it cannot be kept."""
    try:
        message = clean_json(draft.message)
        session = checked_id(clean_text(draft.session), "a session")
    except (InvalidInput, WrongType) as error:
        return place.refused(str(error), draft.inner)
    if not isinstance(message, dict):
        return place.refused(f"a message is an object, not {message!r:.80}", draft.inner)
    return Imported(session=session, position=draft.position, id=_named(draft), message=message, at=time_of(draft.at))


def time_of(value: object) -> datetime | None:
    """Return the instant that `value` stands for, or None where it stands for none."""
    if isinstance(value, str) and value.strip().replace(".", "", 1).isdecimal():
        value = float(value)
    if not isinstance(value, (datetime, str, int, float)):
        return None
    try:
        return instant(value)
    except (InvalidInput, WrongType):
        return None


def _named(draft: Draft) -> str:
    """Join what names the message; escaping keeps two different lists of parts from giving one id."""
    name = "/".join((draft.kind, *map(_escaped, draft.source)))
    if len(name) <= MAX_ID and name.isprintable():
        return name
    return f"{draft.kind}/~{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def _escaped(part: str | int) -> str:
    if isinstance(part, int):
        return f"#{part}"
    return part.replace("%", "%25").replace("/", "%2F").replace("#", "%23").replace("~", "%7E")
