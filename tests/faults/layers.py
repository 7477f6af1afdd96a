"""Each kind of record that a memory keeps: how one that says a given text is written, through the public verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from seasoned import L1Atom, Memory, TurnRecord

WORD: Final = "zephyrine"
"""A word that nothing else says."""

Write = Callable[[Memory, str], object]


def say(text: object, role: str = "user", **more: object) -> dict[str, object]:
    """A message."""
    return {"role": role, "content": text, **more}


def turn(number: int, text: str = "a quiet turn") -> TurnRecord:
    """A turn of a run, with an event that says the text."""
    return TurnRecord(number, 1.0, "EUR", [text], [{"type": "hold"}], {"price": 100.0})


class Sees:
    """An extractor that notes one thing of each window."""

    def __init__(self, text: str) -> None:
        self.text = text

    def extract(self, window: list[TurnRecord], existing_atoms: list[L1Atom]) -> list[L1Atom]:
        last = window[-1].turn
        return [L1Atom(f"seen-{last}", last, "market_event", self.text, 85, ["seen"])]


def atom(memory: Memory, text: str) -> None:
    """A run whose rules see something."""
    memory.runs.configure(atom_extractor=Sees(text))
    memory.runs.start_run()
    for number in range(1, 11):
        memory.runs.record_turn(turn(number))
        memory.runs.extract_atoms(number)


def episode(memory: Memory, text: str) -> None:
    """A run of which a model tells."""
    memory.runs.start_run()
    for number in range(1, 26):
        memory.runs.record_turn(turn(number))
        memory.runs.update_episode(lambda _: f"[STEADY | T1-T25]\n{text}", number)


def lesson(memory: Memory, text: str) -> None:
    """A run that taught something."""
    memory.runs.start_run()
    for number in range(1, 4):
        memory.runs.record_turn(turn(number))
    memory.runs.summarise_run(lambda _: f"All was well.\n\n## Lessons\n- {text}")


def summary(memory: Memory, text: str) -> None:
    """A session that a model summarised."""
    memory.conversation.add([say(f"number {number} of the boats in the harbour " * 6) for number in range(40)], "long")
    memory.conversation.summarise("long", model=lambda _: text, budget=400)


def started(memory: Memory, text: str) -> None:
    """A run with one turn."""
    memory.runs.start_run()
    memory.runs.record_turn(turn(1, text))


WRITE: Final[dict[str, Write]] = {
    "note": lambda memory, text: memory.remember(text, data={"said": text}),
    "message": lambda memory, text: memory.conversation.add(say(text), "s"),
    "result of a tool": lambda memory, text: memory.conversation.add(
        [
            say("look", "user"),
            say(None, "assistant", tool_calls=[{"id": "c", "function": {"name": "f", "arguments": "{}"}}]),
            say(text, "tool", tool_call_id="c"),
        ],
        "s",
    ),
    "summary": summary,
    "turn": started,
    "atom": atom,
    "episode": episode,
    "lesson": lesson,
    "decision": lambda memory, text: memory.experience.record(text, f"do {text}", 0.5, reasoning=text),
    "trajectory": lambda memory, text: memory.experience.record_trajectory(text, f"by {text}", 0.5, reasoning=text),
    "feedback": lambda memory, text: memory.experience.rate(
        8, decision=memory.experience.record("a situation", "an action", 0.5).id, note=text
    ),
    "entry": lambda memory, text: memory.playbook.add(text, "advice", "success"),
}
"""The kinds, and how one of each is written."""


def stored(memory: Memory) -> list[str]:
    """All that is stored: each record, old versions and what a memory keeps for itself included, as one text."""
    found, cursor = list[str](), None
    while True:
        page = memory.list(cursor=cursor, k=1000, subtree=True, kinds=())
        found += [f"{hit.record.key} {hit.text} {hit.record.data!r}" for hit in page.hits]
        cursor = page.cursor
        if cursor is None:
            return found
