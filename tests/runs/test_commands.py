"""`seasoned runs`, `run show` and `lessons`, run as people run them; and the code of the documentation."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from seasoned import Memory
from seasoned.testing import ScriptedModel

from .domain import Losses, Outcome, Phases, play


@pytest.fixture
def seasoned(tmp_path):
    with Memory(tmp_path / "seasoned.db", embedder="hashing") as memory:
        runs = memory.runs.configure(Losses(), Phases(), Outcome())
        play(runs, range(1, 31), losses=[11])
        runs.summarise_run(ScriptedModel(["- Keep cash \x1b[31mfor\x1b[0m shortages."]), "bot")
        play(runs, range(1, 3))

    def run(*args: str) -> tuple[int, str, str]:
        environment = os.environ | {"SEASONED_EMBEDDER": "hashing", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
        command = [sys.executable, "-m", "seasoned.cli", *args]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    return run


def test_runs_are_listed_the_newest_first(seasoned):
    """With what they hold and how they ended."""
    code, out, _ = seasoned("runs")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["run", "run-2", "run-1"]
    assert "Profit 28.0." in out
    listed = json.loads(seasoned("runs", "--json")[1])["runs"]
    assert [(each["id"], each["status"], each["turns"]) for each in listed] == [
        ("run-2", "open", 2),
        ("run-1", "closed", 30),
    ]


def test_a_run_is_shown_as_a_page_of_its_layers(seasoned):
    """Lessons above episodes above atoms above turns; nothing stored steers the terminal."""
    code, out, _ = seasoned("run", "show", "run-1", "--turns", "5")
    assert code == 0
    places = [
        out.index(head) for head in ("L3 lessons (1)", "L2 episodes (1)", "L1 atoms (1)", "L0 turns (30, 5 shown)")
    ]
    assert places == sorted(places)
    assert "\x1b" not in out
    assert "T11: Turned unprofitable" in out
    assert "T30" in out
    assert "T25 " not in out
    page = json.loads(seasoned("run", "show", "run-1", "--json")[1])
    assert page["lessons"][0]["sources"] == ["run-1/episode/1"]
    assert (len(page["turns"]), page["atoms"][0]["turns"]) == (30, [11])


def test_lessons_are_listed_and_chosen_by_profile(seasoned):
    """None is a negative answer."""
    assert "Keep cash" in seasoned("lessons")[1]
    assert json.loads(seasoned("lessons", "--profile", "bot", "--json")[1])["lessons"][0]["times"] == 1
    assert seasoned("lessons", "--profile", "other")[::2] == (3, "no lessons\n")
    assert seasoned("--scope", "nobody", "runs")[::2] == (3, "no runs\n")


def test_an_unknown_run_and_a_bad_profile_are_errors(seasoned):
    """With the exit codes of all commands."""
    code, out, err = seasoned("run", "show", "run-9")
    assert (code, out) == (1, "")
    assert err.startswith("error: no run 'run-9'")
    assert seasoned("lessons", "--profile", "../x")[0] == 2
