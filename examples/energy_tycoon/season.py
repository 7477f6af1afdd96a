"""Consecutive runs of a market: without memory, with it, and with another market's lessons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from examples.energy_tycoon.agent import Player
from examples.energy_tycoon.market import Market
from examples.energy_tycoon.memory import PROFILE, EnergyMemory
from examples.energy_tycoon.shapes import RUN_TURNS
from seasoned.asking import Model
from seasoned.ports import Store

STRANGER: Final = 1_000_000
"""Added to the seed of a market that is played alone, for the market whose lessons its control gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How seasons are played: the runs of each, their turns, where memory lies, and the model, None for rules.

    `progress` is called after each run.
    """

    store: Store
    profiles: Path
    runs: int
    turns: int = RUN_TURNS
    model: Model | None = None
    progress: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """The mean reward of a turn in k€, run by run, and the notes that each run began with."""

    rewards: tuple[float, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The three seasons of a market."""

    seed: int
    without: Season
    with_memory: Season
    control: Season


def compare(seeds: Sequence[int], setup: Setup) -> list[Compared]:
    """Play each market three times, the luck of a run being the same; the control gets the next market's lessons."""
    learnt_from = seeds if len(seeds) > 1 else (*seeds, seeds[0] + STRANGER)
    learnt = {seed: with_memory(seed, setup) for seed in learnt_from}
    following = dict(zip(learnt_from, [*learnt_from[1:], learnt_from[0]], strict=True))
    return [
        Compared(
            seed=seed,
            without=without_memory(seed, setup),
            with_memory=learnt[seed],
            control=with_strange_notes(seed, setup, learnt[following[seed]].notes),
        )
        for seed in seeds
    ]


def runs_to_play(seeds: Sequence[int], runs: int) -> int:
    """Return how many runs `compare` plays."""
    return runs * (3 * len(seeds) + (len(seeds) == 1))


def without_memory(seed: int, setup: Setup) -> Season:
    """Play a season with a player who starts every run anew."""
    rewards = []
    for run in range(1, setup.runs + 1):
        market, player, total = Market(seed, run, setup.turns), Player(), 0.0
        while not market.over:
            total += market.step(player.act(market.observe())).reward
        rewards.append(total / setup.turns)
        setup.progress()
    return Season(rewards=tuple(rewards), notes=("",) * setup.runs)


def with_memory(seed: int, setup: Setup) -> Season:
    """Play a season with a player who is given what his memory tells, and nothing else."""
    return _remembered(seed, setup, "with", None)


def with_strange_notes(seed: int, setup: Setup, notes: Sequence[str]) -> Season:
    """Play a season with a player whose memory of the run is his own, but whose lessons are another market's."""
    return _remembered(seed, setup, "control", notes)


def _remembered(seed: int, setup: Setup, arm: str, strange: Sequence[str] | None) -> Season:
    rewards, given = [], []
    memory = EnergyMemory(setup.store, ("energy", f"market-{seed}", arm))
    for run in range(1, setup.runs + 1):
        own = memory.notes()
        given.append(own if strange is None else strange[run - 1])
        rewards.append(play_run(Market(seed, run, setup.turns), Player(given[-1]), memory, setup.model))
        memory.runs.summarise_run(setup.model, profile_id=PROFILE, profiles_dir=setup.profiles / f"market-{seed}-{arm}")
        setup.progress()
    return Season(rewards=tuple(rewards), notes=tuple(given))


def play_run(market: Market, player: Player, memory: EnergyMemory, model: Model | None = None) -> float:
    """Play a run with memory, and return the mean reward of a turn in k€."""
    total = 0.0
    for turn in range(1, market.turns + 1):
        actions = player.act(market.observe(), memory.observed())
        result = market.step(actions)
        total += result.reward
        memory.record_turn(turn, result, actions)
        memory.extract_atoms(turn)
        memory.runs.update_episode(model, turn)
    return total / market.turns
