"""What a run memory tells of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from seasoned.ports import Store
from seasoned.runs.head import NOTHING, Head
from seasoned.runs.live import Live
from seasoned.runs.reading import count_of
from seasoned.runs.rows import ATOM, EPISODE, TURN


class MemoryBlock(TypedDict):
    """What an agent is shown at each turn: the phase it is in, and up to five facts, the most important first."""

    current_phase: str
    key_observations: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Where the run under way stands, or the last one where none is open.

    `last_turn`, `extracted` and `covered` are None before the first turn, window and episode. `waiting_for_episode`
    is how many turns no episode covers. `model_calls` counts every call, `retries` those of them that repeat one.
    `failed_windows` are the first and last turns of windows that the extractor failed at; `refused_atoms` counts.
    """

    run_id: str | None
    open: bool
    last_turn: int | None
    extracted: int | None
    covered: int | None
    waiting_for_episode: int
    failed_windows: tuple[tuple[int, int], ...]
    refused_atoms: int
    model_calls: int
    retries: int
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run as `list_runs` shows it; `status` is open, waiting (for its retrospective) or closed."""

    id: str
    number: int
    status: str
    profile: str
    started: datetime
    turns: int
    atoms: int
    episodes: int
    outcome: str
    retrospective: str


def state_of(live: Live | None, head: Head | None) -> RunState:
    """Return where a run stands."""
    return RunState(
        run_id=head.ids.run if head else None,
        open=live is not None,
        last_turn=_turn(live.last) if live else None,
        extracted=_turn(head.extracted) if head else None,
        covered=_turn(head.covered) if head else None,
        waiting_for_episode=len(live.after(live.head.covered, live.last, len(live.numbers))) if live else 0,
        failed_windows=tuple((each.first, each.last) for each in head.failed) if head else (),
        refused_atoms=head.refused if head else 0,
        model_calls=head.calls if head else 0,
        retries=head.retries if head else 0,
        last_error=head.error if head else None,
    )


def _turn(number: int) -> int | None:
    return None if number == NOTHING else number


def info_of(store: Store, head: Head) -> RunInfo:
    """Return what is shown of a run."""
    return RunInfo(
        id=head.ids.run,
        number=head.number,
        status=head.status.value,
        profile=head.profile,
        started=head.at,
        turns=count_of(store, head.ids, TURN),
        atoms=count_of(store, head.ids, ATOM),
        episodes=count_of(store, head.ids, EPISODE),
        outcome=head.outcome,
        retrospective=head.retrospective,
    )
