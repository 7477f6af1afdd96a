"""`python -m examples.langchain_agent`: three runs of an agent, and which of them made the mistake."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from langchain.chat_models import init_chat_model

from examples.langchain_agent.agent import Clerk, Ran
from examples.langchain_agent.model import ScriptedClerk
from seasoned import Memory
from seasoned.errors import SeasonedError

RUNS = (
    ("Book a courier to 4 Elm Road on 3 December 2026.", "thread-1", "acme"),
    ("Book a courier to 9 Oak Lane on 12 January 2027.", "thread-2", "acme"),
    ("Book a courier to 1 Mill Street on 7 March 2027.", "thread-3", "another tenant"),
)
"""Task, thread, tenant."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent, and print what each run did; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        model = ScriptedClerk() if options.model is None else init_chat_model(options.model)
        with Memory(options.db, scope="couriers") as memory:
            clerk = Clerk(model, memory)
            for number, (task, thread, tenant) in enumerate(RUNS, 1):
                print(shown(number, task, clerk.run(task, thread=thread, tenant=tenant)))
    except (SeasonedError, ImportError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def shown(number: int, task: str, ran: Ran) -> str:
    """Return what a run did, in words."""
    calls = [*(f"refused: {day!r}" for day in ran.refused), *(f"booked:  {day!r}" for day in ran.booked)]
    lines = [f"run {number}, {ran.thread}, for {ran.tenant}: {task}", *(f"  {call}" for call in calls)]
    known = [f"  what {ran.tenant} has learned: {entry}" for entry in ran.learned]
    return "\n".join([*lines, f"  {ran.answer}", *known, ""])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.langchain_agent", description=__doc__)
    add = parser.add_argument
    add("--model", metavar="NAME", help='a real model, as in "openai:gpt-5-mini"; its package and key must be there')
    add(
        "--db", metavar="PATH", help="keep what was learned in this file: then the first run of a second start knows it"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
