"""What every command shares: the options, the consoles, the open memory, and how a failure ends the process."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, Final, NoReturn, ParamSpec

import typer
from rich.console import Console

from seasoned.cli.shown import visible
from seasoned.errors import InvalidInput, SeasonedError, StoreError, WrongType
from seasoned.keys import Keys
from seasoned.memory import Memory
from seasoned.records import JSON, Scope

P = ParamSpec("P")

DEFAULT_DB: Final = "seasoned.db"
DEFAULT_SCOPE: Final = ("default",)
EMBEDDERS: Final = ("auto", "hashing", "static", "minilm")
PIPED_WIDTH: Final = 160
"""Columns of a table that goes to a file or a pipe, unless COLUMNS says otherwise."""

FAILED: Final = 1
MISUSED: Final = 2
NEGATIVE: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

Db = Annotated[
    str | None,
    typer.Option(
        "--db", help=f"File or URL of the memory. (env SEASONED_DB; default {DEFAULT_DB})", show_default=False
    ),
]
ScopeParts = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        help="Whose memory: parts by slashes or by repeating, %2F for a slash. (env SEASONED_SCOPE; default 'default')",
        show_default=False,
    ),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="auto, hashing, static or minilm. (env SEASONED_EMBEDDER; default auto)",
        show_default=False,
    ),
]
KeysFile = Annotated[
    str | None,
    typer.Option(
        "--keys",
        help="File with the keys of encrypted scopes (TOML, mode 0600). (env SEASONED_KEYS_FILE; default none)",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that every command takes, before or after its name."""

    db: str | None = None
    scope: tuple[str, ...] = ()
    embedder: str | None = None
    keys: str | None = None
    json: bool = False
    debug: bool = False

    def under(self, outer: Options) -> Options:
        """Return these options, each that was not given taken from `outer`."""
        return replace(outer, **{field.name: value for field in fields(self) if (value := getattr(self, field.name))})


class Shell:
    """The process around a command: where its memory lies and where its words go."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @property
    def db(self) -> str:
        """The file or URL of the memory."""
        return self.options.db or os.environ.get("SEASONED_DB") or DEFAULT_DB

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        given = self.options.scope or tuple(filter(None, [os.environ.get("SEASONED_SCOPE")]))
        return (
            Scope(tuple(part for path in given for part in Scope.decode(f"{heard(path)}/")))
            if given
            else Scope(DEFAULT_SCOPE)
        )

    @property
    def embedder(self) -> str:
        """The name of the embedder.

        Raises:
            InvalidInput: there is none of that name.
        """
        name = self.options.embedder or os.environ.get("SEASONED_EMBEDDER") or "auto"
        if name not in EMBEDDERS:
            raise InvalidInput(f"--embedder (or SEASONED_EMBEDDER) is one of {', '.join(EMBEDDERS)}, not {name!r}")
        return name

    @property
    def keys_path(self) -> str | None:
        """The file of keys."""
        given = self.options.keys or os.environ.get("SEASONED_KEYS_FILE")
        return heard(given) if given else None

    def keys(self) -> Keys | None:
        """Return the keys of encrypted scopes, None where no file was named.

        Raises:
            InvalidInput: others can read the file, or it holds no keys.
            StoreError: it cannot be read.
        """
        if self.keys_path is None:
            return None
        from seasoned.stores.encrypted import read_keys  # needs the extra

        return read_keys(self.keys_path)

    @cached_property
    def out(self) -> Console:
        """Standard output."""
        return _console(sys.stdout.isatty())

    @cached_property
    def err(self) -> Console:
        """Standard error, for progress and failures."""
        return Console(stderr=True, highlight=False, emoji=False, markup=False)

    @contextmanager
    def memory(self, *, create: bool = False) -> Iterator[Memory]:
        """Open the memory; one that is not there yet is made only where `create` says so.

        Raises:
            StoreError: there is no such file.
            InvalidInput: there is no such embedder.
        """
        embedder = self.embedder
        if not create and "://" not in self.db and not Path(self.db).exists():
            raise StoreError(f"there is no memory at {self.db!r}; import something first, or name another with --db")
        with Memory(self.db, scope=self.scope, embedder=embedder, keys=self.keys()) as memory:
            yield memory

    def complain(self, error: Exception) -> None:
        """Write an error as one line on standard error."""
        sys.stderr.write(f"error: {visible(' '.join(str(error).split())) or type(error).__name__}\n")

    def write_json(self, document: JSON) -> None:
        """Write one JSON document; on a console that is not Unicode every other character is escaped."""
        unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
        sys.stdout.write(json.dumps(document, ensure_ascii=not unicode, indent=2) + "\n")


def command(function: Callable[Concatenate[Shell, P], None]) -> Callable[..., None]:
    """Return `function` as a command: it also takes the shared options, and its failures become exit codes.

    0 done, 1 an error, 2 wrong usage, 3 a negative answer (raised by the command), 130 interrupted, 141 the reader of
    the output went away.
    """

    @wraps(function)
    def run(ctx: typer.Context, *args: P.args, **kwargs: P.kwargs) -> None:
        given: dict[str, Any] = {field.name: kwargs.pop(field.name) for field in fields(Options)}
        own = options_of(**given)
        shell = Shell(own.under(ctx.obj))
        code = _guarded(lambda: function(shell, *args, **kwargs), shell)
        if code:
            raise typer.Exit(code)

    parameters = [*_CONTEXT, *list(inspect.signature(function, eval_str=True).parameters.values())[1:], *_SHARED]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it, and mypy knows no such field
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def options_of(
    db: Db = None,
    scope: ScopeParts = None,
    embedder: EmbedderName = None,
    keys: KeysFile = None,
    json: AsJson = False,
    debug: Debug = False,
) -> Options:
    """Return the shared options; its parameters are what each command takes besides its own."""
    return Options(db=db, scope=tuple(scope or ()), embedder=embedder, keys=keys, json=json, debug=debug)


_CONTEXT: Final = [inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
_SHARED: Final = [
    parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for parameter in inspect.signature(options_of, eval_str=True).parameters.values()
]


def heard(text: str) -> str:
    """Return an argument as it was typed, also where the locale knows only ASCII and hands its bytes on as escapes."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return text


def leave(act: Callable[[], None]) -> NoReturn:
    """Run the whole command line and leave the process; help, too, may lose its reader."""
    try:
        try:
            act()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        code: int | str | None = _reader_gone()
    except SystemExit as left:
        code = _reader_gone() if isinstance(left.__context__, BrokenPipeError) else left.code
    else:
        code = 0
    sys.exit(code)


def prepare_streams() -> None:
    """Make the standard streams escape what their encoding cannot write."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _console(terminal: bool) -> Console:
    width = None if terminal or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Console(highlight=False, emoji=False, markup=False, width=width)


def _guarded(act: Callable[[], None], shell: Shell) -> int:
    """Run the command and return its exit code."""
    try:
        act()
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_gone()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except (SeasonedError, OSError) as error:
        if shell.options.debug:
            raise
        shell.complain(error)
        return MISUSED if isinstance(error, (InvalidInput, WrongType)) else FAILED
    return 0


def _reader_gone() -> int:
    """Send what is still to be written nowhere, and return the exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    return PIPE_CLOSED
