"""Commands over contexts: `context` builds one, `outcome` says how it went after it."""

from __future__ import annotations

from typing import Annotated

import typer

from seasoned.cli.shell import NEGATIVE, Shell, heard
from seasoned.cli.shown import context_json, context_notes, say
from seasoned.context import Context
from seasoned.errors import InvalidInput
from seasoned.memory import Memory
from seasoned.records import JSON
from seasoned.results import Status

Budget = Annotated[int, typer.Option("--budget", "-b", help="Most tokens of the whole context.")]
Reserve = Annotated[int, typer.Option("--reserve", help="Tokens of the budget that are kept free, for the reply.")]
About = Annotated[
    str | None,
    typer.Option("--query", "-q", help="Recall what belongs to this; without --task.", show_default=False),
]
InSession = Annotated[str | None, typer.Option("--session", "-s", help="The session that goes on.", show_default=False)]
Task = Annotated[
    str | None,
    typer.Option("--task", "-t", help="What is to be done: draw on all four memories for it.", show_default=False),
]
InRun = Annotated[str | None, typer.Option("--run", help="The run that goes on; with --task.", show_default=False)]
Profile = Annotated[
    str | None,
    typer.Option("--profile", help="Whose lessons are shown; with --task.", show_default="default"),
]
Trace = Annotated[str, typer.Argument(help="The trace, as `context --task` ends with.", show_default=False)]
Rating = Annotated[float | None, typer.Option("--rating", "-r", help="How it went, 0 to 10.", show_default=False)]
Reward = Annotated[float | None, typer.Option("--reward", help="How it went, -1 to 1.", show_default=False)]
Note = Annotated[str | None, typer.Option("--note", help="What there is to say of it.", show_default=False)]
By = Annotated[str, typer.Option("--by", help="Who says so; the later word of the same one stands.")]


def context(
    shell: Shell,
    session: InSession = None,
    task: Task = None,
    budget: Budget = 4000,
    reserve: Reserve = 0,
    query: About = None,
    run: InRun = None,
    profile: Profile = None,
) -> None:
    """Build the messages for the next turn: of a session, or with --task from all four memories.

    Standard output gets the messages; what was left out, cut and recalled goes to standard error. With --task the
    trace is told at the end, for `outcome`.
    """
    _check_options(session, task, query, run, profile)
    name = None if session is None else heard(session)
    with shell.memory() as memory:
        if task is None:
            asked = None if query is None else heard(query)
            made = memory.conversation.context(budget=budget, reserve=reserve, query=asked, session=name or "")
            missing = not made.messages and not _is_there(memory, name)
        elif not (missing := not _is_there(memory, name)):
            going_on = None if run is None else heard(run)
            made = memory.context(heard(task), budget, reserve, name, going_on, profile=heard(profile or "default"))
    if missing:
        say(shell.err, f"no session {name!r}")
        raise typer.Exit(NEGATIVE)
    _show(shell, made, budget - reserve)


def _check_options(
    session: str | None, task: str | None, query: str | None, run: str | None, profile: str | None
) -> None:
    if session is None and task is None:
        raise InvalidInput("say what the context is for: --session, --task, or both")
    if task is not None and query is not None:
        raise InvalidInput("--query is for a session alone; what belongs to the --task is recalled anyway")
    if task is None and (run is not None or profile is not None):
        raise InvalidInput("--run and --profile are for a context with a --task")


def _is_there(memory: Memory, session: str | None) -> bool:
    return session is None or any(each.id == session for each in memory.conversation.sessions())


def _show(shell: Shell, made: Context, room: int) -> None:
    if shell.options.json:
        shell.write_json(context_json(made))
        return
    say(shell.out, made.text)
    say(shell.err, f"{made.tokens} tokens of {room}", *context_notes(made))
    say(shell.err, *([f"trace: {made.trace}"] if made.trace else []))


def outcome(
    shell: Shell, trace: Trace, rating: Rating = None, reward: Reward = None, note: Note = None, by: By = "user"
) -> None:
    """Say how it went after a context, and credit every record that it showed."""
    if (rating is None) == (reward is None):
        raise InvalidInput("say how it went by --rating (0 to 10) or by --reward (-1 to 1), one of them")
    said = None if note is None else heard(note)
    with shell.memory() as memory:
        done = memory.outcome(heard(trace), reward=reward, rating=rating, note=said, by=heard(by))
    if shell.options.json:
        credited: list[JSON] = [f"{key.kind}:{key.id}" for key in done.credited]
        left: list[JSON] = [{"id": f"{key.kind}:{key.id}", "reason": reason} for key, reason in done.left_out]
        document: JSON = {
            "status": str(done.status),
            "effect": done.effect,
            "replaced": done.replaced,
            "credited": credited,
            "left_out": left,
        }
        shell.write_json(document)
        return
    earlier = "" if done.replaced is None else f" in place of {done.replaced:+.2f}"
    known = ", as said before" if done.status is Status.DUPLICATE else ""
    say(shell.out, f"{len(done.credited)} records credited with {done.effect:+.2f}{earlier}{known}")
    say(shell.err, *(f"left out: {key.kind}:{key.id} ({reason})" for key, reason in done.left_out))
