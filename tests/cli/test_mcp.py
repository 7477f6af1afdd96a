"""`seasoned mcp`: a process of its own, used by the protocol's own client over its streams and over HTTP."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="mcp 2 is not installed")
from mcp import Client, StdioServerParameters

COMMAND = [sys.executable, "-m", "seasoned.cli"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def over_stdio(environment, folder, *arguments):
    command, *first = COMMAND
    return Client(StdioServerParameters(command=command, args=[*first, *arguments], env=environment, cwd=folder))


@contextmanager
def serving(environment, folder, *arguments):
    """Start a server over HTTP on a free port of this machine, give its URL, and end it as a terminal does."""
    command = [*COMMAND, "mcp", "--http", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("serving http://127.0.0.1:"), line + process.stderr.read()
        yield line.removeprefix("serving ").strip()
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (out, "Traceback" in err) == ("", False), err


async def remember_and_recall(client):
    await client.call_tool("remember", {"text": "Alice prefers oolong tea."})
    found = await client.call_tool("recall", {"query": "Which tea?"})
    return [each["text"] for each in found.structured_content["results"]]


def test_a_client_starts_it_and_uses_it(environment, tmp_path):
    """What one process remembers, the next recalls; the scope is that of the options."""

    async def use():
        async with over_stdio(environment, tmp_path, "mcp", "--db", "agent.db", "--scope", "acme/alice") as client:
            assert len((await client.list_tools()).tools) == 7
            assert await remember_and_recall(client) == ["Alice prefers oolong tea."]
        async with over_stdio(environment, tmp_path, "--db", "agent.db", "--scope", "acme/alice", "mcp") as client:
            found = await client.call_tool("recall", {"query": "tea"})
            assert [each["text"] for each in found.structured_content["results"]] == ["Alice prefers oolong tea."]

    asyncio.run(use())


def test_the_scope_is_that_of_the_environment(environment, tmp_path, seasoned):
    """The command line sees in it what the client remembered; another scope sees nothing."""
    own = environment | {"SEASONED_SCOPE": "acme/bob", "SEASONED_DB": "agent.db"}

    async def use():
        async with over_stdio(own, tmp_path, "mcp") as client:
            await client.call_tool("remember", {"text": "Bob prefers coffee."})

    asyncio.run(use())
    found = seasoned("search", "coffee", "--db", "agent.db", "--scope", "acme/bob", "--json")
    assert [hit["text"] for hit in found.json["hits"]] == ["Bob prefers coffee."]
    assert seasoned("search", "coffee", "--db", "agent.db", "--scope", "acme/alice").code == 3


def test_a_read_only_server_has_no_tool_that_writes(environment, tmp_path):
    """The option reaches the server."""

    async def names():
        async with over_stdio(environment, tmp_path, "mcp", "--read-only") as client:
            return sorted(tool.name for tool in (await client.list_tools()).tools)

    assert asyncio.run(names()) == ["context", "explain", "lessons", "recall"]


def test_standard_output_carries_the_protocol_alone(environment, tmp_path):
    """Each line is a message of it, while calls succeed, fail and are unknown; it ends when its input ends."""
    calls = [("remember", {"text": "tea"}), ("recall", {"query": " "}), ("recall", {}), ("nothing", {})]
    sent = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    sent += [
        {"jsonrpc": "2.0", "id": place, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls, 2)
    ]
    process = subprocess.Popen(
        [*COMMAND, "mcp"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        for message in sent:
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(5)]
        out, err = process.communicate(timeout=60)
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3, 4, 5]
    assert (process.returncode, out) == (0, ""), err
    assert "Traceback" not in err


def test_it_serves_several_clients_over_http(environment, tmp_path):
    """On this machine, at the address that it says; standard output stays empty and it ends at once."""

    async def use(url):
        async with Client(url) as one, Client(url) as two:
            assert await remember_and_recall(one) == ["Alice prefers oolong tea."]
            return await remember_and_recall(two)

    with serving(environment, tmp_path) as url:
        assert asyncio.run(use(url)) == ["Alice prefers oolong tea."]


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_a_page_of_another_name_is_not_heard(environment, tmp_path, header):
    """A browser that was led to this machine under a foreign name is turned away."""
    with serving(environment, tmp_path) as url:
        request = urllib.request.Request(  # noqa: S310  # our own server
            url,
            data=json.dumps(HELLO).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **header},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)  # noqa: S310  # as above
        refused.value.close()
        assert refused.value.code in (403, 421)


def test_an_address_that_others_reach_must_be_allowed(seasoned):
    """There is no password, so it is not served by accident; nor is what is no address."""
    ran = seasoned("mcp", "--http", "0.0.0.0:0")
    assert (ran.code, ran.out) == (2, "")
    assert "--trust-network" in ran.err
    assert seasoned("mcp", "--http", "somewhere").code == 2


def test_an_address_that_is_taken_is_said(environment, tmp_path, seasoned):
    """As one line, with exit code 1."""
    with serving(environment, tmp_path) as url:
        taken = url.removeprefix("http://").removesuffix("/mcp")
        ran = seasoned("mcp", "--http", taken)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: cannot listen at {url}: ")


def test_without_mcp_the_command_names_the_extra(environment, tmp_path):
    """The other commands need it not."""
    code = (
        "import sys\nsys.modules['mcp'] = sys.modules['mcp.server'] = None\n"
        "from seasoned.cli import main\nsys.argv = ['seasoned', *sys.argv[1:]]\nmain()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "mcp"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "error: mcp is not installed; run: pip install 'seasoned[mcp]'\n"
