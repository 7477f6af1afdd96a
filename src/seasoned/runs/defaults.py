"""The rules of a run where the caller gives none: they know rewards, events and actions, and no domain."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from seasoned.runs.extractors import ActionChange, Combined, NamedEvent, NewExtreme, SignChange
from seasoned.runs.figures import number, unit_of
from seasoned.runs.models import EpisodePromptContext, L2Episode, RetroPromptContext, TurnRecord
from seasoned.runs.protocols import AtomExtractor

RISING: Final = "RISING"
STEADY: Final = "STEADY"
FALLING: Final = "FALLING"

EXTRACTOR: Final[AtomExtractor] = Combined(SignChange(), NewExtreme(), NamedEvent(), ActionChange())
"""Changes of sign and new extremes of the reward, every event, changed actions."""


@dataclass(frozen=True, slots=True)
class TrendClassifier:
    """Phases by the trend of the reward: the second half of the turns against the first."""

    def build_context(self, recent_turns: list[TurnRecord], prev_episode_end_turn: int) -> EpisodePromptContext:  # noqa: ARG002  # the protocol's form
        """Return the context of an episode."""
        events = list(dict.fromkeys(event for turn in recent_turns for event in turn.events))[:10]
        return EpisodePromptContext(
            phase_names=[RISING, STEADY, FALLING],
            domain_preamble="You follow an agent that acts turn by turn and is rewarded.",
            context_summary=f"Events: {', '.join(events)}." if events else "No event was named.",
            phase_guidance="Choose by the trend of the reward over the turns, not by a single turn.",
        )

    def phase(self, recent_turns: list[TurnRecord]) -> str:
        """Return the phase of the turns; a change within a tenth of the mean size of the rewards is none."""
        rewards = [turn.reward for turn in recent_turns]
        half = len(rewards) // 2
        if not half:
            return STEADY
        change = fmean(rewards[half:]) - fmean(rewards[:half])
        size = fmean(abs(reward) for reward in rewards) / 10
        return RISING if change > size else FALLING if change < -size else STEADY


@dataclass(frozen=True, slots=True)
class RewardRetro:
    """A retrospective by the sum of the rewards."""

    def build_context(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> RetroPromptContext:
        """Return the context of a retrospective."""
        total = number(sum(turn.reward for turn in all_turns))
        return RetroPromptContext(
            domain_preamble="You look back at the run of an agent that acts turn by turn and is rewarded.",
            outcome_summary=f"{total}{unit_of(all_turns)} over {_counted(all_turns, 'turn')}"
            f" in {_counted(episodes, 'phase')}.",
            outcome_metric_name="the sum of the rewards",
        )


def _counted(found: Sized, what: str) -> str:
    return f"{len(found)} {what}{'s' * (len(found) != 1)}"
