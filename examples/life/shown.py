"""The result as a table, as JSON, and as a picture of the learning curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

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
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    table.add_column("agent", no_wrap=True)
    for name in ("mean", f"first {some}", f"last {some}", "seen", "gain", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for arm in ARMS:
        curve = figures.curves[arm]
        values = (figures.means[arm], fmean(curve[:some]), fmean(curve[-some:]), figures.seen[arm])
        table.add_row(NAMES[arm], *(f"{value:.3f}" for value in values), *_gain(figures, arm))
    console.print(table)
    console.print("Feedback over memory alone: {}, {}".format(*_cells(figures.differences["feedback_over_with"])))
    if len(figures.seeds) < FEWEST:
        console.print(f"An interval needs {FEWEST} lives or more: --seeds {FEWEST}")


def as_json(figures: Figures) -> str:
    """Return the figures as JSON."""
    return json.dumps(asdict(figures), indent=2, ensure_ascii=False)


def draw(figures: Figures, path: Path) -> bool:
    """Draw the learning curves into a PNG; return False where matplotlib is not installed."""
    try:
        matplotlib = import_module("matplotlib.figure")
    except ImportError:
        return False
    picture = matplotlib.Figure(figsize=(8, 4.5), layout="constrained")
    axes = picture.add_subplot()
    for arm in ARMS:
        curve = figures.curves[arm]
        smooth = [fmean(curve[max(0, end - SMOOTH) : end]) for end in range(1, len(curve) + 1)]
        axes.plot(range(1, len(curve) + 1), smooth, label=NAMES[arm], color=COLOURS[arm])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("episode")
    axes.set_ylabel(f"reward, mean of the last {SMOOTH} episodes")
    axes.set_title(f"Conflicts of {_lives(figures.seeds)}")
    axes.legend()
    axes.grid(alpha=0.3)
    picture.savefig(path, dpi=120)
    return True


def _lives(seeds: Sequence[int]) -> str:
    return f"life {seeds[0]}" if len(seeds) == 1 else f"lives {seeds[0]} to {seeds[-1]}"


def _gain(figures: Figures, arm: str) -> tuple[str, str]:
    if arm == WITHOUT:
        return "", ""
    gain, interval = _cells(figures.differences[arm])
    share = figures.shares.get(arm)
    return gain if share is None else f"{gain} ({share:+.0%})", interval


def _cells(difference: Difference) -> tuple[str, str]:
    if difference.interval is None:
        return f"{difference.mean:+.3f}", "–"
    low, high = difference.interval
    return f"{difference.mean:+.3f}", f"{low:+.3f} to {high:+.3f}"
