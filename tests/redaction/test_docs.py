"""The code of the page on redaction runs as it stands, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seasoned.redaction import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "redaction.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    """Both examples, one after the other."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    code = "\n".join(text for kind, text in blocks if kind == "python")
    exec(compile(code, "redaction.md", "exec"), {})  # noqa: S102  # our own text
    assert capsys.readouterr().out == "".join(text for kind, text in blocks if kind == "text")


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_every_kind_is_on_the_page():
    """None is left out."""
    text = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"`{kind}`" not in text] == []
