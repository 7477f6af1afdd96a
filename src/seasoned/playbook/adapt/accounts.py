"""Accounts: how many calls and tokens an adaptation took, and the budget at which it stops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from seasoned.asking import Ask
from seasoned.errors import InvalidInput, WrongType
from seasoned.records import JSON
from seasoned.tokens import count_messages, estimate

Usage: TypeAlias = Callable[[], tuple[int, int] | None]
"""Returns the prompt and completion tokens that a model has reported so far; None where it reports none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls of the model, those of them that failed, and tokens: as the model reports them, else estimated."""

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            failed=self.failed + other.failed,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        return {
            "calls": self.calls,
            "failed_calls": self.failed,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Most calls, and most tokens, of a run with all its resumptions; None is no bound.

    No call is made above `calls`. None is begun once `tokens` are spent, so those under way may go above it.

    Raises:
        InvalidInput: a bound below 0.
        WrongType: a bound that is no integer.
    """

    calls: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens"):
            bound = getattr(self, name)
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
                raise WrongType(f"a budget of {name} is an integer or None, not {bound!r:.80}")
            if bound is not None and bound < 0:
                raise InvalidInput(f"a budget of {name} is 0 or more, found {bound}")


class Accounts:
    """What is spent, what was spent before, and whether another call may be made. Thread safe."""

    def __init__(self, budget: Budget, before: Spent, usage: Usage) -> None:
        self._lock = threading.Lock()
        self._budget = budget
        self._spent = before
        self._open = 0
        self._usage = usage
        self._seen = usage()
        self._reports = False
        self._stopped: str | None = None

    @property
    def spent(self) -> Spent:
        """What was spent so far, in earlier sessions too."""
        with self._lock:
            return self._spent

    @property
    def stopped(self) -> str | None:
        """Which bound was reached; None while there is room."""
        with self._lock:
            return self._stopped

    def begin(self) -> bool:
        """Take room for one call; False where the budget has none."""
        with self._lock:
            calls, tokens = self._budget.calls, self._budget.tokens
            if calls is not None and self._spent.calls + self._open >= calls:
                self._stopped = self._stopped or f"the budget of {calls} calls is spent"
            elif tokens is not None and self._spent.tokens >= tokens:
                self._stopped = self._stopped or f"the budget of {tokens} tokens is spent"
            if self._stopped is None:
                self._open += 1
            return self._stopped is None

    def end(self, ask: Ask, reply: str | None) -> Spent:
        """Book one call (`reply` None: it failed), and return what it took."""
        with self._lock:
            self._open -= 1
            took = self._tokens(ask, reply)
            spent = Spent(calls=1, failed=int(reply is None), prompt_tokens=took[0], completion_tokens=took[1])
            self._spent += spent
            return spent

    def give_back(self) -> None:
        """Return the room of a call that was never answered."""
        with self._lock:
            self._open -= 1

    def _tokens(self, ask: Ask, reply: str | None) -> tuple[int, int]:
        """Return what the model has reported since the last call, which with several at once may be another's."""
        now = self._usage()
        if now is not None and self._seen is not None:
            new = (now[0] - self._seen[0], now[1] - self._seen[1])
            self._seen = now
            self._reports = self._reports or any(new)
            if self._reports:
                return new
        return (0, 0) if reply is None else (count_messages(ask.messages), estimate(reply))


def usage_of(model: object) -> Usage:
    """Return how to read what a model reports: `usage` with `prompt_tokens` and `completion_tokens`, if it has that."""

    def read() -> tuple[int, int] | None:
        usage = getattr(model, "usage", None)
        prompt, completion = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        return (prompt, completion) if isinstance(prompt, int) and isinstance(completion, int) else None

    return read
