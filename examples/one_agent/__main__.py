"""`python -m examples.one_agent`: walk along gymnasium's cliff with all four memories, and without."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from examples.command import Shown, add_model, model, positive, progress, run
from examples.one_agent.cliff import gymnasium
from examples.one_agent.playing import RUNS, Figures, compare
from examples.one_agent.shown import as_json, draw, show

KEY: Final = "SEASONED_MODEL_KEY"
REPORTED: Final = 101
EPILOG: Final = (
    f"Seeds 1 to 4 were used while the agent was written; those reported are {REPORTED} to 120, which is what "
    "--seeds 20 plays."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print the table, leave picture and JSON behind; return the exit code."""
    options = _parser().parse_args(arguments)
    out = Path(options.out)

    def play(notes: Console) -> tuple[Figures, str]:
        gymnasium()
        out.mkdir(parents=True, exist_ok=True)
        figures, result = _played(options, notes), out / "result.json"
        result.write_text(as_json(figures) + "\n", encoding="utf-8")
        return figures, str(result)

    return run(play, Shown(show, as_json, draw), out, as_json=options.json)


def _played(options: argparse.Namespace, notes: Console) -> Figures:
    seeds = range(options.first, options.first + options.seeds)
    with model(options.model, KEY) as chosen, progress(notes, "seeds", len(seeds)) as step:
        return compare(seeds, options.runs, each=options.each, model=chosen, progress=step)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.one_agent", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--seeds", type=positive, default=20, help="how many seeds (20); five or more give an interval")
    add("--first", type=int, default=REPORTED, help=f"the first seed ({REPORTED})")
    add("--runs", type=positive, default=RUNS, help=f"runs of each seed ({RUNS})")
    add("--each", action="store_true", help="play agents, too, whose contexts lack one part each")
    add_model(parser, "choose the moves", KEY)
    add("--out", metavar="DIR", default="one-agent", help="the folder for result.json and learning-curve.png")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
