"""The store against Chroma, LangGraph's SqliteStore and mem0 (infer=False), all with the same vectors, in one run.

Every engine runs in a process of its own, and with `--peer-python` in an environment of its own; one that is not
there is said to be skipped. Embedding is excluded: vectors are looked up. Figures of time mean little alone; the
ratios to the peers, measured in the same run, mean more.

    python benchmarks/store.py --json store.json --peer-python PATH --peer-python langgraph=PATH
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common import install
from common.machine import fsync_ms
from common.made import Maker
from common.options import parser, peer_pythons
from common.progress import say
from common.report import Report, Table
from common.store_runs import PEERS, Found, Setting, contexts, many_scopes, searches, single_adds
from common.store_tables import (
    Target,
    add_targets,
    adds_table,
    at_most,
    figure,
    scope_targets,
    search_table,
    search_targets,
    targets_table,
    times_table,
)

PARTS = ("add", "search", "scopes", "context", "footprint")
SIZES = (1_000, 10_000, 100_000)
MILLION = 1_000_000
SEED = 7


@dataclass(slots=True)
class Parts:
    """What the parts that ran have found."""

    tables: list[Table] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def keep(self, name: str, found: Found, table: Table, targets: list[Target]) -> None:
        """Take in one measurement."""
        self.figures[name] = found.rows
        self.tables.append(table)
        self.targets += targets
        self.notes += [f"{name}: {what}: skipped: {reason}" for what, reason in found.skipped.items()]


def main() -> None:
    """Run it."""
    given = _options()
    parts = Parts()
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        folder = Path(made)
        setting = Setting(
            data=folder / "data",
            folder=folder,
            pythons={"ours": sys.executable, **peer_pythons(given.peer_python, PEERS)},
            limits={"mem0": given.mem0_limit},
        )
        setting.data.mkdir()
        runs: Mapping[str, Callable[[], None]] = {
            "add": lambda: _add(parts, setting),
            "search": lambda: _search(parts, setting, given),
            "scopes": lambda: _scopes(parts, setting, 200 if given.quick else 10_000),
            "context": lambda: _context(parts, setting),
            "footprint": lambda: _footprint(parts),
        }
        chosen = given.only or PARTS
        if set(chosen) - {"footprint"}:
            say("making texts and vectors")
            Maker(SEED).write(setting.data, max(_sizes(given)) if "search" in chosen else 10_000)
        for name in chosen:
            runs[name]()
    parts.figures["targets"] = [each.row() for each in parts.targets]
    Report("store", [targets_table(parts.targets), *parts.tables], parts.figures, parts.notes).publish(given.json)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--only", action="append", choices=PARTS, help="one part; again for more (default: all)")
    options.add_argument("--million", action="store_true", help="search in 1,000,000 records too, ours alone")
    options.add_argument("--folder", type=Path, help="where the stores are made: the disk that is measured")
    options.add_argument("--mem0-limit", type=int, default=10_000, help="largest store of mem0, which scans in Python")
    return options.parse_args()


def _sizes(given: argparse.Namespace) -> tuple[int, ...]:
    return (1_000, 10_000) if given.quick else (*SIZES, MILLION) if given.million else SIZES


def _add(parts: Parts, setting: Setting) -> None:
    found, fsync = single_adds(setting), fsync_ms(setting.folder)
    parts.figures["fsync_ms"] = fsync
    parts.keep("add", found, adds_table(found, fsync), add_targets(found))


def _search(parts: Parts, setting: Setting, given: argparse.Namespace) -> None:
    for size in _sizes(given):
        found = searches(setting, size, ["ours"] if size == MILLION else ["ours", *PEERS])
        parts.keep(f"search {size}", found, search_table(size, found), search_targets(size, found))


def _scopes(parts: Parts, setting: Setting, scopes: int) -> None:
    found = many_scopes(setting, scopes, 50)
    parts.keep("scopes", found, times_table(f"{scopes:,} scopes of 50 records", found), scope_targets(found))


def _context(parts: Parts, setting: Setting) -> None:
    found = contexts(setting, 10_000)
    turn = at_most("context() of 10,000 messages", 5, "ms", figure(found.rows["after a new message"], "p50_ms"))
    parts.keep("context", found, times_table("context(4000) of a session of 10,000 messages", found), [turn])


def _footprint(parts: Parts) -> None:
    say("import and installation")
    ours, numpy = install.import_ms("seasoned"), install.import_ms("numpy")
    parts.tables.append(Table("Import, ms", ["seasoned", "numpy alone", "÷ numpy"], [[ours, numpy, ours / numpy]]))
    parts.targets.append(at_most("import seasoned", 200, "ms", ours))
    parts.figures["import_ms"] = {"seasoned": ours, "numpy": numpy}
    try:
        sizes = install.installed_mb()
    except subprocess.CalledProcessError as error:
        parts.notes.append(f"installation: skipped: {error}")
        return
    beyond = sum(size for name, size in sizes.items() if name != "numpy")
    parts.tables.append(Table("Base installation, MB", ["all but numpy", *sizes], [[beyond, *sizes.values()]]))
    parts.targets.append(at_most("installed beyond numpy", 5, "MB", beyond))
    parts.figures["installed_mb"] = sizes


if __name__ == "__main__":
    main()
