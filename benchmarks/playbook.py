"""Refining a playbook: what one new entry costs in a small and a large one, and what is left of a published one.

The large playbooks are made of words at random. A new entry is added and refined in three kinds: one that says
something new, one that says what another says and a little more (merged), one that says the same (an exact duplicate).
With `--data` a playbook in the paper's format is read and refined whole, by words and by all-MiniLM-L6-v2, and checked:
exact duplicates left, near pairs that are neither merged nor explained, details of a bullet that its entry lacks.

    python benchmarks/playbook.py --json playbook.json
    python benchmarks/playbook.py --data appworld-playbook-online.txt --json playbook.json
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Final

import numpy as np

from common.machine import fsync_ms
from common.options import parser
from common.progress import say
from common.report import Report, Table
from seasoned.embedders import resolve
from seasoned.playbook import Add, Playbook
from seasoned.playbook.likeness import folded
from seasoned.playbook.paper import read
from seasoned.playbook.refining import Refined
from seasoned.playbook.wording import missing

SIZES: Final = (500, 5_000)
QUICK_SIZES: Final = (100, 500)
TIMES: Final = 60
SEED: Final = 7
THRESHOLD: Final = 0.90
CONSONANTS: Final = "bcdfglmnprst"
VOWELS: Final = "aeiou"
KINDS: Final = ("new", "near", "same")


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of adding one entry and of refining after it: medians, what nine of ten stay under, the least.

    `cpu_ms` is the processor's time for both, at the median: what is left where the disk and other work are taken away.
    """

    add_ms: float
    refine_ms: float
    refine_p90_ms: float
    both_ms: float
    both_min_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Refining:
    """What refining made of a published playbook."""

    bullets: int
    exact_before: int
    entries: int
    exact_left: int
    groups: int
    near_left: int
    unexplained: int
    lost: int
    seconds: float


def main() -> None:
    """Run it and publish what it found."""
    given = _options()
    tables, figures = list[Table](), dict[str, object]()
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        folder = Path(made)
        disk = fsync_ms(folder)
        for size in QUICK_SIZES if given.quick else SIZES:
            costs, first = _grown(folder / f"{size}.db", size)
            tables.append(_costs(f"{size:,} entries, by words; first refining of all: {first:.1f} s", costs))
            figures[f"random_{size}"] = {"first_s": first, **{kind: asdict(cost) for kind, cost in costs.items()}}
        if given.data is not None:
            for embedder in ("hashing", "minilm"):
                table, found = _published(folder / f"{embedder}.db", given.data, embedder)
                tables += table
                figures[f"published_{embedder}"] = found
    notes = [f"fsync of this disk: {disk:.3f} ms; each change is durable", "targets: merge of one in the published "
             "playbook <= 5 ms by words, add and refine in 5,000 entries <= 10 ms"]  # fmt: skip
    Report(benchmark="playbook", tables=tables, figures=figures, notes=notes).publish(given.json)


def _grown(path: Path, size: int) -> tuple[dict[str, Cost], float]:
    say(f"a playbook of {size:,} entries")
    rng = random.Random(SEED)
    words = [
        "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(2, 4))) for _ in range(3000)
    ]
    texts = [_text(words, rng) for _ in range(size)]
    with Playbook(path, embedder="hashing") as book:
        book.apply([Add(content=text, section=f"SECTION {n % 7}") for n, text in enumerate(texts)])
        start = perf_counter()
        book.refine()
        first = perf_counter() - start
        book.search(texts[0])
        kinds: dict[str, Callable[[], str]] = {
            "new": lambda: _text(words, rng),
            "near": lambda: f"{rng.choice(texts)} And {rng.choice(words)} counts.",
            "same": lambda: rng.choice(texts).upper(),
        }
        return {kind: _cost(book, kinds[kind]) for kind in KINDS}, first


def _text(words: Sequence[str], rng: random.Random) -> str:
    return " ".join(rng.choice(words) for _ in range(40)).capitalize() + "."


def _cost(book: Playbook, made: Callable[[], str]) -> Cost:
    adds, refines, cpu = list[float](), list[float](), list[float]()
    for _ in range(TIMES):
        text, busy = made(), process_time()
        start = perf_counter()
        book.add(text)
        added = perf_counter()
        book.refine()
        adds.append((added - start) * 1e3)
        refines.append((perf_counter() - added) * 1e3)
        cpu.append((process_time() - busy) * 1e3)
    both = [one + other for one, other in zip(adds, refines, strict=True)]
    return Cost(median(adds), median(refines), sorted(refines)[int(TIMES * 0.9)], median(both), min(both), median(cpu))


def _costs(title: str, costs: dict[str, Cost]) -> Table:
    header = ["new entry", "add ms", "refine ms", "refine p90 ms", "both ms", "least of both ms", "CPU ms"]
    rows = [[kind, *(round(each, 2) for each in asdict(cost).values())] for kind, cost in costs.items()]
    return Table(title, header, rows)


def _published(path: Path, data: Path, embedder: str) -> tuple[list[Table], dict[str, object]]:
    say(f"the published playbook with {embedder}")
    bullets = [(entry.id, section, entry.content) for section, entry in read(data.read_text(encoding="utf-8"))]
    with Playbook(path, embedder=embedder) as book:
        book.apply([Add(id=name, section=section, content=content) for name, section, content in bullets])
        start = perf_counter()
        refined = book.refine()
        seconds = perf_counter() - start
        found = _checked(book, bullets, refined, seconds, embedder)
        reasons = Counter(kept.reason.partition(":")[0] for kept in refined.kept)
        rng = random.Random(SEED)
        cost = _cost(book, lambda: f"{rng.choice(bullets)[2]} And {rng.randrange(10**6)} counts.")
        embed_ms = _embedding_ms(embedder, [content for _, _, content in bullets[:TIMES]])
    title = f"the published playbook with {embedder}"
    tables = [
        Table(title, [*asdict(found)], [[*asdict(found).values()]]),
        Table(f"{title}: kept apart", ["reason", "pairs"], [[*each] for each in reasons.most_common()]),
        _costs(f"{title}: one near entry more; embedding a text takes {embed_ms:.1f} ms", {"near": cost}),
    ]
    figures = {"refining": asdict(found), "kept": dict(reasons), "near": asdict(cost), "embed_ms": embed_ms}
    return tables, figures


def _checked(
    book: Playbook, bullets: Sequence[tuple[str, str, str]], refined: Refined, seconds: float, embedder: str
) -> Refining:
    left = book.entries()
    explained = {kept.ids for kept in refined.kept}
    near = _near_pairs([entry.content for entry in left], embedder)
    pairs = [(left[one].id, left[other].id) for one, other in near]
    texts = [folded(content) for _, _, content in bullets]
    return Refining(
        bullets=len(bullets),
        exact_before=sum(count - 1 for count in Counter(texts).values()),
        entries=len(left),
        exact_left=len(left) - len({folded(entry.content) for entry in left}),
        groups=len(refined.groups),
        near_left=len(pairs),
        unexplained=sum(pair not in explained for pair in pairs),
        lost=sum(bool(missing(book.get(name).content, [content])) for name, _, content in bullets),
        seconds=seconds,
    )


def _near_pairs(texts: Sequence[str], embedder: str) -> list[tuple[int, int]]:
    """Return the pairs with a cosine of 0.90 or more, where the embedder has any meaning."""
    space = resolve(embedder)
    if space.weight == 0:
        return []
    vectors = np.asarray(space.embed(texts))
    return [(int(one), int(other)) for one, other in np.argwhere(np.triu(vectors @ vectors.T >= THRESHOLD, 1))]


def _embedding_ms(embedder: str, texts: Sequence[str]) -> float:
    space, taken = resolve(embedder), list[float]()
    if space.weight == 0:
        return 0.0
    for text in texts:
        start = perf_counter()
        space.embed([text])
        taken.append((perf_counter() - start) * 1e3)
    return median(taken)


def _options() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument(
        "--data", type=Path, help="a playbook in the paper's format; without it only random ones are made"
    )
    made.add_argument("--folder", type=Path, help="where the files are made, for the disk under it")
    return made.parse_args()


if __name__ == "__main__":
    main()
