"""Commands that read: `search`, `sessions`, `stats`."""

from __future__ import annotations

from typing import Annotated

import typer

from seasoned.cli.shell import NEGATIVE, Shell, heard
from seasoned.cli.shown import day, hit_json, hits_table, mapping_table, rows_table, say
from seasoned.records import JSON, instant

Query = Annotated[str, typer.Argument(help="What to look for, in any words.", show_default=False)]
Session = Annotated[str | None, typer.Option("--session", "-s", help="Only in this session.", show_default=False)]
Number = Annotated[int, typer.Option("--k", "-k", help="Most hits.")]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Only what happened from this time on (ISO 8601, UTC).", show_default=False),
]
Until = Annotated[str | None, typer.Option("--until", help="Only what happened before this time.", show_default=False)]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only this kind, such as message or note; may be repeated.", show_default=False),
]


def search(
    shell: Shell,
    query: Query,
    k: Number = 10,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    kind: Kinds = None,
) -> None:
    """Find what was said or noted, best first, with the reasons of each score."""
    where = _where(session, since, until)
    with shell.memory() as memory:
        hits = memory.recall(heard(query), k, kinds=kind or (), where=where)
    if shell.options.json:
        shell.write_json({"hits": [hit_json(hit) for hit in hits], "degraded": list(hits.degraded)})
    elif hits:
        shell.out.print(hits_table(hits))
    for reason in hits.degraded:
        say(shell.err, f"degraded: {reason}")
    if not hits:
        say(shell.err, "nothing found")
        raise typer.Exit(NEGATIVE)


def _where(session: str | None, since: str | None, until: str | None) -> dict[str, object] | None:
    """Return the filter that the options ask for."""
    times = {"ge": instant(since) if since else None, "lt": instant(until) if until else None}
    given = {operator: at for operator, at in times.items() if at is not None}
    where: dict[str, object] = {"at": given} if given else {}
    return (where | {"data.session": heard(session)} if session else where) or None


def sessions(shell: Shell) -> None:
    """List the sessions: how many messages, from when to when."""
    with shell.memory() as memory:
        found = memory.conversation.sessions()
    if shell.options.json:
        listed: list[JSON] = [
            {"id": each.id, "messages": each.messages, "first": each.first.isoformat(), "last": each.last.isoformat()}
            for each in found
        ]
        shell.write_json({"sessions": listed})
    else:
        rows = [(each.id, str(each.messages), day(each.first), day(each.last)) for each in found]
        shell.out.print(rows_table(rows, "session", "messages", "first", "last"))


def stats(shell: Shell) -> None:
    """Show what the memory holds and how large it is."""
    with shell.memory() as memory:
        found = memory.stats()
    if shell.options.json:
        shell.write_json(found)
    else:
        shell.out.print(mapping_table(found, ("what", "value")))
