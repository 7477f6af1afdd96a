"""`istar` by its own names: its documented code runs with `seasoned.compat.istar` in its place."""

from seasoned.compat.istar.memory import AgentMemory, load_prior_run_notes
from seasoned.compat.istar.models import (
    EpisodePromptContext,
    L1Atom,
    L2Episode,
    RetroPromptContext,
    TurnRecord,
    atom_id,
)
from seasoned.compat.istar.protocol import AtomExtractor, EpisodeClassifier, RetroClassifier

__all__ = [
    "AgentMemory",
    "AtomExtractor",
    "EpisodeClassifier",
    "EpisodePromptContext",
    "L1Atom",
    "L2Episode",
    "RetroClassifier",
    "RetroPromptContext",
    "TurnRecord",
    "atom_id",
    "load_prior_run_notes",
]
