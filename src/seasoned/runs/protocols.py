"""What a domain gives to run memory: rules that find facts, and contexts for what a model writes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from seasoned.runs.models import EpisodePromptContext, L1Atom, L2Episode, RetroPromptContext, TurnRecord


@runtime_checkable
class AtomExtractor(Protocol):
    """Finds the facts in a window of turns; fast, deterministic, no model.

    With an attribute `lookback: int` (1 without it) the window begins so many turns before the new ones; the window's
    attribute `fresh` is the place of the first new one.
    """

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:
        """Return the atoms of a window; `existing_atoms` are those of the ring."""
        ...


@runtime_checkable
class EpisodeClassifier(Protocol):
    """Says what an episode is to be written from.

    Where no model is given, a method `phase(recent_turns) -> str` names the phase, if there is one.
    """

    def build_context(self, recent_turns: list[TurnRecord], prev_episode_end_turn: int) -> EpisodePromptContext:
        """Return the context for the turns that no episode covers yet; 0 where there is no episode before."""
        ...


@runtime_checkable
class RetroClassifier(Protocol):
    """Says what a retrospective is to be written from.

    Where no model is given, a method `lessons(all_turns, episodes) -> list[str]` gives the lessons, if there is one.
    """

    def build_context(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> RetroPromptContext:
        """Return the context for a whole run."""
        ...
