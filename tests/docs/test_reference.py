"""The reference pages: every public name has its place, and the page of the command line is what the commands say."""

from __future__ import annotations

import pytest

from .reading import DOCS, ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="the project is not around the tests")


def test_the_page_of_the_command_line_is_what_the_commands_say():
    """Where it is not, `make docs-cli` writes it anew."""
    from .command_line import page

    assert (DOCS / "cli.md").read_text(encoding="utf-8") == page(), "docs/cli.md is stale: run `make docs-cli`"


def test_every_decision_has_its_place_in_the_navigation():
    """In the order of their numbers, which are each given once."""
    names = sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))
    listed = [line.strip("- ") for line in (ROOT / "mkdocs.yml").read_text().splitlines() if "- decisions/0" in line]
    assert listed == [f"decisions/{name}" for name in names]
    assert len({name[:4] for name in names}) == len(names)
