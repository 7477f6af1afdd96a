"""How decisions, trajectories and feedback are stored, and read back from records of any origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.experience.feedback import OutcomeFeedback
from seasoned.experience.metrics import State, is_number
from seasoned.index import NEVER
from seasoned.records import JSON, Hit, Key, Record, checked_id, clean_text, finite, text_field, to_micros

DECISION: Final = "decision"
TRAJECTORY: Final = "trajectory"
FEEDBACK: Final = "feedback"

EMBEDDED_REASONING: Final = 100
"""How much of a decision's reasoning is searched, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One decision or trajectory to be stored; `action` of a trajectory is its route."""

    situation: str
    action: str
    reward: float | None
    domain: str | None = None
    reasoning: str = ""
    state: State = field(default_factory=dict)
    tags: Sequence[str] = ()
    episode: str | None = None
    personality: str | None = None
    task: str | None = None
    summary: JSON = None
    route_outcome: str | None = None
    metrics_diff: str | None = None
    trajectory: JSON = None
    text: str | None = None
    preseeded: bool = False
    data: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "situation", _text(self.situation, "a situation", blank=False))
        put(self, "action", _text(self.action, "an action", blank=False))
        put(self, "reasoning", _text(self.reasoning, "reasoning"))
        put(self, "reward", None if self.reward is None else finite(self.reward, "a reward"))
        put(self, "tags", checked_tags(self.tags))
        for name in ("domain", "episode", "personality", "task"):
            value = getattr(self, name)
            put(
                self,
                name,
                None if value is None else checked_id(value, f"a {name}" if name != "episode" else "an episode"),
            )
        for name in ("route_outcome", "metrics_diff"):
            value = getattr(self, name)
            put(self, name, None if value is None else _text(value, name))
        if not isinstance(self.data, Mapping):
            raise WrongType(f"data is a mapping of plain JSON, not {self.data!r:.80}")

    def decision(self, key: Key, at: datetime, until: datetime | None, sources: tuple[Key, ...]) -> Record:
        """Return the record of a decision."""
        return self._record(key, self.text or self._decision_text(), at, until, sources, "metrics")

    def trajectory_record(self, key: Key, at: datetime, until: datetime | None, sources: tuple[Key, ...]) -> Record:
        """Return the record of a trajectory."""
        return self._record(key, self.text or f"{self.situation} Route: {self.action}", at, until, sources, "world")

    def _decision_text(self) -> str:
        parts = [self.situation, f"Action: {self.action}"]
        if self.domain:
            parts.append(f"Domain: {self.domain}")
        if self.reward is not None:
            parts.append(f"Reward: {self.reward:.2f}")
        return " ".join([*parts, self.reasoning[:EMBEDDED_REASONING]]).rstrip()

    def _record(
        self, key: Key, text: str, at: datetime, until: datetime | None, sources: tuple[Key, ...], state: str
    ) -> Record:
        fields: dict[str, JSON] = {
            "situation": self.situation,
            "action": self.action,
            "reward": self.reward,
            "domain": self.domain,
            "reasoning": self.reasoning or None,
            state: dict(self.state) or None,
            "tags": [*self.tags] or None,
            "episode": self.episode,
            "personality": self.personality,
            "task": self.task,
            "summary": self.summary,
            "route_outcome": self.route_outcome,
            "metrics_diff": self.metrics_diff,
            "trajectory": self.trajectory,
            "preseeded": self.preseeded or None,
        }
        data = {**self.data, **{name: value for name, value in fields.items() if value is not None}}
        worth = 0.0 if self.reward is None else self.reward
        return Record(key=key, text=text, at=at, data=data, sources=sources, worth=worth, until=until)


def checked_tags(tags: object) -> tuple[str, ...]:
    """Return a tuple of tags.

    Raises:
        InvalidInput, WrongType: a blank tag, or not a list of strings.
    """
    if isinstance(tags, str) or not isinstance(tags, (list, tuple, set, frozenset)):
        raise WrongType(f"tags are a list of strings, not {tags!r:.80}")
    return tuple(checked_id(tag, "a tag") for tag in tags)


def _text(value: object, what: str, *, blank: bool = True) -> str:
    if not isinstance(value, str):
        raise WrongType(f"{what} is a text, not {value!r:.80}")
    if not blank and not value.strip():
        raise InvalidInput(f"{what} must not be blank, found {value!r:.80}")
    return clean_text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is kept at hand of a decision or trajectory; times in µs, `copy` is equal where all but the reward is."""

    id: str
    kind: str
    order: int
    at: int
    until: int
    situation: str
    action: str
    reward: float | None
    domain: str | None
    personality: str | None
    episode: str | None
    tags: tuple[str, ...]
    state: State
    copy: int
    preseeded: bool


def entry(hit: Hit) -> Entry | None:
    """Return what a record says; None where it is no decision or trajectory that can be read."""
    record, data = hit.record, hit.record.data
    situation, action = text_field(data, "situation"), text_field(data, "action")
    if situation is None or action is None:
        return None
    reward = data.get("reward")
    state = state_of(data, record.key.kind)
    said = "\0".join((situation, action, text_field(data, "domain") or "", text_field(data, "reasoning") or ""))
    digest = blake2b(f"{said}\0{sorted(state.items(), key=str)}".encode(), digest_size=8).digest()
    return Entry(
        id=hit.id,
        kind=record.key.kind,
        order=hit.order,
        at=to_micros(record.at),
        until=NEVER if record.until is None else to_micros(record.until),
        situation=situation,
        action=action,
        reward=float(reward) if is_number(reward) else None,  # type: ignore[arg-type]  # a number
        domain=text_field(data, "domain"),
        personality=text_field(data, "personality"),
        episode=text_field(data, "episode"),
        tags=tags_of(data),
        state=state,
        copy=int.from_bytes(digest, "big") >> 1,
        preseeded=data.get("preseeded") is True,
    )


def state_of(data: Mapping[str, JSON], kind: str) -> State:
    """Return the metrics or the world of a record; values of other types are left out."""
    found = data.get("metrics" if kind == DECISION else "world")
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if value is None or isinstance(value, (bool, int, float, str))}


def tags_of(data: Mapping[str, JSON]) -> tuple[str, ...]:
    """Return the tags of a record."""
    found = data.get("tags")
    return tuple(tag for tag in found if isinstance(tag, str)) if isinstance(found, list) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Feedback as it is stored: what was said, of which episode or which decisions, and when it was written."""

    id: str
    order: int
    feedback: OutcomeFeedback
    episode: str | None
    decisions: tuple[str, ...]

    @property
    def when(self) -> tuple[datetime, int]:
        """What decides which stands: the time, then the order."""
        return self.feedback.submitted_at, self.order


def feedback_record(
    key: Key, feedback: OutcomeFeedback, episode: str | None, decisions: Sequence[str], sources: tuple[Key, ...]
) -> Record:
    """Return the record of what a person said; its worth is the rating as a share of the highest."""
    data: dict[str, JSON] = {
        "episode": episode,
        "decisions": [*decisions] or None,
        "rating": feedback.overall_effectiveness,
        "improved": [*feedback.domains_improved] or None,
        "worsened": [*feedback.domains_worsened] or None,
        "hours": feedback.resolution_time_hours or None,
    }
    return Record(
        key=key,
        text=feedback.unexpected_effects,
        at=feedback.submitted_at,
        data={name: value for name, value in data.items() if value is not None},
        sources=sources,
        worth=feedback.overall_effectiveness / 10,
    )


def said(hit: Hit) -> Said | None:
    """Return what a feedback record says; None where it cannot be read."""
    data, rating = hit.record.data, hit.record.data.get("rating")
    episode, decisions = text_field(data, "episode"), _strings(data.get("decisions"))
    if not is_number(rating) or not 0 <= float(rating) <= 10 or not (episode or decisions):  # type: ignore[arg-type]
        return None
    try:
        feedback = OutcomeFeedback(
            episode or decisions[0],
            hit.record.at,
            rating,  # type: ignore[arg-type]  # a number, as just checked
            _strings(data.get("improved")),
            _strings(data.get("worsened")),
            hit.text,
            _hours(data.get("hours")),
        )
    except (InvalidInput, WrongType):  # another program wrote it
        return None
    return Said(id=hit.id, order=hit.order, feedback=feedback, episode=episode, decisions=tuple(decisions))


def _hours(value: JSON) -> float:
    return float(value) if is_number(value) else 0.0  # type: ignore[arg-type]  # a number


def _strings(value: JSON) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
