"""The page on redaction names every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from seasoned.redaction import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "redaction.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_every_kind_is_on_the_page():
    """None is left out."""
    text = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"`{kind}`" not in text] == []
