"""The simulator: a market seed and a run number in, turn after turn out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from examples.energy_tycoon.dispatch import dispatch
from examples.energy_tycoon.owners import Books, Owner
from examples.energy_tycoon.rivals import RIVALS
from examples.energy_tycoon.shapes import (
    RUN_TURNS,
    Action,
    Build,
    Cleared,
    Contract,
    Finished,
    Observation,
    Tech,
    TurnResult,
)
from examples.energy_tycoon.technology import CATALOGUE
from examples.energy_tycoon.world import Luck, World
from seasoned.errors import InvalidInput

PLAYER: Final = "player"
HISTORY_TURNS: Final = 12


class Market:
    """One run of a market, for one player and the three rivals.

    `seed` is the market, `run` its life, numbered from 1. Call `observe`, then `step`, `turns` times.

    Raises:
        InvalidInput: a run or a number of turns below 1.
    """

    def __init__(self, seed: int, run: int = 1, turns: int = RUN_TURNS) -> None:
        if run < 1 or turns < 1:
            raise InvalidInput(f"runs and turns are numbered from 1, not {run!r} and {turns!r}")
        self.turns = turns
        self._world = World.of(seed)
        self._luck = Luck.of(self._world, run, turns)
        self._turn = 1
        self._history: list[Cleared] = []
        self._owners = {name: Owner(name) for name in (PLAYER, *(rival.name for rival in RIVALS))}
        for owner in self._owners.values():
            owner.add(Tech.GAS, ordered=1 - CATALOGUE[Tech.GAS].build_turns, ready=1)

    @property
    def over(self) -> bool:
        """Whether all turns are played."""
        return self._turn > self.turns

    def observe(self) -> Observation:
        """Return all that the player is shown before the turn.

        Raises:
            InvalidInput: the run is over.
        """
        self._check_running()
        return self._seen_by(self._owners[PLAYER])

    def step(self, actions: Sequence[Action] = ()) -> TurnResult:
        """Play the turn with the player's actions and return what it brought.

        What cannot be carried out (no cash, a third order, a second contract) is left undone.

        Raises:
            InvalidInput: the run is over, or a markup outside of 0 to 0.5.
        """
        self._check_running()
        now, owners = self._luck.conditions[self._turn - 1], self._owners
        chosen = {PLAYER: tuple(actions)} | {
            rival.name: rival.act(self._seen_by(owners[rival.name])) for rival in RIVALS
        }
        done = {name: owner.carry_out(chosen[name], self._world, now) for name, owner in owners.items()}
        finished = {name: tuple(owner.finish(self._world, now.turn)) for name, owner in owners.items()}
        month = dispatch(owners.values(), self._world, self._luck, now)
        books = {name: owner.settle(month.sold, now) for name, owner in owners.items()}
        self._history.append(
            Cleared(conditions=now, prices=month.prices, demand_mw=month.demand_mw, shortage_mwh=month.shortage_mwh)
        )
        self._turn += 1
        return self._result(done[PLAYER], finished[PLAYER], books[PLAYER])

    def _check_running(self) -> None:
        if self.over:
            raise InvalidInput(f"the run is over after {self.turns} turns")

    def _seen_by(self, owner: Owner) -> Observation:
        return Observation(
            now=self._luck.conditions[self._turn - 1],
            turns=self.turns,
            cash=owner.cash,
            stations=tuple(station.seen() for station in owner.stations),
            history=tuple(self._history[-HISTORY_TURNS:]),
            contract_turns=max(0, owner.contract_until - self._turn),
        )

    def _result(self, done: list[Action], finished: tuple[Finished, ...], books: Books) -> TurnResult:
        return TurnResult(
            player=PLAYER,
            reward=books.reward,
            cash=self._owners[PLAYER].cash,
            cleared=self._history[-1],
            output_mwh=books.output,
            margin=books.margin,
            running_mw=books.running_mw,
            ordered=tuple(action.tech for action in done if isinstance(action, Build)),
            finished=finished,
            contracted=any(isinstance(action, Contract) for action in done),
        )
