"""How a server is reached: over the standard streams of its process, or over HTTP."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from seasoned.errors import InvalidInput, StoreError
from seasoned.integrations.mcp.framework import Server, http_app, run_stdio, uvicorn

LOOPBACK: Final = "127.0.0.1"
"""The address that is served where none is named: only this machine reaches it."""

PATH: Final = "/mcp"


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
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


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
    """Serve one client over standard input and output until it goes; what is logged goes to standard error."""
    await run_stdio(server)


async def serve_http(server: Server, at: Address, *, ready: Callable[[Address], None] | None = None) -> None:
    """Serve clients over HTTP at `/mcp` until the process is told to end; `ready` is told the address when it listens.

    There is no password: whoever reaches the address reads and writes the memory. On an address that is not local put
    something in front that asks for one.

    Raises:
        StoreError: the address cannot be listened at.
    """
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    try:
        listening = socket.create_server((at.host, at.port), family=family)
    except OSError as error:
        raise StoreError(f"cannot listen at {at.url}: {error}") from error
    with listening:
        config = uvicorn.Config(http_app(server, local=at.local), log_config=None, access_log=False)
        if ready is not None:
            ready(Address(at.host, listening.getsockname()[1]))
        await uvicorn.Server(config).serve(sockets=[listening])
