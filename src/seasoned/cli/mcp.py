"""The command `seasoned mcp`: the memory as a server of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import Annotated

import typer

from seasoned.cli.shell import Shell
from seasoned.errors import InvalidInput

Http = Annotated[
    str | None,
    typer.Option(
        "--http",
        help="Serve over HTTP at HOST:PORT instead; without a host only this machine is served.",
        show_default=False,
    ),
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Only the tools that change nothing.")]
TrustNetwork = Annotated[
    bool,
    typer.Option("--trust-network", help="Allow an address that other machines reach: there is no password."),
]


def mcp(shell: Shell, http: Http = None, read_only: ReadOnly = False, trust_network: TrustNetwork = False) -> None:
    """Give this memory to a client of the Model Context Protocol, over standard input and output.

    Standard output carries the protocol alone; all else goes to standard error.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    signal.signal(signal.SIGTERM, _end)
    from seasoned.integrations.mcp import address, serve_http, serve_stdio, server  # only this command needs it

    at = None if http is None else address(http)
    if at is not None and not at.local and not trust_network:
        raise InvalidInput(
            f"{at.host} can be reached by others and there is no password; serve 127.0.0.1, or say --trust-network"
        )
    with shell.memory(create=True) as memory:
        made = server(memory, read_only=read_only)
        if at is None:
            asyncio.run(serve_stdio(made))
        else:
            asyncio.run(serve_http(made, at, ready=lambda where: _say(f"serving {where.url}")))


def _end(signum: int, _frame: object) -> None:
    """Leave as an ended process does, but with the memory closed."""
    raise SystemExit(128 + signum)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
