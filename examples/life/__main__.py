"""`python -m examples.life`: live with and without memory, and with a person's feedback, and show what it is worth."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from examples.command import Shown, positive, progress, run
from examples.life.figures import Figures, figures
from examples.life.lives import EPISODES, compare
from examples.life.shown import as_json, draw, show
from seasoned import Memory
from seasoned.errors import InvalidInput

PRESEED: Final = Path(__file__).parent / "preseed"
REPORTED: Final = 1001
EPILOG: Final = (
    "Lives 1 to 4 were used while the agent was written, and the files to start with are of lives 5 to 7; "
    f"those reported are {REPORTED} to 1030, which is what --seeds 30 lives."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Live the lives, print the table, leave picture and JSON behind; return the exit code."""
    options = _parser().parse_args(arguments)
    out = Path(options.out)

    def play(notes: Console) -> tuple[Figures, str]:
        out.mkdir(parents=True, exist_ok=True)
        lived, result = _live(options, notes), out / "result.json"
        result.write_text(as_json(lived) + "\n", encoding="utf-8")
        return lived, str(result)

    return run(play, Shown(show, as_json, draw), out, as_json=options.json)


def _live(options: argparse.Namespace, notes: Console) -> Figures:
    if options.db and Path(options.db).exists():
        raise InvalidInput(f"{options.db} is there already, and what it remembers would count; name another")
    seeds = range(options.first, options.first + options.seeds)
    files = sorted(PRESEED.glob("preseeded_memory*.json")) if options.preseed else []
    with (
        progress(notes, "lives", len(seeds)) as step,
        Memory(options.db, scope="lives", embedder="hashing", durability="normal") as memory,
    ):
        return figures(compare(seeds, memory, options.episodes, files, step))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.life", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--seeds", type=positive, default=30, help="how many lives (30); five or more give an interval")
    add("--first", type=int, default=REPORTED, help=f"the first life ({REPORTED})")
    add("--episodes", type=positive, default=EPISODES, help=f"episodes of each life ({EPISODES})")
    add("--preseed", action="store_true", help="begin with what three other people lived through")
    add("--db", metavar="PATH", help="keep what was learnt in this file, for `seasoned --db PATH decisions`")
    add("--out", metavar="DIR", default="life-result", help="the folder for result.json and learning-curve.png")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
