"""Where an MCP server listens, as the command line names it."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp.server", reason="mcp is not installed")
from seasoned.errors import InvalidInput
from seasoned.integrations.mcp import Address, address


@pytest.mark.parametrize(
    ("text", "expected", "local"),
    [
        ("8000", Address("127.0.0.1", 8000), True),
        (":8000", Address("127.0.0.1", 8000), True),
        ("localhost:0", Address("localhost", 0), True),
        ("127.0.0.2:80", Address("127.0.0.2", 80), True),
        ("[::1]:80", Address("::1", 80), True),
        ("192.0.2.1:80", Address("192.0.2.1", 80), False),
        ("example.com:80", Address("example.com", 80), False),
    ],
)
def test_an_address_is_read(text, expected, local):
    """Without a host it is this machine's own."""
    assert address(text) == expected
    assert address(text).local is local


@pytest.mark.parametrize("text", ["", "host", "host:", "host:x", "host:65536", "host:-1", "host:١"])
def test_an_address_without_a_port_is_refused(text):
    """So is a port that none can be."""
    with pytest.raises(InvalidInput, match="an address is HOST:PORT"):
        address(text)
