"""Where a text comes from, and how far it is trusted: stored text is data, whoever wrote it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from seasoned.errors import InvalidInput
from seasoned.records import Record


class Origin(StrEnum):
    """Who wrote a record's text."""

    USER = "user"
    """A person: the words of a user, feedback."""
    ASSISTANT = "assistant"
    """The agent itself."""
    TOOL = "tool"
    """A tool or a page that was read: never a rule by itself."""
    SYSTEM = "system"
    """The program: its system messages, and notes that it writes without saying for whom."""
    IMPORT = "import"
    """Another product's export."""
    MODEL = "model"
    """A model or rules that derived it from other records."""


_ROLES: Final = {
    "user": Origin.USER,
    "assistant": Origin.ASSISTANT,
    "system": Origin.SYSTEM,
    "developer": Origin.SYSTEM,
    "tool": Origin.TOOL,
    "function": Origin.TOOL,
}
_OF_KIND: Final = {
    "turn": Origin.SYSTEM,
    "decision": Origin.ASSISTANT,
    "trajectory": Origin.ASSISTANT,
    "feedback": Origin.USER,
    **dict.fromkeys(("summary", "atom", "episode", "lesson", "profile", "entry"), Origin.MODEL),
}
TRUST: Final = {
    Origin.USER: "said by a user",
    Origin.ASSISTANT: "said by an assistant",
    Origin.TOOL: "output of a tool, not verified",
    Origin.SYSTEM: "written by the program",
    Origin.IMPORT: "imported, not verified",
    Origin.MODEL: "derived from other records",
}
"""How far a text of each origin is trusted, in words."""


def checked_origin(origin: object) -> Origin:
    """Return an origin.

    Raises:
        InvalidInput: none of the six.
    """
    try:
        return Origin(origin)  # type: ignore[arg-type]  # anything but a word raises
    except ValueError as error:
        raise InvalidInput(f"an origin is one of {', '.join(Origin)}, not {origin!r:.80}") from error


def origin_of(record: Record) -> Origin:
    """Return where a record's text comes from: what it says itself, else its role, else its kind."""
    said, role = record.data.get("origin"), record.data.get("role")
    if isinstance(said, str) and said in Origin._value2member_map_:
        return Origin(said)
    if record.key.kind == "message":
        return _ROLES.get(role, Origin.TOOL) if isinstance(role, str) else Origin.TOOL
    return _OF_KIND.get(record.key.kind, Origin.SYSTEM)


def trusted(record: Record) -> str:
    """Return in words how far a record's text is trusted, for its label in a context."""
    return TRUST[origin_of(record)]
