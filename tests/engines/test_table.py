"""The table of the engines in the documents is what each of them declares."""

from __future__ import annotations

import os
from pathlib import Path

from .engines import ENGINES, HEADER, Engine

DOCUMENT = Path(__file__).parents[2] / "docs" / "engines.md"


def written() -> str:
    """The table as it stands in the document: its first."""
    lines = DOCUMENT.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    last = next(number for number in range(first, len(lines)) if not lines[number].startswith("|"))
    return "\n".join(lines[first:last])


def declared(engine: Engine, place: Path) -> str:
    """The row of an engine, made from what its store declares; one that is slow keeps its own where it is not tried."""
    if engine.slow and not os.environ.get("SEASONED_ENGINES"):
        beginning = f"| {engine.name} |"
        kept = [line for line in written().splitlines() if line.startswith(beginning)]
        return kept[0] if kept else f"{beginning} (run it where SEASONED_ENGINES is set)"
    place.mkdir()
    with engine.open(place) as store:
        return engine.row(store.can)


def test_the_table_of_engines_is_made_from_what_they_declare(tmp_path):
    """Each is opened and asked; where the document says anything else, the message has the table that is right."""
    rows = [declared(engine, tmp_path / str(number)) for number, engine in enumerate(ENGINES)]
    right = "\n".join([HEADER, *rows])
    assert written() == right, f"the table of {DOCUMENT.name} is to be\n\n{right}\n"
