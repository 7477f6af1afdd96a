"""tau-bench: how often the nearest solved trajectory is one of the same task.

Each of the recorded trials is asked about by its first user message, all other trials being stored as trajectories
with their rewards: those of the same task, solved or not, and those of every other task. Counted are the trials of
which another trial of the same task was solved. No weight was set on these tasks: the policy is the default one.
Beside each share stands its 95 % interval when the tasks are drawn anew (bootstrap over tasks).

    python benchmarks/taubench.py --data folder-or-file.json --json taubench.json
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.options import parser
from common.report import Report, Table
from seasoned import Memory
from seasoned.embedders import resolve
from seasoned.errors import EmbeddingError, MissingExtra

EMBEDDERS = ("hashing", "static", "minilm")
GOAL, AIM = 0.66, 0.70


@dataclass(frozen=True, slots=True)
class Trial:
    """One trajectory: its task, the user's first message, the tools called, and the reward."""

    name: str
    task: int
    asked: str
    route: str
    reward: float


def main() -> None:
    """Run it."""
    options = parser(__doc__, data="the trajectories: a JSON file, or a folder with one")
    options.add_argument("--embedder", action="append", choices=EMBEDDERS, help="again for more (default: all)")
    given = options.parse_args()
    trials = read(given.data)[: 40 if given.quick else None]
    rows: dict[str, dict[str, float]] = {}
    for name in given.embedder or EMBEDDERS:
        try:
            resolve(name)
        except (MissingExtra, EmbeddingError) as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        rows[name] = compare(trials, name)
    report(trials, rows).publish(given.json)


def read(path: Path) -> list[Trial]:
    """Return the trials of a file, or of the one in a folder."""
    file = path if path.is_file() else next(iter(sorted(path.glob("*.json"))), path)
    return [_trial(place, each) for place, each in enumerate(json.loads(file.read_text(encoding="utf-8")))]


def _trial(place: int, found: dict[str, object]) -> Trial:
    turns, task, reward = found["traj"], found["task_id"], found["reward"]
    assert isinstance(turns, list)
    assert isinstance(task, int)
    assert isinstance(reward, (int, float))
    asked = next(str(turn["content"]) for turn in turns if turn["role"] == "user")
    calls = [call["function"]["name"] for turn in turns for call in turn.get("tool_calls") or ()]
    return Trial(f"trial-{place}", task, asked, " ".join(dict.fromkeys(calls)) or "answer", float(reward))


def compare(trials: Sequence[Trial], embedder: str) -> dict[str, float]:
    """Return the share found, the interval around it, and how many were asked."""
    print(embedder, file=sys.stderr)
    found = hits(trials, embedder)
    low, high = interval(trials, found)
    return {"share": share(found.values()), "from": low, "to": high, "asked": float(len(found))}


def hits(trials: Sequence[Trial], embedder: str) -> dict[str, bool]:
    """Return, for each trial that counts, whether the nearest solved trajectory is of its task."""
    tasks = {trial.name: trial.task for trial in trials}
    solved = defaultdict(set)
    for trial in trials:
        if trial.reward >= 1:
            solved[trial.task].add(trial.name)
    found = {}
    with Memory(embedder=embedder) as memory:
        experience = memory.experience
        for trial in trials:
            experience.record_trajectory(trial.asked, trial.route, trial.reward, task=trial.name, id=trial.name)
        for trial in trials:
            if solved[trial.task] - {trial.name}:
                memory.forget(trial.name, kinds=["trajectory"])
                nearest = experience.similar_trajectories(trial.asked, n=1, min_reward=1.0)
                found[trial.name] = tasks[nearest[0].id] == trial.task
                experience.record_trajectory(trial.asked, trial.route, trial.reward, task=trial.name, id=trial.name)
    return found


def interval(trials: Sequence[Trial], found: dict[str, bool]) -> tuple[float, float]:
    """Return the 2.5th and 97.5th percentile of the share over 2,000 draws of as many tasks."""
    of_task = defaultdict(list)
    for trial in trials:
        if trial.name in found:
            of_task[trial.task].append(found[trial.name])
    groups, random = list(of_task.values()), np.random.default_rng(1)
    drawn = [
        share(hit for place in random.integers(0, len(groups), len(groups)) for hit in groups[place])
        for _ in range(2_000)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
    return low, high


def share(found: Iterable[bool]) -> float:
    """Return how many of some are true, as a share."""
    given = list(found)
    return sum(given) / len(given) if given else 0.0


def report(trials: Sequence[Trial], rows: dict[str, dict[str, float]]) -> Report:
    """Return the table, and whether the goal is reached."""
    heads = ["share", "from", "to", "asked"]
    table = Table(
        f"{len(trials)} trajectories of {len({trial.task for trial in trials})} tasks: nearest solved, of the same",
        ["embedder", *heads],
        [[name, *(row[head] for head in heads)] for name, row in rows.items()],
    )
    best = max((row["share"] for row in rows.values()), default=0.0)
    note = f"goal {GOAL}, aim {AIM}: {'reached' if best >= GOAL else 'NOT REACHED'} with {best:.3f}"
    return Report("taubench", [table], {"share": rows, "goal": GOAL, "aim": AIM, "reached": best >= GOAL}, [note])


if __name__ == "__main__":
    main()
