"""LifeStackMemory's names and call forms: its documented code runs with only the import lines replaced.

    from seasoned.compat.lifestack import LifeStackMemory, OutcomeFeedback, compute_human_feedback_reward

Written anew after the document; what it leaves wrong is put right, see `docs/experience.md`.
"""

from __future__ import annotations

import os
import warnings
import weakref
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.closing import Closing
from seasoned.embedders import EmbedderSpec, MiniLMEmbedder
from seasoned.errors import EmbeddingError, MissingExtra, StoreError, WrongType
from seasoned.experience import OutcomeFeedback, compute_human_feedback_reward
from seasoned.experience.preseed import GLOB, Preseeded
from seasoned.memory import Memory
from seasoned.ports import Embedder, Fingerprint, Store
from seasoned.private_files import make_folder
from seasoned.records import JSON, Scope

FILE: Final = "memory.db"
"""The file in the folder that `path` names."""

SCOPE: Final = ("lifestack",)
"""Whose memory it is, where nobody says."""

DECISION_KEYS: Final = (
    "route_taken",
    "action_type",
    "target_domain",
    "metrics_diff",
    "reward",
    "reasoning",
    "episode_id",
    "personality_type",
    "similarity_score",
)
TRAJECTORY_KEYS: Final = ("task_id", "route_taken", "reward", "summary", "similarity_score")


class HashEmbedder:
    """The document's fallback: how often each token's adler32 falls on each of 384 places, as a unit row."""

    DIMENSION: Final = 384

    @property
    def fingerprint(self) -> Fingerprint:
        """The vector space: that of the document's formula, and of no other embedder."""
        return Fingerprint("lifestack-hash", "1", self.DIMENSION)

    @property
    def weight(self) -> float:
        """A little beside words, which say the same: its vectors are stored, and its cosines reported."""
        return 0.3

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row a text, shape (n, 384); that of a blank text is zero."""
        rows = np.zeros((len(texts), self.DIMENSION), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token in text.lower().split():
                row[zlib.adler32(token.encode("utf-8", "replace")) % self.DIMENSION] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: NDArray[np.float32] = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return unit


class LifeStackMemory(Closing):
    """Decisions, trajectories and human feedback in a folder of their own, or over any store.

    `path` is made if it is not there; one that cannot be used gives a private store in this process, a RuntimeWarning,
    and `degraded` says why. With `store` (any engine) the path is not used and the store stays the caller's; `scope`
    says whose memory it is. `embedder` is all-MiniLM-L6-v2 if it is on this machine, else the document's hashing.
    While there are no decisions, `preseed` is loaded: by default `data/preseeded_memory*.json` under the working
    directory, False for none; `preseeded` says what became of it, and unless `silent` a warning names what was refused.
    `memory.experience` has the native verbs.
    """

    def __init__(
        self,
        silent: bool = False,
        path: str | os.PathLike[str] = "./lifestack_memory",
        store: Store | None = None,
        *,
        scope: Scope | Sequence[str] | str = SCOPE,
        embedder: EmbedderSpec | None = None,
        preseed: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | bool = True,
    ) -> None:
        if not isinstance(silent, bool):
            raise WrongType(f"silent is True or False, not {silent!r:.80}; name the path: path=…")
        self.degraded: str | None = None
        self.path = Path(path)
        self.memory = self._open(store, scope, _best_here() if embedder is None else embedder)
        self._finalizer = weakref.finalize(self, self.memory.close)
        self.preseeded = Preseeded(skipped="not asked for")
        if preseed is not False:
            self.preseeded = self.memory.experience.preseed(GLOB if preseed is True else preseed)
        if self.preseeded.refused and not silent:
            warnings.warn(f"not loaded: {'; '.join(self.preseeded.refused)}", RuntimeWarning, stacklevel=2)

    def _open(self, store: Store | None, scope: Scope | Sequence[str] | str, embedder: EmbedderSpec) -> Memory:
        if store is not None:
            return Memory(store, scope=scope, embedder=embedder)
        try:
            make_folder(self.path)
            return Memory(self.path / FILE, scope=scope, embedder=embedder)
        except (OSError, ValueError, StoreError) as error:
            self.degraded = f"{self.path} cannot be used, so nothing will be kept: {error}"
            warnings.warn(self.degraded, RuntimeWarning, stacklevel=3)
            return Memory(None, scope=scope, embedder=embedder)

    def store_decision(
        self,
        conflict_title: str,
        action_type: str,
        target_domain: str | None,
        reward: float,
        metrics_snapshot: Mapping[str, float] | None = None,
        reasoning: str = "",
        trajectory: object = None,
        route_outcome: str | None = None,
        episode_id: str | None = None,
        personality_type: str | None = None,
    ) -> str:
        """Store a decision with all that was given, and return its id."""
        return self.memory.experience.store_decision(
            conflict_title,
            action_type,
            target_domain,
            reward,
            metrics_snapshot,
            reasoning,
            trajectory,
            route_outcome,
            episode_id,
            personality_type,
        )

    def store_trajectory(
        self,
        conflict_title: str | None = None,
        route_taken: str | None = None,
        total_reward: float = 0.0,
        metrics_diff_str: str | None = None,
        reasoning: str | None = None,
        task_id: str | None = None,
        trajectory_summary: object = None,
    ) -> str:
        """Store a trajectory, with or without a task, and return its id."""
        return self.memory.experience.store_trajectory(
            conflict_title, route_taken, total_reward, metrics_diff_str, reasoning, task_id, trajectory_summary
        )

    def store_feedback(self, feedback: OutcomeFeedback) -> str:
        """Store feedback and return its id; the newest of an episode stands.

        Of an episode that nobody named before, it is about the last decisions that were stored without an episode.
        """
        return self.memory.experience.store_feedback_on_loose(feedback)

    def retrieve_feedback(self, episode_id: str) -> OutcomeFeedback | None:
        """Return the feedback that stands for an episode; None where there is none."""
        return self.memory.experience.retrieve_feedback(episode_id)

    def retrieve_similar(
        self,
        conflict_title: str,
        current_metrics: Mapping[str, float] | None = None,
        n: int = 3,
        personality_type: str | None = None,
    ) -> list[dict[str, object]]:
        """Return the n most similar decisions with a reward of at least 0.05, best first; keys are `DECISION_KEYS`."""
        found = self.memory.experience.retrieve_similar(conflict_title, current_metrics, n, personality_type)
        return [{key: one[key] for key in DECISION_KEYS} for one in found]

    def retrieve_similar_trajectories(
        self, task_domain: str, current_world: Mapping[str, bool | float | str | None] | None = None, n: int = 3
    ) -> list[dict[str, object]]:
        """Return the n most similar trajectories, best first; keys are `TRAJECTORY_KEYS`."""
        found = self.memory.experience.retrieve_similar_trajectories(task_domain, current_world, n)
        return [{key: one[key] for key in TRAJECTORY_KEYS} for one in found]

    def build_few_shot_prompt(
        self,
        conflict_title: str,
        current_metrics: Mapping[str, float] | None = None,
        personality_type: str | None = None,
    ) -> str:
        """Return the block of past experience in the document's form, then what to avoid; "" when nothing fits."""
        return self.memory.experience.build_few_shot_prompt(
            conflict_title, current_metrics, personality_type, sources=False
        )

    def get_stats(self) -> dict[str, JSON]:
        """Return `total_memories` (decisions), `average_reward` and `by_action_type`."""
        found = self.memory.experience.get_stats()
        return {key: found[key] for key in ("total_memories", "average_reward", "by_action_type")}

    def close(self) -> None:
        """Close the store if it is this memory's own; closing twice is harmless."""
        self._finalizer()


def _best_here() -> Embedder:
    try:
        return MiniLMEmbedder()
    except (MissingExtra, EmbeddingError):
        return HashEmbedder()


__all__ = ["HashEmbedder", "LifeStackMemory", "OutcomeFeedback", "compute_human_feedback_reward"]
