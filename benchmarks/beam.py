"""BEAM: long chats with an assistant, in the same setting as LoCoMo.

The data is a folder with one folder for each chat, of `chat.json` and `probing_questions.json`. One scope for each
chat and one session for each of its batches; what is to be found are the messages in `source_chat_ids`.

    python benchmarks/beam.py --data beam --json beam.json
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from common.options import parser, peer_pythons
from common.retrieval import EMBEDDERS, Conversation, Question, compare
from common.retrieval_report import report
from seasoned import Memory

GOALS = {"hashing": 0.51, "static": 0.58, "minilm": 0.62}
QUICK = 1
TAIL = re.compile(r"\s*->->.*\Z", re.DOTALL)


def main() -> None:
    """Run it."""
    options = parser(__doc__, data="folder with one folder for each chat")
    options.add_argument("--embedder", action="append", choices=EMBEDDERS, help="again for more (default: all)")
    given = options.parse_args()
    conversations = read(given.data)
    with tempfile.TemporaryDirectory() as made:
        outcome = compare(
            conversations[:QUICK] if given.quick else conversations,
            given.embedder or EMBEDDERS,
            peer_pythons(given.peer_python, ("bm25", "chroma")),
            Path(made),
        )
    report("BEAM", outcome, goals=GOALS).publish(given.json)


def read(path: Path) -> list[Conversation]:
    """Return the chats of a folder as conversations."""
    folders = sorted(each.parent for each in path.glob("*/chat.json"))
    if not folders:
        sys.exit(f"there is no chat.json in the folders of {path.name}")
    return [_conversation(folder) for folder in folders]


def _conversation(folder: Path) -> Conversation:
    batches = json.loads((folder / "chat.json").read_text(encoding="utf-8"))
    known: set[str] = {str(message["id"]) for batch in batches for turn in batch["turns"] for message in turn}

    def fill(memory: Memory) -> None:
        at: datetime | None = None
        for number, batch in enumerate(batches, 1):
            said = [message for turn in batch["turns"] for message in turn]
            times = [at := _date(message.get("time_anchor")) or at for message in said]
            memory.conversation.add(
                [{"role": message["role"], "content": TAIL.sub("", message["content"])} for message in said],
                session=f"batch-{number}",
                at=times,
                ids=[str(message["id"]) for message in said],
            )

    return Conversation(folder.name, fill, list(_questions(folder, known)))


def _date(written: str | None) -> datetime | None:
    """Return the day of an anchor such as `March-15-2024`."""
    if not written:
        return None
    try:
        return datetime.strptime(written, "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _questions(folder: Path, known: set[str]) -> Iterator[Question]:
    asked = json.loads((folder / "probing_questions.json").read_text(encoding="utf-8"))
    for category, each in ((category, each) for category, some in asked.items() for each in some):
        gold = frozenset(str(one) for one in numbers_in(each.get("source_chat_ids"))) & known
        if gold:
            yield Question(each["question"], gold, category)


def numbers_in(value: object) -> Iterator[int]:
    """Yield the whole numbers in a value, however deep in lists and objects, also where written as text."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, str) and value.isdecimal():
        yield int(value)
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(inner)


if __name__ == "__main__":
    main()
