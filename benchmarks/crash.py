"""Nothing acknowledged is lost: a writer killed at random moments, threads on one memory, processes on one file.

In each round a process adds single messages and batches, searches now and then, and prints each id once it is
acknowledged, until it is killed (SIGKILL). Then every id that was printed must be there, every batch whole or absent,
and `Memory.check()` content. The file stays the same through all rounds; durability changes from round to round.

    python benchmarks/crash.py --json crash.json
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Final

from common.progress import track
from common.report import Cell, Report, Table
from seasoned import Memory

BATCH: Final = 7
SCOPE: Final = ("crash", "one")
SEED: Final = 11
ROUNDS: Final = 50
QUICK: Final = 5
THREADS: Final = (8, 25)
PROCESSES: Final = (6, 50)


@dataclass(slots=True)
class Tally:
    """What was acknowledged and what was found to be wrong."""

    acknowledged: int = 0
    batches: int = 0
    during_batch: int = 0
    lost: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> bool:
        """Whether anything is."""
        return bool(self.lost or self.half or self.findings)

    def check(self, path: Path, acknowledged: Iterable[str]) -> None:
        """Compare the file with what was acknowledged."""
        with Memory(path, scope=SCOPE, embedder="hashing") as memory:
            stored = _ids(memory)
            self.lost += sorted(set(acknowledged) - stored)
            self.findings += [f"{each.where}: {each.what}" for each in memory.check()]
        sizes: dict[str, int] = {}
        for each in stored:
            if each.startswith("batch-"):
                name = each.rpartition("/")[0]
                sizes[name] = sizes.get(name, 0) + 1
        self.batches = len(sizes)
        self.half = sorted(name for name, size in sizes.items() if size != BATCH)


def main() -> int:
    """Run it; return 1 if anything was lost, else 0."""
    given = _options()
    if given.write is not None:
        _write(given.write, given.round, given.durability)
    if given.add is not None:
        _add_some(given.add, given.round, PROCESSES[1])
        return 0
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        tallies = {
            f"kill -9, {given.rounds} rounds": killed(Path(made) / "killed.db", given.rounds, given.seed),
            f"{THREADS[0]} threads × {THREADS[1]} adds": threads(Path(made) / "threads.db"),
            f"{PROCESSES[0]} processes × {PROCESSES[1]} adds": processes(Path(made) / "processes.db"),
        }
    _report(tallies, given.seed).publish(given.json)
    return int(any(tally.wrong for tally in tallies.values()))


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", type=Path, help="where the figures are written")
    options.add_argument("--quick", action="store_true", help=f"{QUICK} rounds")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--seed", type=int, default=SEED, help="decides the moments")
    options.add_argument("--folder", type=Path, help="where the files are made")
    for hidden in ("--write", "--add"):
        options.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    options.add_argument("--round", type=int, default=0, help=argparse.SUPPRESS)
    options.add_argument("--durability", default="full", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.quick:
        given.rounds = QUICK
    return given


def killed(path: Path, rounds: int, seed: int) -> Tally:
    """Kill a writer again and again, and check the file after each time."""
    tally, chance, acknowledged = Tally(), random.Random(seed), set[str]()
    for number in track(range(rounds), "killing a writer"):
        some, inside, code = _killed_once(path, number, chance)
        acknowledged |= some
        tally.during_batch += inside
        if code != -signal.SIGKILL:
            tally.findings.append(f"round {number}: the writer ended by itself with code {code}")
        tally.check(path, acknowledged)
    tally.acknowledged = len(acknowledged)
    return tally


def _killed_once(path: Path, number: int, chance: random.Random) -> tuple[set[str], bool, int]:
    """Let a writer run for a while, kill it, and return what it acknowledged, if it was in a batch, and its code."""
    durability = ("full", "normal")[number % 2]
    with _started("--write", path, number, "--durability", durability) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        sleep(chance.uniform(0.0, 0.4))
        writer.send_signal(signal.SIGKILL)
        lines = [first, *writer.stdout.readlines()]
    whole = [line.split() for line in lines if line.endswith("\n")]
    ids = {one for line in whole if line[0] == "ok" for one in _batch_ids(line[1])}
    inside = bool(whole) and whole[-1][0] == "begin" and whole[-1][1].startswith("batch-")
    return ids, inside, writer.returncode


def _batch_ids(name: str) -> list[str]:
    return [f"{name}/{place}" for place in range(BATCH)] if name.startswith("batch-") else [name]


def _write(path: Path, number: int, durability: str) -> None:
    """Write until killed, saying what begins and what is acknowledged."""
    chance = random.Random(number)
    with Memory(
        path, scope=SCOPE, embedder="hashing", durability="full" if durability == "full" else "normal"
    ) as memory:
        for step in range(1_000_000):
            name = f"{'batch' if chance.random() < 0.4 else 'single'}-{number}-{step}"
            print("begin", name, flush=True)
            ids = _batch_ids(name)
            messages = [{"role": "user", "content": f"message {one} of the {chance.random():.12f}"} for one in ids]
            memory.conversation.add(messages, session=f"session-{step // 20}", ids=ids)
            print("ok", name, flush=True)
            if chance.random() < 0.05:
                memory.conversation.search("a message of the kind", k=5)


def threads(path: Path) -> Tally:
    """Add from several threads to one memory."""
    tally = Tally()
    with Memory(path, scope=SCOPE, embedder="hashing") as memory:
        names = [[f"single-{one}-{place}" for place in range(THREADS[1])] for one in range(THREADS[0])]
        done: list[str] = []
        running = [threading.Thread(target=_add, args=(memory, some, done)) for some in names]
        for each in running:
            each.start()
        for each in running:
            each.join()
    return _stood(tally, path, done, names)


def processes(path: Path) -> Tally:
    """Add from several processes to one file."""
    started = [_started("--add", path, number) for number in range(PROCESSES[0])]
    done: list[str] = []
    for each in started:
        with each:
            done += each.communicate()[0].split()
    return _stood(Tally(), path, done, [_names(number, PROCESSES[1]) for number in range(PROCESSES[0])])


def _stood(tally: Tally, path: Path, done: Sequence[str], names: Sequence[Sequence[str]]) -> Tally:
    """Check that all that was to be added was acknowledged, and stands."""
    wanted = [one for some in names for one in some]
    tally.acknowledged = len(done)
    tally.check(path, wanted)
    tally.lost += sorted(set(wanted) - set(done) - set(tally.lost))
    return tally


def _names(number: int, count: int) -> list[str]:
    return [f"single-{number}-{place}" for place in range(count)]


def _add_some(path: Path, number: int, count: int) -> None:
    done: list[str] = []
    with Memory(path, scope=SCOPE, embedder="hashing") as memory:
        _add(memory, _names(number, count), done)
    print("\n".join(done))


def _add(memory: Memory, names: Sequence[str], done: list[str]) -> None:
    for one in names:
        added = memory.conversation.add({"role": "user", "content": f"message {one}"}, session="all", ids=[one])
        done.append(added[0].id)


def _started(do: str, path: Path, number: int, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, do, str(path), "--round", str(number), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _ids(memory: Memory) -> set[str]:
    found, cursor = set[str](), None
    while True:
        page = memory.list(cursor=cursor, k=1_000, kinds=("message",))
        found |= {hit.id for hit in page.hits}
        cursor = page.cursor
        if cursor is None:
            return found


def _report(tallies: dict[str, Tally], seed: int) -> Report:
    header = ["what", "acknowledged", "lost", "batches", "killed within one", "half written", "findings of check()"]
    rows: list[list[Cell]] = [
        [
            label,
            tally.acknowledged,
            len(tally.lost),
            tally.batches,
            tally.during_batch,
            len(tally.half),
            len(tally.findings),
        ]
        for label, tally in tallies.items()
    ]
    figures = {
        label: {
            "acknowledged": tally.acknowledged,
            "lost": tally.lost,
            "half": tally.half,
            "findings": tally.findings[:20],
        }
        for label, tally in tallies.items()
    }
    return Report("crash", [Table("What stands", header, rows)], {"seed": seed, **figures})


if __name__ == "__main__":
    sys.exit(main())
