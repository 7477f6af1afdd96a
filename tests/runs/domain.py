"""A small domain for tests: turns with losses at given places, rules that see them, and replies of a model."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from seasoned.runs import EpisodePromptContext, L1Atom, L2Episode, RetroPromptContext, RunMemory, TurnRecord

PHASES = ["GROWTH", "DECLINE", "Recovery"]


def turn(number: int, reward: float = 1.0, events: Iterable[str] = (), action: str = "hold") -> TurnRecord:
    """A turn of the domain."""
    return TurnRecord(number, reward, "EUR", [*events], [{"type": action}], {"price": 100.0 + number})


def loss(number: int) -> L1Atom:
    """The atom of a loss that began at a turn, as the rules of `Losses` write it."""
    content = f"T{number}: Turned unprofitable (reward -1.0)."
    return L1Atom(f"loss-start-{number}", number, "market_event", content, 85, ["loss_start"])


class Losses:
    """Compares neighbours, as the documented extractor does; remembers the windows it was shown."""

    def __init__(self) -> None:
        self.windows: list[list[int]] = []

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:
        self.windows.append([each.turn for each in window])
        return [loss(new.turn) for old, new in pairwise(window) if old.reward > 0 > new.reward]


class Phases:
    """Remembers what it was asked with."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], int]] = []

    def build_context(self, recent_turns: list[TurnRecord], prev_episode_end_turn: int) -> EpisodePromptContext:
        self.asked.append(([each.turn for each in recent_turns], prev_episode_end_turn))
        mean = sum(each.reward for each in recent_turns) / len(recent_turns)
        return EpisodePromptContext(
            phase_names=PHASES,
            domain_preamble="You follow a trading agent.",
            context_summary=f"Average reward {mean:.2f}.",
            phase_guidance="Judge by the trend.",
        )


class Outcome:
    """Remembers the phases it was shown."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, list[str]]] = []

    def build_context(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> RetroPromptContext:
        self.asked.append((len(all_turns), [each.name for each in episodes]))
        total = sum(each.reward for each in all_turns)
        return RetroPromptContext("You look back at a trading agent.", f"Profit {total:.1f}.", "net profit")


def play(runs: RunMemory, turns: Iterable[int], *, losses: Iterable[int] = (), model: object = None) -> list[L1Atom]:
    """Play turns as the documented loop does, and return the atoms that were new."""
    bad, found = set(losses), list[L1Atom]()
    for number in turns:
        runs.record_turn(turn(number, -1.0 if number in bad else 1.0))
        found += runs.extract_atoms(number)
        runs.update_episode(model, number)  # type: ignore[arg-type]  # a scripted model or None
    return found


def ids(atoms: Iterable[L1Atom]) -> list[str]:
    return [each.id for each in atoms]
