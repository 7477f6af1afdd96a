"""The command line, run as people run it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

MESSAGES = [
    ("tea", "1", "2024-05-01T10:00:00Z", "user", "My favourite tea is oolong from Wuyi."),
    ("tea", "2", "2024-05-01T10:01:00Z", "assistant", "Noted, oolong it is."),
    ("茶", "1", "2024-06-01T10:00:00Z", "user", "我喜欢喝乌龙茶 🍵"),
    ("bike", "1", "2024-07-01T10:00:00Z", "user", "The bike lock code is 4711-XQ."),
    ("bike", "2", "2024-07-01T10:01:00Z", "assistant", "I will keep the code for you."),
]


@dataclass(frozen=True)
class Ran:
    """What a run of the command line left."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON document on standard output."""
        return json.loads(self.out)


Seasoned = Callable[..., Ran]


@pytest.fixture
def environment() -> dict[str, str]:
    """An environment without settings of our own, and with the embedder that needs no model."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SEASONED_", "PYTHON", "LC_", "LANG", "COLUMNS"))
    }
    return clean | {"SEASONED_EMBEDDER": "hashing", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}


@pytest.fixture
def seasoned(tmp_path: Path, environment: dict[str, str]) -> Seasoned:
    """Run `seasoned` with these arguments in a folder of its own."""

    def run(*args: str | os.PathLike[str], encoding: str = "utf-8", **env: str) -> Ran:
        ran = subprocess.run(
            [sys.executable, "-m", "seasoned.cli", *map(os.fspath, args)],
            cwd=tmp_path,
            env=environment | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout.decode(encoding).replace("\r\n", "\n"), ran.stderr.decode(encoding))

    return run


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A file of five messages in three sessions."""
    path = tmp_path / "chat.jsonl"
    names = ("session", "id", "at", "role", "content")
    messages = [dict(zip(names, values, strict=True)) for values in MESSAGES]
    messages[0]["name"] = "Zoë"
    path.write_text("".join(json.dumps(message, ensure_ascii=False) + "\n" for message in messages), encoding="utf-8")
    return path


@pytest.fixture
def filled(seasoned: Seasoned, chat: Path) -> Seasoned:
    """The command line with that file imported into the default memory."""
    assert seasoned("import", chat).code == 0
    return seasoned
