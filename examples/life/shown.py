"""The result as a table, as JSON, and as a picture of the learning curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from rich.console import Console

from examples.command import interval, labelled, picture, table
from examples.energy_tycoon.figures import FEWEST, Difference
from examples.life.figures import Figures
from examples.life.lives import ARMS, FEEDBACK, WITH, WITHOUT

NAMES: Final = {WITHOUT: "without memory", WITH: "with memory", FEEDBACK: "with memory and feedback"}
COLOURS: Final = {WITHOUT: "#888888", WITH: "#1b7f5c", FEEDBACK: "#3a5fb0"}
TENTH: Final = 10
"""How many episodes the columns "first" and "last" are means of."""
SMOOTH: Final = 5
"""How many episodes a point of the curves is the mean of."""


def show(console: Console, figures: Figures) -> None:
    """Print per arm the mean reward of an episode, its first and last episodes, and the gain over no memory."""
    some = min(TENTH, figures.episodes)
    title = f"Mean reward of an episode: {_lives(figures.seeds)}, {figures.episodes} episodes each"
    rows = table(title, "agent", ("mean", f"first {some}", f"last {some}", "seen", "gain", "95 % interval"))
    for arm in ARMS:
        curve = figures.curves[arm]
        values = (figures.means[arm], fmean(curve[:some]), fmean(curve[-some:]), figures.seen[arm])
        rows.add_row(NAMES[arm], *(f"{value:.3f}" for value in values), *_gain(figures, arm))
    console.print(rows)
    console.print("Feedback over memory alone: {}, {}".format(*_cells(figures.differences["feedback_over_with"])))
    if len(figures.seeds) < FEWEST:
        console.print(f"An interval needs {FEWEST} lives or more: --seeds {FEWEST}")


def as_json(figures: Figures) -> str:
    """Return the figures as JSON."""
    return json.dumps(asdict(figures), indent=2, ensure_ascii=False)


def draw(figures: Figures, path: Path) -> bool:
    """Draw the learning curves into a PNG; return False where matplotlib is not installed."""

    def paint(made: Any) -> None:
        axes = made.add_subplot()
        for arm in ARMS:
            curve = figures.curves[arm]
            smooth = [fmean(curve[max(0, end - SMOOTH) : end]) for end in range(1, len(curve) + 1)]
            axes.plot(range(1, len(curve) + 1), smooth, label=NAMES[arm], color=COLOURS[arm])
        title = f"Conflicts of {_lives(figures.seeds)}"
        labelled(axes, x="episode", y=f"reward, mean of the last {SMOOTH} episodes", title=title)
        axes.legend()

    return picture(path, (8, 4.5), paint)


def _lives(seeds: Sequence[int]) -> str:
    return f"life {seeds[0]}" if len(seeds) == 1 else f"lives {seeds[0]} to {seeds[-1]}"


def _gain(figures: Figures, arm: str) -> tuple[str, str]:
    if arm == WITHOUT:
        return "", ""
    gain, interval = _cells(figures.differences[arm])
    share = figures.shares.get(arm)
    return gain if share is None else f"{gain} ({share:+.0%})", interval


def _cells(difference: Difference) -> tuple[str, str]:
    return f"{difference.mean:+.3f}", interval(difference.interval, "+.3f")
