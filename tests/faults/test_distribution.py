"""What is reported of packages: their weight, the Python they ask for, and the files that they lack."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest

import seasoned

ROOT = Path(__file__).parents[2]
PACKAGE = Path(seasoned.__file__).parent


def core():
    """The names of what is installed with the package when nothing else is asked for."""
    return [re.split(r"[\s<>=!~;\[(]", each)[0] for each in requires("seasoned") or [] if "extra ==" not in each]


def test_the_core_needs_two_packages_and_no_benchmark():
    """Arrays and stemmers; no framework, no client, nothing to measure with."""
    assert sorted(map(str.lower, core())) == ["numpy", "pystemmer"]


def test_the_package_is_small():
    """Its own files take less than five megabytes."""
    files = [each for each in PACKAGE.rglob("*") if each.is_file() and "__pycache__" not in each.parts]
    assert sum(each.stat().st_size for each in files) < 5_000_000


def test_the_python_it_needs_is_said():
    """3.11 and on, without an upper bound; each version that it names is one that it runs on."""
    told = metadata("seasoned")
    assert told["Requires-Python"] == ">=3.11"
    assert "Programming Language :: Python :: 3.11" in told.get_all("Classifier")
    assert sys.version_info >= (3, 11)


def test_every_data_file_lies_where_the_wheel_takes_it():
    """The wheel is the whole folder of the package: nothing that code or command line reads lies beside it."""
    settings = ROOT / "pyproject.toml"
    if not settings.is_file():
        pytest.skip("the project's settings are not beside these tests")
    built = tomllib.loads(settings.read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert built == {"packages": ["src/seasoned"]}
    data = [each.name for each in PACKAGE.rglob("*") if each.is_file() and each.suffix not in (".py", ".pyc")]
    assert {"py.typed", "conversation.jsonl"} <= set(data)


BARE = """
import sys
sys.path.append(sys.argv[1])
from seasoned import Memory
from seasoned.errors import MissingExtra
with Memory(sys.argv[2]) as memory:
    memory.remember("我喜欢喝乌龙茶", id="tea")
    memory.conversation.add({"role": "user", "content": "green tea"}, "s")
    memory.experience.record("thirst", "drink tea", 0.5)
    memory.playbook.add("Warm the pot.", "tea", "success")
    print(memory.recall("乌龙茶")[0].id, len(memory.context("tea", session="s").messages))
for url in ("qdrant://", "chroma://", "postgresql://h/d"):
    try:
        Memory(url)
    except MissingExtra as error:
        print(error.extra)
"""


def test_it_works_where_nothing_but_its_core_is_installed(tmp_path):
    """With numpy and the stemmers alone: memories, search in any script and contexts; what is missing is named."""
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("numpy", "Stemmer", "seasoned"):
        found = Path(importlib.util.find_spec(name).origin)
        found = found.parent if found.name.startswith("__init__") else found
        for each in (found, found.with_name(f"{name}.libs")):
            if each.exists():
                (bare / each.name).symlink_to(each)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", BARE, str(bare), str(tmp_path / "agent.db")],
        capture_output=True, text=True, check=False, env={"OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.stdout.split() == ["tea", "2", "qdrant", "chroma", "postgres"], done.stderr
