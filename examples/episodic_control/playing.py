"""Playing an environment from the first episode to the last, with memory and without, on equal seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean
from time import perf_counter
from typing import Final

from examples.energy_tycoon.figures import Difference
from examples.episodic_control.agent import EpisodicAgent, Step
from examples.episodic_control.tasks import Environment, Task
from seasoned import Memory
from seasoned.experience import ExperienceMemory

WITHOUT: Final = "without"
WITH: Final = "with"
ARMS: Final = (WITHOUT, WITH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The return of each episode, the steps taken, and the seconds that they took."""

    returns: tuple[float, ...]
    steps: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a task came to over the seeds, by arm; `last` and `gain` are of the mean return of the last episodes."""

    task: str
    seeds: tuple[int, ...]
    episodes: int
    counted: int
    last: dict[str, float]
    by_seed: dict[int, dict[str, float]]
    gain: Difference
    steps_a_second: dict[str, float]
    curves: dict[str, list[float]]


def play(task: Task, seed: int, memory: ExperienceMemory | None, episodes: int) -> Played:
    """Play with one agent; the environment's luck is that of the seed."""
    agent, returns, taken = EpisodicAgent(task, memory, seed), [], 0
    began = perf_counter()
    with closing(task.make()) as environment:
        for number in range(episodes):
            steps = _episode(task, environment, agent, seed if number == 0 else None)
            agent.remember(f"{task.name}-{seed}-{number}", steps)
            returns.append(sum(reward for _, _, reward in steps))
            taken += len(steps)
    return Played(returns=tuple(returns), steps=taken, seconds=perf_counter() - began)


def _episode(task: Task, environment: Environment, agent: EpisodicAgent, seed: int | None) -> list[Step]:
    observation, _ = environment.reset(seed=seed)
    steps: list[Step] = []
    over = False
    while not over:
        situation = task.situation(observation)
        action = agent.act(situation)
        observation, reward, terminated, truncated, _ = environment.step(action)
        steps.append((situation, action, float(reward)))
        over = terminated or truncated
    return steps


def compare(
    task: Task, seeds: Sequence[int], episodes: int | None = None, progress: Callable[[], None] = lambda: None
) -> Figures:
    """Play each seed with memory and without; each seed has a memory of its own. `progress` is called after each."""
    number = episodes or task.episodes
    counted = min(task.last, number)
    played: dict[str, list[Played]] = {arm: [] for arm in ARMS}
    for seed in seeds:
        played[WITHOUT].append(play(task, seed, None, number))
        with Memory(embedder="hashing") as memory:
            played[WITH].append(play(task, seed, memory.experience, number))
        progress()
    last = {arm: [fmean(one.returns[-counted:]) for one in played[arm]] for arm in ARMS}
    return Figures(
        task=task.name,
        seeds=tuple(seeds),
        episodes=number,
        counted=counted,
        last={arm: fmean(last[arm]) for arm in ARMS},
        by_seed={seed: {arm: last[arm][place] for arm in ARMS} for place, seed in enumerate(seeds)},
        gain=Difference.of([a - b for a, b in zip(last[WITH], last[WITHOUT], strict=True)]),
        steps_a_second={arm: _rate(played[arm]) for arm in ARMS},
        curves={arm: [fmean(each) for each in zip(*(one.returns for one in played[arm]), strict=True)] for arm in ARMS},
    )


def _rate(played: Sequence[Played]) -> float:
    return sum(one.steps for one in played) / sum(one.seconds for one in played)
