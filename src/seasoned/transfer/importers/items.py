"""What an importer yields: a message or a note with its place and id, or why there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from seasoned.errors import InvalidInput, InvalidScope, WrongType
from seasoned.ports import Message
from seasoned.records import JSON, MAX_ID, checked_id, clean_json, clean_text, instant

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all; the last call has both equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One message of a conversation that another program wrote.

    `message` is in OpenAI form. `position` orders it within its session, from 0. `at` is None where the source has no
    time that can be read. `id` depends only on the source's kind, session and own message id (else the position),
    never on the text, so that reading the same conversation twice gives the same ids. `below` are the parts of its
    scope under the one that is imported into, such as a user; () for that scope itself.
    """

    session: str
    position: int
    id: str
    message: Message
    at: datetime | None = None
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """One fact, memory or document of another product, which becomes a note here.

    `id` depends only on the source's kind and own id, never on the text. `below` are the parts of its scope under the
    one that is imported into: a user, a namespace. `data` says under `imported` where it came from (`from`, `id`), and
    holds what else the product knows of it. `at` is when it was made, None where no time can be read; from `until` on
    it is never found. `pinned` notes stand in every context, as the product showed them always.
    """

    id: str
    text: str
    below: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    data: Mapping[str, JSON] = field(default_factory=dict)
    at: datetime | None = None
    until: datetime | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Something that should have been a message or note and cannot be read as one: where it stands, and why."""

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


Item: TypeAlias = Imported | Noted | Refused | Skipped


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
    below: Sequence[str] = ()
    inner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDraft:
    """A note as an importer found it, before it is cleaned and named.

    `kind` is the product, `own` its id of the note: what stands in `data` under `imported`. `source` names it within
    its kind, outermost first; () for `own` alone. `data` has the product's other fields, `until` and `at` any time.
    """

    kind: str
    own: str
    text: object
    source: tuple[str | int, ...] = ()
    below: Sequence[str] = ()
    tags: Sequence[str] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    at: object = None
    until: object = None
    pinned: bool = False
    inner: str = ""


def finished(draft: Draft, place: Place) -> Imported | Refused:
    """Return the draft cleaned and named, or why it cannot be kept."""
    try:
        message = clean_json(draft.message)
        session = checked_id(clean_text(draft.session), "a session")
        below = _scope_parts(draft.below)
    except (InvalidInput, WrongType) as error:
        return place.refused(str(error), draft.inner)
    if not isinstance(message, dict):
        return place.refused(f"a message is an object, not {message!r:.80}", draft.inner)
    return Imported(
        session=session,
        position=draft.position,
        id=named(draft.kind, draft.source),
        message=message,
        at=time_of(draft.at),
        below=below,
    )


def finished_note(draft: NoteDraft, place: Place) -> Noted | Refused:
    """Return the draft cleaned and named, or why it cannot be kept: a blank text, a scope part that can be none."""
    if not isinstance(draft.text, str) or not draft.text.strip():
        return place.refused(f"a note needs a text, found {draft.text!r:.80}", draft.inner)
    try:
        data = clean_json({**draft.data, "imported": {"from": draft.kind, "id": draft.own}})
        below = _scope_parts(draft.below)
        tags = tuple(checked_id(tag, "a tag") for tag in draft.tags)
    except (InvalidInput, WrongType) as error:
        return place.refused(str(error), draft.inner)
    return Noted(
        id=named(draft.kind, draft.source or (draft.own,)),
        text=clean_text(draft.text),
        below=below,
        tags=tags,
        data=data if isinstance(data, dict) else {},
        at=time_of(draft.at),
        until=time_of(draft.until),
        pinned=draft.pinned,
    )


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


def named(kind: str, source: Sequence[str | int]) -> str:
    """Join what names an item into an id; escaping keeps two different lists of parts from giving one id."""
    name = "/".join((kind, *map(_escaped, source)))
    if len(name) <= MAX_ID and name.isprintable():
        return name
    return f"{kind}/~{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def parted(*parts: str) -> str:
    """Join parts into one name of a session or scope, `alice~alt`; a single part is its own name.

    A `~` or `%` within a part is written `%7E` or `%25`, so no name that another program gave reads like one that is
    made here, and two lists of parts never give one name.
    """
    return "~".join(part.replace("%", "%25").replace("~", "%7E") for part in parts)


def _scope_parts(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(checked_id(part, "a scope part", InvalidScope) for part in parts)


def _escaped(part: str | int) -> str:
    if isinstance(part, int):
        return f"#{part}"
    return part.replace("%", "%25").replace("/", "%2F").replace("#", "%23").replace("~", "%7E")
