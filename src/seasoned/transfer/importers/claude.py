"""Claude's data export: `conversations.json`, a list of conversations with their `chat_messages`.

Where messages name their parents, only the visible branch is read, ending in `current_leaf_message_uuid` or else in the
last message; the rest is left out and counted. The blocks of a message go before its `text`, which holds placeholders
for tools. A message that uses tools becomes several: the call, its result, what was said then. Reasoning is left out;
images and files stand as `[image]` and `[file: name]`. The session is the conversation's uuid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from seasoned.transfer.importers.branch import visible
from seasoned.transfer.importers.fields import Json, first, is_object, joined, objects, text
from seasoned.transfer.importers.items import Draft, Item, Place, finished

KIND: Final = "claude"

_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_ROOT: Final = "00000000-0000-4000-8000-000000000000"


def fits(value: object) -> bool:
    """Tell whether `value` is a conversation of the export."""
    return is_object(value) and isinstance(value.get("chat_messages"), list)


def items(value: Json, place: Place) -> Iterator[Item]:
    """Yield the messages of a conversation's visible branch."""
    written = value.get("chat_messages")
    messages = written if isinstance(written, list) else []
    seen = _visible(value, messages)
    session = text(value, "uuid", "id") or place.name()
    position = 0
    for number, message in enumerate(messages):
        inner = f"message {number + 1}"
        if not is_object(message) or text(message, "sender") not in _ROLES:
            yield place.refused(f"a message has a sender of {', '.join(_ROLES)}", inner)
        elif seen is not None and text(message, "uuid") not in seen:
            yield place.skipped("on a branch left by an edit or a regeneration", inner)
        else:
            own = text(message, "uuid") or number
            at = first(message, "created_at") or first(value, "created_at")
            of = Draft(
                kind=KIND, session=session, position=position, message={}, source=(session, own), at=at, inner=inner
            )
            drafts = _drafts(message, of)
            position += len(drafts)
            yield from (finished(draft, place) for draft in drafts)
            if not drafts:
                yield place.skipped("message without text", inner)


def _visible(value: Json, messages: list[object]) -> set[str] | None:
    """Return the uuids of the visible branch, None where the links do not reach from the leaf to a root."""
    found = {
        uuid: text(message, "parent_message_uuid") for message in objects(messages) if (uuid := text(message, "uuid"))
    }
    if not any(found.values()):
        return None
    leaf = text(value, "current_leaf_message_uuid")
    path = visible(found, leaf if leaf in found else list(found)[-1])
    return set(path) if found[path[0]] in ("", _ROOT) else None


def _drafts(message: Json, of: Draft) -> list[Draft]:
    """Return what a message becomes: one draft, or where tools were used one for each call, result and text."""
    turn = _Turn(_ROLES[text(message, "sender")], str(of.source[-1]))
    for block in objects(message.get("content")):
        turn.take(block)
    if turn.empty:
        turn.say(text(message, "text"))
    for name in _files(message):
        turn.say(f"[file: {name}]")
    turn.flush()
    return [
        replace(of, position=of.position + number, message=found, source=(*of.source, number) if number else of.source)
        for number, found in enumerate(turn.messages)
    ]


def _files(message: Json) -> list[str]:
    """Return the names of what is attached, each once."""
    named = (
        text(item, "file_name") for key in ("attachments", "files", "files_v2") for item in objects(message.get(key))
    )
    return list(dict.fromkeys(name for name in named if name))


@dataclass(slots=True)
class _Turn:
    """Gathers the blocks of one message into messages in OpenAI form."""

    role: str
    name: str
    messages: list[Json] = field(default_factory=list)
    _said: list[str] = field(default_factory=list)
    _calls: list[Json] = field(default_factory=list)
    _made: int = 0
    _open: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.messages or self._said or self._calls)

    def take(self, block: Json) -> None:
        kind = text(block, "type")
        if kind == "tool_use":
            self._call(block)
        elif kind == "tool_result":
            self._result(block)
        elif kind == "image":
            self.say("[image]")
        elif kind not in ("thinking", "redacted_thinking"):
            self.say(text(block, "text"))

    def say(self, said: str) -> None:
        if said.strip():
            if self._calls:
                self.flush()
            self._said.append(said)

    def flush(self) -> None:
        """End the message under way."""
        if self._said or self._calls:
            message: Json = {"role": self.role, "content": joined(*self._said) or None}
            self.messages.append(message | ({"tool_calls": self._calls} if self._calls else {}))
        self._said, self._calls = [], []

    def _call(self, block: Json) -> None:
        name = text(block, "id") or f"call_{self.name}_{self._made}"
        self._made += 1
        self._open.append(name)
        arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
        function = {"name": text(block, "name") or "tool", "arguments": arguments}
        self._calls.append({"id": name, "type": "function", "function": function})

    def _result(self, block: Json) -> None:
        self.flush()
        wanted = text(block, "tool_use_id")
        answered = wanted if wanted in self._open or not self._open else self._open[0]
        if answered in self._open:
            self._open.remove(answered)
        content = block.get("content")
        said = content if isinstance(content, str) else joined(*(text(part, "text") for part in objects(content)))
        self.messages.append({"role": "tool", "tool_call_id": answered or f"call_{self.name}", "content": said})
