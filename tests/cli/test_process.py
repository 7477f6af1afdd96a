"""How the command line behaves as a process: encodings, pipes, signals, help, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest

COMMANDS = [
    "import",
    "search",
    "context",
    "outcome",
    "sessions",
    "remember",
    "list",
    "get",
    "history",
    "explain",
    "update",
    "pin",
    "unpin",
    "stats",
    "forget",
    "export",
    "doctor",
    "reembed",
    "demo",
]


@pytest.mark.parametrize(
    ("encoding", "env"),
    [
        ("ascii", {"LC_ALL": "C", "PYTHONIOENCODING": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        ("utf-8", {"LC_ALL": "C", "PYTHONIOENCODING": ""}),
        ("cp1252", {"PYTHONIOENCODING": "cp1252"}),
        ("cp1252", {"PYTHONIOENCODING": "cp1252:strict", "LC_ALL": "C"}),
        ("utf-16", {"PYTHONIOENCODING": "utf-16"}),
    ],
)
def test_a_console_of_any_encoding_shows_every_text_and_gives_valid_json(filled, encoding, env):
    """What cannot be written is escaped, in tables, help, JSON and errors; an argument in any script is understood."""
    ran = filled("search", "乌龙茶 🍵", encoding=encoding, **env)
    assert ran.code == 0, ran.err
    assert filled("search", "乌龙茶", "--json", encoding=encoding, **env).json["hits"][0]["text"] == "我喜欢喝乌龙茶 🍵"
    for args in (["sessions"], ["--help"], ["context", "-s", "茶"]):
        ran = filled(*args, encoding=encoding, **env)
        assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
    ran = filled("stats", "--db", "没有.db", encoding=encoding, **env)
    assert ran.code == 1
    assert ran.err.startswith("error: there is no memory at")


def test_a_file_with_a_name_in_any_script_is_imported_under_an_ascii_locale(seasoned, tmp_path):
    """The name is a path as the system gives it, and its stem the session."""
    (tmp_path / "日記.json").write_text('[{"role": "user", "content": "x"}]', encoding="utf-8")
    ran = seasoned(
        "import",
        "日記.json",
        "--json",
        encoding="ascii",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        PYTHONIOENCODING="",
    )
    assert ran.code == 0, ran.err
    assert [each["id"] for each in seasoned("sessions", "--json").json["sessions"]] == ["日記"]


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_closed_pipe_is_quiet(filled, tmp_path, environment):
    """Whoever reads only the first line gets it, and no traceback follows."""
    big = tmp_path / "big.jsonl"
    big.write_text(
        "".join(json.dumps({"role": "user", "content": f"note {i} " + "word " * 200}) + "\n" for i in range(2_000))
    )
    assert filled("import", big).code == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "seasoned.cli", "search", "word", "-k", "2000", "--json"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
@pytest.mark.parametrize("args", [["--help"], ["playbook"], ["playbook", "--help"], ["list", "-h"]])
def test_help_whose_reader_went_away_is_quiet_too(tmp_path, environment, args):
    """As with any other output: exit code 141, and nothing on standard error."""
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        [sys.executable, "-m", "seasoned.cli", *args],
        cwd=tmp_path, env=environment, stdout=writer, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(writer)
    with process:
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_an_interrupt_is_exit_code_130_and_keeps_what_was_written(seasoned, tmp_path, environment):
    """Stopped in the middle it leaves a whole memory; run again it writes the rest."""
    path = tmp_path / "many.jsonl"
    path.write_text(
        "".join(json.dumps({"role": "user", "content": f"message {i} " + "x y z " * 50}) + "\n" for i in range(20_000))
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "seasoned.cli", "import", path],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        while not (tmp_path / "seasoned.db").exists() and process.poll() is None:
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    assert seasoned("doctor").code == 0
    report = seasoned("import", path, "--json").json["files"][0]
    assert report["written"] + report["duplicate"] == 20_000


def test_colour_is_only_for_terminals(filled, environment):
    """A pipe gets none, whatever TERM says."""
    for args in (["search", "oolong"], ["sessions"], ["search", "x", "--db", "none.db"]):
        ran = filled(*args, NO_COLOR="", TERM="xterm-256color")
        assert "\x1b" not in ran.out + ran.err


@pytest.mark.parametrize(
    "args",
    [["search"], ["search", "--wrong", "x"], ["fly"], ["search", "x", "-k", "many"], ["forget", "--older-than", "old"]],
)
def test_wrong_usage_is_exit_code_2(seasoned, args):
    """What is wrong stands on standard error, and standard output is empty."""
    ran = seasoned(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert "Usage: seasoned" in ran.err


@pytest.mark.parametrize(
    "args",
    [
        ["search", ""],
        ["search", "x", "-k", "0"],
        ["search", "x", "--since", "soon"],
        ["stats", "--scope", " "],
        ["stats", "--embedder", "magic"],
        ["forget", "--source", "x"],
    ],
)
def test_an_invalid_value_is_one_line_and_exit_code_2(filled, args):
    """The line says what was found and what was wanted; no traceback."""
    ran = filled(*args)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("error: ")


def test_an_embedder_that_is_none_is_answered_in_the_command_line_s_words(seasoned):
    """The names that the option takes, and no others."""
    for ran in (seasoned("stats", "--embedder", "foo"), seasoned("stats", SEASONED_EMBEDDER="foo")):
        assert ran.err == (
            "error: --embedder (or SEASONED_EMBEDDER) is one of auto, hashing, static, minilm, not 'foo'\n"
        )


def test_what_was_stored_cannot_steer_the_terminal_or_the_table(seasoned):
    """Escape sequences are shown as such, and markup is only text."""
    assert seasoned("remember", "tea \x1b[31m red \x07 [bold]loud[/bold] [/] :tea:").code == 0
    ran = seasoned("search", "tea")
    assert r"tea \x1b[31m red \x07 [bold]loud[/bold] [/] :tea:" in ran.out
    assert seasoned("search", "tea", "--json").json["hits"][0]["text"].startswith("tea \x1b[31m")


def test_debug_shows_the_whole_traceback(seasoned):
    """For reports of faults."""
    ran = seasoned("stats", "--debug")
    assert ran.code == 1
    assert "Traceback" in ran.err
    assert "StoreError" in ran.err


def test_every_command_has_help_that_names_the_exit_codes(seasoned):
    """The list of commands is whole, and each explains itself."""
    shown = seasoned("--help").out
    for name in COMMANDS:
        assert name in shown
        assert "Exit codes: 0 done; 1 error" in seasoned(name, "-h").out


def test_the_version_is_the_package_s(seasoned):
    """One line, for scripts."""
    assert seasoned("--version").out == f"seasoned {version('seasoned')}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_for_the_shell_can_be_shown(seasoned, shell):
    """Typer's own script, under our name, whatever shell the tests were started from."""
    ran = seasoned(_SEASONED_COMPLETE=f"source_{shell}")
    assert ran.code == 0
    assert "_SEASONED_COMPLETE" in ran.out


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_the_message_names_it(tmp_path, environment, missing):
    """A base install has the command, and the command says what to install."""
    hide = f"import sys; sys.modules[{missing!r}] = None; from seasoned.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", hide], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr == f"error: {missing} is not installed; run: pip install 'seasoned[cli]'\n"


def test_the_package_does_not_load_the_command_line(tmp_path, environment):
    """Importing the library loads neither typer nor rich."""
    code = "import seasoned.memory, sys; print(sorted(sys.modules.keys() & {'typer', 'rich', 'seasoned.cli'}))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "[]\n"
