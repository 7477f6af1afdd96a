"""Lives lived three times on equal luck: without memory, with it, and with the person's feedback besides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from examples.life.agent import LifeStackAgent
from examples.life.episode import Episode
from examples.life.person import asked
from examples.life.world import Life
from seasoned import Memory

WITHOUT: Final = "without"
WITH: Final = "with"
FEEDBACK: Final = "feedback"
ARMS: Final = (WITHOUT, WITH, FEEDBACK)
EPISODES: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Lived:
    """The reward of each episode of one life, by arm, and the part of it that the agent saw."""

    seed: int
    rewards: dict[str, tuple[float, ...]]
    seen: dict[str, tuple[float, ...]]


def live(seed: int, agent: LifeStackAgent, episodes: Iterable[int], *, feedback: bool = False) -> list[Episode]:
    """Return the episodes, lived; with `feedback`, the person says after them how they went."""
    life = Life.of(seed)
    return [_lived(Episode(life, number), agent, f"life-{seed}-{number}", feedback) for number in episodes]


def _lived(episode: Episode, agent: LifeStackAgent, name: str, feedback: bool) -> Episode:
    began = episode.seen()
    plan, outcomes = agent.plan(began), []
    while not episode.over:
        seen = episode.seen()
        outcome = episode.step(plan.best(seen, frozenset(episode.taken)))
        outcomes.append(outcome)
        agent.remember_step(name, seen, outcome)
    agent.remember_episode(name, began, outcomes, asked(episode) if feedback else None)
    return episode


def compare(
    seeds: Sequence[int],
    memory: Memory,
    episodes: int = EPISODES,
    preseed: Sequence[Path] = (),
    progress: Callable[[], None] = lambda: None,
) -> list[Lived]:
    """Live each life in each arm; every life and arm has a scope of its own below the memory's.

    `preseed` are files that the memories begin with. `progress` is called after each life.
    """
    compared = []
    for seed in seeds:
        lived = {arm: _life(seed, arm, memory, episodes, preseed) for arm in ARMS}
        compared.append(
            Lived(
                seed=seed,
                rewards={arm: tuple(episode.reward for episode in lived[arm]) for arm in ARMS},
                seen={arm: tuple(episode.seen_reward for episode in lived[arm]) for arm in ARMS},
            )
        )
        progress()
    return compared


def _life(seed: int, arm: str, memory: Memory, episodes: int, preseed: Sequence[Path]) -> list[Episode]:
    experience = None if arm == WITHOUT else memory.within(f"life-{seed}", arm).experience
    if experience is not None and preseed:
        experience.preseed([*preseed])
    return live(seed, LifeStackAgent(experience), range(1, episodes + 1), feedback=arm == FEEDBACK)
