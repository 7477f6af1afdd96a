"""`AgentMemory`: the memory of one agent by istar's names, over `RunMemory`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from seasoned.asking import Model
from seasoned.closing import Closing
from seasoned.locked import open_unkeyed
from seasoned.memory import DEFAULT_SCOPE
from seasoned.ports import Store, SystemClock
from seasoned.records import Scope
from seasoned.runs import (
    AtomExtractor,
    EpisodeClassifier,
    L1Atom,
    L2Episode,
    MemoryBlock,
    RetroClassifier,
    RunMemory,
    RunSummary,
    TurnRecord,
)
from seasoned.runs.profiles import load_prior_run_notes
from seasoned.text import Analyser

PROFILES: str = "profiles"
"""The folder of profiles where none is named."""


class AgentMemory(Closing):
    """Four layers of memory for one agent: turns, atoms, episodes, and a profile at the end of a run.

    Rows stay in this process unless `store` says where they lie: a path, a URL or a store. `run_id` names the run, so
    that it is gone on with, `scope` says whose it is. `EXTRACT_EVERY`, `EPISODE_EVERY`, `MAX_ATOMS` and `MAX_EPISODES`
    are overridden by a subclass or on an instance.

    Raises:
        InvalidInput: the run is over, or a name or scope breaks its rule.
        WrongType: a rule without its method.
        StoreError: the store cannot be opened.
    """

    MAX_ATOMS: int = 20
    MAX_EPISODES: int = 5
    EXTRACT_EVERY: int = 10
    EPISODE_EVERY: int = 25

    def __init__(
        self,
        atom_extractor: AtomExtractor,
        episode_classifier: EpisodeClassifier,
        retro_classifier: RetroClassifier,
        *,
        store: str | os.PathLike[str] | Store | None = None,
        run_id: str | None = None,
        scope: Scope | Sequence[str] | str = DEFAULT_SCOPE,
    ) -> None:
        checked = Scope(scope)
        opened = open_unkeyed(store, checked, clock=SystemClock(), analyser=Analyser())
        self._opened = None if opened is store else opened
        try:
            self._runs = RunMemory(
                opened,
                checked,
                atom_extractor=atom_extractor,
                episode_classifier=episode_classifier,
                retro_classifier=retro_classifier,
            )
            if run_id is not None:
                self._runs.start_run(run_id)
        except BaseException:
            self.close()
            raise

    @property
    def runs(self) -> RunMemory:
        """The run memory below, with the constants as they are now."""
        policy = replace(
            self._runs.policy,
            max_atoms=self.MAX_ATOMS,
            max_episodes=self.MAX_EPISODES,
            extract_every=self.EXTRACT_EVERY,
            episode_every=self.EPISODE_EVERY,
        )
        return self._runs.configure(policy=policy)

    @property
    def last_error(self) -> str | None:
        """Why a verb gave nothing the last time; None where all went well."""
        return self._runs.last_error

    def record_turn(self, record: TurnRecord) -> None:
        """Store a turn; see `RunMemory.record_turn`."""
        self.runs.record_turn(record)

    def extract_atoms(self, turn: int) -> list[L1Atom]:
        """Return the new atoms, [] when not due; see `RunMemory.extract_atoms`."""
        return self.runs.extract_atoms(turn)

    async def update_episode(self, router: Model | None, turn: int) -> L2Episode | None:
        """Return the episode that was written, None when not due or when the model failed (`last_error`)."""
        return await self.runs.aupdate_episode(router, turn)

    def memory_block(self) -> MemoryBlock | None:
        """Return the current phase and the key observations, None when there are none."""
        return self.runs.memory_block()

    async def summarise_run(
        self, router: Model | None, profile_id: str, profiles_dir: str | os.PathLike[str] = PROFILES
    ) -> RunSummary | None:
        """Close the run and write its lessons to `{profiles_dir}/{profile_id}.md`; the next turn begins the next."""
        return await self.runs.asummarise_run(router, profile_id, profiles_dir)

    def close(self) -> None:
        """Close the store if this object opened it; closing twice is harmless."""
        if self._opened is not None:
            self._opened.close()


__all__ = ["AgentMemory", "load_prior_run_notes"]
