"""The page on forgetting: its example runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seasoned.retention import EXEMPT

PAGE = Path(__file__).parents[2] / "docs" / "forgetting.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documents are not beside the tests")


def test_the_example_prints_what_the_page_says(capsys):
    """Each comment behind a `print` is its output."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102  # our own page
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


def test_the_page_names_every_kind_that_no_rule_may_name():
    """Of the playbook's by what they begin with."""
    text = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in EXEMPT if f"`{kind}`" not in text and not kind.startswith("playbook-")] == []
