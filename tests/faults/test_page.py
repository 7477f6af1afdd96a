"""The page of faults names all that a list of them names, where there is such a list.

The list is Markdown: entries of one line that begin with a number and name products and what was reported of them, such
as `owner/product#12, PR#13`. Its path is in the environment variable SEASONED_FAULTS.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "field-faults.md"
SHORT = {"tencentdb": "tencentdb-agent-memory", "openai": "openai-agents"}
"""Names that lists and page write shorter than the product's."""

_PRODUCT = re.compile(r"([A-Za-z][\w.-]*) ?(?:PRs? ?)?#\d")
_WORD = re.compile(r"#\d+|[A-Za-z][\w.-]*")
_ENTRY = re.compile(r"^\d+\. (.*)$", re.MULTILINE)


def products(text):
    """The products of which a text names something by number."""
    found = {SHORT.get(name.casefold(), name.casefold()) for name in _PRODUCT.findall(text)}
    return found - {"pr", "prs"}


def references(text, known):
    """What a text names by number, each with the last product that stood before it."""
    found, product = set(), ""
    for word in _WORD.findall(text):
        name = SHORT.get(word.casefold(), word.casefold())
        if word.startswith("#"):
            found.add(f"{product}{word}")
        elif name in known:
            product = name
    return found


def test_a_reference_belongs_to_the_product_before_it():
    """Whether it is an issue or a change, and however lists and page write it."""
    text = "acme/mem0#12, #13; tencentDB PR#7/PR#8 (other#9, #10) and 3 words"
    known = products(text)
    assert known == {"mem0", "tencentdb-agent-memory", "other"}
    assert references(text, known) == {
        "mem0#12", "mem0#13", "tencentdb-agent-memory#7", "tencentdb-agent-memory#8", "other#9", "other#10",
    }  # fmt: skip


def test_every_reference_of_a_list_of_faults_is_on_the_page():
    """In a row with its test, or in the last table with the reason why it is not possible."""
    path = os.environ.get("SEASONED_FAULTS")
    if not path:
        pytest.skip("SEASONED_FAULTS names no list of faults")
    page, told = PAGE.read_text("utf-8"), Path(path).read_text("utf-8")
    known = products(page) | products(told)
    on_page = references(page, known)
    entries = _ENTRY.findall(told)
    assert entries
    assert {entry: missing for entry in entries if (missing := references(entry, known) - on_page)} == {}
