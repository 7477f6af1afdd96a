"""`python -m examples.one_agent`: walk along gymnasium's cliff with all four memories, and without."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from examples.one_agent.cliff import gymnasium
from examples.one_agent.playing import RUNS, Figures, compare
from examples.one_agent.shown import as_json, draw, show
from seasoned.errors import SeasonedError
from seasoned.models.openai_compatible import OpenAICompatible

KEY: Final = "SEASONED_MODEL_KEY"
REPORTED: Final = 101
EPILOG: Final = (
    f"Seeds 1 to 4 were used while the agent was written; those reported are {REPORTED} to 120, which is what "
    "--seeds 20 plays."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print the table, leave picture and JSON behind; return the exit code."""
    options = _parser().parse_args(arguments)
    notes, out = Console(stderr=True), Path(options.out)
    try:
        gymnasium()
        out.mkdir(parents=True, exist_ok=True)
        figures = _played(options, notes)
        (out / "result.json").write_text(as_json(figures) + "\n", encoding="utf-8")
    except (SeasonedError, ImportError, OSError) as error:
        notes.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    if options.json:
        sys.stdout.write(as_json(figures) + "\n")
    else:
        show(Console(), figures)
    picture = out / "learning-curve.png"
    drawn = picture if draw(figures, picture) else "no picture, as matplotlib is not installed"
    notes.print(f"{out / 'result.json'}; {drawn}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _played(options: argparse.Namespace, notes: Console) -> Figures:
    seeds = range(options.first, options.first + options.seeds)
    with _model(options.model) as model, _progress(notes, len(seeds)) as step:
        return compare(seeds, options.runs, each=options.each, model=model, progress=step)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.one_agent", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--seeds", type=_positive, default=20, help="how many seeds (20); five or more give an interval")
    add("--first", type=int, default=REPORTED, help=f"the first seed ({REPORTED})")
    add("--runs", type=_positive, default=RUNS, help=f"runs of each seed ({RUNS})")
    add("--each", action="store_true", help="play agents, too, whose contexts lack one part each")
    add(
        "--model",
        nargs=2,
        metavar=("URL", "NAME"),
        help=f"let a model at an OpenAI-compatible address choose the moves; its key, if any, in {KEY}",
    )
    add("--out", metavar="DIR", default="one-agent", help="the folder for result.json and learning-curve.png")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {value}")
    return value


@contextmanager
def _model(named: Sequence[str] | None) -> Iterator[OpenAICompatible | None]:
    if named is None:
        yield None
        return
    url, name = named
    with OpenAICompatible(name, url, api_key=os.environ.get(KEY)) as model:
        yield model


@contextmanager
def _progress(console: Console, seeds: int) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("seeds", total=seeds)
        yield lambda: progress.advance(task)


if __name__ == "__main__":
    sys.exit(main())
