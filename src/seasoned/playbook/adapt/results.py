"""What an adaptation has reached: accuracy by phase, what it took, what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from seasoned.playbook.adapt.accounts import Spent
from seasoned.playbook.adapt.checkpoint import Checkpoint
from seasoned.playbook.adapt.outcomes import Attempt
from seasoned.playbook.adapt.session import AFTER, AGAIN
from seasoned.playbook.adapt.settings import Mode
from seasoned.records import JSON

BASELINE = "baseline"
TEST = "test"
VALIDATION = "val"
WINDOW = "window"

MAX_ERRORS = 5
"""Most reasons of failures that a result names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many of the examples of a phase were answered right, and how many of their parts; failed calls are wrong."""

    name: str
    right: int = 0
    total: int = 0
    parts_right: int = 0
    parts: int = 0
    failed: int = 0

    @property
    def accuracy(self) -> float:
        """The share of examples that are right, 0 to 1; 0 where there is none."""
        return self.right / self.total if self.total else 0.0

    @property
    def part_accuracy(self) -> float:
        """The share of parts that are right (of FiNER its tags), 0 to 1."""
        return self.parts_right / self.parts if self.parts else 0.0

    def to_json(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        return {
            "name": self.name,
            "accuracy": self.accuracy,
            "part_accuracy": self.part_accuracy,
            "right": self.right,
            "total": self.total,
            "failed": self.failed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an adaptation has reached so far.

    `finished` is False where the budget ended it, which `stopped` says; then the scores are of what was done. `train`
    has the first attempts of each epoch, `after` the answers after each step, `windows` (online) each window before it
    was learned from, `validations` (offline) each validation. `best` is the number of the playbook's change that
    validated best, `number` that of its last change. `failed` counts the tests and the lessons that a failed call
    left without a result: such a test is wrong, and is made again when the run is resumed.
    `errors` are the reasons with how often each was, the commonest first, at most `MAX_ERRORS`.
    """

    run: str
    mode: Mode
    finished: bool
    stopped: str | None = None
    baseline: Score | None = None
    train: tuple[Score, ...] = ()
    after: tuple[Score, ...] = ()
    windows: tuple[Score, ...] = ()
    validations: tuple[Score, ...] = ()
    test: Score | None = None
    best: int | None = None
    number: int = 0
    entries: int = 0
    failed: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)

    @property
    def online(self) -> Score | None:
        """All windows together; None for an offline run."""
        return _sum("online", self.windows) if self.windows else None

    def to_json(self) -> dict[str, JSON]:
        """Return it as plain JSON."""
        one = {"baseline": self.baseline, "online": self.online, "test": self.test}
        many = {"train": self.train, "after": self.after, "windows": self.windows, "validations": self.validations}
        return {
            "run": self.run,
            "mode": self.mode,
            "finished": self.finished,
            "stopped": self.stopped,
            **{name: None if score is None else score.to_json() for name, score in one.items()},
            **{name: [score.to_json() for score in scores] for name, scores in many.items()},
            "best": self.best,
            "number": self.number,
            "entries": self.entries,
            "failed": self.failed,
            "errors": dict(self.errors),
            "spent": self.spent.to_json(),
        }


def scores(checkpoint: Checkpoint, kind: str) -> tuple[Score, ...]:
    """Return the scores of the phases of a kind that were begun, in the order in which they were."""
    found = [phase for phase in checkpoint.shown if phase.partition("/")[0] == kind]
    return tuple(
        _score(phase, [each.attempt for each in checkpoint.answered.get(phase, {}).values()]) for phase in found
    )


def train_scores(checkpoint: Checkpoint) -> tuple[Score, ...]:
    """Return the scores of the first attempts, of each epoch or window."""
    by_part: dict[str, list[Attempt]] = {}
    for phase, lessons in list(checkpoint.learned.items()):
        if AGAIN not in phase:
            by_part.setdefault(phase.partition("/")[0], []).extend(each.first for each in lessons.values())
    return tuple(_score(part, attempts) for part, attempts in by_part.items())


def after_scores(checkpoint: Checkpoint) -> tuple[Score, ...]:
    """Return the scores of the answers after each step, of each epoch or window."""
    by_part: dict[str, list[Attempt]] = {}
    for phase, answers in list(checkpoint.answered.items()):
        if phase.endswith(AFTER) and AGAIN not in phase:
            by_part.setdefault(phase.partition("/")[0], []).extend(each.attempt for each in answers.values())
    return tuple(_score(part, attempts) for part, attempts in by_part.items())


def failed_examples(checkpoint: Checkpoint) -> int:
    """Return how many tests and how many lessons are without a result since a call failed."""
    answers = sum(
        each.attempt.error is not None
        for phase, known in checkpoint.answered.items()
        for each in known.values()
        if not phase.endswith(AFTER)
    )
    again = {(phase.partition("/")[0], place) for phase, known in checkpoint.learned.items() if AGAIN in phase
             for place, each in known.items() if each.error is None}  # fmt: skip
    lost = {(phase.partition("/")[0], place) for phase, known in checkpoint.learned.items()
            for place, each in known.items() if each.error is not None}  # fmt: skip
    return answers + len(lost - again)


def errors(checkpoint: Checkpoint) -> dict[str, int]:
    """Return why tests and lessons failed, the commonest reasons first."""
    tested = [each.attempt.error for known in checkpoint.answered.values() for each in known.values()]
    learned = [each.error for known in checkpoint.learned.values() for each in known.values()]
    return dict(Counter(error for error in (*tested, *learned) if error is not None).most_common(MAX_ERRORS))


def _score(name: str, attempts: Sequence[Attempt]) -> Score:
    return Score(
        name=name,
        right=sum(each.right for each in attempts),
        total=len(attempts),
        parts_right=sum(each.parts[0] for each in attempts),
        parts=sum(each.parts[1] for each in attempts),
        failed=sum(each.error is not None for each in attempts),
    )


def _sum(name: str, given: Iterable[Score]) -> Score:
    found = list(given)
    return Score(
        name=name,
        right=sum(each.right for each in found),
        total=sum(each.total for each in found),
        parts_right=sum(each.parts_right for each in found),
        parts=sum(each.parts for each in found),
        failed=sum(each.failed for each in found),
    )
