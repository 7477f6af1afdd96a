"""What is used of MCP, in its first and second major version, and what both bring along; the only module of it."""

import io
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import BinaryIO, Final

from seasoned.errors import MissingExtra

try:
    import uvicorn
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp.server.transport_security import TransportSecuritySettings
    from pydantic import BaseModel, Field, create_model, model_validator
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.types import ASGIApp as Application
    from starlette.types import Message, Receive, Scope, Send

    try:
        from mcp.server.mcpserver import MCPServer as Server
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.server.mcpserver.tools import Tool
        from mcp_types import ToolAnnotations
    except ImportError:  # mcp 1.x
        from mcp.server.fastmcp import FastMCP as Server  # type: ignore[attr-defined,no-redef]  # as above
        from mcp.server.fastmcp.exceptions import ToolError  # type: ignore[no-redef]  # as above
        from mcp.server.fastmcp.tools import Tool  # type: ignore[no-redef]  # as above
        from mcp.types import ToolAnnotations
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error


FIRST: Final = Server.__name__ == "FastMCP"
"""Whether it is mcp 1.x."""

LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")
"""The names by which a client asks for a server of its own machine."""

_LOG: Final = logging.getLogger("seasoned.mcp")


class _Strict(BaseModel, extra="forbid"):
    """Arguments, and no others; so one that is not a tool's, such as a scope, is refused and not passed over."""

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        unknown = [name for name in given if name not in cls.model_fields] if isinstance(given, Mapping) else []
        if unknown:
            raise ValueError(f"the arguments are {', '.join(cls.model_fields)}; there is no {unknown[0]!r:.80}")
        return given


def tool(function: Callable[..., Awaitable[object]], hints: Mapping[str, bool]) -> Tool:
    """Return a tool that takes a function's arguments and no others; `hints` are the protocol's annotations."""
    made = Tool.from_function(function, annotations=ToolAnnotations.model_validate(hints))
    arguments = made.fn_metadata.arg_model
    strict = create_model(arguments.__name__, __base__=(_Strict, arguments))
    made.fn_metadata.arg_model = strict  # type: ignore[assignment]  # it is one of both
    made.parameters = strict.model_json_schema(by_alias=True)
    return made


def named_server(name: str, version: str, instructions: str, tools: Sequence[Tool]) -> Server:
    """Return a server of these tools."""
    if not FIRST:
        return Server(name, version=version, instructions=instructions, tools=list(tools), log_level="WARNING")
    made = Server(name, instructions=instructions, tools=list(tools), log_level="WARNING")
    made._mcp_server.version = version  # type: ignore[attr-defined]  # it takes none, and would tell its package's
    return made


def http_app(server: Server, *, hosts: Collection[str]) -> Starlette:
    """Return the server as a web application at `/mcp`; with `hosts` it hears only requests that name one of them.

    So a page in a browser cannot reach it by a name of its own. A port may follow each name.
    """
    names = [given for host in hosts for given in (host, f"{host}:*")]
    origins = [f"http://{name}" for name in names]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts), allowed_hosts=names, allowed_origins=origins
    )
    if FIRST:
        server.settings.transport_security = security  # type: ignore[attr-defined]  # a setting of mcp 1.x
        app: Starlette = server.streamable_http_app()
        return app
    return server.streamable_http_app(transport_security=security)


async def run_stdio(server: Server, lines: BinaryIO) -> None:
    """Serve over `lines` and standard output until its client goes, be it in the middle of a call."""
    own = sys.stdin
    try:
        sys.stdin = io.TextIOWrapper(lines)
        await (_run_lent(server) if FIRST else server.run_stdio_async())
    except* (BrokenPipeError, BrokenResourceError, ClosedResourceError) as gone:
        _LOG.info("the client went in the middle of a call: %r", gone.exceptions)
    finally:
        sys.stdin = own


async def _run_lent(server: Server) -> None:
    """Serve over a copy of standard output; mcp 1.x closes the one that it finds."""
    own = sys.stdout
    try:
        with open(os.dup(own.fileno()), "w", encoding="utf-8") as lent:
            sys.stdout = lent
            await server.run_stdio_async()
    finally:
        sys.stdout = own


__all__ = [
    "FIRST",
    "LOCAL",
    "Application",
    "BaseModel",
    "Field",
    "Message",
    "Receive",
    "Response",
    "Scope",
    "Send",
    "Server",
    "Tool",
    "ToolError",
    "http_app",
    "named_server",
    "run_stdio",
    "tool",
    "uvicorn",
]
