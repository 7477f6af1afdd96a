"""ChatGPT's data export: `conversations.json`, a list of conversations, each a tree of messages.

Only the visible branch is read, from `current_node` up to the root. Left out and counted: what ChatGPT does not show
(hidden and empty messages, reasoning, custom instructions) and the branches left by edits and regenerations. A message
to a tool becomes a tool call and what the tool answers its result. Images and files stand as `[image]` and
`[file: name]`; citation marks are taken out. The session is the conversation's id.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from seasoned.transfer.importers.branch import visible
from seasoned.transfer.importers.fields import Json, as_object, first, is_object, joined, objects, text
from seasoned.transfer.importers.items import Draft, Item, Place, finished

KIND: Final = "chatgpt"

_HIDDEN_TYPES: Final = frozenset(
    ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap", "app_pairing_content")
)
_ROLES: Final = frozenset(("user", "assistant", "system", "tool"))
_TO_READER: Final = frozenset(("", "all", "assistant", "user"))
_CITATION: Final = re.compile("\ue200(?:file)?cite[^\ue201]*\ue201")


def fits(value: object) -> bool:
    """Tell whether `value` is a conversation of the export."""
    return is_object(value) and is_object(value.get("mapping"))


def items(value: Json, place: Place) -> Iterator[Item]:
    """Yield the messages of the conversation's visible branch."""
    mapping = as_object(value.get("mapping"))
    nodes = {key: node for key, node in mapping.items() if is_object(node)}
    path = visible({key: text(node, "parent") or None for key, node in nodes.items()}, _leaf(value, nodes))
    yield from _unseen(nodes, path, place)
    session = text(value, "conversation_id", "id") or place.name()
    drafts: list[Draft] = []
    calls: deque[str] = deque()
    for key in path:
        message = nodes[key].get("message")
        if message is None:
            continue
        inner = f"message {key}"
        if not is_object(message) or _role(message) not in _ROLES:
            yield place.refused(f"a message has an author with a role of {', '.join(sorted(_ROLES))}", inner)
        elif why := _hidden(message):
            yield place.skipped(why, inner)
        else:
            own = text(message, "id") or key
            at = first(message, "create_time") or first(value, "create_time")
            draft = Draft(
                kind=KIND, session=session, position=len(drafts), message={}, source=(session, own), at=at, inner=inner
            )
            _place(_filled(draft, message, calls), drafts)
    yield from (finished(draft, place) for draft in drafts)


def _leaf(value: Json, nodes: dict[str, Json]) -> str:
    """Return the current node, or where it is not there the newest message that nothing follows."""
    current = text(value, "current_node")
    if current in nodes:
        return current
    parents = {text(node, "parent") for node in nodes.values()}
    leaves = [key for key in nodes if key not in parents]
    return max(leaves, key=lambda key: _written(nodes[key]), default="")


def _written(node: Json) -> float:
    at = as_object(node.get("message")).get("create_time")
    return float(at) if isinstance(at, (int, float)) else 0.0


def _unseen(nodes: dict[str, Json], path: list[str], place: Place) -> Iterator[Item]:
    seen = frozenset(path)
    for key, node in nodes.items():
        if key not in seen and node.get("message") is not None:
            yield place.skipped("on a branch left by an edit or a regeneration", f"message {key}")


def _role(message: Json) -> str:
    return text(as_object(message.get("author")), "role")


def _hidden(message: Json) -> str:
    """Return why ChatGPT does not show the message, "" where it does."""
    content = as_object(message.get("content"))
    kind = text(content, "content_type")
    if as_object(message.get("metadata")).get("is_visually_hidden_from_conversation"):
        return f"hidden {_role(message)} message"
    if kind in _HIDDEN_TYPES:
        return f"hidden content: {kind}"
    if message.get("weight") == 0:
        return f"hidden {_role(message)} message"
    return "" if _said(message) else f"{_role(message)} message without text"


def _filled(draft: Draft, message: Json, calls: deque[str]) -> Draft:
    """Return the draft with its message in OpenAI form; `calls` are the tool calls that wait for their result."""
    role, said, recipient = _role(message), _said(message), text(message, "recipient")
    if role == "assistant" and recipient not in _TO_READER:
        calls.append(call := f"call_{draft.source[-1]}")
        function = {"name": recipient, "arguments": _arguments(said)}
        wanted = {"id": call, "type": "function", "function": function}
        return replace(draft, message={"role": role, "content": None, "tool_calls": [wanted]})
    if role == "tool":
        name = text(as_object(message.get("author")), "name")
        call = calls.popleft() if calls else ""
        result: Json = {"role": role, "tool_call_id": call, "content": said}
        return replace(draft, message=result | ({"name": name} if name else {}))
    calls.clear()
    return replace(draft, message={"role": role, "content": said})


def _place(draft: Draft, drafts: list[Draft]) -> None:
    """Append the draft; a tool's further answer to one call joins its first, and an answer to none stands alone."""
    message = draft.message
    if message["role"] == "tool" and not message["tool_call_id"]:
        if drafts and drafts[-1].message["role"] == "tool":
            last = drafts[-1].message
            drafts[-1] = replace(drafts[-1], message=last | {"content": f"{last['content']}\n{message['content']}"})
            return
        draft = replace(draft, message=message | {"tool_call_id": f"call_{draft.source[-1]}"})
    drafts.append(draft)


def _arguments(said: str) -> str:
    """Return a call's arguments as the JSON object that the OpenAI form asks for."""
    try:
        is_json = is_object(json.loads(said))
    except (ValueError, RecursionError):
        is_json = False
    return said if is_json else json.dumps({"input": said}, ensure_ascii=False)


def _said(message: Json) -> str:
    content = as_object(message.get("content"))
    parts = content.get("parts")
    body = joined(*(_part(part) for part in parts)) if isinstance(parts, list) else ""
    if not body:
        body = joined(text(content, "title"), text(content, "url"), text(content, "text", "result", "summary"))
    files = objects(as_object(message.get("metadata")).get("attachments"))
    names = (f"[file: {name}]" for item in files if (name := text(item, "name")) and not _is_image(item))
    return _CITATION.sub("", joined(body, *names))


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    value = as_object(part)
    kind = text(value, "content_type")
    if kind.startswith("image"):
        prompt = text(as_object(as_object(value.get("metadata")).get("dalle")), "prompt")
        return f"[image: {prompt}]" if prompt else "[image]"
    return text(value, "text")


def _is_image(attachment: Json) -> bool:
    return text(attachment, "mime_type", "mimeType").startswith("image/")
