"""What a person said of how it went, and the reward that a prediction earns by agreeing with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime

from seasoned.errors import InvalidInput, WrongType
from seasoned.experience.metrics import checked_metrics, less_is_better
from seasoned.experience.policy import MetricRules
from seasoned.ports import SystemClock
from seasoned.records import JSON, checked_id, clean_text, finite, instant

HIGHEST: float = 10.0
"""The best rating; the worst is 0."""

NEUTRAL: float = 5.0
"""The rating that says neither good nor bad."""


@dataclass(frozen=True, slots=True)
class OutcomeFeedback:
    """What a person said of an episode; frozen and checked when made.

    `overall_effectiveness` is 0 to 10. `resolution_time_hours` is 0 or more. It reads as a mapping too:
    `feedback["overall_effectiveness"]`, `dict(feedback)`. Names, order and defaults are those of LifeStackMemory.

    Raises:
        InvalidInput: a rating outside 0 to 10, a number that is not finite, a blank episode or domain.
        WrongType: a value of another type.
    """

    episode_id: str
    submitted_at: datetime = field(default_factory=lambda: SystemClock().now())
    overall_effectiveness: float = 5
    domains_improved: list[str] = field(default_factory=list)
    domains_worsened: list[str] = field(default_factory=list)
    unexpected_effects: str = ""
    resolution_time_hours: float = 0.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        checked_id(self.episode_id, "an episode")
        put(self, "submitted_at", instant(self.submitted_at))
        checked_rating(self.overall_effectiveness)
        put(self, "domains_improved", checked_domains(self.domains_improved, "domains_improved"))
        put(self, "domains_worsened", checked_domains(self.domains_worsened, "domains_worsened"))
        if not isinstance(self.unexpected_effects, str):
            raise WrongType(f"unexpected_effects is a text, not {self.unexpected_effects!r:.80}")
        put(self, "unexpected_effects", clean_text(self.unexpected_effects))
        put(self, "resolution_time_hours", checked_hours(self.resolution_time_hours))

    def __getitem__(self, name: str) -> object:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> list[str]:
        """Return the names of its fields."""
        return [each.name for each in fields(self)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


def checked_rating(rating: object) -> float:
    """Return a rating if it is one.

    Raises:
        InvalidInput: outside 0 to 10, or not finite.
        WrongType: not a number.
    """
    found = finite(rating, "a rating")
    if not 0 <= found <= HIGHEST:
        raise InvalidInput(f"a rating lies between 0 and {HIGHEST:g}, found {rating!r}")
    return found


def checked_domains(domains: object, what: str) -> list[str]:
    """Return a list of names.

    Raises:
        InvalidInput: a blank name.
        WrongType: not a list of strings.
    """
    if isinstance(domains, str) or not isinstance(domains, (Sequence, set, frozenset)):
        raise WrongType(f"{what} is a list of names, not {domains!r:.80}")
    return [checked_id(name, f"a name in {what}") for name in domains]


def checked_hours(hours: object) -> float:
    """Return a number of hours.

    Raises:
        InvalidInput: negative or not finite.
        WrongType: not a number.
    """
    found = finite(hours, "resolution_time_hours")
    if found < 0:
        raise InvalidInput(f"resolution_time_hours is 0 or more, found {hours!r}")
    return found


def compute_human_feedback_reward(
    initial_metrics: Mapping[str, object],
    predicted_obs: object,
    feedback: OutcomeFeedback,
    *,
    rules: MetricRules | None = None,
) -> float:
    """Return how well a prediction agrees with what a person reported, 0 to 1.

    Half is the overlap (Jaccard) of the domains predicted to improve with those reported improved, 1 where both are
    empty; half is the rating over 10. A domain, the part of a metric's name before its first dot, is predicted to
    improve if one of its metrics moves by more than 1 in its good direction. `predicted_obs` is a mapping of metrics,
    also nested by domain or under the key "metrics", or an object that has it as `metrics`. Formula of LifeStackMemory.

    Raises:
        InvalidInput, WrongType: a metric that is not a finite number, or no feedback.
    """
    if not isinstance(feedback, OutcomeFeedback):
        raise WrongType(f"feedback is an OutcomeFeedback, not {feedback!r:.80}")
    before, after = flat_metrics(initial_metrics), flat_metrics(predicted_obs)
    predicted = improved_domains(before, after, rules or MetricRules())
    reported = set(feedback.domains_improved)
    union = predicted | reported
    overlap = len(predicted & reported) / len(union) if union else 1.0
    return 0.5 * overlap + 0.5 * feedback.overall_effectiveness / HIGHEST


def flat_metrics(given: object) -> dict[str, float]:
    """Return metrics by dotted names, whatever the form they are observed in.

    Raises:
        InvalidInput, WrongType: a metric that is not a finite number, or another form.
    """
    found = given if isinstance(given, Mapping) else getattr(given, "metrics", given)
    if isinstance(found, Mapping) and isinstance(found.get("metrics"), Mapping):
        found = found["metrics"]
    if not isinstance(found, Mapping):
        raise WrongType(f"an observation is a mapping of metrics or has one as `metrics`, not {given!r:.80}")
    flat: dict[object, object] = {}
    for name, value in found.items():
        inner = value.items() if isinstance(value, Mapping) else None
        flat.update({name: value} if inner is None else {f"{name}.{part}": each for part, each in inner})
    return {name: float(value) for name, value in checked_metrics(flat).items() if isinstance(value, (int, float))}


def improved_domains(before: Mapping[str, float], after: Mapping[str, float], rules: MetricRules) -> set[str]:
    """Return the domains of which a metric moved by more than 1 in its good direction."""
    gains = {
        name: (before[name] - value) if less_is_better(name, rules) else (value - before[name])
        for name, value in after.items()
        if name in before
    }
    return {name.split(".")[0] for name, gain in gains.items() if gain > 1}


def feedback_json(feedback: OutcomeFeedback) -> dict[str, JSON]:
    """Return it as plain JSON, the time as ISO 8601."""
    return {
        "episode_id": feedback.episode_id,
        "submitted_at": feedback.submitted_at.isoformat(),
        "overall_effectiveness": feedback.overall_effectiveness,
        "domains_improved": [*feedback.domains_improved],
        "domains_worsened": [*feedback.domains_worsened],
        "unexpected_effects": feedback.unexpected_effects,
        "resolution_time_hours": feedback.resolution_time_hours,
    }
