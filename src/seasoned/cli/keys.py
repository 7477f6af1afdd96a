"""The commands `seasoned keys`: new keys for encrypted scopes, and sealing anew with them."""

from __future__ import annotations

from typing import Annotated

import typer

from seasoned.cli.progress import bar
from seasoned.cli.shell import NEGATIVE, Shell, command, heard
from seasoned.cli.shown import rows_table, say
from seasoned.errors import InvalidInput
from seasoned.ports import SystemClock

Name = Annotated[
    str | None, typer.Option("--name", help="What the key is called.", show_default="the day, such as 2026-01-31")
]

keys_app = typer.Typer(help="The keys of encrypted scopes, which lie in a file of their own.", no_args_is_help=True)


def new(shell: Shell, name: Name = None) -> None:
    """Add a new key for the scope to the file of keys, and make the file if it is not there.

    The key is used from then on, for the scope and those below it; what older keys sealed needs them until
    `seasoned keys rotate` is done.
    """
    from seasoned.stores.encrypted import add_key  # needs the extra

    path = shell.keys_path
    if path is None:
        raise InvalidInput("say where the keys lie: --keys FILE, or SEASONED_KEYS_FILE")
    given = f"{SystemClock().now():%Y-%m-%d}" if name is None else heard(name)
    add_key(path, shell.scope, given)
    if shell.options.json:
        shell.write_json({"scope": [*shell.scope], "name": given, "file": path})
    else:
        say(shell.out, f"key {given!r} of {'/'.join(shell.scope)} added to {path}")
        say(shell.err, "keep a copy of that file, apart from the memory: without it nobody reads what it seals")


def rotate(shell: Shell) -> None:
    """Seal anew, with the newest key, what an older one sealed in the scope and those below it.

    Stopped anywhere, the next call goes on. Exit code 3 while something is left that could not be sealed anew.
    """
    with shell.memory() as memory, bar(shell, "sealing anew") as report:
        done = memory.rotate_key(report)
    left = {"locked": len(done.locked), "unreadable": len(done.unreadable), "busy": len(done.busy)}
    if shell.options.json:
        shell.write_json({"resealed": done.resealed, "current": done.current, **left, "done": done.done})
    else:
        counts = {"sealed anew": done.resealed, "had the newest key": done.current, **left}
        shell.out.print(rows_table([(what, str(number)) for what, number in counts.items()], "records", "number"))
    if done.done:
        say(shell.err, "nothing that can be read needs an older key: it can be removed from the file")
        return
    say(shell.err, "not done: keep the older keys; run it again for busy records, add the keys of locked ones")
    raise typer.Exit(NEGATIVE)


for _name, _function in {"new": new, "rotate": rotate}.items():
    keys_app.command(_name)(command(_function))
