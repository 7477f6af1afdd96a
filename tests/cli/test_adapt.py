"""`seasoned adapt` against an endpoint on the loopback address."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seasoned import Memory

RULE = "Answer with twice the number."


class _Handler(BaseHTTPRequestHandler):
    """Knows the rule only where the playbook has it; keeps the keys that it was sent."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.keys.append(self.headers.get("authorization"))
        data = json.dumps(
            {"choices": [{"message": {"role": "assistant", "content": _reply(body["messages"])}}],
             "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
        ).encode()  # fmt: skip
        self.send_response(500 if self.server.down else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *said):
        """Say nothing."""


def _reply(messages):
    system, text = messages[0]["content"], messages[-1]["content"]
    if "final_answer" in system:
        number = int(re.findall(r"What comes of (\d+)", text)[0])
        said = {"reasoning": "so", "bullet_ids": [], "final_answer": str(2 * number if RULE in system else 0)}
    elif "bullet_tags" in system:
        said = {"reasoning": "It was not doubled.", "key_insight": "Double it.", "bullet_tags": []}
    else:
        add = {"type": "ADD", "section": "RULES", "content": RULE}
        said = {"reasoning": "", "operations": [] if RULE in text else [add]}
    return json.dumps(said)


@pytest.fixture
def endpoint():
    """An endpoint that speaks OpenAI's chat."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads, server.keys, server.down = True, [], False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def asked(endpoint, tmp_path):
    """The arguments of a run over six questions."""
    rows = [json.dumps({"context": f"What comes of {number}", "target": str(2.0 * number)}) for number in range(1, 7)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    url = f"http://127.0.0.1:{endpoint.server_address[1]}/v1"
    return ["adapt", "--task", "formula", "--train", "rows.jsonl", "--model", "m", "--base-url", url]


def test_an_online_run_tells_the_accuracy_of_each_window(seasoned, asked, tmp_path):
    """The playbook that was learned is in the memory, for every other command."""
    ran = seasoned(*asked, "--mode", "online", "--window", "3", "--json")
    assert ran.code == 0, ran.err
    assert [score["accuracy"] for score in ran.json["windows"]] == [0.0, 1.0]
    assert ran.json["spent"]["prompt_tokens"] == 100 * ran.json["spent"]["calls"]
    with Memory(tmp_path / "seasoned.db", embedder="hashing") as memory:
        assert [each.content for each in memory.playbook] == [RULE]


def test_a_run_that_was_stopped_goes_on(seasoned, asked):
    """The budget ends it, and the same command without one ends it well, with no call made twice."""
    run = [*asked, "--mode", "online", "--window", "3", "--checkpoint", "run", "--workers", "2"]
    stopped = seasoned(*run, "--max-calls", "20")
    assert stopped.code == 0
    assert "stopped: the budget of 20 calls is spent" in stopped.err
    ended = seasoned(*run, "--json")
    calls = 9 + 2 * 5 + 3 * 4  # never right in three rounds; right in the first round, twice; right at once, thrice
    assert (ended.json["finished"], ended.json["spent"]["calls"]) == (True, calls)
    assert [score["accuracy"] for score in ended.json["windows"]] == [0.0, 1.0]


def test_an_offline_run_validates_and_tests(seasoned, asked):
    """As a table, where no JSON is asked for."""
    ran = seasoned(*asked, "--val", "rows.jsonl", "--test", "rows.jsonl", "--baseline", "--limit", "2")
    assert ran.code == 0, ran.err
    table = [line.split()[:2] for line in ran.out.splitlines()]
    assert ["baseline", "0.000"] in table
    assert ["test", "1.000"] in table
    assert ["val/end", "1.000"] in table


def test_a_task_of_ones_own_is_found_in_the_working_directory(seasoned, asked, tmp_path):
    """As module:Class; one that is not there is an invalid value."""
    (tmp_path / "doubling.py").write_text(
        "from seasoned.playbook.adapt import Check, read_rows\n"
        "class Doubling:\n"
        "    name = 'doubling'\n"
        "    def examples(self, path): return read_rows(path)\n"
        "    def check(self, example, answer): return Check(right=float(answer) == float(example.target))\n"
    )
    run = [*asked[:2], "doubling:Doubling", *asked[3:], "--limit", "1", "--json"]
    assert seasoned(*run).json["after"][0]["accuracy"] == 1.0
    for name in ("nowhere:Doubling", "doubling:Nothing", "algebra", "json:dumps"):
        ran = seasoned(*asked[:2], name, *asked[3:])
        assert (ran.code, ran.out) == (2, "")
        assert name in ran.err


def test_a_key_is_sent_only_where_it_is_named(seasoned, asked, endpoint):
    """The key of another service does not leave by accident."""
    assert seasoned(*asked, "--limit", "1", OPENAI_API_KEY="secret").code == 0
    assert set(endpoint.keys) == {None}
    assert seasoned(*asked, "--limit", "1", "--key-env", "MY_KEY", MY_KEY="mine").code == 0
    assert endpoint.keys[-1] == "Bearer mine"
    assert seasoned(*asked, "--key-env", "NO_KEY").code == 2


def test_an_endpoint_that_is_down_is_an_error(seasoned, asked, endpoint):
    """Every call has failed: the reason is told, and the exit code is 1."""
    endpoint.down = True
    ran = seasoned(*asked, "--limit", "1")
    assert ran.code == 1
    assert "failed: " in ran.err
    assert "500" in ran.err


def test_a_missing_extra_is_named(asked, tmp_path, environment):
    """Without the package that speaks to endpoints it says what to install."""
    code = "import sys; sys.modules['httpx2'] = None; from seasoned.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code, *asked],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert b"pip install 'seasoned[openai]'" in ran.stderr


def test_what_cannot_be_is_refused(seasoned, asked):
    """A missing file is an error, an impossible number an invalid value, a missing option wrong usage."""
    assert seasoned(*asked[:4], "none.jsonl", *asked[5:]).code == 1
    assert seasoned(*asked, "--epochs", "0").code == 2
    assert seasoned(*asked, "--limit", "0").code == 2
    assert seasoned(*asked, "--mode", "sideways").code == 2
    assert seasoned("adapt", "--task", "formula").code == 2
