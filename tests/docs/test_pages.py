"""Every code block of the README and of the documents runs, and prints what its page shows."""

from __future__ import annotations

import gc

import pytest

from .reading import DOCS, ROOT, fences, indented_code, name_of, pages, parsed, reason_not_to_run
from .running import LANGUAGES, PageFailed, Program

NOT_RUN = {
    "adaptation.md: seasoned adapt": "asks models behind an endpoint",
    "postgres.md: SELECT create_distributed_table('seasoned.scope',": "needs a cluster of Citus",
}
"""The blocks that cannot run, by page and first words, with the reason that the page gives. They are few."""

ELSEWHERE = {"tutorials/hour.md"}
"""Pages whose programs are run by a test of their own, each in a process of its own."""

SERVERS = {"DATABASE_URL": "database_url", "OLLAMA_BASE_URL": "ollama_url"}
"""The variables that a page names to be given a server, and who starts it."""

pytestmark = pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="the project is not around the tests")


@pytest.mark.parametrize("page", [each for each in pages() if name_of(each) not in ELSEWHERE], ids=name_of)
def test_a_page_runs_as_it_stands(page, tmp_path, monkeypatch, request):
    """Block after block, in an empty folder; what is printed is shown, what is shown is printed."""
    text = page.read_text(encoding="utf-8")
    variables = {name: request.getfixturevalue(fixture) for name, fixture in SERVERS.items() if name in text}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    fault = None
    try:
        Program(page, tmp_path, variables).run()
    except PageFailed as failed:
        fault = str(failed)
    if fault:
        pytest.fail(fault, pytrace=False)
    gc.collect()  # what the page opened, lost and did not close is a warning, and so an error


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_code_of_a_page_escapes_the_tests(page):
    """Each block is fenced and names a language that the tests know."""
    assert indented_code(page) == []
    assert [(line, language) for line, language in fences(page) if language not in LANGUAGES] == []


def test_the_blocks_that_cannot_run_are_these():
    """Each with its reason, on the page and here."""
    marked = {}
    for page in pages():
        for example in parsed(page, dict.fromkeys(LANGUAGES - {"python"}, lambda example: None)):
            reason = reason_not_to_run(example)
            if reason is not None:
                marked[f"{name_of(page)}: {' '.join(example.parsed.split()[:2])}"] = reason
    assert marked == NOT_RUN
    assert len(NOT_RUN) <= 6


def test_the_pages_are_here():
    """So that the tests above are about something."""
    assert len(pages()) > 50
    assert (DOCS / "index.md") in pages()
