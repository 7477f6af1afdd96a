"""Online adaptation on the Formula rows: accuracy of each window, calls a sample, and what being killed changes.

By default a made-up model answers: it is right only where the playbook names the formula that is asked for, so what is
measured is the harness: that what was learned is kept and shown, how many calls it takes, and how much time of its own.
Then the same run is killed in the middle of calls and resumed, and must end alike. With `--model` a real one answers,
behind any endpoint that speaks OpenAI's chat.

    python benchmarks/adapt.py --data formula_train_subset_500.jsonl --json adapt.json
    python benchmarks/adapt.py --data formula_test.jsonl --model qwen3:8b --base-url http://localhost:11434/v1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from common.options import parser
from common.progress import say
from common.report import Report, Table
from seasoned.models.openai_compatible import OLLAMA, OpenAICompatible
from seasoned.playbook import Playbook
from seasoned.playbook.adapt import Adaptation, Data, Example, Formula, Result, Settings
from seasoned.ports import Message

QUICK: Final = 40
SEED: Final = 7


class Killed(BaseException):
    """As if the process had been killed."""


class Novice:
    """Knows every answer, but gives it only where the playbook names the formula; dies at the calls in `deaths`."""

    def __init__(self, examples: Sequence[Example], deaths: Sequence[int] = ()) -> None:
        self._targets = {each.question: each.target for each in examples}
        self._deaths = set(deaths)
        self._lock = threading.Lock()
        self.calls = 0

    def chat(self, messages: Sequence[Message], *, max_tokens: int, temperature: float, tag: str) -> str:  # noqa: ARG002
        """Reply as generator, reflector or curator."""
        with self._lock:
            self.calls += 1
            if self.calls in self._deaths:
                raise Killed
        first, last = (str(message["content"]) for message in (messages[0], messages[-1]))
        if tag.endswith("generate"):
            return self._answer(first, last)
        return _reflection(last) if tag.endswith("reflect") else _operations(last)

    def _answer(self, system: str, asked: str) -> str:
        known = re.search(rf"\[(\S+)\] [^\n]*:: {re.escape(_rule(asked))}", system)
        question = next((each for each in (asked, asked.partition("\n\n<memory>")[0]) if each in self._targets), "")
        answer = self._targets[question] if known else "unknown"
        return json.dumps({"reasoning": "", "bullet_ids": [known[1]] if known else [], "final_answer": answer})


def _rule(text: str) -> str:
    return f"Mind the formula {re.findall(r'Use formula (.+?) to answer', text)[-1]}."


def _reflection(text: str) -> str:
    mark = "helpful" if "reward: 1" in text else "harmful"
    tags = [{"id": name, "tag": mark} for name in re.findall(r"\[([a-z]+-\d{5})\] FORMULAS", text)]
    return json.dumps({"reasoning": "The formula decides.", "key_insight": "", "bullet_tags": tags})


def _operations(text: str) -> str:
    rule = _rule(text)
    add = {"type": "ADD", "section": "FORMULAS & CALCULATIONS", "content": rule}
    return json.dumps({"reasoning": "", "operations": [] if rule in text else [add]})


@dataclass(frozen=True, slots=True)
class Measured:
    """A run: its result, what the playbook says after it, the seconds it took, and how often it was killed.

    `calls` are the most calls of a sample that was right at once, and of one that was not.
    """

    result: Result
    entries: Sequence[tuple[str, str, int]]
    seconds: float
    calls: tuple[int, int]
    deaths: int = 0

    @property
    def end(self) -> tuple[object, ...]:
        """What must not depend on being killed."""
        return self.result.windows, self.result.after, self.entries


def main() -> None:
    """Run it and publish what it found."""
    given = _options()
    examples = list(Formula().examples(given.data))[: QUICK if given.quick else given.limit]
    settings = Settings(mode="online", window=given.window, batch=given.batch, workers=given.workers, baseline=False)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if given.model is not None:
            _publish(given, [_asking(given, examples, settings, folder)], [])
            return
        say(f"{len(examples)} questions, a made-up model")
        whole = _run(examples, settings, folder / "whole", Novice(examples))
        say(f"the same, killed {given.deaths} times")
        killed = _killed(examples, settings, folder / "killed", given.deaths, whole.result.spent.calls)
        alike = "the same" if killed.end == whole.end else "NOT THE SAME"
        extra = killed.result.spent.calls - whole.result.spent.calls
        note = f"killed in {killed.deaths} calls and resumed, it ends with {alike} windows, answers and playbook"
        _publish(given, [whole, killed], [note, f"calls in its accounts beyond those of the whole run: {extra}"])
    if alike != "the same":
        raise SystemExit(1)


def _asking(given: argparse.Namespace, examples: Sequence[Example], settings: Settings, folder: Path) -> Measured:
    key = os.environ.get(given.key_env) if given.key_env else None
    with OpenAICompatible(given.model, given.base_url, api_key=key, timeout_s=given.timeout) as client:
        return _run(examples, settings, given.checkpoint or folder / "run", client)


def _run(examples: Sequence[Example], settings: Settings, folder: Path, model: Novice | OpenAICompatible) -> Measured:
    folder.mkdir(parents=True, exist_ok=True)
    start = perf_counter()
    with Playbook(folder / "playbook.db", embedder="hashing") as playbook:
        work = Adaptation(playbook, Formula(), settings, checkpoint=folder / "checkpoint")
        result = work.run(Data(train=examples), model)
        entries = [(each.id, each.content, each.counts.helpful) for each in playbook.entries()]
    return Measured(result, entries, perf_counter() - start, _most_calls(folder / "checkpoint"))


def _most_calls(checkpoint: Path) -> tuple[int, int]:
    """Return the most calls of a sample that was right at once, and of one that was not."""
    rows = _lines(checkpoint / "results.jsonl")
    right = {str(row["place"]): row["right"] for row in rows if str(row.get("phase")).startswith("window/")}
    calls = Counter(str(row["of"]).rpartition("/")[2] for row in _lines(checkpoint / "replies.jsonl"))
    most = [max((number for place, number in calls.items() if right.get(place) is which), default=0)
            for which in (True, False)]  # fmt: skip
    return most[0], most[1]


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _killed(examples: Sequence[Example], settings: Settings, folder: Path, deaths: int, calls: int) -> Measured:
    """Run, killed `deaths` times at calls drawn by lot; each session goes on where the one before was."""
    rng, start, died = random.Random(SEED), perf_counter(), 0
    for _ in range(deaths):
        try:
            _run(examples, settings, folder, Novice(examples, [rng.randint(1, max(1, calls // deaths))]))
        except Killed:
            died += 1
    last = _run(examples, settings, folder, Novice(examples))
    return Measured(last.result, last.entries, perf_counter() - start, last.calls, died)


def _publish(given: argparse.Namespace, runs: Sequence[Measured], notes: Sequence[str]) -> None:
    whole = runs[0]
    windows = [[score.name.partition("/")[2], score.total, score.accuracy, after.accuracy]
               for score, after in zip(whole.result.windows, whole.result.after, strict=False)]  # fmt: skip
    names = ["whole", f"killed {runs[-1].deaths} times"]
    rows = [[name, *_row(run)] for name, run in zip(names, runs, strict=False)]
    header = [
        "run",
        "accuracy",
        "entries",
        "calls",
        "most calls, right at once",
        "most calls, wrong at first",
        "tokens",
        "failed",
        "s",
        "ms a call",
    ]
    tables = [
        Table("Online, Formula: each window before and after learning", ["window", "rows", "before", "after"], windows),
        Table("What it took", header, rows),
    ]  # fmt: skip
    Report(
        benchmark="adapt",
        tables=tables,
        figures={name: run.result.to_json() | {"seconds": run.seconds} for name, run in zip(names, runs, strict=False)},
        notes=[*notes, f"window {given.window}, batch {given.batch}, workers {given.workers}"],
    ).publish(given.json)


def _row(run: Measured) -> list[str | int | float | None]:
    online, spent = run.result.online, run.result.spent
    return [online.accuracy if online else None, len(run.entries), spent.calls, *run.calls, spent.tokens,
            run.result.failed, run.seconds, 1e3 * run.seconds / max(spent.calls, 1)]  # fmt: skip


def _options() -> argparse.Namespace:
    made = parser(__doc__, data="Formula rows as JSON lines: context and target")
    made.add_argument("--window", type=int, default=50)
    made.add_argument("--batch", type=int, default=1)
    made.add_argument("--workers", type=int, default=1)
    made.add_argument("--limit", type=int, default=None, help="only the first so many rows")
    made.add_argument("--deaths", type=int, default=10, help="how often the made-up model's run is killed")
    made.add_argument("--model", default=None, help="ask this model in place of the made-up one")
    made.add_argument("--base-url", default=OLLAMA)
    made.add_argument("--key-env", default=None, help="the environment variable with the key")
    made.add_argument("--timeout", type=float, default=120.0)
    made.add_argument("--checkpoint", type=Path, default=None, help="a folder to go on from, with --model")
    return made.parse_args()


if __name__ == "__main__":
    main()
