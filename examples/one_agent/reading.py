"""What the agent reads out of a context: warnings, examples, a route, where it has been. It knows nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from examples.one_agent.cliff import LETTERS, cell_in, falls_in
from seasoned.ports import Message

WARNING: Final = "In cell {} do not move {}."
ROUTE: Final = "A route of {} moves leads to the goal: {}."

_WARNING: Final = re.compile(r"\[-\] In cell (r\d+c\d+) do not move (\w+)\.")
_ROUTE: Final = re.compile(r"A route of \d+ moves leads to the goal: ([URDL]+)\.")
_EXAMPLE: Final = re.compile(
    r'<item [^>]*situation="cell (r\d+c\d+)"[^>]*>\n- (?:Action Taken|Avoid): \[(\w+)\].*?reward (-?\d+\.\d+)\n</item>',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Known:
    """What a context says of a cell: moves that are warned of, what moves came to, the best route, cells walked."""

    warned: frozenset[str] = frozenset()
    values: dict[str, float] = field(default_factory=dict)
    route: tuple[str, ...] = ()
    walked: tuple[str, ...] = ()


def known(messages: Sequence[Message], name: str) -> Known:
    """Return what the messages of a context say of a cell."""
    text = "\n".join(str(message["content"]) for message in messages)
    walked = [cell_in(str(message["content"])) for message in messages if message["role"] == "user"]
    return Known(
        warned=frozenset(move for where, move in (*_WARNING.findall(text), *falls_in(text)) if where == name),
        values=_values(text, name),
        route=_route(text),
        walked=tuple(each for each in walked if each is not None),
    )


def _values(text: str, name: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for where, move, reward in _EXAMPLE.findall(text):
        if where == name:
            found[move.lower()] = max(float(reward), found.get(move.lower(), float(reward)))
    return found


def _route(text: str) -> tuple[str, ...]:
    routes: list[str] = _ROUTE.findall(text)
    return tuple(LETTERS[letter] for letter in min(routes, key=len)) if routes else ()
