"""What a run is made of: turns, atoms, episodes, and the contexts that a domain gives for prompts."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import md5
from typing import Final

import numpy as np

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import JSON, checked_id, clean_json, clean_text, finite

MARKET_EVENT: Final = "market_event"
"""Type of an atom: something happened around the agent."""

COORDINATION_EVENT: Final = "coordination_event"
"""Type of an atom: something happened between agents."""

PORTFOLIO_EVENT: Final = "portfolio_event"
"""Type of an atom: something changed in what the agent has."""

MAX_TURN: Final = 2**53 - 1
"""Highest turn number."""

MAX_PRIORITY: Final = 100
"""Highest priority of an atom; 0 is the lowest."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn (L0): its number from 0 on, the reward and its unit, named events, actions, and fields of yours.

    `events` are names, `actions_taken` objects such as `{"type": "buy"}`, `extra` plain JSON; numpy's numbers are
    taken as Python's. All are copied, so what the caller changes later changes nothing here.

    Raises:
        InvalidInput: a reward or another number that is not finite, a turn below 0.
        WrongType: a field of another type.
    """

    turn: int
    reward: float
    reward_unit: str = ""
    events: list[str] = field(default_factory=list)
    actions_taken: list[dict[str, JSON]] = field(default_factory=list)
    extra: dict[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "turn", checked_turn(self.turn))
        put(self, "reward", finite(_number(self.reward), "a reward"))
        put(self, "reward_unit", _text(self.reward_unit, "reward_unit"))
        put(self, "events", _texts(self.events, "events"))
        put(self, "actions_taken", _actions(self.actions_taken))
        if not isinstance(self.extra, Mapping):
            raise WrongType(f"extra is a mapping of plain JSON, not {self.extra!r:.80}")
        put(self, "extra", plain(self.extra))


class TurnWindow(list[TurnRecord]):
    """The turns an extractor is shown; `fresh` is the place of the first that was not in an earlier window."""

    def __init__(self, turns: list[TurnRecord], fresh: int = 0) -> None:
        super().__init__(turns)
        self.fresh = fresh


@dataclass(frozen=True, slots=True)
class L1Atom:
    """One fact (L1) that rules found in a run.

    `id` is stable: the same fact found again has the same id, see `atom_id`. `type` is any word that is not blank,
    such as `MARKET_EVENT`. `content` is a sentence for people and prompts. `priority` is an integer from 0 to 100:
    80 to 90 for what is critical (a loss, a shortage, a rule that changed), 40 to 60 for routine; the lowest leave
    the ring first. `tags` are words for programs. `turns` are the turns it was seen in, by default `turn` alone.

    Raises:
        InvalidInput: a blank id, type or content, a priority out of range, a turn below 0.
        WrongType: a field of another type.
    """

    id: str
    turn: int
    type: str
    content: str
    priority: int
    tags: list[str] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        put = object.__setattr__
        checked_id(self.id, "an atom's id")
        put(self, "turn", checked_turn(self.turn))
        checked_id(self.type, "an atom's type")
        put(self, "content", _text(self.content, "an atom's content"))
        if not self.content.strip():
            raise InvalidInput(f"an atom's content must not be blank, found {self.content!r}")
        put(self, "priority", _priority(self.priority))
        put(self, "tags", _texts(self.tags, "tags"))
        if not isinstance(self.turns, (list, tuple)):
            raise WrongType(f"turns are a list of integers, not {self.turns!r:.80}")
        put(self, "turns", [checked_turn(turn) for turn in self.turns])


@dataclass(frozen=True, slots=True)
class L2Episode:
    """A phase of a run (L2): its name, its first and last turn, what happened, and how often it was shown (`heat`)."""

    name: str
    turn_start: int
    turn_end: int
    narrative: str
    heat: int = 0


@dataclass(frozen=True, slots=True)
class EpisodePromptContext:
    """What a domain says for an episode: its phases, who the model is, figures of the turns, how to tell phases."""

    phase_names: list[str]
    domain_preamble: str
    context_summary: str
    phase_guidance: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "phase_names", _texts(self.phase_names, "phase_names"))
        for name in ("domain_preamble", "context_summary", "phase_guidance"):
            object.__setattr__(self, name, _text(getattr(self, name), name))


@dataclass(frozen=True, slots=True)
class RetroPromptContext:
    """What a domain says for a retrospective: who the model is, how the run ended, what its outcome is counted in."""

    domain_preamble: str
    outcome_summary: str
    outcome_metric_name: str

    def __post_init__(self) -> None:
        for name in ("domain_preamble", "outcome_summary", "outcome_metric_name"):
            object.__setattr__(self, name, _text(getattr(self, name), name))


def stored_turn(data: Mapping[str, JSON]) -> TurnRecord | None:
    """Return the turn that was stored as `data`, without checking again what was checked then; None if it is none."""
    turn, reward, unit = data.get("turn"), data.get("reward"), data.get("reward_unit")
    events, actions, extra = data.get("events"), data.get("actions"), data.get("extra")
    numbers = isinstance(turn, int) and isinstance(reward, (int, float)) and isinstance(unit, str)
    if not numbers or not isinstance(events, list) or not isinstance(actions, list) or not isinstance(extra, dict):
        return None
    made, put = object.__new__(TurnRecord), object.__setattr__
    put(made, "turn", turn)
    put(made, "reward", reward)
    put(made, "reward_unit", unit)
    put(made, "events", events)
    put(made, "actions_taken", actions)
    put(made, "extra", extra)
    return made


def atom_id(turn: int, tag: str) -> str:
    """Return the id of an atom of one turn and tag: the first 12 hex digits of the MD5 of `turn_tag`."""
    return md5(f"{turn}_{tag}".encode(), usedforsecurity=False).hexdigest()[:12]


def checked_turn(value: object, what: str = "a turn") -> int:
    """Return a turn's number.

    Raises:
        InvalidInput: below 0 or above `MAX_TURN`.
        WrongType: not an integer.
    """
    number = _whole(value, what)
    if not 0 <= number <= MAX_TURN:
        raise InvalidInput(f"{what} lies between 0 and 2**53 - 1, found {number}")
    return number


def plain(value: object) -> JSON:
    """Return a copy of `value` as plain JSON, numpy's numbers as Python's.

    Raises:
        InvalidInput: a number that is not finite.
        WrongType: a value that is not JSON.
    """
    try:
        return clean_json(value)
    except WrongType:
        return clean_json(_without_numpy(value))


def _without_numpy(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {_key(key): _without_numpy(item) for key, item in value.items()}
    return [_without_numpy(item) for item in value] if isinstance(value, (list, tuple)) else value


def _key(key: object) -> object:
    return str(key) if isinstance(key, np.str_) else key


def _number(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _whole(value: object, what: str) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise WrongType(f"{what} is an integer, not {value!r}")
    try:
        return operator.index(value)  # type: ignore[arg-type]  # a TypeError says what it is not
    except TypeError:
        raise WrongType(f"{what} is an integer, not {value!r:.80}") from None


def _priority(value: object) -> int:
    number = _whole(value, "a priority")
    if not 0 <= number <= MAX_PRIORITY:
        raise InvalidInput(f"a priority lies between 0 and {MAX_PRIORITY}, found {number}")
    return number


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise WrongType(f"{what} is a string, not {value!r:.80}")
    return clean_text(value)


def _texts(values: object, what: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, (list, tuple, set, frozenset)):
        raise WrongType(f"{what} are a list of strings, not {values!r:.80}")
    ordered = sorted(values, key=str) if isinstance(values, (set, frozenset)) else values
    return [_text(value, f"one of {what}") for value in ordered]


def _actions(values: object) -> list[dict[str, JSON]]:
    if not isinstance(values, (list, tuple)):
        raise WrongType(f"actions_taken are a list of objects, not {values!r:.80}")
    actions = [plain(value) for value in values]
    made = [action for action in actions if isinstance(action, dict)]
    if len(made) != len(actions):
        raise WrongType(f"actions_taken are a list of objects such as {{'type': 'buy'}}, not {values!r:.80}")
    return made
