"""A page as its blocks: each fence and each invisible block with its language, its line and what stands above it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

markdown = pytest.importorskip("markdown", reason="pages: markdown is not installed")
pytest.importorskip("sybil", reason="pages: sybil is not installed")
from sybil import Document, Example, Region  # noqa: E402  # only where it is installed
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser  # noqa: E402
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer  # noqa: E402

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*\Z", re.DOTALL)
"""The comment right above a block that cannot run, with the reason."""


def pages() -> list[Path]:
    """The README and every page of the documents."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """How tests and messages call a page: its path below `docs/`, or README.md."""
    return str(page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT))


def parsed(page: Path, evaluators: dict[str, Callable[[Example], str | None]]) -> Document:
    """The page with a block for each fence of a language that has an evaluator; Python is run by sybil itself."""
    others = [CodeBlockParser(language, evaluator) for language, evaluator in evaluators.items()]
    return Document.parse(str(page), PythonCodeBlockParser(), *others)


def language_of(region: Region) -> str:
    """The word behind the fence."""
    return str(region.lexemes["arguments"])


def fences(page: Path) -> Iterator[tuple[int, str]]:
    """The line and the word behind it of every fence of the page, whatever it is."""
    document = Document(page.read_text(encoding="utf-8"), str(page))
    for region in FencedCodeBlockLexer(".*")(document):
        yield document.text.count("\n", 0, region.start) + 1, str(region.lexemes["language"])


def reason_not_to_run(example: Example) -> str | None:
    """The reason that the comment above the block gives; None where there is no such comment."""
    found = NOT_RUN.search(example.document.text[: example.region.start])
    return found.group(1) if found else None


def indented_code(page: Path) -> list[str]:
    """What the page shows as code by indentation, which no test would run."""
    text = page.read_text(encoding="utf-8")
    regions = list(FencedCodeBlockLexer(".*")(Document(text, str(page))))
    for region in sorted(regions, key=lambda each: each.start, reverse=True):
        text = text[: region.start] + text[region.end :]
    html = markdown.markdown(text, extensions=["admonition", "tables", "pymdownx.tabbed", "pymdownx.details"])
    return re.findall(r"<pre><code>(.*?)</code></pre>", html, re.DOTALL)
