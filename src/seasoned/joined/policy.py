"""How one token budget is shared out over all that is remembered."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import finite

_COUNTS: Final = ("examples_k", "recall_k")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPolicy:
    """The shares of a context, each from 0 to 1.

    What the lessons leave goes to the playbook, and within `changing` each part leaves its rest to the next; what
    `changing` leaves is nobody's, so that the window does not move with what is found.

    Raises:
        InvalidInput: a number out of its range.
        WrongType: a value of another type.
    """

    lessons: float = 0.15
    """Most of the budget for lessons of earlier runs."""
    playbook: float = 0.25
    """Most of the budget for the playbook, and what the lessons left of theirs."""
    changing: float = 0.25
    """Most of what the system part leaves for what stands beside the newest user message: the parts that follow.

    It is set aside whether it is filled or not, so that the window does not move with what is found.
    """
    observations: float = 0.3
    """Of that, most for the current phase and the observations of the run."""
    examples: float = 0.35
    """Of that, most for decisions in similar situations, and what the observations left of theirs."""
    examples_k: int = 3
    """Most such decisions; 0 for none."""
    recall_k: int = 5
    """Most recalled messages and notes; 0 for none."""
    step: float = 0.8
    """How far the window's cut moves at a time, as a share of the window, above 0.

    The more, the more of a prompt repeats the one before, and the less of the conversation stands behind a cut. It
    takes the place of the conversation policy's.
    """
    keep_traces: timedelta = timedelta(days=30)
    """How long it is kept what a context showed, and the system part of a run."""

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self)):
            value = getattr(self, name)
            if name in _COUNTS:
                _check_count(name, value)
            elif name != "keep_traces" and not 0 <= finite(value, name) <= 1:
                raise InvalidInput(f"{name} lies between 0 and 1, found {value!r}")
        if self.step == 0:
            raise InvalidInput("step lies above 0 and up to 1, found 0")
        if not isinstance(self.keep_traces, timedelta):
            raise WrongType(f"keep_traces is a timedelta, not {self.keep_traces!r:.80}")
        if self.keep_traces <= timedelta(0):
            raise InvalidInput(f"keep_traces is longer than nothing, found {self.keep_traces!r}")


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongType(f"{name} is an integer, not {value!r:.80}")
    if value < 0:
        raise InvalidInput(f"{name} is 0 or more, found {value}")
