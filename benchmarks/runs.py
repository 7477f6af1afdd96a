"""A run of 100,000 turns: what `record_turn` and `extract_atoms` cost at its start and at its end, and the memory.

Each turn has an event, an action and four numbers; the rules are those that run memory has by itself, so about every
second window gives atoms. An episode is written by rules every 25 turns where `--episodes` is given.

    python benchmarks/runs.py --json runs.json
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from common.machine import fsync_ms
from common.options import parser
from common.progress import say
from common.report import Report, Table
from seasoned import Memory
from seasoned.runs import RunMemory, TurnRecord

TURNS: Final = 100_000
QUICK: Final = 5_000
EDGE: Final = 1_000
SEED: Final = 7
DURABILITIES: Final = ("normal", "full")


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of each turn, bytes of memory after half of them and at the end, bytes of the file."""

    seconds: Sequence[float]
    memory_early: int
    memory_late: int
    file: int
    atoms: int
    reopen_s: float

    def p50_ms(self, part: Sequence[float]) -> float:
        """Return the median of some turns in milliseconds."""
        return median(part) * 1e3

    def p99_ms(self) -> float:
        """Return the 99th percentile of all turns in milliseconds."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)] * 1e3


def main() -> None:
    """Run it and publish what it found."""
    given = _options()
    turns = QUICK if given.quick else given.turns
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        folder = Path(made)
        disk = fsync_ms(folder)
        found = {each: _measure(folder / f"{each}.db", each, turns, episodes=given.episodes) for each in DURABILITIES}
    Report(
        benchmark="runs",
        tables=[_table(found, turns)],
        figures={name: _figures(each) for name, each in found.items()} | {"turns": turns, "fsync_ms": disk},
        notes=[f"{turns:,} turns; fsync of this disk: {disk:.3f} ms", "targets: p50 <= 1 ms, late / early <= 1.5"],
    ).publish(given.json)


def _measure(path: Path, durability: str, turns: int, *, episodes: bool) -> Measured:
    say(f"{turns:,} turns, durability {durability}")
    seconds, early, rng = [0.0] * turns, 0, random.Random(SEED)
    with Memory(path, scope=("bench", "runs"), embedder="hashing", durability=durability) as memory:  # type: ignore[arg-type]
        runs = memory.runs
        for number in range(1, turns + 1):
            record = _turn(number, rng)
            start = perf_counter()
            runs.record_turn(record)
            runs.extract_atoms(number)
            seconds[number - 1] = perf_counter() - start
            if episodes:
                runs.update_episode(None, number)
            if number == turns // 2:
                early = _memory()
        late, atoms = _memory(), memory.count(kinds=("atom",))
    return Measured(seconds, early, late, path.stat().st_size, atoms, _reopened(path))


def _reopened(path: Path) -> float:
    with Memory(path, scope=("bench", "runs"), embedder="hashing") as memory:
        start = perf_counter()
        _check(memory.runs)
        return perf_counter() - start


def _check(runs: RunMemory) -> None:
    if runs.state().last_turn is None:
        raise SystemExit("the run was not found again")


def _turn(number: int, rng: random.Random) -> TurnRecord:
    events = ["price_spike"] if rng.random() < 0.02 else []
    extra = {"price": rng.gauss(100, 10), "demand": rng.gauss(500, 50), "cash": number * 1.5, "plants": number // 50}
    action = {"type": "sell" if rng.random() < 0.9 else "build", "quantity": rng.randint(1, 9)}
    return TurnRecord(number, rng.gauss(2, 1), "EUR", events, [action], dict(extra))


def _memory() -> int:
    """Return how many bytes of this process are resident."""
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _table(found: dict[str, Measured], turns: int) -> Table:
    header = [
        "durability", "p50 ms", "p99 ms", "mean ms", f"p50 first {EDGE:,}", f"p50 last {EDGE:,}", "late / early",
        "mean late / early", "memory growth MB", "file bytes a turn", "atoms", "reopen s",
    ]  # fmt: skip
    rows = [
        [
            name,
            *(round(value, 4) for value in _times(each)),
            round((each.memory_late - each.memory_early) / 1e6, 2),
            each.file // turns,
            each.atoms,
            round(each.reopen_s, 3),
        ]
        for name, each in found.items()
    ]
    return Table("record_turn and extract_atoms, one turn", header, rows)


def _times(each: Measured) -> list[float]:
    first, last = each.seconds[:EDGE], each.seconds[-EDGE:]
    early, late = each.p50_ms(first), each.p50_ms(last)
    mean = sum(each.seconds) / len(each.seconds) * 1e3
    return [each.p50_ms(each.seconds), each.p99_ms(), mean, early, late, late / early, sum(last) / sum(first)]


def _figures(each: Measured) -> dict[str, float]:
    names = ("p50_ms", "p99_ms", "mean_ms", "p50_first_ms", "p50_last_ms", "late_to_early", "mean_late_to_early")
    growth = each.memory_late - each.memory_early
    rest = {"memory_growth_bytes": growth, "file_bytes": each.file, "atoms": each.atoms, "reopen_s": each.reopen_s}
    return dict(zip(names, _times(each), strict=True)) | rest


def _options() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument("--turns", type=int, default=TURNS, help="how many turns")
    made.add_argument("--episodes", action="store_true", help="write episodes by rules, too; not timed")
    made.add_argument("--folder", type=Path, help="where the files are made, for the disk under it")
    return made.parse_args()


if __name__ == "__main__":
    main()
