"""`seasoned mcp` as a process, used by clients that write what they like and go when they like."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

pytest.importorskip("mcp.server", reason="mcp is not installed")
from seasoned import Memory, __version__

COMMAND = [sys.executable, "-m", "seasoned.cli", "mcp", "--scope", "acme/alice", "--embedder", "hashing"]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
ALL = "0.0.0.0"  # noqa: S104  # that others could reach it is what is tested
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Served:
    """A server and the streams to it; every line that it writes must be a message."""

    def __init__(self, db, log):
        self.log = log
        self.process = subprocess.Popen(
            [*COMMAND, "--db", str(db)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=ENVIRONMENT,
        )
        self.hello = self.answer(0, "initialize", HELLO)["result"]
        self.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def write(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, number, method, params):
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())

    def read(self):
        """Return the next answer; what the server only says of itself is passed over."""
        while True:
            message = json.loads(self.process.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            if "id" in message:
                return message

    def answer(self, number, method, params):
        self.ask(number, method, params)
        message = self.read()
        assert message["id"] == number
        return message

    def call(self, number, name, **arguments):
        return self.answer(number, "tools/call", {"name": name, "arguments": arguments})["result"]

    def ended(self, how=None):
        """End it by a signal, or as a client that goes; return the exit code, and what it logged."""
        if how is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=120)  # its input is open until it has ended
        else:
            self.process.stdin.close()
            self.process.stdin = None
        self.process.communicate(timeout=120)
        self.log.seek(0)
        return self.process.returncode, self.log.read().decode()


@contextmanager
def served(db):
    with tempfile.TemporaryFile() as log:
        server = Served(db, log)
        try:
            yield server
        finally:
            server.process.kill()
            server.process.communicate()


def test_it_says_which_version_it_is(tmp_path):
    """Its own, not that of a package below."""
    with served(tmp_path / "a.db") as server:
        assert server.hello["serverInfo"] == {"name": "seasoned", "version": __version__}


def test_a_text_that_was_cut_in_a_pair_of_surrogates_is_answered(tmp_path):
    """It is stored with the replacement character, and what the client waits for comes."""
    with served(tmp_path / "a.db") as server:
        note = server.call(1, "remember", text="oolong \ud83d")
        assert note["structuredContent"]["status"] == "written"
        (found,) = server.call(2, "recall", query="oolong \ude00")["structuredContent"]["results"]
        assert found["text"] == "oolong \ufffd"
        assert server.call(3, "explain", id="\ud83d")["isError"] is True


NO_REQUESTS = (
    b"",
    b"{not json}",
    b"null",
    b"[]",
    b'"text"',
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": "x"}',
    b'{"jsonrpc": "2.0", "method": ["x"]}',
    b'{"jsonrpc": "2.0", "method": "no/such"}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"jsonrpc": "2.0", "method": "x", "params": {"text": "' + b"x" * 5_000_000 + b'"}}',
)


def test_what_is_no_request_does_not_end_the_connection(tmp_path):
    """The next request is answered."""
    with served(tmp_path / "a.db") as server:
        for number, line in enumerate(NO_REQUESTS):
            server.write(line)
            assert server.call(number, "recall", query="tea")["isError"] is False, line[:80]
        code, log = server.ended()
        assert code == 0, log


WRONG = (
    ("no/such", {}),
    ("tools/call", {}),
    ("tools/call", {"name": 7}),
    ("tools/call", {"name": "recall", "arguments": ["query"]}),
    ("prompts/get", {"name": "no such"}),
    ("resources/read", {"uri": "file:///etc/passwd"}),
)


def test_a_request_that_breaks_the_protocol_gets_an_error(tmp_path):
    """Of the protocol, not a result."""
    with served(tmp_path / "a.db") as server:
        for number, (method, params) in enumerate(WRONG):
            assert "code" in server.answer(number, method, params)["error"], (method, params)


def test_a_message_of_any_size_is_answered(tmp_path):
    """The tool says how much it takes, without the text."""
    with served(tmp_path / "a.db") as server:
        result = server.call(1, "remember", text="x" * 20_000_000)
        assert result["isError"] is True
        assert len(result["content"][0]["text"]) < 1_000


def test_calls_at_once_are_each_answered_once(tmp_path):
    """In whichever order they are done."""
    with served(tmp_path / "a.db") as server:
        for number in range(100):
            server.ask(number, "tools/call", {"name": "remember", "arguments": {"text": f"fact {number}"}})
        answers = [server.read() for _ in range(100)]
        assert sorted(each["id"] for each in answers) == list(range(100))
        assert all(each["result"]["isError"] is False for each in answers)


def test_two_servers_share_a_file(tmp_path):
    """What one client remembers, the other recalls."""
    db = tmp_path / "a.db"
    with served(db) as left, served(db) as right:
        for number in range(20):
            left.ask(number, "tools/call", {"name": "remember", "arguments": {"text": f"left {number}"}})
            right.ask(number, "tools/call", {"name": "remember", "arguments": {"text": f"right {number}"}})
        assert not any(server.read()["result"]["isError"] for server in (left, right) for _ in range(20))
        (found,) = left.call(99, "recall", query="right 7", k=1)["structuredContent"]["results"]
        assert found["text"] == "right 7"


@pytest.mark.skipif(sys.platform == "win32", reason="a process is ended otherwise there")
@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_server_that_is_ended_closes_its_memory(tmp_path, how, code):
    """Although its client has not gone; nothing of the file is left beside it, and what was answered is there."""
    with served(tmp_path / "a.db") as server:
        server.call(1, "remember", text="Alice prefers oolong tea.")
        ended, log = server.ended(how)
    assert (ended, "Traceback" in log) == (code, False), log
    assert [each.name for each in tmp_path.iterdir()] == ["a.db"]
    with Memory(tmp_path / "a.db", scope=("acme", "alice"), embedder="hashing") as memory:
        assert memory.count(kinds=("note",)) == 1


def test_a_client_that_goes_in_the_middle_of_a_call_leaves_no_fault(tmp_path):
    """Whether it still reads the answer, or was killed."""
    for killed in (False, True):
        with served(tmp_path / "a.db") as server:
            for number in range(12):
                server.ask(number, "tools/call", {"name": "remember", "arguments": {"text": f"oolong {number}"}})
            if killed:
                server.process.stdout.close()
                server.process.stdout = None
            code, log = server.ended()
            assert (code, "Traceback" in log) == (0, False), log


# HTTP


@contextmanager
def serving(db, *arguments, http="127.0.0.1:0"):
    """Start a server over HTTP, and give its URL on this machine and its process."""
    command = [*COMMAND, "--db", str(db), "--http", http, *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        line = process.stderr.readline()
        assert line.startswith("serving http://"), line + process.stderr.read()
        yield line.removeprefix("serving ").strip().replace(ALL, "127.0.0.1"), process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def posted(url, body, **headers):
    """Return what a request is answered: the status, the session that was begun, and the open answer."""
    accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, body, {**accept, **headers})  # noqa: S310  # our own server
    try:
        answer = urllib.request.urlopen(request, timeout=30)  # noqa: S310  # as above
    except urllib.error.HTTPError as error:
        with error:
            return error.code, None, error.read().decode()
    with answer:
        return answer.status, answer.headers["mcp-session-id"], answer.read().decode()


def hello(number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": HELLO}).encode()


def test_a_local_server_hears_its_machine_and_no_other_name(tmp_path):
    """Nor a page that comes from elsewhere; a session that it does not know is refused, and what is too large, too."""
    with serving(tmp_path / "a.db") as (url, _):
        port = url.partition("127.0.0.1:")[2].partition("/")[0]
        assert posted(url, hello())[0] == 200
        assert posted(url, hello(), Host="localhost")[0] == 200
        assert posted(url, hello(), Origin=f"http://localhost:{port}")[0] == 200
        assert posted(url, hello(), Origin="http://evil.example.com")[0] == 403
        assert posted(url, hello(), Host=f"evil.example.com:{port}")[0] == 421
        assert posted(url, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', **{"mcp-session-id": "x"})[0] in (400, 404)
        assert posted(url, b"x" * 5_000_000)[0] == 413


def test_a_local_server_may_be_asked_by_the_address_that_it_was_given(tmp_path):
    """Every address of the loopback network is this machine's."""
    with serving(tmp_path / "a.db", http="127.0.0.2:0") as (url, _):
        assert posted(url, hello())[0] == 200


def test_a_server_for_the_network_is_asked_by_no_web_page(tmp_path):
    """A page of any origin is turned away: that is all that stands between it and the memory."""
    with serving(tmp_path / "a.db", "--trust-network", http=f"{ALL}:0") as (url, _):
        assert posted(url, hello())[0] == 200
        assert posted(url, hello(), Host="memory.example.com")[0] == 200
        assert posted(url, hello(), Host="evil.example.com", Origin="http://evil.example.com")[0] == 403


def test_a_cut_text_is_answered_over_http_too(tmp_path):
    """As over standard input."""
    with serving(tmp_path / "a.db") as (url, _):
        session = posted(url, hello())[1]
        arguments = {"text": "oolong \ud83d"}
        body = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "remember", "arguments": arguments},
        }
        status, _, answer = posted(url, json.dumps(body).encode(), **{"mcp-session-id": session})
        assert (status, '"status":"written"' in answer) == (200, True), answer


@pytest.mark.skipif(sys.platform == "win32", reason="a process is ended otherwise there")
def test_a_server_that_is_ended_does_not_wait_for_a_client_that_listens(tmp_path):
    """A client keeps a stream open as long as it is there; the memory is closed all the same."""
    with serving(tmp_path / "a.db") as (url, process):
        session = posted(url, hello())[1]
        listening = {"Accept": "text/event-stream", "mcp-session-id": session}
        with urllib.request.urlopen(urllib.request.Request(url, headers=listening), timeout=60):  # noqa: S310  # as above
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 143
    assert [each.name for each in tmp_path.iterdir()] == ["a.db"]
