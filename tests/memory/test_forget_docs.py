"""The page on forgetting names what no rule may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from seasoned.retention import EXEMPT

PAGE = Path(__file__).parents[2] / "docs" / "forgetting.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documents are not beside the tests")


def test_the_page_names_every_kind_that_no_rule_may_name():
    """Of the playbook's by what they begin with."""
    text = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in EXEMPT if f"`{kind}`" not in text and not kind.startswith("playbook-")] == []
