"""Lines of a shell block: those that run, and those that are only checked against what they name."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from .reading import ROOT

SERVES = re.compile(r"\bseasoned\b.*\bmcp\b.*--http")
"""What would serve until it is stopped."""


def lines_of(block: str) -> list[str]:
    """The commands of a block, each on one line, without comments."""
    whole = block.replace("\\\n", " ").splitlines()
    return [line.strip() for line in whole if shlex.split(line, comments=True)]


def is_checked_only(line: str) -> bool:
    """Whether a line installs, builds, measures or serves, so that it is checked and not run."""
    words = shlex.split(line, comments=True)
    measures = words[0] == "python" and any(
        each.startswith(("benchmarks/", "examples", "tests.")) for each in words[1:3]
    )
    return words[0] in ("make", "pip", "git") or measures or SERVES.search(line) is not None


def fault_of(line: str) -> str | None:
    """What a line that is not run names and is not there; None where all is."""
    words = shlex.split(line, comments=True)
    match words[0]:
        case "make":
            return None if _targets().issuperset(words[1:]) else f"the Makefile has no such target: {line}"
        case "pip":
            return _missing_extra(words)
        case "python":
            return _missing_option(*_script(words[1:]))
        case "seasoned":
            return _missing_option(["-m", "seasoned.cli", *words[1:]], [])
    return f"a line that is neither run nor checked: {line}"


@functools.cache
def _targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def _missing_extra(words: list[str]) -> str | None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {extra for word in words for extra in re.findall(r"seasoned\[(.+?)\]", word) for extra in extra.split(",")}
    missing = named - set(project["optional-dependencies"])
    return f"pyproject.toml has no such extra: {sorted(missing)}" if missing else None


def _script(words: list[str]) -> tuple[list[str], list[str]]:
    """The words that name a program, and its options."""
    program = words[:2] if words[0] == "-m" else words[:1]
    return program, [word.partition("=")[0] for word in words[len(program) :] if word.startswith("--")]


def _missing_option(program: list[str], options: list[str]) -> str | None:
    if program[0] != "-m" and not options:  # such as the chat, which takes any word for a question
        return None if (ROOT / program[0]).is_file() else f"there is no {program[0]}"
    code, said = _helped(tuple(program))
    if code:
        return f"{shlex.join(program)} --help fails: {said}"
    missing = [option for option in options if option not in said]
    return f"{shlex.join(program)} has no {missing}" if missing else None


@functools.cache
def _helped(program: tuple[str, ...]) -> tuple[int, str]:
    if program[0] == "-m" and program[1].startswith("tests."):  # these take no options, and fetch what they run
        there = (ROOT / program[1].replace(".", "/")).with_suffix(".py").exists()
        return (0, "") if there else (1, f"there is no {program[1]}")
    ran = subprocess.run(
        [sys.executable, *program, "--help"],
        cwd=ROOT,
        env=environment(ROOT),
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


def environment(home: Path, **more: str) -> dict[str, str]:
    """Give the environment in which commands of a page run: this Python first in the path, a home of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEASONED_", "COV_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return (
        kept | {"PATH": path, "HOME": str(home), "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "COLUMNS": "100"} | more
    )
