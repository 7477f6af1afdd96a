"""What is used of MCP, in its first and second major version, and what both bring along; the only module of it."""

import os
import sys
from typing import Final

from seasoned.errors import MissingExtra

try:
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings
    from pydantic import BaseModel, Field
    from starlette.applications import Starlette

    try:
        from mcp.server.mcpserver import MCPServer as Server
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ImportError:  # mcp 1.x
        from mcp.server.fastmcp import FastMCP as Server  # type: ignore[attr-defined,no-redef]  # as above
        from mcp.server.fastmcp.exceptions import ToolError  # type: ignore[no-redef]  # as above
        from mcp.types import ToolAnnotations
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error


LOCAL: Final = ("127.0.0.1:*", "localhost:*", "[::1]:*")
"""The names by which a client asks for a server of its own machine, on any port."""


def http_app(server: Server, *, local: bool) -> Starlette:
    """Return the server as a web application at `/mcp`; a local one hears only requests that ask for this machine.

    So a page in a browser cannot reach it by a name of its own.
    """
    names, origins = list(LOCAL), [f"http://{name}" for name in LOCAL]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=local, allowed_hosts=names, allowed_origins=origins
    )
    if hasattr(server.settings, "transport_security"):  # mcp 1.x
        server.settings.transport_security = security
        app: Starlette = server.streamable_http_app()
        return app
    return server.streamable_http_app(transport_security=security)


async def run_stdio(server: Server) -> None:
    """Serve over the standard streams. mcp 1.x closes the output that it finds, so it is lent another of the same."""
    if not hasattr(server.settings, "transport_security"):
        await server.run_stdio_async()
        return
    own = sys.stdout
    try:
        with open(os.dup(own.fileno()), "w", encoding="utf-8") as lent:
            sys.stdout = lent
            await server.run_stdio_async()
    finally:
        sys.stdout = own


__all__ = [
    "BaseModel",
    "Field",
    "Server",
    "Starlette",
    "ToolAnnotations",
    "ToolError",
    "http_app",
    "run_stdio",
    "uvicorn",
]
