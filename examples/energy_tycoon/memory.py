"""The player's memory: layers L0 to L3 with the rules of energy, fed with the simulator's own shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from examples.energy_tycoon.adapter import (
    EnergyAtomExtractor,
    EnergyEpisodeClassifier,
    EnergyRetroClassifier,
    make_turn_record,
)
from examples.energy_tycoon.shapes import Action, TurnResult
from seasoned.compat.istar import AgentMemory
from seasoned.ports import Store

PROFILE: Final = "energy-tycoon"
NOTES_TOKENS: Final = 2000


class EnergyMemory(AgentMemory):
    """Memory of one player on one market; without a store it lasts as long as the process."""

    EXTRACT_EVERY = 3

    def __init__(self, store: Store | None = None, scope: Sequence[str] = ("energy",)) -> None:
        self._known = ""
        retro = EnergyRetroClassifier(lambda: self._known)
        super().__init__(EnergyAtomExtractor(), EnergyEpisodeClassifier(), retro, store=store, scope=scope)

    def record_turn(self, turn: int, turn_results: TurnResult, actions: Sequence[Action] = ()) -> None:  # type: ignore[override]  # adapting the call is what it is for
        """Store a turn as the simulator gives it."""
        super().record_turn(make_turn_record(turn, turn_results, actions))

    def observed(self) -> str:
        """Return the memory block as text: the phase and the key observations of this run, "" while there are none."""
        block = self.memory_block()
        if block is None:
            return ""
        return "\n".join([block.get("current_phase") or "", *block.get("key_observations", [])])

    def notes(self) -> str:
        """Return the lessons of earlier runs, "" before the first; what this run teaches will be joined with them."""
        self._known = self.runs.load_prior_run_notes(PROFILE, budget=NOTES_TOKENS) or ""
        return self._known
