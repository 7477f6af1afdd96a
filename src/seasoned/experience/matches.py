"""What retrieval gives: a decision or trajectory, how well it matches, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from seasoned.experience.feedback import OutcomeFeedback
from seasoned.experience.forms import state_of, tags_of
from seasoned.experience.metrics import State
from seasoned.records import JSON, Record, Why, text_field


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A decision or trajectory that resembles what was asked.

    `score` is fused and in [0, 1]; `similarity` is the cosine of its text with the query in [-1, 1], None where no
    vector can be had. `reward` is what was given, `value` what ranks: with what flowed back from its episode.
    `action` of a trajectory is its route, `metrics` its world. `confidence`, 0 to 1, and `count` say how reliable and
    how frequent the action is in this situation. `why` has each part: its raw value, and its share of the score.
    """

    record: Record
    score: float
    similarity: float | None
    reward: float | None
    value: float | None
    feedback: OutcomeFeedback | None
    confidence: float
    count: int
    why: Mapping[str, Why] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.key.id

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.record.at

    @property
    def situation(self) -> str:
        """What it was done in."""
        return self._text("situation") or ""

    @property
    def action(self) -> str:
        """What was done."""
        return self._text("action") or ""

    @property
    def domain(self) -> str | None:
        """What it was done to."""
        return self._text("domain")

    @property
    def reasoning(self) -> str:
        """Why it was done."""
        return self._text("reasoning") or ""

    @property
    def episode(self) -> str | None:
        """The episode that it is part of."""
        return self._text("episode")

    @property
    def personality(self) -> str | None:
        """Whose manner it was."""
        return self._text("personality")

    @property
    def task(self) -> str | None:
        """The task of a trajectory."""
        return self._text("task")

    @property
    def summary(self) -> JSON:
        """The summary of a trajectory."""
        return self.record.data.get("summary")

    @property
    def metrics(self) -> State:
        """The state that it was done in."""
        return state_of(self.record.data, self.record.key.kind)

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        return tags_of(self.record.data)

    def _text(self, name: str) -> str | None:
        return text_field(self.record.data, name)


class Matches(list[Match]):
    """Matches, best first, and `degraded`: what could not be used for them; () where all went well."""

    def __init__(self, matches: Sequence[Match] = (), degraded: tuple[str, ...] = ()) -> None:
        super().__init__(matches)
        self.degraded = degraded


def scaled_to_one(matches: Sequence[Match]) -> list[Match]:
    """Return matches whose best score is at most 1, all divided alike."""
    top = max((match.score for match in matches), default=1.0)
    return [_scaled(match, 1 / top) for match in matches] if top > 1 else [*matches]


def _scaled(match: Match, by: float) -> Match:
    why = {name: Why(part.value, part.share * by) for name, part in match.why.items()}
    return replace(match, score=min(1.0, match.score * by), why=why)
