"""Tasks: what is asked, what a right answer is, and what is said of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import JSON, checked_id, clean_json, clean_text

MAX_ANSWER = 4_000
"""Longest answer that a task which ships looks at, in characters; a longer one is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One question of a data set: its id, the question, its target, and plain JSON of yours.

    `context` stands before the question where a data set keeps them apart. `target` is what a right answer says, as
    the task reads it; "" where nobody knows it.

    Raises:
        InvalidInput: a blank id or question.
        WrongType: a field of another type.
    """

    id: str
    question: str
    target: str = ""
    context: str = ""
    data: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        checked_id(self.id, "an example's id")
        for name in ("question", "target", "context"):
            value: object = getattr(self, name)
            if not isinstance(value, str):
                raise WrongType(f"the {name} of an example is a text, not {value!r:.80}")
            put(self, name, clean_text(value))
        if not self.question.strip():
            raise InvalidInput(f"the question of example {self.id!r} must not be blank")
        put(self, "data", clean_json(self.data))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What an answer is worth: whether it is right, how many of its parts are, and what the reflector is told.

    `parts` is (right parts, all parts): (3, 4) where three of four tags are right; (0, 1) or (1, 1) where an answer
    is one thing. `feedback` is words for the reflector; it may name the target.
    """

    right: bool
    feedback: str = ""
    parts: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        if not isinstance(self.right, bool) or not isinstance(self.feedback, str):
            raise WrongType(f"a check has a bool and a text, not {self.right!r:.40} and {self.feedback!r:.40}")
        if self.right and self.parts == (0, 1):
            object.__setattr__(self, "parts", (1, 1))
        found, total = self.parts
        if not 0 <= found <= total or total < 1:
            raise InvalidInput(f"the parts of a check are (right, all), found {self.parts!r}")


class Task(Protocol):
    """What adaptation needs of a data set; any object with these two verbs and a name is one."""

    @property
    def name(self) -> str:
        """A short name for reports."""
        ...

    def examples(self, path: Path) -> Sequence[Example]:
        """Return the examples of a file, in its order, each with an id of its own."""
        ...

    def check(self, example: Example, answer: str) -> Check:
        """Return what `answer` is worth; for the same answer always the same."""
        ...


def read_rows(path: Path) -> list[Example]:
    """Return the examples of a file of JSON lines with `target`, and `question` or `context` (as the paper's data).

    A row with `question` keeps its `context` apart; `id` is optional, by default the number of the line. Blank lines
    are passed over. What else a row has is its `data`.

    Raises:
        InvalidInput: a line is not such a row, an id stands twice, or the file is not UTF-8.
        FileNotFoundError: there is no such file.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is not UTF-8: {error}") from error
    found = [_example(line, number, path.name) for number, line in enumerate(lines, 1) if line.strip()]
    return checked_examples(found)


def checked_examples(given: Sequence[Example]) -> list[Example]:
    """Return the examples, if no id stands twice.

    Raises:
        InvalidInput: one does.
        WrongType: not a sequence of examples.
    """
    seen: set[str] = set()
    for each in given:
        if not isinstance(each, Example):
            raise WrongType(f"examples are a list of Example, not of {each!r:.80}")
        if each.id in seen:
            raise InvalidInput(f"the id {each.id!r} stands twice among the examples")
        seen.add(each.id)
    return list(given)


def _example(line: str, number: int, name: str) -> Example:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"line {number} of {name} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InvalidInput(f"line {number} of {name} is an object with a question and a target, not {line!r:.80}")
    given, context, question = row.get("id"), row.get("context"), row.get("question")
    if not isinstance(question, str):
        question, context = context, ""
    target = row.get("target")
    if not isinstance(question, str) or not isinstance(target, (str, int, float)) or isinstance(target, bool):
        raise InvalidInput(f"line {number} of {name} needs a text `question` or `context` and a `target`: {line!r:.80}")
    rest = {key: value for key, value in row.items() if key not in ("id", "question", "context", "target")}
    identity = str(given) if isinstance(given, (str, int)) and not isinstance(given, bool) else str(number)
    return Example(
        id=identity, question=question, target=str(target), context=context if isinstance(context, str) else "",
        data=rest,
    )  # fmt: skip
