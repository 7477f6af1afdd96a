"""The result as a table, as JSON, and as a picture of the learning curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from examples.command import interval, labelled, picture, table
from examples.energy_tycoon.figures import FEWEST
from examples.episodic_control.playing import ARMS, WITH, WITHOUT, Figures

NAMES: Final = {WITHOUT: "without memory", WITH: "with memory"}
COLOURS: Final = {WITHOUT: "#888888", WITH: "#1b7f5c"}


def show(console: Console, played: Sequence[Figures]) -> None:
    """Print a table for each environment: the mean return of the last episodes by arm, the gain, steps a second."""
    for figures in played:
        console.print(_table(figures))
    if any(figures.gain.interval is None for figures in played):
        console.print(f"An interval needs {FEWEST} seeds or more: --seeds {FEWEST}")


def _table(figures: Figures) -> Table:
    first, last = figures.seeds[0], figures.seeds[-1]
    title = f"{figures.task}: seeds {first} to {last}, the last {figures.counted} of {figures.episodes} episodes"
    rows = table(title, "agent", ("mean return", "gain", "95 % interval", "steps/s"))
    for arm in ARMS:
        gain = (f"{figures.gain.mean:+.2f}", interval(figures.gain.interval, "+.2f")) if arm == WITH else ("", "")
        rows.add_row(NAMES[arm], f"{figures.last[arm]:.2f}", *gain, f"{figures.steps_a_second[arm]:,.0f}")
    return rows


def as_json(played: Sequence[Figures]) -> str:
    """Return the figures as JSON."""
    return json.dumps([asdict(figures) for figures in played], indent=2, ensure_ascii=False)


def draw(played: Sequence[Figures], path: Path) -> bool:
    """Draw the learning curves into a PNG, one panel for each environment; False where matplotlib is not installed."""

    def paint(made: Any) -> None:
        panels = made.subplots(1, len(played), squeeze=False)[0]
        for axes, figures in zip(panels, played, strict=True):
            for arm in ARMS:
                curve = figures.curves[arm]
                axes.plot(range(1, len(curve) + 1), curve, label=NAMES[arm], color=COLOURS[arm])
            labelled(axes, x="episode", y="mean return", title=figures.task)
        panels[0].legend()

    return picture(path, (5 * len(played), 4), paint)
