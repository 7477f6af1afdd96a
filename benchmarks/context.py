"""How long `memory.context` takes over 10,000 messages, 1,000 decisions and 500 entries.

After each new user message (what stands beside it is chosen then) and again in the same tool loop; with a run, whose
system part is kept, and without. Times are of the processor and of the clock; no embedder is asked.

    python benchmarks/context.py --json context.json
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Final

from common.options import parser
from common.report import Report, Table
from seasoned import Memory
from seasoned.playbook import Add
from seasoned.ports import Message

CALLS: Final = 100
QUICK: Final = 10
GOAL_MS: Final = 15.0
SEED: Final = 3
PER_SESSION: Final = 1_000


def main() -> None:
    """Fill a memory, time its contexts and publish that."""
    given = _options()
    calls, messages = (QUICK, 2_000) if given.quick else (CALLS, given.messages)
    with (
        tempfile.TemporaryDirectory() as made,
        Memory(Path(made) / "a.db", scope=("bench",), embedder="hashing") as memory,
    ):
        luck = random.Random(SEED)
        _fill(memory, luck, messages, given.decisions, given.entries)
        found = {f"{kind}, {'with' if run else 'without'} a run": times
                 for run in (None, "r1") for kind, times in _timed(memory, luck, run, calls).items()}  # fmt: skip
    rows = [[name, *_figures(cpu), *_figures(wall)] for name, (cpu, wall) in found.items()]
    header = ["call", "processor p50 ms", "processor p95 ms", "clock p50 ms", "clock p95 ms"]
    Report(
        benchmark="context",
        tables=[Table(f"memory.context, {messages:,} messages", header, rows)],
        figures={name: dict(zip(header[1:], row, strict=True)) for name, *row in rows}
        | {"messages": messages, "decisions": given.decisions, "entries": given.entries, "calls": calls},
        notes=[f"{given.decisions:,} decisions, {given.entries:,} entries; goal: p50 <= {GOAL_MS:g} ms"],
    ).publish(given.json)


def _options() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument("--messages", type=int, default=10_000)
    made.add_argument("--decisions", type=int, default=1_000)
    made.add_argument("--entries", type=int, default=500)
    return made.parse_args()


def _text(luck: random.Random, words: int) -> str:
    """Return made-up words, the first of 3,000 the commonest."""
    return " ".join(f"w{int(3_000 * luck.random() ** 2)}" for _ in range(words))


def _fill(memory: Memory, luck: random.Random, messages: int, decisions: int, entries: int) -> None:
    for start in range(0, messages, PER_SESSION):
        talk: list[Message] = [
            {"role": ("user", "assistant")[i % 2], "content": _text(luck, 14)}
            for i in range(min(PER_SESSION, messages - start))
        ]
        memory.conversation.add(talk, f"s{start // PER_SESSION}")
    memory.playbook.apply([Add(content=_text(luck, 10), section=f"part {i % 10}") for i in range(entries)])
    for _ in range(decisions):
        action = luck.choice(("refund", "call", "wait"))
        memory.experience.record(_text(luck, 8), action, luck.random(), reasoning=_text(luck, 6))
    for number in range(3):
        memory.remember(_text(luck, 10), id=f"n{number}")
        memory.pin(f"n{number}")


Times = dict[str, tuple[list[float], list[float]]]


def _timed(memory: Memory, luck: random.Random, run: str | None, calls: int) -> Times:
    """Return processor and clock times, of calls after a new message and of those that follow."""
    found: Times = {"new message": ([], []), "same message": ([], [])}
    for number in range(calls + 1):
        task = _text(luck, 8)
        memory.conversation.add({"role": "user", "content": task}, "s0")
        for cpu, wall in found.values():
            start, began = process_time(), perf_counter()
            memory.context(task, session="s0", run=run)
            if number:  # the first reads the scope
                cpu.append(process_time() - start)
                wall.append(perf_counter() - began)
    return found


def _figures(seconds: Sequence[float]) -> list[float]:
    return [median(seconds) * 1e3, quantiles(seconds, n=20)[-1] * 1e3]


if __name__ == "__main__":
    main()
