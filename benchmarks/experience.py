"""What it costs to store a decision and to find similar ones, at 100,000 decisions in one scope.

Situations are made-up sentences, some or all of them distinct; states have twelve metrics; three in ten rewards are
below the floor, and one in twenty decisions was rated. Vectors are drawn beforehand in 384 dimensions, so that the
times are without embedding. Each query names a situation in part of its words, and a state.

    python benchmarks/experience.py --json experience.json
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from common.made import Maker
from common.options import parser
from common.report import Report, Table
from seasoned import Memory
from seasoned.ports import Fingerprint

SIZE = 100_000
QUICK = 5_000
SITUATIONS = 500
QUERIES = 100
SINGLE = 500
DIMENSION = 384
ACTIONS = ("communicate", "delegate", "rest", "negotiate", "rebook", "spend", "exercise", "postpone")
DOMAINS = ("career", "finances", "relationships", "physical_health", "mental_wellbeing", "time")
METRICS = tuple(f"{domain}.{name}" for domain in DOMAINS for name in ("level", "stress"))
GOALS = {"retrieve_similar": 10.0, "store": 0.5}

Figures = dict[str, float]


class Drawn:
    """An embedder whose vectors follow from a checksum of the text; it keeps the time that it takes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._table = np.random.default_rng(7).standard_normal((4_096, DIMENSION)).astype(np.float32)

    @property
    def fingerprint(self) -> Fingerprint:
        """A space of its own."""
        return Fingerprint("drawn", "1", DIMENSION)

    @property
    def weight(self) -> float:
        """That of all-MiniLM-L6-v2."""
        return 0.65

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row near one of 4,096 for each text."""
        start = perf_counter()
        rows = np.stack([self._row(crc32(text.encode())) for text in texts])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.seconds += perf_counter() - start
        return rows

    def _row(self, code: int) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self._table[code % 4_096] + 0.5 * self._table[(code >> 12) % 4_096]
        return row


@dataclass(frozen=True, slots=True)
class Case:
    """One way to fill a scope: how many situations are distinct, whether there are vectors, how durable it is."""

    name: str
    situations: int
    dense: bool
    durability: str


def main() -> None:
    """Run it."""
    options = parser(__doc__)
    options.add_argument("--size", type=int, default=SIZE, help=f"how many decisions (default {SIZE:,})")
    given = options.parse_args()
    size = QUICK if given.quick else given.size
    cases = [
        Case("words, 500 situations, FULL", SITUATIONS, False, "full"),
        Case("words and vectors, 500 situations, NORMAL", SITUATIONS, True, "normal"),
        Case("words and vectors, 500 situations, FULL", SITUATIONS, True, "full"),
        Case("words and vectors, all situations distinct, FULL", size, True, "full"),
    ]
    rows = {}
    for case in cases:
        print(case.name, file=sys.stderr)
        rows[case.name] = run(case, size)
    report(size, rows).publish(given.json)


def report(size: int, rows: Mapping[str, Figures]) -> Report:
    """Return the tables, each time beside its goal."""
    verbs = list(next(iter(rows.values())))
    table = Table(
        f"{size:,} decisions in one scope, milliseconds without embedding",
        ["what", *verbs],
        [[name, *row.values()] for name, row in rows.items()],
    )
    ratios = {
        name: {verb: row[f"{verb} p50"] / goal for verb, goal in GOALS.items() if f"{verb} p50" in row}
        for name, row in rows.items()
    }
    shares = Table(
        "Share of the goal (retrieve_similar p50 10 ms, store p50 0.5 ms)",
        ["what", *GOALS],
        [[name, *row.values()] for name, row in ratios.items()],
    )
    return Report("experience", [table, shares], {"ms": rows, "share_of_goal": ratios, "goals_ms": GOALS})


def run(case: Case, size: int) -> Figures:
    """Fill a scope and time it."""
    drawn = Drawn()
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "a.db"
        fill(path, case, size, drawn)
        with Memory(path, embedder=drawn if case.dense else "hashing", durability=case.durability) as memory:  # type: ignore[arg-type]
            start = perf_counter()
            memory.experience.retrieve_similar("warm", {}, 1)
            first = perf_counter() - start
            found = timed_queries(memory, case, drawn)
            stored = timed_stores(memory, case, size, drawn)
            mixed = timed_mixed(memory, case, drawn)
    return {
        **spread("store", stored),
        **spread("retrieve_similar", found),
        **spread("after a store", mixed),
        "first look s": first,
    }


def spread(name: str, times: Sequence[float]) -> Figures:
    """Return the middle and the 95th percentile, in milliseconds."""
    return {f"{name} p50": median(times) * 1e3, f"{name} p95": quantiles(times, n=20)[-1] * 1e3}


def fill(path: Path, case: Case, size: int, drawn: Drawn) -> None:
    """Store all decisions, without waiting for the disk, in batches."""
    from seasoned.experience.forms import DECISION, Draft
    from seasoned.ports import Put, SystemClock
    from seasoned.records import Key, Scope
    from seasoned.search import Searcher
    from seasoned.stores.sqlite import SQLiteStore

    store = SQLiteStore(path, durability="normal")
    searcher = Searcher(store, drawn)
    scope, now = Scope("default"), SystemClock().now()
    batch = []
    for number, made in enumerate(decisions(case.situations, size)):
        situation, action, reward, fields = made
        draft = Draft(
            situation=situation,
            action=action,
            reward=reward,
            domain=str(fields["domain"]),
            reasoning=str(fields["reasoning"]),
            state=fields["metrics"],  # type: ignore[arg-type]
            episode=f"ep{number // 5}",
        )
        batch.append(draft.decision(Key(scope, DECISION, f"d{number}"), now, None, ()))
        if len(batch) == 2_000 or number == size - 1:
            vectors = searcher.vectors([record.text for record in batch])[0] if case.dense else [None] * len(batch)
            store.apply([Put(record, vector) for record, vector in zip(batch, vectors, strict=True)])
            batch.clear()
    store.close()


def decisions(situations: int, size: int) -> Iterator[tuple[str, str, float, dict[str, object]]]:
    """Yield made-up decisions; everything follows from the seed."""
    random = np.random.default_rng(3)
    texts = list(Maker(3)._texts(min(situations, size)))
    reasons = list(Maker(4)._texts(1_000))
    for number in range(size):
        metrics = dict(zip(METRICS, random.uniform(0, 100, len(METRICS)).round(1).tolist(), strict=True))
        fields = {
            "domain": DOMAINS[random.integers(len(DOMAINS))],
            "reasoning": f"{reasons[random.integers(len(reasons))][:100]} {number}",
            "metrics": metrics,
        }
        reward = round(float(random.normal(0.3, 0.5)), 3)
        yield texts[number % len(texts)], ACTIONS[random.integers(len(ACTIONS))], reward, fields


def timed_queries(memory: Memory, case: Case, drawn: Drawn) -> list[float]:
    """Return the seconds of each query."""
    times = []
    for situation, _, _, fields in list(decisions(case.situations, QUERIES)):
        asked = " ".join(situation.split()[:12])
        embedding, start = drawn.seconds, perf_counter()
        found = memory.experience.retrieve_similar(asked, fields["metrics"], 3)  # type: ignore[arg-type]
        times.append(perf_counter() - start - (drawn.seconds - embedding))
        assert len(found) == 3
    return times


def timed_stores(memory: Memory, case: Case, size: int, drawn: Drawn) -> list[float]:
    """Return the seconds of each single store."""
    times = []
    for number, (situation, action, reward, fields) in enumerate(decisions(case.situations, min(SINGLE, size))):
        embedding, start = drawn.seconds, perf_counter()
        memory.experience.record(situation, action, reward, episode=f"new{number // 5}", **fields)  # type: ignore[arg-type]
        times.append(perf_counter() - start - (drawn.seconds - embedding))
    return times


def timed_mixed(memory: Memory, case: Case, drawn: Drawn) -> list[float]:
    """Return the seconds of queries each of which follows a store and a rating."""
    times = []
    for number, (situation, action, reward, fields) in enumerate(decisions(case.situations, 50)):
        memory.experience.record(situation, action, reward, episode=f"mixed{number}", **fields)  # type: ignore[arg-type]
        memory.experience.rate(number % 11, episode=f"mixed{number}", note="as it went")
        embedding, start = drawn.seconds, perf_counter()
        memory.experience.retrieve_similar(situation, fields["metrics"], 3)  # type: ignore[arg-type]
        times.append(perf_counter() - start - (drawn.seconds - embedding))
    return times


if __name__ == "__main__":
    main()
