"""`LifeStackAgent`: plans a conflict by what everybody is told, and by what its experience memory shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from examples.life.catalogue import CHANCES, COSTS, INVERTED
from examples.life.person import Said
from examples.life.shapes import Act, Action, Domain, Outcome, Seen
from seasoned.experience import ExperienceMemory, ExperiencePolicy, Match, MetricRules

POLICY: Final = ExperiencePolicy(
    metrics=MetricRules(inverted=tuple(sorted(INVERTED))), avoid=12, avoid_score=0.0, prompt_budget=4_000
)
EXAMPLES: Final = 12
"""How many decisions that worked are asked for, for each demand."""
TRAJECTORIES: Final = 4

GAIN: Final = 0.2 + 2 * 5 / 12 / 10
"""What meeting a demand of severity 1 is worth by the rules."""
DRIFT: Final = 0.15
"""About what a step loses to the demands that stay open."""
TOLD: Final = 1.0
"""How much what everybody is told weighs, in decisions of one's own."""
ROUTE: Final = 0.5
"""How much an action in a similar trajectory weighs, in decisions."""
CAME_AFTER: Final = 0.25
"""What a domain that came out better afterwards adds to what was done about it, and a worse one takes away."""
RATED: Final = 0.1
"""What a rating of 10 adds over one of 5."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What each action is expected to bring, and the few-shot blocks that were read for it."""

    expected: Mapping[Action, float]
    read: str = ""

    def best(self, seen: Seen, tried: frozenset[Action]) -> Action | None:
        """Return the action that is expected to bring most, of those that are open, paid for and not yet tried."""
        able = [
            action
            for action in self.expected
            if action.domain in seen.open and action not in tried and seen.budget.covers(COSTS[action.act])
        ]
        return max(able, key=lambda action: self.expected[action], default=None)


class LifeStackAgent:
    """An agent that knows a person only through its memory; without memory it is the same, and always a stranger."""

    def __init__(self, memory: ExperienceMemory | None = None) -> None:
        self._memory = memory.with_policy(POLICY) if memory else None

    def plan(self, seen: Seen) -> Plan:
        """Return what to expect of each action: what everybody is told, few-shot decisions and similar trajectories."""
        told = {
            Action(act, domain): CHANCES[act][domain] * severity * GAIN - DRIFT
            for domain, severity in seen.open.items()
            for act in Act
        }
        if self._memory is None:
            return Plan(told)
        heard: dict[Action, list[tuple[float, float]]] = defaultdict(list)
        read = [self._decisions(self._memory, seen, domain, heard) for domain in seen.open]
        self._routes(self._memory, seen, heard)
        return Plan(
            {action: _joined(value, heard[action]) for action, value in told.items()}, "\n".join(filter(None, read))
        )

    def remember_step(self, episode: str, seen: Seen, outcome: Outcome) -> None:
        """Store a decision with the reward that was seen."""
        action = outcome.action
        if self._memory is None or action is None:
            return
        self._memory.record(
            situation(seen),
            action.act,
            round(outcome.reward, 3),
            domain=action.domain,
            reasoning="It settled the matter." if outcome.met else "It settled nothing.",
            metrics=seen.metrics,
            tags=[action.domain],
            episode=episode,
        )

    def remember_episode(self, episode: str, began: Seen, outcomes: list[Outcome], said: Said | None) -> None:
        """Store the episode's trajectory, and what the person says of it."""
        if self._memory is None:
            return
        taken = [(outcome.action, outcome.met) for outcome in outcomes if outcome.action is not None]
        self._memory.record_trajectory(
            situation(began),
            " > ".join(f"{action.act} {action.domain}" for action, _ in taken) or "nothing",
            round(sum(outcome.reward for outcome in outcomes), 3),
            task=began.title,
            summary=[[action.act.value, action.domain.value, met] for action, met in taken],
            world=_world(began),
            episode=episode,
        )
        if said is not None:
            self._memory.rate(
                said.rating, episode=episode, note=said.note, improved=said.improved, worsened=said.worsened
            )

    def _decisions(
        self, memory: ExperienceMemory, seen: Seen, domain: Domain, heard: dict[Action, list[tuple[float, float]]]
    ) -> str:
        """Hear what was done about a domain, and return the block that says so."""
        shot = memory.few_shot(situation(seen), seen.metrics, n=EXAMPLES, tags=[domain])
        for match in (*shot.examples, *shot.avoided):
            heard[Action(Act(match.action), domain)].append((match.score, _value(match)))
        return shot.text

    def _routes(self, memory: ExperienceMemory, seen: Seen, heard: dict[Action, list[tuple[float, float]]]) -> None:
        """Hear which steps of similar episodes met their demand."""
        for match in memory.similar_trajectories(situation(seen), _world(seen), TRAJECTORIES, min_reward=None):
            for action, met in _steps(match):
                if action.domain in seen.open:
                    worth = seen.open[action.domain] * GAIN * met - DRIFT
                    heard[action].append((ROUTE * match.score, worth))


def situation(seen: Seen) -> str:
    """Return a conflict as it is stored and looked for."""
    return f"{seen.title}. {seen.wording}"


def _world(seen: Seen) -> dict[str, float]:
    demands = {f"demand.{domain}": float(severity) for domain, severity in seen.open.items()}
    return {**demands, "budget.hours": round(seen.budget.hours, 1), "budget.money": round(seen.budget.money)}


def _steps(match: Match) -> Iterator[tuple[Action, bool]]:
    if isinstance(match.summary, list):
        for step in match.summary:
            if isinstance(step, list):
                act, domain, met = step
                yield Action(Act(str(act)), Domain(str(domain))), bool(met)


def _value(match: Match) -> float:
    """Return what a decision brought: its reward, and what the person said came after."""
    value = match.reward or 0.0
    if match.feedback is not None:
        value += RATED * (float(match.feedback.overall_effectiveness) - 5) / 5
        value += CAME_AFTER * (match.domain in match.feedback.domains_improved)
        value -= CAME_AFTER * (match.domain in match.feedback.domains_worsened)
    return value


def _joined(told: float, heard: list[tuple[float, float]]) -> float:
    """Return the mean of what is told and what was heard, each by its weight."""
    weight = TOLD + sum(share for share, _ in heard)
    return (TOLD * told + sum(share * value for share, value in heard)) / weight
