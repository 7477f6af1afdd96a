"""The tables of a retrieval benchmark: all methods, then by category."""

from __future__ import annotations

from collections.abc import Mapping

from common.report import Cell, Report, Table
from common.retrieval import LABELS, WORDS, Outcome, by_category, scored, summary

OVER = "recall@10 ÷ BM25"


def report(name: str, outcome: Outcome, *, goals: Mapping[str, float], apart: str | None = None) -> Report:
    """Return the report of a run; `goals` are recall@10 by embedder, `apart` a category left out of the totals."""
    totals = {label: summary(scored(asked, apart)) for label, asked in outcome.asked.items()}
    categories = {label: by_category(asked) for label, asked in outcome.asked.items()}
    goal_of = {LABELS[each]: goal for each, goal in goals.items()}
    figures = {
        "totals": totals,
        "by_category": categories,
        "goals": goal_of,
        "reached": {label: totals[label]["recall@10"] >= goal for label, goal in goal_of.items() if label in totals},
        "versions": outcome.versions,
        "skipped": outcome.skipped,
    }
    notes = [f"{label}: skipped: {reason}" for label, reason in outcome.skipped.items()]
    if apart is not None:
        notes.append(f"category {apart} is counted apart: it is in the tables by category, not in the totals")
    return Report(
        benchmark=name,
        tables=[
            _totals(name, totals, goal_of),
            _categories("recall@10 by category", "recall@10", categories),
            _categories("nDCG@10 by category", "ndcg@10", categories),
        ],
        figures=figures,
        notes=notes,
    )


def _totals(name: str, totals: Mapping[str, Mapping[str, float]], goals: Mapping[str, float]) -> Table:
    base = totals.get(WORDS, {}).get("recall@10")
    rows: list[list[Cell]] = [
        [
            label,
            found["recall@5"],
            found["recall@10"],
            goals.get(label),
            found["recall@20"],
            found["ndcg@10"],
            found["recall@10"] / base if base else None,
            found["ms"],
            found["ms_without_embedding"],
        ]
        for label, found in totals.items()
    ]
    count = int(next(iter(totals.values()))["questions"]) if totals else 0
    header = ["method", "recall@5", "recall@10", "goal", "recall@20", "nDCG@10", OVER, "ms/query", "without embedding"]
    return Table(f"{name}: {count:,} questions", header, rows)


def _categories(title: str, measure: str, categories: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    counts = {name: int(found["questions"]) for each in categories.values() for name, found in each.items()}
    header = ["method", *(f"{name} ({count})" for name, count in sorted(counts.items()))]
    rows: list[list[Cell]] = [
        [label, *(each[name][measure] for name in sorted(counts))] for label, each in categories.items()
    ]
    return Table(title, header, rows)
