"""The tables and targets of `benchmarks/store.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from common.report import Cell, Table, shown
from common.store_runs import PEERS, Figures, Found

EXACT_ENOUGH: Final = 0.99


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be reached, what was measured, and whether that is enough."""

    what: str
    wanted: str
    found: float
    reached: bool

    def row(self) -> list[Cell]:
        """Return it as a row of a table."""
        return [self.what, self.wanted, self.found, "yes" if self.reached else "NO"]


def at_most(what: str, limit: float, unit: str, found: float) -> Target:
    """Return a target that is an upper bound."""
    return Target(what, f"≤ {limit:g} {unit}", found, found <= limit)


def at_least(what: str, limit: float, found: float) -> Target:
    """Return a target that is a lower bound."""
    return Target(what, f"≥ {limit:g}", found, found >= limit)


def targets_table(targets: Sequence[Target]) -> Table:
    """Return all targets."""
    return Table("Targets", ["what", "wanted", "found", "reached"], [each.row() for each in targets])


def figure(row: Mapping[str, float | str], name: str) -> float:
    """Return a number of a row."""
    found = row[name]
    assert isinstance(found, (int, float))
    return float(found)


def adds_table(found: Found, fsync: float) -> Table:
    """Return single adds, each peer beside ours at the durability that it has."""
    header = [
        "engine",
        "version",
        "mode",
        "waits for the disk",
        "p50 ms",
        "p95 ms",
        "÷ ours, same durability",
    ]
    rows: list[list[Cell]] = [
        [
            label,
            row.get("version"),
            row.get("mode"),
            row.get("syncs"),
            row["p50_ms"],
            row["p95_ms"],
            slower(found.rows, label) if label in PEERS else None,
        ]
        for label, row in found.rows.items()
    ]
    return Table(f"Single add to 600 to 1,000 records (4 KB and fsync on this disk: {shown(fsync)} ms)", header, rows)


def slower(rows: Figures, peer: str) -> float:
    """Return a peer's time over ours: at FULL if the peer waits for the disk, else at NORMAL."""
    syncs = rows[peer]["syncs"]
    full = not isinstance(syncs, float) or syncs >= 0.5
    return figure(rows[peer], "p50_ms") / figure(rows["ours, FULL" if full else "ours, NORMAL"], "p50_ms")


def search_table(size: int, found: Found) -> Table:
    """Return searches in one scope of one size."""
    header = [
        "engine",
        "p50 ms",
        "p95 ms",
        "recall@10 of exact",
        "÷ ours, hybrid",
        "open and first s",
        "peak MB",
        "file MB",
        "build s",
        "first search ever s",
    ]
    base = figure(found.rows["ours, hybrid"], "p50_ms") if "ours, hybrid" in found.rows else None
    rows: list[list[Cell]] = [
        [
            label,
            row["p50_ms"],
            row["p95_ms"],
            row.get("recall"),
            figure(row, "p50_ms") / base if base else None,
            *(row.get(name) for name in ("open_and_first_s", "peak_mb", "file_mb", "build_s", "index_s")),
        ]
        for label, row in found.rows.items()
    ]
    return Table(f"Search in one scope of {size:,} records, k = 10", header, rows)


def times_table(title: str, found: Found) -> Table:
    """Return rows of times."""
    rows: list[list[Cell]] = [
        [label, *(row.get(name) for name in ("p50_ms", "p95_ms", "peak_mb", "file_mb"))]
        for label, row in found.rows.items()
    ]
    return Table(title, ["what", "p50 ms", "p95 ms", "peak MB", "file MB"], rows)


def add_targets(found: Found) -> list[Target]:
    """Return the target of single adds, where there was a peer."""
    times = {peer: slower(found.rows, peer) for peer in PEERS if peer in found.rows}
    if not times:
        return []
    fastest = min(times, key=lambda peer: times[peer])
    return [at_least(f"single add, fastest peer ({fastest}) ÷ ours", 3, times[fastest])]


def search_targets(size: int, found: Found) -> list[Target]:
    """Return the targets of a search at one size."""
    ours = found.rows.get("ours, hybrid")
    if ours is None:
        return []
    limits = {10_000: 3.0, 100_000: 10.0}
    made = [at_least(f"recall of the dense arm at {size:,}", EXACT_ENOUGH, figure(found.rows["ours, dense"], "recall"))]
    if size in limits:
        made.append(at_most(f"hybrid at {size:,}", limits[size], "ms", figure(ours, "p50_ms")))
    if size == 100_000:
        made.append(at_most("opening 100,000 records", 1, "s", figure(ours, "open_and_first_s")))
    for peer in PEERS:
        row = found.rows.get(peer)
        if row is not None and figure(row, "recall") >= EXACT_ENOUGH:
            for arm in ("hybrid", "dense"):
                ratio = figure(row, "p50_ms") / figure(found.rows[f"ours, {arm}"], "p50_ms")
                made.append(Target(f"search at {size:,}, {peer} ÷ ours, {arm}", "> 1", ratio, ratio > 1))
    return made


def scope_targets(found: Found) -> list[Target]:
    """Return the target of many small scopes: as fast as one, with a quarter for the noise between two files."""
    made = []
    for kind in ("first touch", "warm"):
        many, one = (figure(found.rows[f"{what}, {kind}"], "p50_ms") for what in ("many scopes", "one small store"))
        made.append(at_most(f"many scopes ÷ one small store, {kind}", 1.25, "", many / one))
    return made
