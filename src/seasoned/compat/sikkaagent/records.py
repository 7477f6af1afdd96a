"""`MemoryRecord`: a message as memory keeps it, as JSON, as OpenAI's message, and as a record of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final
from uuid import UUID, uuid4

from seasoned.compat.sikkaagent.images import checked_url
from seasoned.compat.sikkaagent.messages import BaseMessage, plain
from seasoned.compat.sikkaagent.utils.enums import RoleType
from seasoned.conversation.messages import SYSTEM_ROLES, content_text, parse_message
from seasoned.errors import InvalidInput, InvalidMessage, WrongType
from seasoned.ports import Message
from seasoned.records import JSON, Record, checked_id

SENT: Final = ("name", "tool_calls", "tool_call_id", "function_call")
"""What of a message's `meta` stands in OpenAI's form of it."""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A message, the role in which it was said, an id, and whatever else is to be kept with it.

    `role_type` is also taken as its word ("user"), `uuid` as a `UUID`; without one a new one is made. A record with a
    uuid that is stored already is the same record. `extra_info` is plain JSON.

    Raises:
        InvalidInput: another role, an id that cannot be one, or `extra_info` that is not plain JSON.
        WrongType: a value of another type.
    """

    message: BaseMessage
    role_type: RoleType
    uuid: str = field(default_factory=lambda: str(uuid4()))
    extra_info: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.message, BaseMessage):
            raise WrongType(f"a record holds a BaseMessage, not {self.message!r:.80}")
        given: object = self.uuid
        object.__setattr__(self, "role_type", role_of(self.role_type))
        object.__setattr__(self, "uuid", checked_id(str(given) if isinstance(given, UUID) else given, "a uuid"))
        object.__setattr__(self, "extra_info", plain(self.extra_info, "extra_info"))

    @staticmethod
    def from_message(message: Mapping[str, object]) -> MemoryRecord:
        """Return the record that `to_message` wrote; images in it are URLs, never paths to be read.

        The role may be a word in any case or an enum of another package, and a missing uuid is made new.

        Raises:
            InvalidInput, WrongType: it is no record, or a value in it breaks its rule.
        """
        if not isinstance(message, Mapping):
            raise WrongType(f"a record is an object as to_message gives it, not {message!r:.80}")
        said, found = message.get("message"), message.get("uuid")
        named = {"uuid": found} if found is not None else {}
        return MemoryRecord(
            said if isinstance(said, BaseMessage) else _message(said),
            role_of(message.get("role_type")),
            extra_info=message.get("extra_info"),  # type: ignore[arg-type]  # checked when it is made
            **named,  # type: ignore[arg-type]  # as above
        )

    def to_message(self) -> dict[str, JSON]:
        """Return the record as plain JSON: uuid, role_type, message and extra_info."""
        said = self.message
        return {
            "uuid": self.uuid,
            "role_type": self.role_type.value,
            "message": {
                "content": said.content,
                "role_name": said.role_name,
                "images": list(said.image_urls),
                "image_detail": said.image_detail,
                "meta": dict(plain(said.meta, "meta")),
            },
            "extra_info": dict(plain(self.extra_info, "extra_info")),
        }

    def to_openai_message(self) -> Message:
        """Return the message as OpenAI's chat takes it.

        Raises:
            InvalidMessage: a tool's result without `tool_call_id` in its `meta`, or calls that are malformed.
        """
        return parse_message(self._openai()).message

    def _openai(self) -> dict[str, object]:
        role, said = self.role_type, self.message
        shown: dict[str, object] = {"role": role.value, "content": said.content}
        shown.update({name: said.meta[name] for name in SENT if said.meta.get(name) is not None})
        if role is RoleType.FUNCTION and said.role_name:
            shown.setdefault("name", said.role_name)
        if role is RoleType.USER and said.images:
            shown["content"] = [*_text_part(said.content), *(_image_part(said, url) for url in said.image_urls)]
        if role is RoleType.ASSISTANT and not said.content and (shown.get("tool_calls") or shown.get("function_call")):
            shown["content"] = None
        return shown


@dataclass(frozen=True, slots=True)
class ContextRecord:
    """A record that was found, and how well it answers: 0 to 1, 1 the best."""

    memory_record: MemoryRecord
    score: float


class Found(list[ContextRecord]):
    """Records that were found, best first, and `degraded`: what could not be used; () where all went well."""

    def __init__(self, records: Iterable[ContextRecord] = (), degraded: tuple[str, ...] = ()) -> None:
        super().__init__(records)
        self.degraded = degraded


def role_of(given: object) -> RoleType:
    """Return the role that is meant by a role, its word, or an enum of another package.

    Raises:
        InvalidInput: no such role.
    """
    if isinstance(given, RoleType):
        return given
    words: tuple[object, ...] = (given.value, given.name) if isinstance(given, Enum) else (given,)
    for word in words:
        if isinstance(word, str) and word.strip().casefold() in list(RoleType):
            return RoleType(word)
    raise InvalidInput(f"a role is one of {', '.join(RoleType)}, not {given!r:.80}")


def kept_beside(record: MemoryRecord) -> dict[str, JSON]:
    """Return what a stored record holds besides the OpenAI message, so that nothing is lost."""
    beside = record.to_message()
    said = beside["message"]
    assert isinstance(said, dict)  # noqa: S101  # written above
    del said["content"], beside["uuid"], beside["role_type"]
    if record.role_type is RoleType.USER:
        del said["images"]
    return beside


def record_of(stored: Record, message: Message) -> MemoryRecord:
    """Return the record that a store holds with this message; one that was written by other means is told by it."""
    beside = stored.data.get("record")
    more = beside if isinstance(beside, dict) else {}
    said = more.get("message")
    known = said if isinstance(said, dict) else _told(message)
    images, detail = _images(message)
    given = {"images": images, "image_detail": detail, **known, "content": content_text(message.get("content"))}
    role = "system" if message["role"] in SYSTEM_ROLES else message["role"]
    row = {"uuid": stored.key.id, "role_type": role, "message": given, "extra_info": more.get("extra_info")}
    return MemoryRecord.from_message(row)


def _told(message: Message) -> dict[str, JSON]:
    """Return who says a message and what goes with it, by the message alone."""
    role = str(message["role"])
    return {
        "role_name": str(message.get("name") or role.capitalize()),
        "meta": {name: message[name] for name in SENT if message.get(name) is not None},
    }


def _images(message: Message) -> tuple[list[JSON], JSON]:
    """Return the images of a message that have a URL, and the detail of the last that names one."""
    content, found, detail = message.get("content"), list[JSON](), "auto"
    for part in content if isinstance(content, list) else []:
        if not isinstance(part, dict) or part.get("type") != "image_url":
            continue
        image = part.get("image_url")
        url, named = (image.get("url"), image.get("detail")) if isinstance(image, dict) else (image, None)
        try:
            found.append(checked_url(url))
        except InvalidInput:
            continue
        detail = named if isinstance(named, str) else detail
    return found, detail


def _message(given: object) -> BaseMessage:
    if not isinstance(given, Mapping):
        raise InvalidMessage(f"a record has a message, found {given!r:.80}")
    images = given.get("images") or []
    if not isinstance(images, (list, tuple)):
        raise WrongType(f"the images of a record are a list of URLs, not {images!r:.80}")
    return BaseMessage(
        content=given.get("content"),  # type: ignore[arg-type]  # checked when it is made
        role_name=given.get("role_name") or "",
        images=[checked_url(url) for url in images],
        image_detail=given.get("image_detail") or "auto",
        meta=given.get("meta"),  # type: ignore[arg-type]  # as above
    )


def _text_part(text: str) -> list[dict[str, object]]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _image_part(said: BaseMessage, url: str) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url, "detail": said.image_detail}}
