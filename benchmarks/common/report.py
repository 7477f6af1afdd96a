"""A benchmark's result: tables in Markdown for people, the figures as JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.machine import Facts, facts

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def markdown(self) -> str:
        """Return it as a Markdown table, the title in bold above."""
        lines = [self.header, ["---"] + ["---:"] * (len(self.header) - 1), *self.rows]
        body = "\n".join("| " + " | ".join(map(shown, line)) + " |" for line in lines)
        return f"**{self.title}**\n\n{body}\n"


@dataclass(frozen=True, slots=True)
class Report:
    """What one run of a benchmark found; `figures` are plain JSON."""

    benchmark: str
    tables: Sequence[Table]
    figures: Mapping[str, object]
    notes: Sequence[str] = ()
    machine: Facts = field(default_factory=facts)

    def publish(self, path: Path | None) -> None:
        """Print the tables, and write everything to `path` if there is one."""
        print("\n".join(table.markdown() for table in self.tables))
        for note in self.notes:
            print(f"- {note}")
        print("- machine: " + ", ".join(f"{name} {shown(value)}" for name, value in self.machine.items()))
        if path is not None:
            path.write_text(json.dumps(self._plain(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _plain(self) -> dict[str, object]:
        return {
            "benchmark": self.benchmark,
            "command": command(sys.argv),
            "machine": self.machine,
            "figures": self.figures,
            "notes": [*self.notes],
            "tables": [table.markdown() for table in self.tables],
        }


def command(words: Sequence[str]) -> str:
    """Return a command as another would type it: of a path only its last part."""
    return " ".join(["python", f"benchmarks/{Path(words[0]).name}", *(_without_folders(word) for word in words[1:])])


def _without_folders(word: str) -> str:
    name, mark, path = word.rpartition("=")
    return f"{name}{mark}{Path(path).name}" if "/" in path else word


def shown(cell: Cell) -> str:
    """Return a cell as text: a float with three significant figures, nothing as a dash."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:.1f}" if abs(cell) < 1000 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else cell
