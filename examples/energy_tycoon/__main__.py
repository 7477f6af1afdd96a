"""`python -m examples.energy_tycoon`: play consecutive runs with and without memory, and show what memory is worth."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from examples.energy_tycoon.figures import Figures, figures
from examples.energy_tycoon.season import Setup, compare, runs_to_play
from examples.energy_tycoon.shapes import RUN_TURNS
from examples.energy_tycoon.shown import as_json, draw, show
from seasoned.asking import Model
from seasoned.errors import InvalidInput, SeasonedError
from seasoned.stores.sqlite import SQLiteStore

KEY: Final = "ENERGY_MODEL_KEY"
EPILOG: Final = (
    "Markets 1 to 12 were used while the player was written; the figures in the README are those of 1001 to 1030: "
    "--seed 1001 --seeds 30."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print the figures, and leave the picture, the profiles and the database behind; return the exit code."""
    options = _parser().parse_args(arguments)
    notes = Console(stderr=True)
    out = Path(options.out) if options.out else _unused(Path("energy-tycoon"))
    database = Path(options.db) if options.db else out / "energy.db"
    try:
        if database.exists():
            raise InvalidInput(f"{database} is there already, and what it remembers would count; name another")
        out.mkdir(parents=True, exist_ok=True)
        result = _play(options, database, out / "profiles", notes)
    except (SeasonedError, OSError) as error:
        notes.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    if options.json:
        sys.stdout.write(as_json(result) + "\n")
    else:
        show(Console(), result)
    picture = out / "learning-curve.png"
    drawn = picture if draw(result, picture) else "no picture, as matplotlib is not installed"
    notes.print(
        f"database {database}; lessons {out / 'profiles'}; {drawn}", markup=False, highlight=False, soft_wrap=True
    )
    return 0


def _unused(path: Path) -> Path:
    others = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return path if not path.exists() else next(other for other in others if not other.exists())


def _play(options: argparse.Namespace, database: Path, profiles: Path, notes: Console) -> Figures:
    seeds = range(options.seed, options.seed + options.seeds)
    with (
        _progress(notes, runs_to_play(seeds, options.runs)) as step,
        closing(SQLiteStore(database, durability="normal")) as store,
        _model(options.model) as model,
    ):
        setup = Setup(
            store=store, profiles=profiles, runs=options.runs, turns=options.turns, model=model, progress=step
        )
        return figures(compare(seeds, setup))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.energy_tycoon", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--runs", type=_positive, default=20, help="consecutive runs of each market (20)")
    add("--seed", type=int, default=1, help="the first market (1)")
    add(
        "--seeds",
        type=_positive,
        default=1,
        help="how many markets, from the first on (1); five or more give an interval",
    )
    add("--turns", type=_positive, default=RUN_TURNS, help=f"turns of a run ({RUN_TURNS}, as in the rules)")
    add(
        "--model",
        nargs=2,
        metavar=("URL", "NAME"),
        help=f"let a model at an OpenAI-compatible address write episodes and lessons; its key, if any, in {KEY}",
    )
    add("--db", metavar="PATH", help="the database (energy.db in the output folder)")
    add("--out", metavar="DIR", default="energy-tycoon", help="the output folder (energy-tycoon, or the next number)")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {value}")
    return value


@contextmanager
def _progress(console: Console, runs: int) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("runs", total=runs)
        yield lambda: progress.advance(task)


@contextmanager
def _model(named: Sequence[str] | None) -> Iterator[Model | None]:
    if named is None:
        yield None
        return
    from seasoned.models.openai_compatible import OpenAICompatible

    url, name = named
    with OpenAICompatible(name, url, api_key=os.environ.get(KEY)) as model:
        yield model


if __name__ == "__main__":
    sys.exit(main())
