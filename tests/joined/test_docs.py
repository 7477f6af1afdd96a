"""The code of the page on contexts runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "context.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not beside the tests")
def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    """One block after the other, in one program; what it prints is what the context shows."""
    monkeypatch.chdir(tmp_path)
    program: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "context.md", "exec"), program)  # noqa: S102  # our own text
    program["memory"].close()  # type: ignore[attr-defined]  # the page's memory
    printed = capsys.readouterr().out
    assert "notes note allergy" in printed
    assert "examples decision" in printed
