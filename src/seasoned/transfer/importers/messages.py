"""Messages in OpenAI form: a list of them, objects that hold a list, or one of either a line.

A message may carry its own `session`, `id` and time besides the OpenAI fields; so may an object that holds a list, for
all its messages. What has no session is called by its file's name. A message's id ends in its own id, else in its place
in the file (`messages/chat/#4`, `messages/session/chat/#4`) or in its conversation (`messages/chat/list/#4`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, get_args

from seasoned.ports import Role
from seasoned.transfer.importers.fields import Json, first, is_object, text
from seasoned.transfer.importers.items import Draft, Item, Place, finished

KIND: Final = "messages"

_SESSION: Final = ("session", "session_id", "conversation_id", "thread_id")
_ID: Final = ("id", "message_id")
_TIME: Final = ("at", "created_at", "timestamp", "create_time")
_OURS: Final = frozenset((*_SESSION, *_ID, *_TIME))
_ROLES: Final = {role: role for role in get_args(Role)} | {"human": "user", "ai": "assistant"}


def fits(value: object) -> bool:
    """Tell whether `value` is a message, a list that begins with one, or an object that holds such a list."""
    if isinstance(value, list):
        return bool(value) and _is_message(value[0])
    return _is_message(value) or (is_object(value) and isinstance(value.get("messages"), list))


class Reader:
    """Reads the values of one file in turn, since positions are counted over the whole of a session."""

    def __init__(self) -> None:
        self._counted: Counter[str] = Counter()
        self._listed: Counter[str] = Counter()

    def items(self, value: Json, place: Place) -> Iterator[Item]:
        """Yield the messages of one value: of a conversation, or the single message that it is."""
        if isinstance(messages := value.get("messages"), list):
            yield from self._conversation(value, messages, place)
        else:
            yield self._item(value, place, _Of(place.session, (place.index - 1,)))

    def _conversation(self, value: Json, messages: list[object], place: Place) -> Iterator[Item]:
        session = text(value, *_SESSION, *_ID) or place.name()
        start, at = self._listed[session], first(value, *_TIME)
        self._listed[session] += len(messages)
        for number, message in enumerate(messages):
            of = _Of(session, ("list", start + number), at, f"message {number + 1}")
            yield self._item(message, place, of)

    def _item(self, message: object, place: Place, of: _Of) -> Item:
        if not is_object(message):
            return place.refused(f"a message is an object, not {message!r:.80}", of.inner)
        role = message.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            return place.refused(f"a message has a role of {', '.join(get_args(Role))}, not {role!r:.80}", of.inner)
        session, own = text(message, *_SESSION) or of.session, text(message, *_ID)
        draft = Draft(
            kind=KIND,
            session=session,
            position=self._counted[session],
            message={key: item for key, item in message.items() if key not in _OURS} | {"role": _ROLES[role]},
            source=(session, own) if own else _placed(session, of),
            at=first(message, *_TIME) or of.at,
            inner=of.inner,
        )
        self._counted[session] += 1
        return finished(draft, place)


@dataclass(frozen=True, slots=True)
class _Of:
    """What a message has from where it stands."""

    session: str
    number: tuple[str | int, ...]
    at: object = None
    inner: str = ""


def _placed(session: str, of: _Of) -> tuple[str | int, ...]:
    """Return what names a message without an id: its file, too, where its session may go on in another."""
    return (session, *of.number) if session == of.session else (session, of.session, *of.number)


def _is_message(value: object) -> bool:
    return is_object(value) and isinstance(value.get("role"), str) and bool(value.keys() & {"content", "tool_calls"})
