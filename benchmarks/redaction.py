"""What redaction costs: the time of a write and of a text, with and without it.

    python benchmarks/redaction.py [--writes 300]

Each line is the median of single writes to a file with durability "normal" and an embedder of no model, so that what
remains is this package's own time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from seasoned import Memory
from seasoned.redaction import RedactionPolicy, Redactor

TEXTS = {
    "English, 80 characters": "We moved the meeting to Thursday, since the harbour office opens at nine then. ",
    "English with an address": "Write to alice@example.com about the parcel, or call +49 151 12345678 at noon. ",
    "Chinese, 40 characters": "我们把会议改到星期四，因为那天港口办公室九点开门，请提前准备好所有的文件和样品谢谢。",
    "English, 2,000 characters": "We moved the meeting to Thursday, since the harbour office opens at nine then. " * 25,
    "JSON of a tool call": json.dumps({"to": "alice@example.com", "items": [{"id": n, "n": 3} for n in range(10)]}),
}


def median_us(work: Callable[[int], object], times: int) -> float:
    """Return the median time of one call, in microseconds."""
    taken = list[float]()
    for number in range(times):
        start = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e6


def written_us(text: str, writes: int, policy: RedactionPolicy | None) -> float:
    """Return the median time of one write of a message."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "m.db", embedder="hashing", durability="normal", redaction=policy) as memory,
    ):
        return median_us(
            lambda number: memory.conversation.add({"role": "user", "content": f"{number} {text}"}), writes
        )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writes", type=int, default=300)
    writes = parser.parse_args().writes
    redactor = Redactor()
    print(f"{'text':28}{'redact':>10}{'write':>10}{'with':>10}   (microseconds, median of {writes})")
    for name, text in TEXTS.items():
        alone = median_us(lambda number, text=text: redactor.text(f"{number} {text}"), writes)
        plain, redacted = (written_us(text, writes, policy) for policy in (None, RedactionPolicy()))
        print(f"{name:28}{alone:10.0f}{plain:10.0f}{redacted:10.0f}")


if __name__ == "__main__":
    main()
