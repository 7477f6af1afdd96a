"""`python -m examples.life.export_preseed`: write the files to start with, what three people lived through."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from examples.life.agent import LifeStackAgent
from examples.life.lives import live
from seasoned import Memory
from seasoned.testing import FakeClock, sequential_ids

LIVES: Final = (5, 6, 7)
EPISODES: Final = 8
FOLDER: Final = Path(__file__).parent / "preseed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write one file for each life, the same whenever it is run; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.life.export_preseed", description=__doc__)
    parser.add_argument("--out", default=str(FOLDER), metavar="DIR", help="the folder (that of this example)")
    folder = Path(parser.parse_args(arguments).out)
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(LIVES, start=1):
        path = folder / f"preseeded_memory_{number}.json"
        sys.stdout.write(f"{path}: {export(seed, path)} records\n")
    return 0


def export(seed: int, path: Path) -> int:
    """Live the first episodes of a life with memory and feedback, and write what was learnt; return its size."""
    with Memory(embedder="hashing", clock=FakeClock(), ids=sequential_ids(f"life-{seed}")) as memory:
        live(seed, LifeStackAgent(memory.experience), range(1, EPISODES + 1), feedback=True)
        return memory.experience.export_preseed(path)


if __name__ == "__main__":
    sys.exit(main())
