"""The code of the page about encryption runs as it stands."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "encryption.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not beside the tests")
def test_the_code_of_the_page_about_encryption_runs(tmp_path, monkeypatch, capsys):
    """It finds the allergy, shows it locked, opens it again, rotates, erases, and copies Carol's memory."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile("\n".join(blocks), "encryption.md", "exec"), names)  # noqa: S102  # our own text
    for name in ("memory", "bob", "old", "new"):
        names[name].close()
    names["store"].close()
    names["new"].store.close()
    names.clear()
    gc.collect()
    assert capsys.readouterr().out.splitlines() == [
        "Alice is allergic to penicillin.",
        "True allergy ''",
        "Alice is allergic to penicillin.",
        "Alice is allergic to penicillin.",
        "{'locked': True}",
        "Carol moved to Riga.",
    ]
    assert b"penicillin" not in b"".join(file.read_bytes() for file in tmp_path.glob("agent.db*"))
