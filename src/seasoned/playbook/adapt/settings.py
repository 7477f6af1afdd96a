"""Settings: how an adaptation goes, and over which examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.adapt.accounts import Budget
from seasoned.playbook.adapt.tasks import Example, checked_examples
from seasoned.records import JSON

Mode: TypeAlias = Literal["offline", "online"]

MAX_WORKERS: Final = 256
"""Most examples that are worked on at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an adaptation goes.

    `mode` "offline" learns from all examples `epochs` times, validates every `validate_every` steps and at the end,
    keeps the playbook that validated best, and tests it. "online" takes the examples in windows of `window`: each is
    tested with the playbook as it is, then learned from.

    A step learns from `batch` examples with the same playbook and merges what they give in their order; 1 is as in the
    paper. `rounds` is how often a wrong answer is reflected on and tried again. `recheck` answers each example once
    more after its step. `baseline` first tests the playbook as it is found. `playbook_tokens` is how much of it is
    shown; None is all.

    These do not change a result, so a resumed run may have others: `workers` work at once (while learning at most
    `batch`); `budget` bounds the calls and tokens.

    Raises:
        InvalidInput: a number out of its range, or `epochs` of an online run.
        WrongType: a field of another type.
    """

    mode: Mode = "offline"
    epochs: int = 1
    validate_every: int = 100
    window: int = 100
    batch: int = 1
    rounds: int = 3
    recheck: bool = True
    baseline: bool = False
    playbook_tokens: int | None = 80_000
    workers: int = 1
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise InvalidInput(f"mode is offline or online, not {self.mode!r:.80}")
        for name in ("epochs", "validate_every", "window", "batch", "rounds", "workers", "playbook_tokens"):
            value = getattr(self, name)
            if value is None and name == "playbook_tokens":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise WrongType(f"{name} is an integer, not {value!r:.80}")
            if value < 1:
                raise InvalidInput(f"{name} is 1 or more, found {value}")
        if self.workers > MAX_WORKERS:
            raise InvalidInput(f"workers are at most {MAX_WORKERS}, found {self.workers}")
        if self.mode == "online" and self.epochs != 1:
            raise InvalidInput(f"an online run sees each example once, found epochs={self.epochs}")

    def plan(self) -> dict[str, JSON]:
        """Return what a resumed run must have in common with the one before."""
        names = ("mode", "epochs", "batch", "rounds", "recheck", "baseline", "playbook_tokens")
        own = ("validate_every",) if self.mode == "offline" else ("window",)
        return {name: getattr(self, name) for name in (*names, *own)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The examples: `train` to learn from, `val` to choose the best playbook by, `test` for the end.

    Online, `train` is the stream that is tested and learned from, and there is no `val`.

    Raises:
        InvalidInput: no example to learn from, or an id twice in one of them.
        WrongType: something that is no example.
    """

    train: Sequence[Example]
    val: Sequence[Example] = ()
    test: Sequence[Example] = ()

    def __post_init__(self) -> None:
        for name in ("train", "val", "test"):
            object.__setattr__(self, name, tuple(checked_examples(getattr(self, name))))
        if not self.train:
            raise InvalidInput("there is no example to learn from")

    def plan(self) -> dict[str, JSON]:
        """Return what tells these examples from others."""
        return {name: _digest(getattr(self, name)) for name in ("train", "val", "test")}


def _digest(examples: Sequence[Example]) -> str:
    found = hashlib.sha256()
    for each in examples:
        row = [each.id, each.question, each.target, each.context, dict(each.data)]
        found.update(json.dumps(row, sort_keys=True).encode() + b"\n")
    return f"{len(examples)} examples, {found.hexdigest()[:16]}"
