"""LoCoMo: how many of the turns that answer a question stand among the first ten that a search finds.

One scope for each conversation, filled by the importer; questions as they are; what is to be found are the evidence
turns. The totals are those of categories 1 to 4; category 5 asks what was never said, and is counted apart.

    python benchmarks/locomo.py --data locomo10.json --json locomo.json
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from common.options import parser, peer_pythons
from common.retrieval import EMBEDDERS, Conversation, Question, compare
from common.retrieval_report import report
from seasoned import Memory
from seasoned.transfer.importing import import_file

GOALS = {"hashing": 0.72, "static": 0.73, "minilm": 0.76}
APART = "5"
QUICK = 2


def main() -> None:
    """Run it."""
    options = parser(__doc__, data="locomo10.json")
    options.add_argument("--embedder", action="append", choices=EMBEDDERS, help="again for more (default: all)")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        conversations = read(given.data, folder)
        outcome = compare(
            conversations[:QUICK] if given.quick else conversations,
            given.embedder or EMBEDDERS,
            peer_pythons(given.peer_python, ("bm25", "chroma")),
            folder,
        )
    report("LoCoMo", outcome, goals=GOALS, apart=APART).publish(given.json)


def read(path: Path, folder: Path) -> list[Conversation]:
    """Return the samples of a file as conversations, each written to a file of its own in `folder`."""
    samples = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(samples, list):
        sys.exit(f"{path.name} is not a list of LoCoMo samples")
    return [_conversation(sample, folder) for sample in samples]


def _conversation(sample: dict[str, object], folder: Path) -> Conversation:
    name = str(sample["sample_id"])
    alone = folder / f"{name}.json"
    alone.write_text(json.dumps([sample]), encoding="utf-8")

    def fill(memory: Memory) -> None:
        done = import_file(memory, alone)
        if done.refused:
            sys.exit(f"{name}: {done.refused[0]}")

    return Conversation(name, fill, list(_questions(sample, name)))


def _questions(sample: dict[str, object], name: str) -> Iterator[Question]:
    known, asked = _turns(sample), sample["qa"]
    assert isinstance(asked, list)
    for each in asked:
        gold = frozenset(f"locomo/{name}/{known[turn]}" for turn in evidence(each["evidence"]) if turn in known)
        if gold:
            yield Question(each["question"], gold, str(each["category"]))


def _turns(sample: dict[str, object]) -> dict[tuple[int, int], str]:
    """Return each turn's id as it is written, by its session and place."""
    said = sample["conversation"]
    assert isinstance(said, dict)
    names = [turn["dia_id"] for turns in said.values() if isinstance(turns, list) for turn in turns]
    return {place: name for name in names for place in evidence([name])}


def evidence(items: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the turns named, in any of the forms met: "D8:6; D9:17", "D:11:26", "D30:05"."""
    for item in items:
        for session, place in re.findall(r"D:?(\d+):(\d+)", item):
            yield int(session), int(place)


if __name__ == "__main__":
    main()
