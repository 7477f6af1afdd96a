"""An agent with tools over sixty turns, for two tenants in one file; goes on where the process before it ended.

`python agent_process.py FILE` prints each turn that is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from seasoned import Memory
from seasoned.context import Context
from seasoned.runs import TurnRecord

TURNS = 60
BUDGET = 1_200
TENANTS = {"anna": "Zebrawood", "ben": "Quicksilver"}
"""The tenants, and a word that only what belongs to each of them holds."""

Watch = Callable[[Context], None]


def opened(place: str, tenant: str, **options: object) -> Memory:
    """Open the memory of one tenant."""
    return Memory(place, scope=("acme", tenant), embedder="hashing", durability="normal", **options)  # type: ignore[arg-type]


def done(memory: Memory) -> int:
    """Return how many turns are done: those that have their answer."""
    return sum(
        message["role"] == "assistant" and bool(message["content"]) for message in memory.conversation.messages()
    )


def play(memory: Memory, word: str, upto: int, watch: Watch) -> Iterator[int]:
    """Play the turns up to one, each written step by step under ids of its own, and give the number of each."""
    if memory.count(kinds=("note",)) == 0:
        memory.remember(f"{word} parcels go by the harbour of Lisbon.", id="rule")
    memory.pin("rule")
    memory.runs.start_run("r1")
    for turn in range(done(memory) + 1, upto + 1):
        _turn(memory, word, turn, watch)
        yield turn
    if done(memory) == TURNS and memory.runs.state().open:
        memory.runs.summarise_run(None)


def _turn(memory: Memory, word: str, turn: int, watch: Watch) -> None:
    talk, place = memory.conversation, ("Oslo", "Turin", "Graz")[turn % 3]
    task = f"Turn {turn}: where is the {word} parcel for {place}?"
    talk.add({"role": "user", "content": task}, ids=f"u{turn}")
    memory.context(task, BUDGET, session="default", run="r1")
    call = {"id": f"c{turn}", "type": "function", "function": {"name": "track", "arguments": f'{{"turn": {turn}}}'}}
    talk.add({"role": "assistant", "content": None, "tool_calls": [call]}, ids=f"a{turn}")
    found = f"{word} parcel {turn} waits in {place} " + "at the depot " * (turn % 7)
    talk.add({"role": "tool", "tool_call_id": f"c{turn}", "content": found}, ids=f"t{turn}")
    context = memory.context(task, BUDGET, session="default", run="r1")
    watch(context)
    good = turn % 3 != 0
    action = "reroute" if good else "wait"
    memory.experience.record(
        f"a {word} parcel waits in {place}",
        action,
        0.9 if good else -0.9,
        reasoning=f"{word} in {place}",
        id=f"d{turn}",
    )
    memory.runs.record_turn(TurnRecord(turn, 1.0 if good else -1.0, "EUR", [f"{word}_waits"], [{"type": action}], {}))
    memory.runs.extract_atoms(turn)
    memory.runs.update_episode(None, turn)
    if turn % 10 == 0:
        memory.playbook.add(f"{word}: reroute what waits in {place}, found in turn {turn}.", "parcels", id=f"e{turn}")
        talk.summarise(budget=BUDGET)
    if context.trace is not None:
        memory.outcome(context.trace, reward=1.0 if good else -1.0)
    talk.add({"role": "assistant", "content": f"The {word} parcel: {action}."}, ids=f"f{turn}")


def main(place: str) -> None:
    """Play both tenants in turn, and print each turn that is done."""
    with opened(place, "anna") as anna, opened(place, "ben") as ben:
        plays = [
            play(memory, word, TURNS, lambda context: None)
            for memory, word in zip((anna, ben), TENANTS.values(), strict=True)
        ]
        for turns in zip(*plays, strict=True):
            print(*turns, flush=True)  # noqa: T201  # what the test waits for


if __name__ == "__main__":
    main(sys.argv[1])
