"""How late an event loop is while searches over many records run: through `AsyncMemory`, and called on the loop itself.

A callback asks to be called every millisecond, and how late it comes is what is measured. Searches are asked by several
clients at a time. Python switches threads every 5 ms (`sys.getswitchinterval`), so that is the least a search that
computes can cost. All are measured in turns, so that all meet the same load of the machine. Embedding is excluded:
vectors are looked up.

    python benchmarks/loop_delay.py --json loop_delay.json
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from common.made import Floats, Maker
from common.metrics import percentile
from common.options import parser
from common.progress import say
from common.report import Report, Table
from seasoned import CallableEmbedder
from seasoned.aio import AsyncMemory

RECORDS: Final = 100_000
SEED: Final = 7
EVERY_S: Final = 0.001
GOAL_MS: Final = 10.0
CLIENTS: Final = (1, 4, 16)
IDLE: Final = "nothing"
OURS: Final = "AsyncMemory"
ROUNDS: Final = 4
BATCH: Final = 2_000


@dataclass(slots=True)
class Delay:
    """How late the loop was, in milliseconds, and how many searches ended in how many seconds."""

    late_ms: list[float] = field(default_factory=list)
    searches: int = 0
    seconds: float = 0.0

    def at(self, share: float) -> float:
        """Return the delay below which `share` of them lie."""
        return percentile(self.late_ms, share)


class LookedUp:
    """Gives the vectors that were made with the texts and queries."""

    def __init__(self, folder: Path) -> None:
        self.texts: list[str] = [json.loads(line) for line in (folder / "texts.jsonl").open(encoding="utf-8")]
        self.queries: list[str] = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
        vectors, asked = np.load(folder / "vectors.npy", mmap_mode="r"), np.load(folder / "query_vectors.npy")
        self._rows = dict(zip(self.texts, vectors, strict=True)) | dict(zip(self.queries, asked, strict=True))

    def __call__(self, texts: list[str]) -> Floats:
        """Return one row a text."""
        return np.stack([self._rows[text] for text in texts])


async def watch(delay: Delay, work: Callable[[], Awaitable[int]]) -> None:
    """Take note of how late the loop is while `work` runs, which returns how many searches it did."""
    ended = asyncio.Event()

    async def tick() -> None:
        while not ended.is_set():
            start = perf_counter()
            await asyncio.sleep(EVERY_S)
            delay.late_ms.append((perf_counter() - start - EVERY_S) * 1e3)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    start = perf_counter()
    delay.searches += await work()
    delay.seconds += perf_counter() - start
    ended.set()
    await ticking


@dataclass(frozen=True, slots=True)
class Bench:
    """A filled memory and what is asked of it, for so many seconds each time."""

    memory: AsyncMemory
    queries: list[str]
    seconds: float

    async def idle(self) -> int:
        """Do nothing."""
        await asyncio.sleep(self.seconds)
        return 0

    async def through_threads(self, clients: int) -> int:
        """Let so many clients search through `AsyncMemory`, each one search after the other; return how many."""
        return await self._asked(clients, self.memory.conversation.search)

    async def on_the_loop(self, clients: int) -> int:
        """Let so many clients call the sync `search` where they stand; return how many searches that were."""
        below = self.memory.memory.conversation

        async def directly(query: str) -> None:
            below.search(query)
            await asyncio.sleep(0)

        return await self._asked(clients, directly)

    async def _asked(self, clients: int, search: Callable[[str], Awaitable[object]]) -> int:
        numbers, end = count(), perf_counter() + self.seconds

        async def client() -> None:
            while perf_counter() < end:
                await search(self.queries[next(numbers) % len(self.queries)])

        await asyncio.gather(*(client() for _ in range(clients)))
        return next(numbers)

    def works(self) -> dict[str, Callable[[], Awaitable[int]]]:
        """Return what is measured, by name."""
        made: dict[str, Callable[[], Awaitable[int]]] = {IDLE: self.idle}
        for clients in CLIENTS:
            made[f"{OURS}, {clients} at a time"] = partial(self.through_threads, clients)
            made[f"on the loop, {clients} at a time"] = partial(self.on_the_loop, clients)
        return made


async def measured(folder: Path, records: int, seconds: float) -> dict[str, Delay]:
    """Return the delays by what ran meanwhile."""
    say(f"making {records:,} texts with vectors")
    Maker(SEED).write(folder, records)
    looked_up = LookedUp(folder)
    say("filling the store")
    async with AsyncMemory(folder / "agent.db", embedder=CallableEmbedder(looked_up, "made", dimension=384)) as memory:
        for start in range(0, records, BATCH):
            texts = looked_up.texts[start : start + BATCH]
            await memory.conversation.add([{"role": "user", "content": text} for text in texts])
        await memory.warm()
        works = Bench(memory, looked_up.queries, seconds / ROUNDS).works()
        found = {name: Delay() for name in works}
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}")
            for name, work in works.items():
                await watch(found[name], work)
        return found


def published(found: dict[str, Delay], records: int) -> Report:
    """Return the table and the verdict."""
    idle = found[IDLE].at(0.99)
    rows = {
        name: (each.at(0.5), each.at(0.99), max(each.late_ms), each.at(0.99) - idle, each.searches / each.seconds)
        for name, each in found.items()
    }
    header = ("p50 ms", "p99 ms", "most ms", "p99 above idle ms", "searches a second")
    above = max(each.at(0.99) for name, each in found.items() if name.startswith(OURS)) - idle
    return Report(
        "loop_delay",
        [
            Table(
                f"How late the loop is, {records:,} records", ("meanwhile", *header), [(n, *r) for n, r in rows.items()]
            )
        ],
        {name: dict(zip(header, row, strict=True)) for name, row in rows.items()},
        [
            f"goal: p99 through AsyncMemory at most {GOAL_MS:g} ms above idle; it is {above:.1f} ms, "
            + ("reached" if above <= GOAL_MS else "missed"),
            f"Python's switch interval: {sys.getswitchinterval() * 1e3:g} ms",
        ],
    )


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--records", type=int, default=RECORDS, help="how many records are searched")
    options.add_argument("--seconds", type=float, default=8.0, help="how long each is measured")
    given = options.parse_args()
    records, seconds = (5_000, 1.0) if given.quick else (given.records, given.seconds)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder), records, seconds))
    published(found, records).publish(given.json)


if __name__ == "__main__":
    main()
