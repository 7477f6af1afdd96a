"""The first code of the page on adaptation runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "adaptation.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not beside the tests")
def test_the_first_code_of_the_page_prints_what_it_says(capsys):
    """Its comments at the end are its output."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code.group(1), "adaptation.md", "exec"), {})  # noqa: S102  # our own text
    said = [line[2:] for line in code.group(1).splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == said
