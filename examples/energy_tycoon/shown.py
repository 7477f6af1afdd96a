"""The result as a table, as JSON, and as a picture of the learning curve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from examples.command import interval, labelled, picture, table
from examples.energy_tycoon.figures import ARMS, FEWEST, Difference, Figures

NAMES: Final = {"without": "without memory", "with": "with memory", "control": "other market's lessons"}
COLOURS: Final = {"without": "#888888", "with": "#1b7f5c", "control": "#c46a1b"}


def show(console: Console, figures: Figures) -> None:
    """Print the means, the first and the last run, and what each player earned more than the one without memory."""
    runs = len(figures.curves["with"])
    title = f"Mean reward of a turn in k€: markets {_range(figures.seeds)}, {runs} run(s) each"
    rows = table(title, "player", ("mean", "run 1", f"run {runs}", "gain", "95 % interval"))
    differences = {"with": figures.with_over_without, "control": figures.control_over_without}
    for arm in ARMS:
        curve, difference = figures.curves[arm], differences.get(arm)
        cells = _cells(difference) if difference else ("", "")
        rows.add_row(NAMES[arm], *(f"{value:,.0f}" for value in (figures.means[arm], curve[0], curve[-1])), *cells)
    console.print(rows)
    console.print("With memory over another market's lessons: {}, {}".format(*_cells(figures.with_over_control)))
    if figures.with_over_control.interval is None:
        console.print(f"An interval needs {FEWEST} markets or more: --seeds {FEWEST}")


def as_json(figures: Figures) -> str:
    """Return the figures as JSON."""
    return json.dumps(asdict(figures), indent=2, ensure_ascii=False)


def draw(figures: Figures, path: Path) -> bool:
    """Draw the learning curve into a PNG; return False where matplotlib is not installed."""

    def paint(made: Any) -> None:
        axes = made.add_subplot()
        for arm in ARMS:
            curve = figures.curves[arm]
            axes.plot(range(1, len(curve) + 1), curve, label=NAMES[arm], color=COLOURS[arm], marker="o", markersize=3)
        title = f"Energy market, mean of markets {_range(figures.seeds)}"
        labelled(axes, x="run", y="mean reward of a turn, k€", title=title)
        axes.legend()

    return picture(path, (8, 4.5), paint)


def _range(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _cells(difference: Difference) -> tuple[str, str]:
    return f"{difference.mean:+,.0f}", interval(difference.interval, "+,.0f")
