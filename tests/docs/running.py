"""A page as one program: block after block in one namespace, and what they print against what the page shows."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import json
import re
import subprocess
import sys
import tomllib
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import yaml
from sybil import Example

from .commands import environment, fault_of, is_checked_only, lines_of
from .reading import language_of, parsed, reason_not_to_run

PARSES = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}

LANGUAGES = frozenset({"python", "sh", "sql", "text", *PARSES})
"""What stands behind a fence: `text` is what the block before it printed."""

SAVED = re.compile(r"# ([\w-]+\.py)\n")
"""The first line of a program that the reader is to save under that name."""


class PageFailed(AssertionError):
    """A block did not do what its page says; the message begins with the page and the line."""


class Program:
    """Runs a page in `folder`, with `variables` in the environment; `ran` counts the blocks that did."""

    def __init__(self, page: Path, folder: Path, variables: dict[str, str]) -> None:
        self.ran = 0
        self._folder = folder
        self._variables = variables
        self._printed = ""  # by Python: it must be shown
        self._said = ""  # by a shell: it may be shown
        self._opened: dict[int, object] = {}
        others = {"text": self._compare, "sh": self._shell, "sql": self._sql, **dict.fromkeys(PARSES, self._parse)}
        self._document = parsed(page, others)
        self._module = types.ModuleType("page")  # frameworks look names of annotations up in the module of a class
        self._document.namespace = vars(self._module)

    def run(self) -> None:
        """Run every block; raise `PageFailed` at the first that fails."""
        sys.modules["page"] = self._module
        try:
            for example in self._document:
                with self._located(example):
                    self._run_one(example)
            self._nothing_unshown(self._document.text.count("\n"))
        finally:
            del sys.modules["page"]
            self._close()

    def _run_one(self, example: Example) -> None:
        language = language_of(example.region)
        if language != "text":
            self._nothing_unshown(example.line)
        if reason_not_to_run(example) is not None:
            self._check(example, language)
        elif language == "python":
            self._python(example)
        else:
            example.evaluate()

    @contextlib.contextmanager
    def _located(self, example: Example) -> Iterator[None]:
        """Say the page and the line of whatever a block raises."""
        try:
            yield
        except PageFailed:
            raise
        except Exception as error:  # noqa: BLE001  # a page may raise anything
            trace = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[-4:]))
            said = f"{type(error).__name__}: {error}\n{trace}"
            raise PageFailed(self._at(_line_in(error, example), said)) from None
        finally:
            self._remember()

    def _at(self, line: int, said: str) -> str:
        return f"{self._document.path}:{line}: {said}"

    def _nothing_unshown(self, line: int) -> None:
        if self._printed:
            said = f"printed before this and not shown in a text block:\n{self._printed}"
            raise PageFailed(self._at(line, said))

    def _check(self, example: Example, language: str) -> None:
        """Check what can be checked of a block that cannot run: its syntax, and what its commands name."""
        if language == "python":
            compile("\n" * example.line + example.parsed, example.path, "exec")
        elif language == "sh":
            self._faultless(lines_of(example.parsed), example)

    def _python(self, example: Example) -> None:
        """Run a block and keep what it prints; a program that names its file is also written there."""
        named = SAVED.match(example.parsed)
        if named:
            (self._folder / named.group(1)).write_text(example.parsed, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            example.evaluate()
        self._printed = out.getvalue()
        self.ran += 1

    def _compare(self, example: Example) -> None:
        """Hold what was printed against a `text` block, where `...` stands for anything."""
        printed, self._printed, self._said = self._printed or self._said, "", ""
        checker, want = doctest.OutputChecker(), doctest.Example("", str(example.parsed))
        if not checker.check_output(want.want, printed, doctest.ELLIPSIS):
            difference = checker.output_difference(want, printed, doctest.ELLIPSIS | doctest.REPORT_NDIFF)
            raise PageFailed(self._at(example.line, f"what is printed is not what is shown\n{difference}"))

    def _shell(self, example: Example) -> None:
        """Run the lines of a block in one shell; check those that install, build, measure or serve."""
        lines = lines_of(example.parsed)
        self._faultless([line for line in lines if is_checked_only(line)], example)
        script = [line for line in lines if not is_checked_only(line) and not self._is_given(line)]
        if script:
            self._said = self._ran("\n".join(script), example)
            self.ran += 1

    def _faultless(self, lines: list[str], example: Example) -> None:
        faults = list(filter(None, map(fault_of, lines)))
        if faults:
            raise PageFailed(self._at(example.line, "; ".join(faults)))

    def _is_given(self, line: str) -> bool:
        """Whether a line sets a variable that has its value here already, such as the URL of a server."""
        return any(line.startswith(f"export {name}=") for name in self._variables)

    def _ran(self, script: str, example: Example) -> str:
        done = subprocess.run(
            ["sh", "-eu"],
            input=script,
            cwd=self._folder,
            env=environment(self._folder, **self._variables),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise PageFailed(self._at(example.line, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"))
        return done.stdout

    def _sql(self, example: Example) -> None:
        with psycopg.connect(self._variables["DATABASE_URL"], autocommit=True) as db:
            db.execute(str(example.parsed))
        self.ran += 1

    def _parse(self, example: Example) -> None:
        PARSES[language_of(example.region)](example.parsed)

    def _remember(self) -> None:
        """Keep hold of what the page has opened, also where it gives the name to something else later."""
        for value in self._document.namespace.values():
            if not isinstance(value, (type, types.ModuleType)) and _closing(value):
                self._opened[id(value)] = value

    def _close(self) -> None:
        """Close what the page left open, the newest first; a memory leaves a store open that it was given."""
        for value in reversed(list(self._opened.values())):
            for close in filter(None, (_closing(value), _closing(getattr(value, "store", None)))):
                close()
        self._opened.clear()
        self._document.namespace.clear()


def _closing(value: object) -> Callable[[], object] | None:
    """Return how a value is closed; None where it is not, or only by a coroutine."""
    close = getattr(value, "close", None)
    return close if callable(close) and not inspect.iscoroutinefunction(close) else None


def _line_in(error: BaseException, example: Example) -> int:
    """Return the line of the page at which a block failed."""
    if isinstance(error, SyntaxError) and error.filename == example.path:
        return error.lineno or int(example.line)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == example.path]
    return (lines and lines[-1]) or int(example.line)
