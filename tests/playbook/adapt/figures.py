"""A made-up data set in the form of Formula's, and a model that knows a formula only where the playbook has it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from seasoned.playbook.adapt import Data, Example, Formula
from seasoned.ports import Message

RULES: dict[str, tuple[str, Callable[[int, int], float]]] = {
    "Quick Share": ("Quick Share = A / B", lambda a, b: a / b),
    "Net Spread": ("Net Spread = A - B", lambda a, b: a - b),
    "Cover Gap": ("Cover Gap = (A - B) / B x 100", lambda a, b: (a - b) / b * 100),
    "Yield Twice": ("Yield Twice = 2 x A / B", lambda a, b: 2 * a / b),
}
"""Formulas that no model has seen, with how they are reckoned."""


def examples(count: int, *, start: int = 0) -> list[Example]:
    """Return so many questions, the formulas in turn, with different figures."""
    names = list(RULES)
    made = []
    for number in range(start, start + count):
        name, a, b = names[number % len(names)], 120 + 30 * number, 40 + 7 * number
        question = f"Use formula {name} to answer. Question: Reckon it for A = {a} and B = {b}. Answer:"
        target = round(RULES[name][1](a, b), 2)
        made.append(Example(id=str(number), question=question, target=str(float(target))))
    return made


def written(path: Path, given: Sequence[Example]) -> Path:
    """Write examples as a file of rows with context and target."""
    rows = [json.dumps({"context": each.question, "target": each.target}) for each in given]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


class Killed(BaseException):
    """As if the process had been killed: nothing catches it."""


class Learner:
    """A model that answers each role by rule, the same question always the same; thread safe as it only reads.

    `fails_at` are calls, from 1 on, that raise what `failure` makes.
    """

    def __init__(self, fails_at: Sequence[int] = (), failure: Callable[[], BaseException] = Killed) -> None:
        self.asked: list[str] = []
        self.prompts: list[str] = []
        self._fails_at = frozenset(fails_at)
        self._failure = failure

    def chat(self, messages: Sequence[Message], *, max_tokens: int, temperature: float, tag: str) -> str:
        """Reply as generator, reflector or curator."""
        self.asked.append(tag)
        if len(self.asked) in self._fails_at:
            raise self._failure()
        text = "\n".join(str(message["content"]) for message in messages)
        self.prompts.append(text)
        return {"generate": _answer, "reflect": _reflection, "curate": _operations}[tag.rpartition("-")[2]](text)


class AsyncLearner:
    """As `Learner`, async."""

    def __init__(self) -> None:
        self.inner = Learner()

    async def chat(self, messages: Sequence[Message], *, max_tokens: int, temperature: float, tag: str) -> str:
        """Reply as generator, reflector or curator."""
        return self.inner.chat(messages, max_tokens=max_tokens, temperature=temperature, tag=tag)


def formula_of(text: str) -> str:
    """Return the name of the formula that a prompt asks for."""
    return re.findall(r"Use formula (.+?) to answer", text)[-1]


def _answer(text: str) -> str:
    name = formula_of(text)
    known = re.search(rf"\[(\S+)\] helpful=\d+ harmful=\d+ :: {re.escape(RULES[name][0])}", text)
    a, b = map(int, re.findall(r"A = (\d+) and B = (\d+)", text)[-1])
    answer = f"{RULES[name][1](a, b):.2f}" if known else "0"
    used = [known[1]] if known else []
    return json.dumps({"reasoning": f"I reckon {name}.", "bullet_ids": used, "final_answer": answer})


def _reflection(text: str) -> str:
    name = formula_of(text)
    used = re.findall(r"\[(\S+)\] FORMULAS", text)
    right = "reward: 1" in text
    tags = [{"id": each, "tag": "helpful" if right else "harmful"} for each in used]
    insight = "" if right else f"{name} needs its formula."
    return json.dumps({"reasoning": "I looked at it.", "key_insight": insight, "bullet_tags": tags})


def _operations(text: str) -> str:
    name = formula_of(text)
    rule = RULES[name][0]
    add = {"type": "ADD", "section": "FORMULAS & CALCULATIONS", "content": rule}
    return json.dumps({"reasoning": "A formula is missing.", "operations": [] if f": {rule}" in text else [add]})


def online_data(count: int = 16) -> Data:
    """Return a stream of so many questions."""
    return Data(train=examples(count))


TASK = Formula()
