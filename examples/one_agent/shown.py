"""The result as a table, as JSON, and as a picture of the learning curves."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from examples.command import interval, labelled, picture, table
from examples.energy_tycoon.figures import FEWEST
from examples.one_agent.playing import WITH, WITHOUT, Figures

COLOURS: Final = {WITHOUT: "#888888", WITH: "#1b7f5c"}
TICKS: Final = (-1000, -500, -200, -100, -50, -20)
OTHERS: Final = ("#c2703d", "#3d6cc2", "#a03dc2", "#c23d5f")


def show(console: Console, figures: Figures) -> None:
    """Print the table: the mean return of the last runs by arm, the gain over no memory, moves a second."""
    console.print(_table(figures))
    if figures.gain[WITH].interval is None:
        console.print(f"An interval needs {FEWEST} seeds or more: --seeds {FEWEST}")


def _table(figures: Figures) -> Table:
    first, last = figures.seeds[0], figures.seeds[-1]
    title = f"CliffWalking-v1: seeds {first} to {last}, the last {figures.counted} of {figures.runs} runs"
    rows = table(title, "agent", ("mean return", "gain", "95 % interval", "moves/s"))
    for arm, mean in figures.last.items():
        gain = figures.gain.get(arm)
        shown = ("", "") if gain is None else (f"{gain.mean:+.1f}", interval(gain.interval, "+.1f"))
        rows.add_row(arm, f"{mean:.1f}", *shown, f"{figures.moves_a_second[arm]:,.0f}")
    return rows


def as_json(figures: Figures) -> str:
    """Return the figures as JSON."""
    return json.dumps(asdict(figures), indent=2, ensure_ascii=False)


def draw(figures: Figures, path: Path) -> bool:
    """Draw the learning curves into a PNG; False where matplotlib is not installed."""

    def paint(made: Any) -> None:
        axes = made.subplots()
        others = [arm for arm in figures.curves if arm not in COLOURS]
        colours = {**COLOURS, **dict(zip(others, OTHERS, strict=False))}
        for arm, curve in figures.curves.items():
            axes.plot(range(1, len(curve) + 1), curve, label=arm, color=colours[arm], lw=2 if arm in COLOURS else 1)
        axes.set_yscale("symlog", linthresh=10)
        axes.set_yticks(TICKS, [str(tick) for tick in TICKS])
        labelled(axes, x="run", y="mean return", title="CliffWalking-v1")
        made.legend(loc="outside right upper")

    return picture(path, (8, 4), paint)
