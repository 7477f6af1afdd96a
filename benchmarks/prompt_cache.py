"""How much of each prompt repeats the one before as its start: what a provider's prompt cache can reuse.

A made-up support desk: in each of 200 turns a customer asks, the agent calls tools one to five times and answers;
messages of 60 to 80 tokens. The model is called after the question and after each result, and each time the whole
context is made. The system part (instruction, pinned notes, playbook) has about 1,500 tokens, the rest 4,000. Shown
beside what `memory.context` gives, with recall and without: a window that slides by one message, and the recalled block
in front of the window in place of inside the newest user message. Tokens are those of the estimate; the share is over
all calls from the second on.

    python benchmarks/prompt_cache.py --json prompt_cache.json
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from common.options import parser
from common.report import Report, Table
from seasoned import Memory
from seasoned.conversation.assembly import NAME
from seasoned.joined.policy import ContextPolicy
from seasoned.ports import Message
from seasoned.records import JSON
from seasoned.tokens import PER_LIST, count_message, estimate

TURNS: Final = 200
QUICK: Final = 20
SYSTEM: Final = 1_500
WINDOW: Final = 4_000
ITEM: Final = (66, 88)
"""Least and most tokens up to which a message is filled with whole sentences: 60 to 80 come of it."""
SEED: Final = 11
GOALS: Final = {"without recall": 0.95, "with recall": 0.88}
OFF: Final = ContextPolicy(changing=0)

_WORDS: Final = (
    "Oslo|Lisbon|Turin|Graz|Lyon|Ghent|Porto|Bergen|Malmo|Basel|Riga|Cork|Bari|Split|Vigo|Trier",
    "lamp|kettle|saddle|tent|violin|ladder|mirror|stove|rug|drill|scarf|globe|clock|desk|kayak|easel",
    "left|reached|missed|passed|entered|cleared",
    "the harbour|customs|the depot|the border|the sorting hall|the courier's van|the airport",
    "The customer stays calm.|A neighbour may sign.|The box is dry.|Nobody was at home.|It rained all day.",
)
PLACES, GOODS, DOINGS, SPOTS, MOODS = (line.split("|") for line in _WORDS)


@dataclass(frozen=True, slots=True)
class Measured:
    """The prompts' tokens from the second on, how many of them repeat the prompt before, and seconds of each call."""

    tokens: int
    repeated: int
    seconds: Sequence[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share that repeats."""
        return self.repeated / self.tokens


def main() -> None:
    """Measure each way and publish it."""
    given = parser(__doc__).parse_args()
    turns = QUICK if given.quick else TURNS
    talk = list(conversation(turns, random.Random(SEED)))
    with tempfile.TemporaryDirectory() as made:
        found = {
            "sliding window": measured(sliding(talk)),
            "without recall": joined(Path(made) / "a.db", talk, OFF),
            "recalled in front": joined(Path(made) / "b.db", talk, ContextPolicy(), in_front),
            "with recall": joined(Path(made) / "c.db", talk, ContextPolicy()),
        }
    rows = [
        [name, each.share, GOALS.get(name), each.tokens // max(1, calls(talk) - 1), _p50(each)]
        for name, each in found.items()
    ]
    header = ["context", "share repeated", "goal", "tokens a call", "p50 ms a call"]
    Report(
        benchmark="prompt_cache",
        tables=[Table(f"{turns} turns, {calls(talk)} calls of the model", header, rows)],
        figures={
            name: {"share": each.share, "tokens": each.tokens, "p50_ms": _p50(each)} for name, each in found.items()
        }
        | {"turns": turns, "calls": calls(talk)},
    ).publish(given.json)


def _p50(each: Measured) -> float | None:
    return median(each.seconds) * 1e3 if each.seconds else None


def conversation(turns: int, luck: random.Random) -> Iterator[Message]:
    """Give a conversation: questions, one to five calls with their results each, and answers."""
    for turn in range(turns):
        place, thing = luck.choice(PLACES), luck.choice(GOODS)
        about = Topic(luck, place, thing)
        yield about.message(f"Where is the {thing} that I ordered for {place}?", "user")
        for step in range(luck.randint(1, 5)):
            yield about.call(f"call-{turn}-{step}")
            yield about.message(f"Step {step}.", "tool", tool_call_id=f"call-{turn}-{step}")
        yield about.message(f"Your {thing} is on its way.", "assistant")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a turn is about; its messages have 60 to 80 tokens each."""

    luck: random.Random
    place: str
    thing: str

    def message(self, start: str, role: str, **more: str) -> Message:
        """Return a message of a role that begins with a text."""
        return self._filled(start, lambda text: {"role": role, **more, "content": text})

    def call(self, name: str) -> Message:
        """Return a message that calls the tool."""

        def made(text: str) -> Message:
            function: JSON = {"name": "track_parcel", "arguments": json.dumps({"order": text})}
            return {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": name, "type": "function", "function": function}],
            }

        return self._filled("", made)

    def _filled(self, text: str, made: Callable[[str], Message]) -> Message:
        wanted = self.luck.randint(*ITEM)
        while True:
            longer = f"{text} {self._sentence()}".strip()
            if count_message(made(longer)) > wanted:
                return made(text)
            text = longer

    def _sentence(self) -> str:
        luck = self.luck
        if luck.random() < 0.5:
            return luck.choice(MOODS)
        number, day = luck.randint(1_000, 9_999), luck.randint(1, 28)
        return f"The {self.thing} {number} {luck.choice(DOINGS)} {luck.choice(SPOTS)} on day {day}."


def calls(talk: Sequence[Message]) -> int:
    """Return how often the model is called: whenever a user or a tool spoke last."""
    return sum(message["role"] in ("user", "tool") for message in talk)


def sliding(talk: Sequence[Message]) -> Iterator[tuple[list[Message], float]]:
    """Give each prompt of a window that slides: the system part, then the last messages that fit."""
    system: Message = {"role": "system", "content": "Word. " * (SYSTEM // 2)}
    for end, message in enumerate(talk, 1):
        if message["role"] in ("user", "tool"):
            start, room = end, WINDOW - PER_LIST
            while start and (room := room - count_message(talk[start - 1])) >= 0:
                start -= 1
            yield [system, *talk[start:end]], 0.0


def joined(
    path: Path,
    talk: Sequence[Message],
    policy: ContextPolicy,
    changed: Callable[[list[Message]], list[Message]] = list,
) -> Measured:
    """Measure the contexts of a memory that is told the conversation; `changed` is what is done to each."""
    with Memory(path, scope=("bench",), embedder="hashing", durability="normal") as memory:
        system = furnished(memory, random.Random(SEED + 1))

        def prompts() -> Iterator[tuple[list[Message], float]]:
            task = ""
            for message in talk:
                memory.conversation.add(message, "desk")
                if message["role"] == "user":
                    task = str(message["content"])
                if message["role"] in ("user", "tool"):
                    start = perf_counter()
                    context = memory.context(
                        task, system + WINDOW, session="desk", run="r1", instruction=INSTRUCTION, policy=policy
                    )
                    yield changed(context.messages), perf_counter() - start

        return measured(prompts())


INSTRUCTION: Final = "You are the support desk of a shop. Track parcels with the tools, and answer briefly."


def furnished(memory: Memory, luck: random.Random) -> int:
    """Pin notes and fill the playbook until the system part has its size; return its tokens."""
    for number in range(4):
        rule = Topic(luck, "everyone", "parcel").message(f"Rule {number} of the desk.", "user")
        memory.remember(str(rule["content"]), id=f"rule{number}")
        memory.pin(f"rule{number}")
    number, size = 0, 0
    while size < SYSTEM - 60:
        advice = Topic(luck, luck.choice(PLACES), luck.choice(GOODS)).message(f"Advice {number}.", "user")
        memory.playbook.add(str(advice["content"]), "parcels", "success")
        shown = memory.context("ok", SYSTEM + WINDOW, instruction=INSTRUCTION, trace=False).messages[0]
        number, size = number + 1, count_message(shown)
    return size


def in_front(messages: list[Message]) -> list[Message]:
    """Return a context with its recalled block in a message of its own before the window."""
    place = max(i for i, message in enumerate(messages) if message["role"] == "user")
    text = str(messages[place]["content"])
    if not text.startswith(f"<{NAME}>"):
        return messages
    block, _, rest = text.partition(f"</{NAME}>\n\n")
    alone: Message = {"role": "user", "content": f"{block}</{NAME}>"}
    asked: Message = {**messages[place], "content": rest}
    return [messages[0], alone, *messages[1:place], asked, *messages[place + 1 :]]


def measured(prompts: Iterator[tuple[list[Message], float]]) -> Measured:
    """Return how much of each prompt repeats the one before."""
    made = list(prompts)
    tokens = repeated = 0
    for (before, _), (prompt, _) in pairwise(made):
        tokens += sum(map(count_message, prompt))
        repeated += shared(before, prompt)
    return Measured(tokens, repeated, [seconds for _, seconds in made if seconds])


def shared(before: Sequence[Message], prompt: Sequence[Message]) -> int:
    """Return with how many tokens two prompts begin alike: whole messages, then the start of a text."""
    tokens = 0
    for one, other in zip(before, prompt, strict=False):
        if one != other:
            if one["role"] == other["role"]:
                tokens += estimate(common(str(one.get("content") or ""), str(other.get("content") or "")))
            break
        tokens += count_message(other)
    return tokens


def common(one: str, other: str) -> str:
    """Return what two texts begin with."""
    return one[: next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))]


if __name__ == "__main__":
    main()
