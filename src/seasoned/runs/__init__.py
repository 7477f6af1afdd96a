"""Run memory: runs of many turns in four layers, from turns to lessons."""

from seasoned.runs.closing import RunSummary
from seasoned.runs.defaults import RewardRetro, TrendClassifier
from seasoned.runs.extractors import (
    ActionChange,
    Combined,
    Crossing,
    NamedEvent,
    NewExtreme,
    Rule,
    SignChange,
    Streak,
)
from seasoned.runs.info import MemoryBlock, RunInfo, RunState
from seasoned.runs.lessons import Lesson
from seasoned.runs.memory import RunMemory
from seasoned.runs.models import (
    COORDINATION_EVENT,
    MARKET_EVENT,
    PORTFOLIO_EVENT,
    EpisodePromptContext,
    L1Atom,
    L2Episode,
    RetroPromptContext,
    TurnRecord,
    TurnWindow,
    atom_id,
)
from seasoned.runs.policy import RunPolicy
from seasoned.runs.profiles import load_prior_run_notes
from seasoned.runs.protocols import AtomExtractor, EpisodeClassifier, RetroClassifier

__all__ = [
    "COORDINATION_EVENT",
    "MARKET_EVENT",
    "PORTFOLIO_EVENT",
    "ActionChange",
    "AtomExtractor",
    "Combined",
    "Crossing",
    "EpisodeClassifier",
    "EpisodePromptContext",
    "L1Atom",
    "L2Episode",
    "Lesson",
    "MemoryBlock",
    "NamedEvent",
    "NewExtreme",
    "RetroClassifier",
    "RetroPromptContext",
    "RewardRetro",
    "Rule",
    "RunInfo",
    "RunMemory",
    "RunPolicy",
    "RunState",
    "RunSummary",
    "SignChange",
    "Streak",
    "TrendClassifier",
    "TurnRecord",
    "TurnWindow",
    "atom_id",
    "load_prior_run_notes",
]
