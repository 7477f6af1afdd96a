"""What the commands of the examples share: options, progress, a model, and showing what came out."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from seasoned.errors import SeasonedError
from seasoned.models.openai_compatible import OpenAICompatible

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shown(Generic[T]):
    """How an example shows its figures: as a table, as JSON, and as a picture, False where none can be drawn."""

    show: Callable[[Console, T], None]
    as_json: Callable[[T], str]
    draw: Callable[[T, Path], bool]


def run(play: Callable[[Console], tuple[T, str]], shown: Shown[T], out: Path, *, as_json: bool) -> int:
    """Play, print the figures, leave the picture in `out`; say where everything lies, and return the exit code.

    `play` returns the figures, and in words what else it left behind.
    """
    notes = Console(stderr=True)
    try:
        figures, left = play(notes)
    except (SeasonedError, ImportError, OSError) as error:
        notes.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    if as_json:
        sys.stdout.write(shown.as_json(figures) + "\n")
    else:
        shown.show(Console(), figures)
    picture = out / "learning-curve.png"
    drawn = picture if shown.draw(figures, picture) else "no picture, as matplotlib is not installed"
    notes.print(f"{left}; {drawn}", markup=False, highlight=False, soft_wrap=True)
    return 0


def positive(text: str) -> int:
    """Return the number of an option that is at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {value}")
    return value


@contextmanager
def progress(console: Console, what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on the console; what is yielded takes one step."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def add_model(parser: argparse.ArgumentParser, what: str, key: str) -> None:
    """Add the option that names a model; `what` it does, and the environment variable `key` that has its key."""
    told = f"let a model at an OpenAI-compatible address {what}; its key, if any, in {key}"
    parser.add_argument("--model", nargs=2, metavar=("URL", "NAME"), help=told)


@contextmanager
def model(named: Sequence[str] | None, key: str) -> Iterator[OpenAICompatible | None]:
    """Open the model of the option, if there is one."""
    if named is None:
        yield None
        return
    url, name = named
    with OpenAICompatible(name, url, api_key=os.environ.get(key)) as opened:
        yield opened


def table(title: str, first: str, numbers: Sequence[str]) -> Table:
    """Return an empty table: a column of names, and columns of numbers."""
    made = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    made.add_column(first, no_wrap=True)
    for name in numbers:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def interval(ends: tuple[float, float] | None, form: str) -> str:
    """Return an interval in words, both ends in `form`, a dash where there is none."""
    return "–" if ends is None else f"{ends[0]:{form}} to {ends[1]:{form}}"


def picture(path: Path, size: tuple[float, float], paint: Callable[[Any], None]) -> bool:
    """Write a PNG that `paint` draws into a matplotlib figure of so many inches; False where it is not installed."""
    try:
        matplotlib = import_module("matplotlib.figure")
    except ImportError:
        return False
    made = matplotlib.Figure(figsize=size, layout="constrained")
    paint(made)
    made.savefig(path, dpi=120)
    return True


def labelled(axes: Any, *, x: str, y: str, title: str) -> None:
    """Name the axes of a learning curve, with whole numbers below and a grid."""
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    axes.grid(alpha=0.3)
