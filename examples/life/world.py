"""A life: what is true of this person and told to nobody, and the luck of each episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from examples.life.catalogue import CHANCES, CONFLICTS, USUAL, Conflict
from examples.life.shapes import Act, Action, Budget, Domain

ALL: Final = tuple(Action(act, domain) for domain in Domain for act in Act)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What stays the same in all episodes of a seed."""

    seed: int
    usual: Mapping[str, float]
    works: Mapping[str, frozenset[Action]]
    aftermath: Mapping[Action, float]

    @classmethod
    def of(cls, seed: int) -> Life:
        """Return the life of a seed."""
        luck = Random(f"life/{seed}")
        usual = {name: value + luck.uniform(-10, 10) for name, value in USUAL.items()}
        aftermath = {action: luck.uniform(-0.4, 0.4) for action in ALL}
        general = {action: _drawn(action, luck) for action in ALL}
        works = {conflict.title: _works(conflict, general, luck) for conflict in CONFLICTS}
        return cls(seed=seed, usual=usual, works=works, aftermath=aftermath)


def _drawn(action: Action, luck: Random) -> bool:
    return luck.random() < CHANCES[action.act][action.domain]


def _works(conflict: Conflict, general: Mapping[Action, bool], luck: Random) -> frozenset[Action]:
    """Return the actions that work for one kind of conflict."""
    anew = {action: (luck.random() < 0.2, _drawn(action, luck)) for action in ALL}
    works = {action for action, (redrawn, drawn) in anew.items() if (drawn if redrawn else general[action])}
    for domain in conflict.domains:
        acts = list(Act)
        spare = luck.choices(acts, [CHANCES[act][domain] for act in acts])[0]
        if not any(action.domain == domain for action in works):
            works.add(Action(spare, domain))
    return frozenset(works)


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """What is drawn anew for an episode, whatever the agent does."""

    conflict: Conflict
    wording: str
    noise: Mapping[str, float]
    budget: Budget
    chance: Mapping[Action, float]
    speaks: bool
    mood: float

    @classmethod
    def of(cls, seed: int, episode: int) -> Luck:
        """Return the luck of one episode of a life."""
        luck = Random(f"life/{seed}/{episode}")
        conflict = luck.choice(CONFLICTS)
        return cls(
            conflict=conflict,
            wording=luck.choice(conflict.wordings),
            noise={name: luck.gauss(0, 5) for name in USUAL},
            budget=Budget(luck.uniform(4, 8), luck.uniform(50, 350)),
            chance={action: luck.random() for action in ALL},
            speaks=luck.random() < 0.7,
            mood=luck.gauss(0, 1),
        )
