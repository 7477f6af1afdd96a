"""One session of an adaptation: testing examples, learning from them in steps, applying what was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from seasoned.asking import Flow
from seasoned.playbook.adapt.accounts import Accounts
from seasoned.playbook.adapt.checkpoint import Checkpoint
from seasoned.playbook.adapt.meter import Meter
from seasoned.playbook.adapt.outcomes import Answered, Attempt, Learned
from seasoned.playbook.adapt.recording import recorded
from seasoned.playbook.adapt.rollouts import Together
from seasoned.playbook.adapt.sampling import Roles, Sample, attempted, learning
from seasoned.playbook.adapt.settings import Settings
from seasoned.playbook.adapt.showing import Shown, shown
from seasoned.playbook.adapt.tasks import Example, Task
from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Applied
from seasoned.playbook.entries import Entry

T = TypeVar("T")

Placed: TypeAlias = tuple[int, Example]
"""An example with its place in the data."""

AFTER: Final = "/after"
"""Ends the phase in which the examples of a step are answered once more."""

AGAIN: Final = "/again"
"""Ends the name of the part in which examples that failed get one more try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What every phase works with: the playbook, the task, who answers, and what is known of the run."""

    core: Core
    task: Task
    roles: Roles
    settings: Settings
    checkpoint: Checkpoint
    accounts: Accounts
    meter: Meter
    run: str
    examples: int

    def is_stopped(self) -> bool:
        """Whether the budget has ended the session."""
        return self.accounts.stopped is not None

    def restore(self) -> bool:
        """Apply what the checkpoint says was applied, where the playbook lacks it; tell whether it did."""
        before = self.core.number
        for phase, changed in list(self.checkpoint.applied.items()):
            if changed:
                self._apply(phase)
        for phase in self.checkpoint.open:
            if self.core.knows(self._by(phase)):
                self.checkpoint.add_applied_before(phase)
        return self.core.number != before

    def test(self, phase: str, examples: Sequence[Placed]) -> Iterator[Together]:
        """Answer examples with the playbook as it is when the phase is first begun."""
        known = self.checkpoint.shown.get(phase)
        seen = known or self.checkpoint.show(phase, self._shown())
        yield from self._answer(phase, examples, seen)

    def learn(self, phase: str, examples: Sequence[Placed], firsts: Mapping[int, Attempt]) -> Iterator[Together]:
        """Take one step: learn from examples with the same playbook, then change it by all that they give."""
        if phase not in self.checkpoint.applied:
            seen, entries = self._shown(), self.core.entries()
            known = self.checkpoint.learned.get(phase, {})
            left = [(place, each) for place, each in examples if place not in known]
            self._tick(phase)
            yield [self._learning(phase, each, firsts.get(each[0]), seen, entries) for each in left]
            if self.is_stopped():
                return
            self.checkpoint.add_applied(phase, changed=self._apply(phase))
        else:
            self._tick(phase)
        if self.settings.recheck:
            learned = self.checkpoint.learned[phase]
            through = [(place, each) for place, each in examples if learned[place].error is None]
            yield from self._answer(phase + AFTER, through, self._shown())

    def learn_again(self, part: str, examples: Sequence[Example]) -> Iterator[Together]:
        """Give the examples of a part of which a call failed one more try, in steps of their own."""
        failed = sorted(
            place
            for phase, lessons in self.checkpoint.learned.items()
            for place, each in lessons.items()
            if each.error is not None and phase.startswith(f"{part}/") and not phase.startswith(part + AGAIN)
        )
        for number, places in enumerate(batches(failed, self.settings.batch), 1):
            yield from self.learn(f"{part}{AGAIN}/{number:05d}", [(place, examples[place]) for place in places], {})
            if self.is_stopped():
                return

    def _shown(self) -> Shown:
        return shown(self.core, self.settings.playbook_tokens)

    def _tick(self, phase: str) -> None:
        """Count what earlier sessions learned."""
        for each in list(self.checkpoint.learned.get(phase, {}).values()):
            self._count(each)

    def _count(self, learned: Learned) -> None:
        if AGAIN not in learned.phase:
            self.meter.tick(learned.phase.rpartition("/")[0], right=learned.first.right)

    def _answer(self, phase: str, examples: Sequence[Placed], seen: Shown) -> Iterator[Together]:
        counted = not phase.endswith(AFTER)
        left = list[Placed]()
        answers = self.checkpoint.answered.get(phase, {})
        for each in examples:
            known = answers.get(each[0])
            if known is None:
                left.append(each)
            elif counted:
                self.meter.tick(phase, right=known.attempt.right)
        yield [self._answering(phase, each, seen) for each in left]

    def _answering(self, phase: str, placed: Placed, seen: Shown) -> Flow[None]:
        place, example = placed
        sample = self._sample(phase, placed, seen, ())
        found = yield from recorded(attempted(sample), sample.name, self.checkpoint, self.accounts)
        if found is None:
            return
        attempt = found.value
        self.checkpoint.add_answered(
            Answered(phase=phase, place=place, id=example.id, target=example.target, attempt=attempt)
        )
        if not phase.endswith(AFTER):
            self.meter.tick(phase, right=attempt.right)

    def _learning(
        self, phase: str, placed: Placed, first: Attempt | None, seen: Shown, entries: Sequence[Entry]
    ) -> Flow[None]:
        place, example = placed
        sample = self._sample(phase, placed, seen, entries)
        before = first if first is not None and first.error is None else None
        found = yield from recorded(learning(sample, before), sample.name, self.checkpoint, self.accounts)
        if found is None:
            return
        lesson = found.value
        error = lesson.error or (found.failed if lesson.degraded else None)
        learned = Learned(
            phase=phase,
            place=place,
            id=example.id,
            target=example.target,
            first=lesson.attempts[0],
            last=lesson.attempts[-1],
            attempts=len(lesson.attempts),
            deltas=() if error is not None else lesson.deltas,
            error=error,
            warnings=lesson.warnings,
        )
        self.checkpoint.add_learned(learned)
        self._count(learned)

    def _sample(self, phase: str, placed: Placed, seen: Shown, entries: Sequence[Entry]) -> Sample:
        return Sample(
            task=self.task,
            roles=self.roles,
            example=placed[1],
            place=placed[0],
            of=self.examples,
            shown=seen,
            entries=entries,
            rounds=self.settings.rounds,
            name=f"{self.run}/{phase}/{placed[0]}",
        )

    def _apply(self, phase: str) -> bool:
        """Apply what a step learned, in the order of its examples, once; tell whether the playbook changed."""
        learned = [each for _, each in sorted(self.checkpoint.learned.get(phase, {}).items())]
        deltas = [delta for each in learned for delta in each.deltas]
        if not deltas:
            return False
        reason = f"learned from {len(learned)} example{'s' if len(learned) > 1 else ''}, {phase}"
        done = self.core.apply(deltas, by=self._by(phase), reason=reason)
        return done.duplicate or any(each.status in (Applied.WRITTEN, Applied.CREDITED) for each in done.effects)

    def _by(self, phase: str) -> str:
        """Return the name by which a step is applied."""
        return f"{self.run}/{phase}"


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in their order, `size` at a time, the last ones fewer."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
