"""The README's first code runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_the_first_code_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """It finds the dog's fear, builds a context, recalls the note, and says what forgetting would remove."""
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block.group(1), "README.md", "exec"), {})  # noqa: S102  # our own text
    out = capsys.readouterr().out
    assert out.startswith("My dog Rex is afraid of thunder.")
    assert "Alice prefers short answers." in out
    assert "{'message': 2}" in out
