"""The built site: nothing of it comes from elsewhere, and every public name is in it.

Runs where SEASONED_SITE names the folder of a built site, as `make docs` does.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import seasoned

from .reading import DOCS

SITE = os.environ.get("SEASONED_SITE", "")

pytestmark = pytest.mark.skipif(not SITE, reason="no built site is named: `make docs` builds one and runs this")

LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "link": "href",
}
"""What a browser fetches on its own."""

ELSEWHERE = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)


class Loaded(HTMLParser):
    """Collects the addresses that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of a tag that loads something."""
        given = dict(attrs)
        if tag in LOADS and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get(LOADS[tag]) or "")


def test_no_page_loads_anything_from_another_host():
    """No script, style, font, picture or frame; nor do the styles."""
    found = []
    for page in Path(SITE).rglob("*.html"):
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert loaded.found, page
        found += [(page.name, address) for address in loaded.found if ELSEWHERE.match(address)]
    for style in Path(SITE).rglob("*.css"):
        named = re.findall(r"(?:@import\s+|url\()[\"']?([^\"')]+)", style.read_text(encoding="utf-8"))
        found += [(style.name, address) for address in named if ELSEWHERE.match(address)]
    assert found == []


def test_no_page_has_a_diagram_that_would_be_drawn_by_a_fetched_script():
    """The theme fetches the drawing program from elsewhere."""
    assert [page for page in Path(SITE).rglob("*.html") if 'class="mermaid"' in page.read_text("utf-8")] == []


def test_every_public_name_has_its_place_in_the_reference():
    """Those of the package, of every package in it and of every module that has a page."""
    mkdocstrings = pytest.importorskip("mkdocstrings")
    with (Path(SITE) / "objects.inv").open("rb") as stored:
        there = set(mkdocstrings.Inventory.parse_sphinx(stored))
    public = [(module, name) for module in documented() for name in module.__all__]
    assert len(public) > 200
    missing = [f"{module.__name__}.{name}" for module, name in public if there.isdisjoint(paths(module, name))]
    assert not missing, f"no page of docs/api has {', '.join(missing)}"


def paths(module: ModuleType, name: str) -> set[str]:
    """Where a name may stand in the reference: where it is public, or where it was made."""
    made = getattr(module, name)
    return {f"{module.__name__}.{name}", f"{getattr(made, '__module__', '')}.{getattr(made, '__qualname__', '')}"}


def documented() -> Iterator[ModuleType]:
    """Every package with public names, and the modules that the pages of the reference name."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    named = {name.rpartition(".")[0] for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)}
    yield seasoned
    for found in pkgutil.walk_packages(seasoned.__path__, "seasoned."):
        if found.name.startswith("seasoned.cli"):
            continue
        if found.ispkg or found.name in named:
            module = importlib.import_module(found.name)
            if hasattr(module, "__all__"):
                yield module
