"""`python -m examples.episodic_control`: play gymnasium's environments with and without memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from examples.episodic_control.playing import Figures, compare
from examples.episodic_control.shown import as_json, draw, show
from examples.episodic_control.tasks import TASKS, gymnasium
from seasoned.errors import SeasonedError

REPORTED: Final = 101
EPILOG: Final = (
    f"Seeds 1 to 4 were used while the agent was written; those reported are {REPORTED} to 120, which is what "
    "--seeds 20 plays."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print the tables, leave picture and JSON behind; return the exit code."""
    options = _parser().parse_args(arguments)
    notes, out = Console(stderr=True), Path(options.out)
    try:
        gymnasium()
        out.mkdir(parents=True, exist_ok=True)
        played = _play(options, notes)
        (out / "result.json").write_text(as_json(played) + "\n", encoding="utf-8")
    except (SeasonedError, ImportError, OSError) as error:
        notes.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    if options.json:
        sys.stdout.write(as_json(played) + "\n")
    else:
        show(Console(), played)
    picture = out / "learning-curve.png"
    drawn = picture if draw(played, picture) else "no picture, as matplotlib is not installed"
    notes.print(f"{out / 'result.json'}; {drawn}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _play(options: argparse.Namespace, notes: Console) -> list[Figures]:
    seeds = range(options.first, options.first + options.seeds)
    names = options.env or list(TASKS)
    with _progress(notes, len(seeds) * len(names)) as step:
        return [compare(TASKS[name], seeds, options.episodes, step) for name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.episodic_control", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--env", action="append", choices=list(TASKS), help="one environment; may be given again (all)")
    add("--seeds", type=_positive, default=20, help="how many seeds (20); five or more give an interval")
    add("--first", type=int, default=REPORTED, help=f"the first seed ({REPORTED})")
    add("--episodes", type=_positive, help="episodes of each seed (150 on the lake, 30 with the pole)")
    add("--out", metavar="DIR", default="episodic-control", help="the folder for result.json and learning-curve.png")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {value}")
    return value


@contextmanager
def _progress(console: Console, seeds: int) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("seeds", total=seeds)
        yield lambda: progress.advance(task)


if __name__ == "__main__":
    sys.exit(main())
