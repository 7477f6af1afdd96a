"""Playing the runs of each seed: without memory, with it, and with one of its parts left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean
from time import perf_counter
from typing import Final

from examples.energy_tycoon.figures import Difference
from examples.episodic_control.tasks import Environment
from examples.one_agent.agent import Agent, Shown, Step
from examples.one_agent.cliff import FALL, MOVES, cell, made
from seasoned import Memory
from seasoned.joined.policy import ContextPolicy
from seasoned.models.openai_compatible import OpenAICompatible

WITHOUT: Final = "without memory"
WITH: Final = "with memory"
PARTS: Final[Mapping[str, Shown]] = {
    "no lessons": Shown(policy=ContextPolicy(recall_k=0, lessons=0)),
    "no playbook": Shown(policy=ContextPolicy(recall_k=0, playbook=0)),
    "no examples": Shown(policy=ContextPolicy(recall_k=0, examples_k=0)),
    "no window": Shown(window=0),
}
"""What is left out of an agent's contexts in further arms; its memory is written all the same."""

RUNS: Final = 30
LAST: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The return of each run, the moves made, and the seconds that they took."""

    returns: tuple[float, ...]
    moves: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the arms came to over the seeds: the mean return of the last runs, and its gain over no memory."""

    seeds: tuple[int, ...]
    runs: int
    counted: int
    last: dict[str, float]
    by_seed: dict[int, dict[str, float]]
    gain: dict[str, Difference]
    moves_a_second: dict[str, float]
    curves: dict[str, list[float]]


def play(agent: Agent, seed: int, runs: int) -> Played:
    """Play one agent over its runs."""
    returns, moves, began = list[float](), 0, perf_counter()
    with closing(made()) as environment:
        for number in range(runs):
            steps = _run(agent, environment, f"run {number}", seed if number == 0 else None)
            returns.append(sum(step.reward for step in steps))
            moves += len(steps)
    return Played(returns=tuple(returns), moves=moves, seconds=perf_counter() - began)


def _run(agent: Agent, environment: Environment, name: str, seed: int | None) -> list[Step]:
    observation, _ = environment.reset(seed=seed)
    agent.begin(name)
    steps: list[Step] = []
    reached = over = False
    while not over:
        number, trace = agent.act(observation, steps)
        before = cell(observation)
        observation, reward, reached, truncated, _ = environment.step(number)
        steps.append(Step(before, MOVES[number], float(reward), trace))
        agent.learn(steps)
        over = reached or truncated
    agent.end(steps, reached=bool(reached) and steps[-1].reward != FALL)
    return steps


def compare(
    seeds: Sequence[int],
    runs: int = RUNS,
    *,
    each: bool = False,
    model: OpenAICompatible | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Figures:
    """Play each seed with every arm; each has a memory of its own. `progress` is called after each seed."""
    arms: dict[str, Shown | None] = {WITHOUT: None, WITH: Shown(), **(PARTS if each else {})}
    counted, played = min(LAST, runs), {arm: list[Played]() for arm in arms}
    for seed in seeds:
        for arm, shown in arms.items():
            played[arm].append(_played(seed, runs, shown, model))
        progress()
    last = {arm: [fmean(one.returns[-counted:]) for one in some] for arm, some in played.items()}
    return Figures(
        seeds=tuple(seeds),
        runs=runs,
        counted=counted,
        last={arm: fmean(values) for arm, values in last.items()},
        by_seed={seed: {arm: last[arm][place] for arm in arms} for place, seed in enumerate(seeds)},
        gain={arm: _gain(last[arm], last[WITHOUT]) for arm in arms if arm != WITHOUT},
        moves_a_second={arm: sum(one.moves for one in some) / _seconds(some) for arm, some in played.items()},
        curves={
            arm: [fmean(run) for run in zip(*(one.returns for one in some), strict=True)]
            for arm, some in played.items()
        },
    )


def _played(seed: int, runs: int, shown: Shown | None, model: OpenAICompatible | None) -> Played:
    if shown is None:
        return play(Agent(seed, None, model=model), seed, runs)
    with Memory(embedder="hashing") as memory:
        return play(Agent(seed, memory, shown, model), seed, runs)


def _gain(some: Sequence[float], others: Sequence[float]) -> Difference:
    return Difference.of([a - b for a, b in zip(some, others, strict=True)])


def _seconds(played: Sequence[Played]) -> float:
    return sum(one.seconds for one in played)
