"""Runs a peer's own tests with our part put in place of theirs, and compares with what is expected.

The sdist of the installed version is downloaded into a temporary folder; of it, only the tests are unpacked. They run
in a process of their own, away from this project's settings, with a plugin that puts our part in place before they
import. What is expected to fail stands with its reason in a file beside this one; anything else that fails is a failure
here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
PLUGINS: Final = HERE / "plugins"
"""On the path of the tests' process; its modules are plugins of pytest."""

OUTCOMES: Final = "PEER_OUTCOMES"
"""The environment variable that tells the plugin `outcomes` where to write them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Tests in one sdist: the project's name, the folder they lie in there, the files to run."""

    distribution: str
    folder: str = "tests"
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer's tests: where they are, the plugin that puts our part in place, packages that only they need.

    `settings` are lines of the tests' own pytest.ini.
    """

    name: str
    sources: tuple[Source, ...]
    plugin: str
    needs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


Outcomes = Mapping[str, str]
"""By test, named `distribution/file::test`: passed, failed or skipped."""


def main(peer: Peer) -> int:
    """Run a peer's tests as the command line says, print what came of them, and return 0 where all is as expected."""
    parser = argparse.ArgumentParser(description=f"Run {peer.name}'s tests with our part in place of theirs.")
    parser.add_argument("--theirs", action="store_true", help="leave their own part in place, for comparison")
    parser.add_argument("--output", action="store_true", help="show what pytest prints")
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests that match, as in pytest; nothing is compared")
    options = parser.parse_args()
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="peer-") as place:
        tools = _install(peer, Path(place) / "tools")
        for source in peer.sources:
            root = _unpacked(source, Path(place) / source.distribution)
            found |= _outcomes(peer, source, root, tools, options)
    if options.theirs or options.k:
        return 0
    return _compare(found, _expected(peer))


def _install(peer: Peer, place: Path) -> Path:
    if peer.needs:
        _run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), *peer.needs)
    return place


def _unpacked(source: Source, place: Path) -> Path:
    """Return a folder that holds the tests of the sdist of the installed version, and nothing else of it."""
    place.mkdir()
    wanted = f"{source.distribution}=={version(source.distribution)}"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", source.distribution)
    _run(*pip, "--dest", str(place), wanted)
    (archive,) = place.glob("*.tar.gz")
    with tarfile.open(archive) as sdist:
        inside = [member for member in sdist if _below(member.name).startswith(f"{source.folder}/")]
        for member in inside:
            member.name = _below(member.name)
        sdist.extractall(place, members=inside, filter="data")
    archive.unlink()
    return place


def _below(name: str) -> str:
    return name.partition("/")[2]


def _run(*command: str) -> None:
    ran = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stdout}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _outcomes(peer: Peer, source: Source, root: Path, tools: Path, options: argparse.Namespace) -> dict[str, str]:
    (root / "pytest.ini").write_text("\n".join(["[pytest]", *peer.settings, ""]))
    written = root / "outcomes.json"
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "outcomes"]
    command += [] if options.theirs else ["-p", peer.plugin]
    command += ["-k", options.k] if options.k else []
    command += [f"{source.folder}/{name}" for name in source.files]
    environment = {**os.environ, OUTCOMES: str(written), "PYTHONPATH": os.pathsep.join([str(PLUGINS), str(tools)])}
    ran = subprocess.run(
        command, cwd=root, env=environment, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    found = json.loads(written.read_text()) if written.exists() else {}
    if options.output or not found:
        _say(ran.stdout)
    _say(f"{source.distribution} {version(source.distribution)}: {_counted(found)}")
    return {f"{source.distribution}/{name}": outcome for name, outcome in found.items()}


def _counted(found: Outcomes) -> str:
    kinds = ("passed", "failed", "skipped")
    counts = {kind: sum(outcome == kind for outcome in found.values()) for kind in kinds}
    return ", ".join(f"{number} {kind}" for kind, number in counts.items() if number) or "no tests ran"


def _expected(peer: Peer) -> Mapping[str, str]:
    """Return the tests that are expected to fail, each with the reason."""
    read: Mapping[str, Mapping[str, str]] = tomllib.loads((HERE / f"{peer.name}.toml").read_text())
    return read["failures"]


def _compare(found: Outcomes, expected: Mapping[str, str]) -> int:
    failed = {name for name, outcome in found.items() if outcome == "failed"}
    passed = sum(outcome == "passed" for outcome in found.values())
    _say(f"{passed} of {len(found)} pass; {len(failed)} fail, of which {len(failed & expected.keys())} as expected:")
    for name in sorted(failed & expected.keys()):
        _say(f"  {name}\n    {expected[name]}")
    for title, names in (
        ("Not expected to fail:", failed - expected.keys()),
        ("Expected to fail, but did not (take them off the list):", expected.keys() - failed),
    ):
        if names:
            _say("\n  ".join([title, *sorted(names)]))
    return 0 if found and failed == expected.keys() else 1
