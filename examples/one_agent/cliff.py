"""The environment, gymnasium's CliffWalking, and the words for what is seen and done in it."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Final, SupportsIndex

from examples.episodic_control.tasks import Environment
from seasoned.errors import WrongType

NAME: Final = "CliffWalking-v1"
MOVES: Final = ("up", "right", "down", "left")
"""The moves in the order of their numbers in the environment."""

LETTERS: Final = {move[0].upper(): move for move in MOVES}
COLUMNS: Final = 12
FALL: Final = -100
"""The reward of a step over the cliff, which leads back to the start."""

LIMIT: Final = 60
"""Most moves of a run."""

INSTRUCTION: Final = (
    "You walk on a grid of 4 rows and 12 columns, from cell r3c0 to the goal in cell r3c11. Each move costs 1. A step "
    "over the cliff costs 100 and leads back to the start. Answer with one word: up, right, down or left."
)

_FALL: Final = re.compile(r"Moving (\w+) from cell (r\d+c\d+) led over the cliff\.")
_CELL: Final = re.compile(r"You stand in cell (r\d+c\d+)\.")


def made() -> Environment:
    """Return the environment.

    Raises:
        ImportError: gymnasium is not installed.
    """
    environment: Environment = gymnasium().make(NAME, max_episode_steps=LIMIT)
    return environment


def gymnasium() -> ModuleType:
    """Return the gymnasium package; `ImportError` where it is not installed."""
    try:
        return import_module("gymnasium")
    except ImportError as error:
        raise ImportError("the environment is gymnasium's, which is not installed: pip install gymnasium") from error


def cell(observation: object) -> str:
    """Return the name of a cell, such as "r3c0"."""
    if not isinstance(observation, SupportsIndex):
        raise WrongType(f"an observation of the cliff is a whole number, not {observation!r}")
    row, column = divmod(observation.__index__(), COLUMNS)
    return f"r{row}c{column}"


def seen(name: str, fell: tuple[str, str] | None = None) -> str:
    """Return what the agent is told: where it stands, and from which cell by which move it has just fallen."""
    told = f"Moving {fell[1]} from cell {fell[0]} led over the cliff. " if fell else ""
    return f"{told}You stand in cell {name}."


def falls_in(text: str) -> list[tuple[str, str]]:
    """Return from which cells by which moves messages say that the agent has fallen."""
    return [(name, move) for move, name in _FALL.findall(text)]


def cell_in(text: str) -> str | None:
    """Return the cell that a message says the agent stands in: the last one, whatever was put before it."""
    found = _CELL.findall(text)
    return found[-1] if found else None


def beside(name: str, move: str) -> str:
    """Return the cell that a move leads to, were there no cliff; at the edge the cell itself."""
    row, column = (int(number) for number in re.findall(r"\d+", name))
    row = min(max(row + {"up": -1, "down": 1}.get(move, 0), 0), 3)
    column = min(max(column + {"left": -1, "right": 1}.get(move, 0), 0), COLUMNS - 1)
    return f"r{row}c{column}"
