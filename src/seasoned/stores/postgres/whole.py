"""Searching a scope whole: every eligible row with its BM25 and its cosine, ranked as any other store ranks them."""

from __future__ import annotations

from typing import Any, Final

from seasoned.stores.postgres.connections import Statement
from seasoned.stores.postgres.searching import GAIN, Search, Text, columns

WHOLE: Final = 2_000
"""Up to so many eligible rows are all ranked."""

POSTINGS: Final = 20_000
"""Up to so many postings of a query's terms are read term by term; else they are looked up row by row."""


def whole(search: Search) -> Statement:
    """Return the statement that reads all eligible rows, or a single one without a number where they are too many."""
    made = Text(search)
    record = f"{search.tables.record} r"
    made.part("eligible", f"SELECT r.row, {columns('r')} FROM {record} WHERE {made.eligible()} LIMIT {WHOLE + 1}")
    made.part("number", f"SELECT count(*) <= {WHOLE} AS few FROM eligible")
    _words(made)
    return made.statement(
        "number LEFT JOIN eligible f ON few LEFT JOIN lexical l ON l.row = f.row",
        "l.gain",
        made.best_cosine("f.row"),
        "WHERE f.row IS NOT NULL OR NOT few",
        "f.place" if search.narrowed else "row_number() OVER (PARTITION BY f.session ORDER BY f.place)",
    )


def too_many(raws: list[tuple[Any, ...]]) -> bool:
    """Tell whether the answer says that there are more eligible rows than are ranked whole."""
    return bool(raws) and raws[0][0] is None


def _words(made: Text) -> None:
    """Add `lexical`: the BM25 of each eligible row that has a term of the query."""
    made.asked(POSTINGS)
    by_term, by_row = (f"({made.postings(more)} OFFSET 0) p" for more in ("", " AND row = e.row"))
    few, short = "(SELECT few FROM number)", f"(SELECT coalesce(sum(n), 0) <= {POSTINGS} FROM asked)"
    gain = f"SELECT p.row, p.part, sum({GAIN}) AS gain FROM"
    made.part(
        "passage",
        f"{gain} asked a CROSS JOIN LATERAL {by_term} WHERE {few} AND {short}"
        " AND p.row IN (SELECT row FROM eligible) GROUP BY p.row, p.part"
        f" UNION ALL {gain} eligible e CROSS JOIN asked a CROSS JOIN LATERAL {by_row} WHERE {few} AND NOT {short}"
        " GROUP BY p.row, p.part",
    )
    made.part("lexical", "SELECT row, max(gain) AS gain FROM passage GROUP BY row")
