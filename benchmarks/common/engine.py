"""An engine in a process of its own, asked by lines of JSON: what it needs and what it spends stays apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

HERE: Final = Path(__file__).resolve().parents[1]

Reply = dict[str, object]


class Skipped(Exception):
    """An engine cannot run here; its text says why."""


class Engine:
    """The process of `engines/<name>.py`; ask it with `ask`, and close it by leaving the `with`."""

    def __init__(self, name: str, python: str = sys.executable, *, traced: Path | None = None) -> None:
        self.name = name
        prefix = [] if traced is None else ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(traced)]
        try:
            self._process = subprocess.Popen(
                [*prefix, python, "-m", f"engines.{name}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if name != "ours" else None,
                text=True,
                encoding="utf-8",
                env=_environment(),
            )
        except FileNotFoundError as error:
            raise Skipped(f"{error.filename} is not there") from error

    def ask(self, do: str, **fields: object) -> Reply:
        """Send a request and return the reply.

        Raises:
            Skipped: the engine is not installed, or failed, or ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Skipped(f"{self.name} ended") from error
        for line in self._process.stdout:
            if line.startswith("{"):  # whatever else an engine prints is not ours
                return self._checked(json.loads(line))
        raise Skipped(f"{self.name} ended with code {self._process.wait()}")

    @staticmethod
    def _checked(reply: Reply) -> Reply:
        if "skipped" in reply:
            raise Skipped(str(reply["skipped"]))
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Let the process come to its end, and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.read()
        self._process.stdout.close()
        self._process.wait()


def numbers(reply: Mapping[str, object], name: str) -> list[float]:
    """Return a field of a reply that is a list of numbers."""
    found = reply[name]
    assert isinstance(found, list)
    return [float(each) for each in found]


def number(reply: Mapping[str, object], name: str) -> float:
    """Return a field of a reply that is a number."""
    found = reply[name]
    assert isinstance(found, (int, float))
    return float(found)


def rankings(reply: Mapping[str, object]) -> list[list[str]]:
    """Return the ids that a search found, a list for each query."""
    found = reply["ids"]
    assert isinstance(found, list)
    return found


def _environment() -> dict[str, str]:
    quiet = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
    return {**os.environ, **quiet, "PYTHONPATH": str(HERE)}
