"""The code of the page on async runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "async.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    """It finds the dog's fear, and counts one message."""
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, "async.md", "exec"), {})  # noqa: S102  # our own text
    assert capsys.readouterr().out == "My dog Rex is afraid of thunder.\n1\n"
