"""Letta's agent files (`.af`), of both kinds: one agent with its `core_memory`, and `agents` with shared `blocks`.

Blocks become pinned notes, since Letta shows them always; messages become a conversation in the session that is called
by the agent's name. One agent goes into the scope that is imported into, several each into one below it, by name, the
second of one name into `name~2`. The agent's archival memory is in no agent file; a list of passages as the server's
API returns it is read, too.

An agent of the MemGPT kind speaks by calling `send_message`: what it sends is what the assistant said. The receipt of
the call and the agent's thoughts, which only it can see, are left out, as are heartbeats, logins, system prompts, and
whatever has no place in a memory: settings, tools, sources, groups, skills. Secrets are never read. Since a file
numbers its messages anew, their ids are made of agent, time and kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.transfer.importers.fields import Json, first, is_object, objects, text
from seasoned.transfer.importers.items import Draft, Item, NoteDraft, Place, finished, finished_note, parted, time_of
from seasoned.transfer.importers.letta_messages import Left, Said, converted, paired

KIND: Final = "letta"

_PASSAGE: Final = "passage-"
_BLOCK: Final = ("label", "description", "limit", "read_only", "metadata", "metadata_")
_AGENT: Final = {
    "system": "the agent's instructions: give them to your own agent",
    "llm_config": "settings of the model",
    "embedding_config": "settings of the model",
    "tool_rules": "rules for tools",
}
_FILE: Final = {
    "tools": "a tool: its code is no memory",
    "mcp_servers": "a tool server",
    "sources": "a data source: its files are not in an agent file",
    "files": "a file of a data source",
    "groups": "a group of agents",
    "skills": "a skill",
}
_SECRETS: Final = ("tool_exec_environment_variables", "secrets")


def fits(value: object) -> bool:
    """Tell whether `value` is an agent file of either kind, or a passage of an agent's archival memory."""
    if not is_object(value):
        return False
    if text(value, "id").startswith(_PASSAGE) and isinstance(value.get("text"), str):
        return True
    if isinstance(value.get("core_memory"), list):
        return isinstance(value.get("messages"), list)
    return isinstance(value.get("agents"), list) and isinstance(value.get("blocks"), list)


def items(value: Json, place: Place) -> Iterator[Item]:
    """Yield the blocks and messages of a file, and what is left out of it, or the passage that it is."""
    if text(value, "id").startswith(_PASSAGE):
        yield _passage(value, place)
    elif isinstance(agents := value.get("agents"), list):
        yield from _several(value, agents, place)
    else:
        blocks = value.get("core_memory")
        yield from _agent(_Agent(value=value, blocks=blocks if isinstance(blocks, list) else []), place)
        yield from _skipped_parts(value, {"tools": _FILE["tools"]}, place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Agent:
    """An agent with its blocks; `below` is the scope of its own where the file has several."""

    value: Json
    blocks: Sequence[object] = ()
    below: tuple[str, ...] = ()

    def name(self, place: Place) -> str:
        """Return what the agent is called, which also names its session."""
        return text(self.value, "name", "id") or place.session

    def data(self) -> Json:
        """Return what its notes say of it."""
        name = text(self.value, "name", "id")
        return {"agent": name} if name else {}


def _several(value: Json, agents: list[object], place: Place) -> Iterator[Item]:
    blocks = {text(block, "id"): block for block in objects(value.get("blocks"))}
    shown: set[str] = set()
    seen: Counter[str] = Counter()
    for number, agent in enumerate(agents, 1):
        if not is_object(agent):
            yield place.refused(f"an agent is an object, not {agent!r:.80}", f"agent {number}")
            continue
        wanted = agent.get("block_ids")
        ids = [name for name in wanted if isinstance(name, str)] if isinstance(wanted, list) else []
        shown.update(ids)
        name = text(agent, "name", "id") or f"agent-{number}"
        seen[name] += 1
        called = parted(name) if seen[name] == 1 else parted(name, str(seen[name]))
        mine = _Agent(
            value=agent | {"name": called},
            blocks=[blocks[name] for name in ids if name in blocks] + list(objects(agent.get("memory_blocks"))),
            below=(called,) if len(agents) > 1 else (),
        )
        yield from _agent(mine, place)
    yield from _unattached(value.get("blocks"), shown, place)
    yield from _skipped_parts(value, _FILE, place)


def _unattached(blocks: object, shown: set[str], place: Place) -> Iterator[Item]:
    """Yield the blocks that no agent has, and refuse what is no block."""
    for number, block in enumerate(blocks if isinstance(blocks, list) else [], 1):
        inner = f"block {number}"
        if not is_object(block):
            yield place.refused(f"a block is an object, not {block!r:.80}", inner)
        elif text(block, "id") not in shown:
            yield _block(block, _Agent(value={}), place, inner)


def _agent(agent: _Agent, place: Place) -> Iterator[Item]:
    for number, block in enumerate(agent.blocks, 1):
        inner = f"agent {agent.name(place)}, block {number}"
        if is_object(block):
            yield _block(block, agent, place, inner)
        else:
            yield place.refused(f"a block is an object, not {block!r:.80}", inner)
    for name, reason in _AGENT.items():
        if agent.value.get(name):
            yield place.skipped(reason, f"agent {agent.name(place)}, {name}")
    for name in _SECRETS:
        held = agent.value.get(name)
        for _ in held if isinstance(held, (dict, list)) else ():
            yield place.skipped("a secret or environment variable", f"agent {agent.name(place)}, {name}")
    yield from _messages(agent, place)


def _block(block: Json, agent: _Agent, place: Place, inner: str) -> Item:
    label = text(block, "label") or text(block, "id")
    value = block.get("value")
    if not label:
        return place.refused("a block has a label", inner)
    if isinstance(value, str) and not value.strip():
        return place.skipped("an empty block", inner)
    draft = NoteDraft(
        kind=KIND,
        own=label,
        source=(agent.name(place), "block", label),
        text=value,
        below=agent.below,
        tags=["block"],
        data={key: block[key] for key in _BLOCK if block.get(key) not in (None, "", {})} | agent.data(),
        at=first(block, "updated_at", "created_at"),
        pinned=True,
        inner=inner,
    )
    return finished_note(draft, place)


def _passage(value: Json, place: Place) -> Item:
    own = text(value, "id")
    told = ("archive_id", "source_id", "file_id", "file_name", "metadata")
    data = {name: value[name] for name in told if value.get(name) not in (None, "", {})}
    if value.get("is_deleted") is True:
        return place.skipped("deleted in Letta")
    listed = value.get("tags")
    tags = [tag for tag in listed if isinstance(tag, str) and tag.strip()] if isinstance(listed, list) else []
    draft = NoteDraft(
        kind=KIND,
        own=own,
        text=value.get("text"),
        tags=tags,
        data=data,
        at=first(value, "created_at", "updated_at"),
    )
    return finished_note(draft, place)


def _messages(agent: _Agent, place: Place) -> Iterator[Item]:
    """Yield the agent's messages, each session in its order, and what is left out of them."""
    name = agent.name(place)
    listed = agent.value.get("messages")
    messages = listed if isinstance(listed, list) else []
    if listed is not None and not isinstance(listed, list):
        yield place.refused(f"an agent's messages are a list, not {listed!r:.80}", f"agent {name}")
    positions: Counter[str] = Counter()
    named: Counter[tuple[str, ...]] = Counter()
    for found in paired(converted(messages, text(agent.value, "agent_type"))):
        inner = f"agent {name}, message {found.number}"
        if isinstance(found, Left):
            yield place.refused(found.reason, inner) if found.broken else place.skipped(found.reason, inner)
            continue
        session = found.session or name
        source = _named(found, session, named)
        if found.summary:
            yield _summary(found, agent, place, source)
            continue
        draft = Draft(
            kind=KIND,
            session=session,
            position=positions[session],
            message=found.message,
            source=source,
            at=found.at,
            below=agent.below,
            inner=inner,
        )
        positions[session] += 1
        yield finished(draft, place)


def _named(found: Said, session: str, named: Counter[tuple[str, ...]]) -> tuple[str | int, ...]:
    """Return what names a message at every export: session, time and role; of several alike their number, too."""
    when = time_of(found.at)
    if when is None:
        return (session, found.number)
    key = (session, when.isoformat(), str(found.message.get("role")))
    named[key] += 1
    return key if named[key] == 1 else (*key, named[key])


def _summary(found: Said, agent: _Agent, place: Place, source: tuple[str | int, ...]) -> Item:
    draft = NoteDraft(
        kind=KIND,
        own="/".join(str(part) for part in source),
        source=source,
        text=found.message.get("content"),
        below=agent.below,
        tags=["summary"],
        data=agent.data(),
        at=found.at,
        inner=f"agent {agent.name(place)}, message {found.number}",
    )
    return finished_note(draft, place)


def _skipped_parts(value: Json, reasons: dict[str, str], place: Place) -> Iterator[Item]:
    for name, reason in reasons.items():
        listed = value.get(name)
        for number, _ in enumerate(listed if isinstance(listed, list) else [], 1):
            yield place.skipped(reason, f"{name} {number}")
