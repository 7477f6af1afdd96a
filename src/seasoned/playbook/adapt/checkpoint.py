"""The checkpoint of an adaptation: what was asked, answered, learned and applied, so that it goes on from any point.

A folder of three files of JSON lines: `results.jsonl` has the plan, each example's result and each step that was
applied; `replies.jsonl` every reply of the model, so that none is asked for twice; `playbooks.jsonl` the text of the
playbook as each evaluation was shown it. One process at a time writes a checkpoint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from seasoned.asking import Ask
from seasoned.errors import InvalidInput, StoreCorrupt
from seasoned.playbook.adapt.accounts import Spent
from seasoned.playbook.adapt.lines import Lines
from seasoned.playbook.adapt.outcomes import Answered, Learned, answered_from, field, learned_from
from seasoned.playbook.adapt.showing import Shown
from seasoned.private_files import make_folder
from seasoned.records import JSON

FORMAT: Final = 1

T = TypeVar("T")


class Checkpoint:
    """What is known of one adaptation, in `folder`, or in this process where that is None. Thread safe.

    Opened again it forgets the attempts whose call failed, so that they are made again: those of evaluations, and those
    of learning whose step was not applied yet.

    Raises:
        StoreCorrupt: a file is damaged.
        StoreBusy: another process writes it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None:
            make_folder(folder)
        opened = list[Lines]()
        try:
            for name in ("results", "replies", "playbooks"):
                opened.append(Lines(None if folder is None else folder / f"{name}.jsonl"))
            self._results, self._replies, self._playbooks = opened
            self._load()
        except BaseException:
            for lines in opened:
                lines.close()
            raise

    def _load(self) -> None:
        self.answered: dict[str, dict[int, Answered]] = {}
        """What became of the examples that were tested, by phase and place."""
        self.learned: dict[str, dict[int, Learned]] = {}
        """What became of the examples that were learned from, by phase and place."""
        self.applied: dict[str, bool] = {}
        """Whether each step that was applied has changed the playbook; the steps are in their order."""
        self.finished = False
        self.kept: int | None = None
        self._plan: Mapping[str, JSON] | None = None
        for row in self._results.rows:
            self._read(row)
        for answers in self.answered.values():
            _drop(answers, [place for place, each in answers.items() if each.attempt.error is not None])
        self._failed = {
            phase: {place: each for place, each in lessons.items() if each.error is not None}
            for phase, lessons in self.learned.items()
            if phase not in self.applied
        }
        for phase, failed in self._failed.items():
            _drop(self.learned[phase], [*failed])
        self._known = {(field(row, "of", str), field(row, "n", int)): row for row in self._replies.rows}
        self.shown = {field(row, "phase", str): _shown(row) for row in self._playbooks.rows}

    def _read(self, row: Mapping[str, JSON]) -> None:
        match row.get("type"):
            case "plan":
                self._plan = row
            case "answered":
                answered = answered_from(row)
                self.answered.setdefault(answered.phase, {})[answered.place] = answered
            case "learned":
                learned = learned_from(row)
                self.learned.setdefault(learned.phase, {})[learned.place] = learned
            case "applied":
                self.applied[field(row, "phase", str)] = field(row, "changed", bool)
            case "kept":
                self.kept = field(row, "number", int)
            case "finished":
                self.finished = True
            case other:
                raise StoreCorrupt(f"a line of the checkpoint is of no known type: {other!r:.80}")

    def begin(self, run: str, plan: Mapping[str, JSON]) -> str:
        """Return the name of the run: `run` for a new one, that of the run which is gone on with.

        Raises:
            InvalidInput: the checkpoint is of other data, another task or other settings.
        """
        if self._plan is None:
            self._plan = {"type": "plan", "format": FORMAT, "run": run, "plan": dict(plan)}
            self._results.append(self._plan)
            return run
        had = field(self._plan, "plan", dict)
        if self._plan.get("format") != FORMAT:
            raise InvalidInput(f"the checkpoint is of format {self._plan.get('format')!r}, not {FORMAT}")
        other = sorted(name for name in {*had, *plan} if had.get(name) != plan.get(name))
        if other:
            told = "; ".join(f"{name} was {had.get(name)!r:.60}, is {plan.get(name)!r:.60}" for name in other)
            raise InvalidInput(f"the checkpoint is of another run: {told}; name another folder, or the same settings")
        return field(self._plan, "run", str)

    @property
    def spent(self) -> Spent:
        """What all recorded calls took."""
        return sum((_spent(row) for row in self._replies.rows), Spent())

    def reply(self, flow: str, number: int, ask: Ask) -> str | None:
        """Return what was replied to this question before; None where it was not asked, or failed."""
        row = self._known.get((flow, number))
        if row is None or row.get("asked") != _digest(ask):
            return None
        reply = row.get("reply")
        return reply if isinstance(reply, str) else None

    def add_reply(self, flow: str, number: int, ask: Ask, reply: str | None, spent: Spent) -> None:
        """Keep a reply, or that there was none."""
        self._replies.append(
            {"of": flow, "n": number, "tag": ask.tag, "asked": _digest(ask), "reply": reply, **spent.to_json()}
        )

    def add_answered(self, answered: Answered) -> None:
        """Keep what became of an example that was tested."""
        self._results.append(answered.to_json())
        self.answered.setdefault(answered.phase, {})[answered.place] = answered

    def add_learned(self, learned: Learned) -> None:
        """Keep what was learned from an example."""
        self._results.append(learned.to_json())
        self.learned.setdefault(learned.phase, {})[learned.place] = learned

    def add_applied(self, phase: str, *, changed: bool) -> None:
        """Keep that a step was applied, and whether the playbook changed by it."""
        self._results.append({"type": "applied", "phase": phase, "changed": changed})
        self.applied[phase] = changed

    @property
    def open(self) -> list[str]:
        """The steps that were learned from and, as far as is known, not applied."""
        return [phase for phase in self.learned if phase not in self.applied]

    def add_applied_before(self, phase: str) -> None:
        """Keep that a step was applied by a process that died before it said so: its failed attempts are part of it."""
        for place, failed in self._failed.pop(phase, {}).items():
            self.learned[phase].setdefault(place, failed)
        self.add_applied(phase, changed=True)

    def add_kept(self, number: int) -> None:
        """Keep which change's playbook was chosen in the end."""
        if self.kept != number:
            self._results.append({"type": "kept", "number": number})
            self.kept = number

    def finish(self) -> None:
        """Keep that the run is through."""
        if not self.finished:
            self._results.append({"type": "finished"})
            self.finished = True

    def show(self, phase: str, shown: Shown) -> Shown:
        """Return the playbook of an evaluation: as it was shown before, or `shown`, which is kept."""
        known = self.shown.get(phase)
        if known is not None:
            return known
        self._playbooks.append({"phase": phase, "number": shown.number, "ids": [*shown.ids], "text": shown.text})
        self.shown[phase] = shown
        return shown

    def close(self) -> None:
        """Close the files."""
        for lines in (self._results, self._replies, self._playbooks):
            lines.close()


def _drop(known: dict[int, T], places: Sequence[int]) -> None:
    for place in places:
        del known[place]


def _digest(ask: Ask) -> str:
    asked = json.dumps([list(ask.messages), ask.max_tokens, ask.temperature, ask.tag], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:32]


def _shown(row: Mapping[str, JSON]) -> Shown:
    ids = tuple(each for each in field(row, "ids", list) if isinstance(each, str))
    return Shown(text=field(row, "text", str), ids=ids, number=field(row, "number", int))


def _spent(row: Mapping[str, JSON]) -> Spent:
    return Spent(
        calls=field(row, "calls", int), failed=field(row, "failed_calls", int),
        prompt_tokens=field(row, "prompt_tokens", int), completion_tokens=field(row, "completion_tokens", int),
    )  # fmt: skip
