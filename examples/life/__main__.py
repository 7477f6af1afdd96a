"""`python -m examples.life`: live with and without memory, and with a person's feedback, and show what it is worth."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from examples.life.figures import Figures, figures
from examples.life.lives import EPISODES, compare
from examples.life.shown import as_json, draw, show
from seasoned import Memory
from seasoned.errors import InvalidInput, SeasonedError

PRESEED: Final = Path(__file__).parent / "preseed"
REPORTED: Final = 1001
EPILOG: Final = (
    "Lives 1 to 4 were used while the agent was written, and the files to start with are of lives 5 to 7; "
    f"those reported are {REPORTED} to 1030, which is what --seeds 30 lives."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Live the lives, print the table, leave picture and JSON behind; return the exit code."""
    options = _parser().parse_args(arguments)
    notes, out = Console(stderr=True), Path(options.out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        result = _live(options, notes)
        (out / "result.json").write_text(as_json(result) + "\n", encoding="utf-8")
    except (SeasonedError, OSError) as error:
        notes.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    if options.json:
        sys.stdout.write(as_json(result) + "\n")
    else:
        show(Console(), result)
    picture = out / "learning-curve.png"
    drawn = picture if draw(result, picture) else "no picture, as matplotlib is not installed"
    notes.print(f"{out / 'result.json'}; {drawn}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _live(options: argparse.Namespace, notes: Console) -> Figures:
    if options.db and Path(options.db).exists():
        raise InvalidInput(f"{options.db} is there already, and what it remembers would count; name another")
    seeds = range(options.first, options.first + options.seeds)
    files = sorted(PRESEED.glob("preseeded_memory*.json")) if options.preseed else []
    with (
        _progress(notes, len(seeds)) as step,
        Memory(options.db, scope="lives", embedder="hashing", durability="normal") as memory,
    ):
        return figures(compare(seeds, memory, options.episodes, files, step))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.life", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--seeds", type=_positive, default=30, help="how many lives (30); five or more give an interval")
    add("--first", type=int, default=REPORTED, help=f"the first life ({REPORTED})")
    add("--episodes", type=_positive, default=EPISODES, help=f"episodes of each life ({EPISODES})")
    add("--preseed", action="store_true", help="begin with what three other people lived through")
    add("--db", metavar="PATH", help="keep what was learnt in this file, for `seasoned --db PATH decisions`")
    add("--out", metavar="DIR", default="life-result", help="the folder for result.json and learning-curve.png")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {value}")
    return value


@contextmanager
def _progress(console: Console, lives: int) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("lives", total=lives)
        yield lambda: progress.advance(task)


if __name__ == "__main__":
    sys.exit(main())
