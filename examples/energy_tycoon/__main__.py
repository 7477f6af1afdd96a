"""`python -m examples.energy_tycoon`: play consecutive runs with and without memory, and show what memory is worth."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Final

from rich.console import Console

from examples.command import Shown, add_model, model, positive, progress, run
from examples.energy_tycoon.figures import Figures, figures
from examples.energy_tycoon.season import Setup, compare, runs_to_play
from examples.energy_tycoon.shapes import RUN_TURNS
from examples.energy_tycoon.shown import as_json, draw, show
from seasoned.errors import InvalidInput
from seasoned.stores.sqlite import SQLiteStore

KEY: Final = "ENERGY_MODEL_KEY"
EPILOG: Final = (
    "Markets 1 to 12 were used while the player was written; the figures in the README are those of 1001 to 1030: "
    "--seed 1001 --seeds 30."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print the figures, and leave the picture, the profiles and the database behind; return the exit code."""
    options = _parser().parse_args(arguments)
    out = Path(options.out) if options.out else _unused(Path("energy-tycoon"))
    database = Path(options.db) if options.db else out / "energy.db"

    def play(notes: Console) -> tuple[Figures, str]:
        if database.exists():
            raise InvalidInput(f"{database} is there already, and what it remembers would count; name another")
        out.mkdir(parents=True, exist_ok=True)
        played = _play(options, database, out / "profiles", notes)
        return played, f"database {database}; lessons {out / 'profiles'}"

    return run(play, Shown(show, as_json, draw), out, as_json=options.json)


def _unused(path: Path) -> Path:
    others = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return path if not path.exists() else next(other for other in others if not other.exists())


def _play(options: argparse.Namespace, database: Path, profiles: Path, notes: Console) -> Figures:
    seeds = range(options.seed, options.seed + options.seeds)
    with (
        progress(notes, "runs", runs_to_play(seeds, options.runs)) as step,
        closing(SQLiteStore(database, durability="normal")) as store,
        model(options.model, KEY) as chosen,
    ):
        setup = Setup(
            store=store, profiles=profiles, runs=options.runs, turns=options.turns, model=chosen, progress=step
        )
        return figures(compare(seeds, setup))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.energy_tycoon", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--runs", type=positive, default=20, help="consecutive runs of each market (20)")
    add("--seed", type=int, default=1, help="the first market (1)")
    add(
        "--seeds",
        type=positive,
        default=1,
        help="how many markets, from the first on (1); five or more give an interval",
    )
    add("--turns", type=positive, default=RUN_TURNS, help=f"turns of a run ({RUN_TURNS}, as in the rules)")
    add_model(parser, "write episodes and lessons", KEY)
    add("--db", metavar="PATH", help="the database (energy.db in the output folder)")
    add("--out", metavar="DIR", default="energy-tycoon", help="the output folder (energy-tycoon, or the next number)")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
