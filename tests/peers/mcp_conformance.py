"""The reference tools of the Model Context Protocol against `seasoned mcp`: `python -m tests.peers.mcp_conformance`.

The conformance suite's server scenarios run over HTTP, and the inspector's command line lists and calls every tool over
HTTP and standard input, as the protocol's older and newer revisions have it. Both are fetched by npm into a temporary
folder, with a Node of their own where the one here is too old. Scenarios that do not apply stand with their reason in a
file beside this one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CONFORMANCE: Final = ("@modelcontextprotocol/conformance", "0.1.16")
INSPECTOR: Final = ("@modelcontextprotocol/inspector", "2.12.0")
NODE: Final = ("node", "22")
"""The package that brings Node, for machines whose own is older than LEAST."""

LEAST: Final = (22, 19)
"""The Node that both tools need."""

ERAS: Final = ("legacy", "modern")
SERVER: Final = (sys.executable, "-m", "seasoned.cli", "mcp", "--scope", "acme/alice", "--embedder", "hashing")
LISTS: Final = ("tools/list", "resources/list", "prompts/list")
NOTE: Final = "Alice prefers oolong tea."
LATEST_S: Final = 120

Answer = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Tools:
    """The reference tools, installed: Node, and where the packages lie."""

    node: str
    place: Path

    def run(self, package: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of a package."""
        script = self.place / "node_modules" / package / program
        command = [self.node, str(script), *arguments]
        home = {"HOME": str(self.place), "PATH": os.pathsep.join([str(Path(self.node).parent), os.environ["PATH"]])}
        return subprocess.run(
            command, env={**os.environ, **home}, check=False, capture_output=True, text=True, timeout=LATEST_S
        )


def main() -> int:
    """Fetch the tools, run both, print what came of them, and return 0 where all is as expected."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        _say("skipped: npm and node are not here, and the reference tools come by them")
        return 0
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        place = Path(name)
        tools = _installed(place / "tools")
        with _serving(place / "conformance.db") as url:
            well = _conformance(tools, url, place / "results")
        well &= _inspected(tools, "standard input", [], ["--", *SERVER, "--db", str(place / "stdio.db")])
        with _serving(place / "http.db") as url:
            well &= _inspected(tools, "HTTP", ["--server-url", url], [])
    return 0 if well else 1


def _installed(place: Path) -> Tools:
    wanted = [CONFORMANCE, INSPECTOR]
    own = _ran("node", "--version").stdout
    old = tuple(map(int, re.findall(r"\d+", own)[:2])) < LEAST
    packages = ["@".join(each) for each in [*wanted, *([NODE] if old else [])]]
    ran = _ran("npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", *packages)
    node = place / "node_modules" / "node" / "bin" / "node" if old else Path(shutil.which("node") or "node")
    if ran.returncode or not node.exists():
        raise SystemExit(f"npm could not fetch {', '.join(packages)}:\n{ran.stdout}{ran.stderr}")
    return Tools(str(node), place)


def _ran(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=10 * LATEST_S)


@contextmanager
def _serving(db: Path) -> Iterator[str]:
    """Run a server over HTTP on a free port, give its URL, and end it."""
    command = [*SERVER, "--db", str(db), "--http", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            line = server.stderr.readline() if server.stderr else ""
            if not line.startswith("serving "):
                raise SystemExit(f"the server did not start: {line}{server.communicate()[1]}")
            yield line.removeprefix("serving ").strip()
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()


def _conformance(tools: Tools, url: str, results: Path) -> bool:
    """Run the scenarios that apply, and say which do not and why."""
    reasons: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["not-applicable"]
    listed = tools.run(CONFORMANCE[0], "dist/index.js", "list", "--server").stdout
    scenarios = re.findall(r"^ +- ([\w-]+)", listed, re.MULTILINE)
    faults = {name: _faults(tools, url, name, results / name) for name in scenarios if name not in reasons}
    failed = {name: found for name, found in faults.items() if found}
    unknown = reasons.keys() - set(scenarios)
    _say(
        f"conformance {CONFORMANCE[1]}: {len(faults) - len(failed)} of {len(faults)} scenarios that apply pass, of "
        f"{len(scenarios)} in all: {', '.join(faults)}; not applicable:"
    )
    for name in scenarios:
        if name in reasons:
            _say(f"  {name}\n    {reasons[name]}")
    for name, found in failed.items():
        _say("\n    ".join([f"FAILED: {name}", *found]))
    for name in sorted(unknown):
        _say(f"no such scenario (take it off the list): {name}")
    return bool(faults) and not failed and not unknown


def _faults(tools: Tools, url: str, scenario: str, results: Path) -> list[str]:
    arguments = ("server", "--url", url, "--scenario", scenario, "--output-dir", str(results))
    ran = tools.run(CONFORMANCE[0], "dist/index.js", *arguments)
    checks = [check for written in results.rglob("checks.json") for check in json.loads(written.read_text())]
    if not any(check["status"] == "SUCCESS" for check in checks):
        return [f"no check succeeded: {ran.stdout}{ran.stderr}"]
    return [str(check) for check in checks if check["status"] in ("FAILURE", "WARNING")]


@dataclass(frozen=True, slots=True)
class Inspector:
    """The inspector's command line, with the words that lead to one server."""

    tools: Tools
    before: Sequence[str]
    after: Sequence[str]

    def ask(self, method: str, *arguments: str) -> Answer:
        """Return the result of a request; a failure is the result that tells it."""
        launcher = "clients/launcher/build/index.js"
        options = ["--cli", "--format", "json", "--quiet", *self.before, "--method", method, *arguments, *self.after]
        ran = self.tools.run(INSPECTOR[0], launcher, *options)
        try:
            answer: Answer = json.loads(ran.stdout)["result"]
        except (ValueError, KeyError):
            return {"isError": True, "told": f"{ran.stdout}{ran.stderr}"}
        return answer if ran.returncode == 0 else {"isError": True, "told": ran.stderr, **answer}

    def call(self, name: str, **arguments: object) -> Answer:
        """Return what a tool answers: its structured output, with the result's `isError`."""
        result = self.ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
        structured = result.get("structuredContent")
        known: Answer = structured if isinstance(structured, dict) else {"told": result}
        return {**known, "isError": result.get("isError", False)}


def _inspected(tools: Tools, way: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """List and call everything over one transport, in both revisions of the protocol."""
    well = True
    for era in ERAS:
        inspector = Inspector(tools, [*before, "--protocol-era", era], after)
        found = [*_listed(inspector), *_called(inspector)]
        failed = [what for what, right in found if not right]
        _say(f"inspector {INSPECTOR[1]}, {way}, {era}: {len(found) - len(failed)} of {len(found)} requests as expected")
        for what in failed:
            _say(f"  FAILED: {what}")
        well &= not failed
    return well


Checked = tuple[str, bool]
"""What was asked and answered, and whether the answer is right."""


def _listed(inspector: Inspector) -> Iterator[Checked]:
    for method in LISTS:
        answer = inspector.ask(method, *(["--strict"] if method == "tools/list" else []))
        listed = answer.get(method.partition("/")[0])
        yield f"{method}: {answer}", isinstance(listed, list) and len(listed) == (7 if method == "tools/list" else 0)


def _called(inspector: Inspector) -> Iterator[Checked]:
    """Call each tool, as an agent would one after the other, and once what must be refused."""
    note = inspector.call("remember", text=NOTE, tags=["tea"])
    yield f"remember: {note}", not note["isError"] and note.get("status") == "written"
    found = inspector.call("recall", query="Which tea does Alice like?", k=3)
    yield f"recall: {found}", not found["isError"] and NOTE in str(found.get("results"))
    shown = inspector.call("context", task="Which tea should Alice be offered?")
    yield f"context: {shown}", not shown["isError"] and NOTE in str(shown.get("text"))
    rated = inspector.call("outcome", trace=shown.get("trace"), rating=9)
    yield f"outcome: {rated}", not rated["isError"] and rated.get("status") == "written"
    lessons = inspector.call("lessons")
    yield f"lessons: {lessons}", not lessons["isError"] and lessons.get("lessons") == []
    told = inspector.call("explain", id=note.get("id"))
    yield f"explain: {told}", not told["isError"] and NOTE in str(told.get("text"))
    refused = inspector.call("recall", query="tea", scope=["acme", "bob"])
    yield f"recall with a scope: {refused}", refused["isError"] is True and "there is no 'scope'" in str(refused)
    gone = inspector.call("forget", ids=[note.get("id")], confirm=True)
    yield f"forget: {gone}", not gone["isError"] and gone.get("ids") == [note.get("id")]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
