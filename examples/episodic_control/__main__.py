"""`python -m examples.episodic_control`: play gymnasium's environments with and without memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from examples.command import Shown, positive, progress, run
from examples.episodic_control.playing import Figures, compare
from examples.episodic_control.shown import as_json, draw, show
from examples.episodic_control.tasks import TASKS, gymnasium

REPORTED: Final = 101
EPILOG: Final = (
    f"Seeds 1 to 4 were used while the agent was written; those reported are {REPORTED} to 120, which is what "
    "--seeds 20 plays."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print the tables, leave picture and JSON behind; return the exit code."""
    options = _parser().parse_args(arguments)
    out = Path(options.out)

    def play(notes: Console) -> tuple[list[Figures], str]:
        gymnasium()
        out.mkdir(parents=True, exist_ok=True)
        played = _play(options, notes)
        result = out / "result.json"
        result.write_text(as_json(played) + "\n", encoding="utf-8")
        return played, str(result)

    return run(play, Shown(show, as_json, draw), out, as_json=options.json)


def _play(options: argparse.Namespace, notes: Console) -> list[Figures]:
    seeds = range(options.first, options.first + options.seeds)
    names = options.env or list(TASKS)
    with progress(notes, "seeds", len(seeds) * len(names)) as step:
        return [compare(TASKS[name], seeds, options.episodes, step) for name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.episodic_control", description=__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--env", action="append", choices=list(TASKS), help="one environment; may be given again (all)")
    add("--seeds", type=positive, default=20, help="how many seeds (20); five or more give an interval")
    add("--first", type=int, default=REPORTED, help=f"the first seed ({REPORTED})")
    add("--episodes", type=positive, help="episodes of each seed (150 on the lake, 30 with the pole)")
    add("--out", metavar="DIR", default="episodic-control", help="the folder for result.json and learning-curve.png")
    add("--json", action="store_true", help="print the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
