"""The commands, put together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Final

import typer

from seasoned.cli import adapt, contexts, demo, experience, keys, mcp, playbook, reading, records, runs, writing
from seasoned.cli.shell import (
    AsJson,
    Db,
    Debug,
    EmbedderName,
    KeysFile,
    ScopeParts,
    command,
    leave,
    options_of,
    prepare_streams,
)

EPILOG = (
    "Exit codes: 0 done; 1 error; 2 wrong usage or an invalid value; 3 nothing found, or a check found faults; "
    "130 interrupted; 141 the reader of the output went away; 143 told to end."
)

app = typer.Typer(
    name="seasoned",
    help="Memory for agents that learn from what they did: import conversations, find what was said, build contexts.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "import": writing.import_,
    "search": reading.search,
    "context": contexts.context,
    "outcome": contexts.outcome,
    "sessions": reading.sessions,
    "remember": writing.remember,
    "list": records.list_,
    "get": records.get,
    "history": records.history,
    "explain": records.explain,
    "update": records.update,
    "pin": records.pin,
    "unpin": records.unpin,
    "stats": reading.stats,
    "forget": writing.forget,
    "export": writing.export,
    "copy": writing.copy,
    "sweep": writing.sweep,
    "doctor": writing.doctor,
    "reembed": writing.reembed,
    "runs": runs.runs,
    "lessons": runs.lessons,
    "decisions": experience.decisions,
    "feedback": experience.feedback,
    "adapt": adapt.adapt,
    "mcp": mcp.mcp,
    "demo": demo.demo,
}
for name, function in _COMMANDS.items():
    app.command(name, epilog=EPILOG)(command(function))

_run_app = typer.Typer(help="One run.", no_args_is_help=True)
_run_app.command("show", epilog=EPILOG)(command(runs.show))
app.add_typer(_run_app, name="run")
app.add_typer(playbook.playbook_app, name="playbook", epilog=EPILOG)
app.add_typer(keys.keys_app, name="keys", epilog=EPILOG)


def run() -> None:
    """Run the command line and leave the process."""
    prepare_streams()
    leave(lambda: app(prog_name="seasoned"))


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"seasoned {version('seasoned')}\n")
        raise typer.Exit


@app.callback()
def _shared(
    ctx: typer.Context,
    db: Db = None,
    scope: ScopeParts = None,
    embedder: EmbedderName = None,
    keys: KeysFile = None,
    json: AsJson = False,
    debug: Debug = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    ctx.obj = options_of(db, scope, embedder, keys, json, debug)
