"""Traces: what an agent did in one run, as reflectors read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from seasoned.errors import InvalidInput, WrongType
from seasoned.records import JSON, Key, checked_id, clean_json, clean_text, finite

StepKind: TypeAlias = Literal["model", "tool"]
StepStatus: TypeAlias = Literal["ok", "error", "refused", "unknown"]
"""How a step ended. "ok" is said by who ran it, never guessed; "refused" is a call that a person or policy declined."""

TraceStatus: TypeAlias = Literal["completed", "failed", "interrupted", "unknown"]

HIGHEST_RATING: Final = 10.0
"""The best rating that a person gives; the worst is 0."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One call of a model or a tool.

    Of a model `output` is what it said, `calls` names the tools it then called. Of a tool `name` is the tool's, `input`
    its arguments (plain JSON, or text), `output` what it returned. `error` is the message where it failed; a step with
    one whose status is unknown counts as an error.

    Raises:
        InvalidInput: no such kind or status, a number that is not finite.
        WrongType: a field of another type.
    """

    kind: StepKind
    name: str = ""
    input: JSON = ""
    output: str = ""
    status: StepStatus = "unknown"
    error: str | None = None
    calls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        _one_of(self.kind, get_args(StepKind), "the kind of a step")
        _one_of(self.status, get_args(StepStatus), "the status of a step")
        put(self, "name", _text(self.name, "the name of a step"))
        put(self, "input", clean_json(self.input))
        put(self, "output", _text(self.output, "the output of a step"))
        put(self, "error", None if self.error is None else _text(self.error, "the error of a step"))
        put(self, "calls", tuple(_text(call, "a call") for call in _several(self.calls, str, "calls")))
        if self.error is not None and self.status == "unknown":
            put(self, "status", "error")

    @property
    def failed(self) -> bool:
        """Whether it ended in an error or was refused."""
        return self.status in ("error", "refused")

    @property
    def message(self) -> str:
        """What it said when it failed: the error, else the output."""
        return self.error if self.error and self.error.strip() else self.output

    @property
    def arguments(self) -> JSON:
        """The arguments of a call; text that is a JSON object is read."""
        if not isinstance(self.input, str):
            return self.input
        try:
            read = json.loads(self.input)
            return clean_json(read) if isinstance(read, dict) else self.input
        except (ValueError, RecursionError):
            return self.input


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What one run did, and what is known of how it went; all but `id` may be missing.

    `id` names the run: a playbook learns from it once. `answer` is what came out, `expected` what should have.
    `reward` is the caller's number, `rating` a person's from 0 to 10, `feedback` what a person or the environment said,
    `error` the exception that ended it. `used` are the ids of the playbook's entries that the run was shown. `sources`
    are the records that it was made from: every entry learned from it names them. `sample` of `samples` is its place in
    an adaptation.

    Raises:
        InvalidInput: a blank id, no such status, a reward that is not finite, a rating outside 0 to 10.
        WrongType: a field of another type.
    """

    id: str
    task: str = ""
    steps: tuple[TraceStep, ...] = ()
    answer: str | None = None
    expected: str | None = None
    reward: float | None = None
    rating: float | None = None
    feedback: str | None = None
    error: str | None = None
    status: TraceStatus = "unknown"
    used: tuple[str, ...] = ()
    sources: tuple[Key, ...] = ()
    sample: int | None = None
    samples: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        checked_id(self.id, "the id of a trace")
        _one_of(self.status, get_args(TraceStatus), "the status of a trace")
        put(self, "task", _text(self.task, "a task"))
        put(self, "steps", _several(self.steps, TraceStep, "steps"))
        for name in ("answer", "expected", "feedback", "error"):
            given = getattr(self, name)
            put(self, name, None if given is None else _text(given, f"{name} of a trace"))
        put(self, "reward", None if self.reward is None else finite(self.reward, "a reward"))
        put(self, "rating", None if self.rating is None else _rating(self.rating))
        put(self, "used", tuple(dict.fromkeys(_several(self.used, str, "used"))))
        put(self, "sources", _several(self.sources, Key, "sources"))
        if self.error is not None and self.status == "unknown":
            put(self, "status", "failed")


def _one_of(word: object, words: Sequence[str], what: str) -> None:
    if word not in words:
        raise InvalidInput(f"{what} is one of {', '.join(words)}, not {word!r:.80}")


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise WrongType(f"{what} is a text, not {value!r:.80}")
    return clean_text(value)


def _several(values: object, kind: type[T], what: str) -> tuple[T, ...]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(each, kind) for each in values):
        raise WrongType(f"{what} are a tuple of {kind.__name__}, not {values!r:.80}")
    return tuple(values)


def _rating(value: object) -> float:
    rating = finite(value, "a rating")
    if not 0 <= rating <= HIGHEST_RATING:
        raise InvalidInput(f"a rating lies between 0 and {HIGHEST_RATING:g}, found {value!r}")
    return rating


def steps_of(messages: Iterable[Mapping[str, JSON]]) -> tuple[TraceStep, ...]:
    """Return the steps that messages in OpenAI form tell of: what assistants said and called, and what tools returned.

    A tool's message is an error where it has `status` "error" (as LangChain's) or a true `is_error` (as Anthropic's),
    and ok where it has `status` "success" or a false `is_error`; else nobody knows. A message that is damaged gives no
    step.
    """
    steps, called = list[TraceStep](), dict[str, tuple[str, JSON]]()
    for message in messages:
        role = message.get("role")
        if role == "assistant":
            calls = calls_in(message)
            called.update({call: (name, given) for call, name, given in calls if call})
            step = TraceStep(kind="model", output=text_in(message), calls=tuple(name for _, name, _ in calls))
            steps.extend([step] if step.output.strip() or step.calls else [])
        elif role in ("tool", "function"):
            steps.append(_tool_step(message, called))
    return tuple(steps)


def _tool_step(message: Mapping[str, JSON], called: Mapping[str, tuple[str, JSON]]) -> TraceStep:
    call, name = message.get("tool_call_id"), message.get("name")
    known, given = called.get(call, ("", "")) if isinstance(call, str) else ("", "")
    return TraceStep(
        kind="tool",
        name=name if isinstance(name, str) and name else known,
        input=given,
        output=text_in(message),
        status=status_in(message),
    )


def status_in(message: Mapping[str, JSON]) -> StepStatus:
    """Return how a tool's message says that the call ended."""
    status, failed = message.get("status"), message.get("is_error")
    if status == "error" or failed is True:
        return "error"
    return "ok" if status == "success" or failed is False else "unknown"


def text_in(message: Mapping[str, JSON]) -> str:
    """Return the text of a message's content: a text, or the text parts of a list."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, (str, dict))]
    return "".join(text for text in texts if isinstance(text, str))


def calls_in(message: Mapping[str, JSON]) -> list[tuple[str, str, JSON]]:
    """Return id, name and arguments of each tool call of a message in OpenAI's form or LangChain's."""
    calls = message.get("tool_calls")
    found = list[tuple[str, str, JSON]]()
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, dict):
            continue
        inner = call.get("function") or call.get("custom") or call
        if isinstance(inner, dict):
            given = next((inner[key] for key in ("arguments", "args", "input") if key in inner), "")
            name, identity = inner.get("name"), call.get("id")
            found.append((str(identity or ""), name if isinstance(name, str) else "", given))
    return found
