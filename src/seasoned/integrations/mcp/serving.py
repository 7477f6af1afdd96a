"""How a server is reached: over the standard streams of its process, or over HTTP."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from seasoned.errors import InvalidInput, StoreError
from seasoned.integrations.mcp.arriving import Gate, Lines, ending
from seasoned.integrations.mcp.framework import LOCAL, Server, http_app, run_stdio, uvicorn

LOOPBACK: Final = "127.0.0.1"
"""The address that is served where none is named: only this machine reaches it."""

PATH: Final = "/mcp"

ENDS: Final = (signal.SIGINT, signal.SIGTERM)
"""The signals that tell a process to end."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens; port 0 for one that is free."""

    host: str
    port: int

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://{self.name}:{self.port}{PATH}"

    @property
    def name(self) -> str:
        """The host as a URL names it."""
        return f"[{self.host}]" if ":" in self.host else self.host


def address(text: str) -> Address:
    """Return the address that `HOST:PORT`, `:PORT` or `PORT` names; without a host the loopback one.

    Raises:
        InvalidInput: none of them.
    """
    host, _, port = text.strip().rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise InvalidInput(f"an address is HOST:PORT with a port up to 65535, such as {LOOPBACK}:8000, not {text!r}")
    return Address(host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port))


async def serve_stdio(server: Server) -> None:
    """Serve one client over standard input and output until it goes; what is logged goes to standard error.

    SIGTERM and SIGINT end it as the end of the input does, and are raised again when it has ended.
    """
    with ending() as (ended, end), _signalled(lambda: os.write(end, b".")) as may_end:
        lines = Lines(sys.stdin.fileno(), ended if may_end else None)
        await run_stdio(server, io.BufferedReader(lines))


@contextmanager
def _signalled(end: Callable[[], object]) -> Iterator[bool]:
    """Have `end` called when the process is told to end, and tell it so again afterwards; give whether that can be."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield False
        return
    loop, found = asyncio.get_running_loop(), list[signal.Signals]()

    def told(which: signal.Signals) -> None:
        found.append(which)
        end()

    before = {each: signal.getsignal(each) for each in ENDS}
    for each in ENDS:
        loop.add_signal_handler(each, told, each)
    try:
        yield True
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
        for each in found[:1]:
            signal.raise_signal(each)


async def serve_http(server: Server, at: Address, *, ready: Callable[[Address], None] | None = None) -> None:
    """Serve clients over HTTP at `/mcp` until the process is told to end; `ready` is told the address when it listens.

    There is no password: whoever reaches the address reads and writes the memory. On an address that is not local put
    something in front that asks for one; no web page is served there, and at a local one only those of this machine.

    Raises:
        StoreError: the address cannot be listened at.
    """
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    try:
        listening = socket.create_server((at.host, at.port), family=family)
    except OSError as error:
        raise StoreError(f"cannot listen at {at.url}: {error}") from error
    with listening:
        app = Gate(http_app(server, hosts=(*LOCAL, at.name) if at.local else ()), pages=at.local)
        config = uvicorn.Config(app, log_config=None, access_log=False)
        if ready is not None:
            ready(Address(at.host, listening.getsockname()[1]))
        await uvicorn.Server(config).serve(sockets=[listening])
