"""The result as a table, as JSON, and as a picture of the learning curve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from examples.energy_tycoon.figures import ARMS, FEWEST, Difference, Figures

NAMES: Final = {"without": "without memory", "with": "with memory", "control": "other market's lessons"}
COLOURS: Final = {"without": "#888888", "with": "#1b7f5c", "control": "#c46a1b"}


def show(console: Console, figures: Figures) -> None:
    """Print the means, the first and the last run, and what each player earned more than the one without memory."""
    runs = len(figures.curves["with"])
    title = f"Mean reward of a turn in k€: markets {_range(figures.seeds)}, {runs} run(s) each"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    table.add_column("player", no_wrap=True)
    for name in ("mean", "run 1", f"run {runs}", "gain", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    differences = {"with": figures.with_over_without, "control": figures.control_over_without}
    for arm in ARMS:
        curve, difference = figures.curves[arm], differences.get(arm)
        cells = _cells(difference) if difference else ("", "")
        table.add_row(NAMES[arm], *(f"{value:,.0f}" for value in (figures.means[arm], curve[0], curve[-1])), *cells)
    console.print(table)
    console.print("With memory over another market's lessons: {}, {}".format(*_cells(figures.with_over_control)))
    if figures.with_over_control.interval is None:
        console.print(f"An interval needs {FEWEST} markets or more: --seeds {FEWEST}")


def as_json(figures: Figures) -> str:
    """Return the figures as JSON."""
    return json.dumps(asdict(figures), indent=2, ensure_ascii=False)


def draw(figures: Figures, path: Path) -> bool:
    """Draw the learning curve into a PNG; return False where matplotlib is not installed."""
    try:
        matplotlib = import_module("matplotlib.figure")
    except ImportError:
        return False
    picture = matplotlib.Figure(figsize=(8, 4.5), layout="constrained")
    axes = picture.add_subplot()
    for arm in ARMS:
        curve = figures.curves[arm]
        axes.plot(range(1, len(curve) + 1), curve, label=NAMES[arm], color=COLOURS[arm], marker="o", markersize=3)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("run")
    axes.set_ylabel("mean reward of a turn, k€")
    axes.set_title(f"Energy market, mean of markets {_range(figures.seeds)}")
    axes.legend()
    axes.grid(alpha=0.3)
    picture.savefig(path, dpi=120)
    return True


def _range(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _cells(difference: Difference) -> tuple[str, str]:
    if difference.interval is None:
        return f"{difference.mean:+,.0f}", "–"
    low, high = difference.interval
    return f"{difference.mean:+,.0f}", f"{low:+,.0f} to {high:+,.0f}"
