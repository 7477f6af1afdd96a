"""The models of istar under their names."""

from seasoned.runs.models import (
    EpisodePromptContext,
    L1Atom,
    L2Episode,
    RetroPromptContext,
    TurnRecord,
    atom_id,
)

__all__ = ["EpisodePromptContext", "L1Atom", "L2Episode", "RetroPromptContext", "TurnRecord", "atom_id"]
