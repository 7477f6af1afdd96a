"""The options that benchmarks have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def parser(about: str | None, *, data: str | None = None) -> argparse.ArgumentParser:
    """Return a parser with `--json`, `--quick` and `--peer-python`, and with `--data` if it says what that is."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data is not None:
        made.add_argument("--data", type=Path, required=True, help=data)
    made.add_argument("--json", type=Path, help="where the figures are written")
    made.add_argument("--quick", action="store_true", help="a small part of it, to see that it runs")
    made.add_argument(
        "--peer-python",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="the Python that has the peers, or one of them; again for more, names last",
    )
    return made


def peer_pythons(given: Sequence[str], names: Sequence[str]) -> Mapping[str, str]:
    """Return the Python to run each peer with."""
    chosen = dict.fromkeys(names, sys.executable)
    for each in given:
        name, mark, path = each.rpartition("=")
        if mark and name not in names:
            raise SystemExit(f"there is no peer {name!r}; there are {', '.join(names)}")
        chosen |= {name: path} if mark else dict.fromkeys(names, path)
    return chosen
