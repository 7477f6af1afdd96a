"""Searching a scope by its best: the rows that each arm puts first, and what stands around the first of them.

Candidates are the rows that BM25 ranks first, the nearest by the HNSW index (one by one where the scope has few
vectors, or few of all, or where a filter leaves the index too few), and rows with the very text of the query.
"""

from __future__ import annotations

from typing import Final

from seasoned.ranking import DEFAULT
from seasoned.stores.postgres.connections import Statement
from seasoned.stores.postgres.schema import MAX_INDEXED, Space
from seasoned.stores.postgres.searching import FEWEST, GAIN, MOST_NEAR, Search, Text, columns

POSTINGS: Final = 20_000
"""How many postings of a query's terms are read, rarest terms first. A term beyond only adds to what others found,
unless they found too few: then so many of each are read, and `MOST_POSTINGS` where a filter may leave most of them out.
"""

MOST_POSTINGS: Final = 200_000

FEWEST_BY_WORDS: Final = 100
"""Fewest candidates that words give."""

SEEDS: Final = 50
"""How many of the best of each arm are read with what stands around them."""

LEADERS: Final = 3
"""Of so many of the best of each arm, rows that are up to `FAR` away in their session are read too: the best of a
session raises all of it."""

FAR: Final = 50

ONE_BY_ONE: Final = 3_000
"""Up to so many vectors of a scope, or one in `RARE` of all of their space, cosines are computed one by one."""

RARE: Final = 50


def best(search: Search) -> Statement:
    """Return the statement that reads the best candidates of each arm, and what stands around them."""
    made, k = Text(search), search.query.k
    arms = [_equal(made)]
    if search.terms:
        arms.append(_by_words(made, max(FEWEST_BY_WORDS, 2 * k)))
    if search.dense:
        arms.append(_by_vector(made, max(FEWEST, 2 * k)))
    made.part(
        "seed",
        "SELECT row, max(gain) AS gain, max(cosine) AS cosine, min(rank) AS rank"
        f" FROM ({' UNION ALL '.join(arms)}) arm GROUP BY row",
    )
    _features(made)
    weak = "SELECT row, max(gain) AS gain FROM passage GROUP BY row" if search.terms else "SELECT 0 AS row, 0 AS gain"
    return made.statement(
        _with_neighbours(made),
        "coalesce(f.gain, w.gain)",
        f"coalesce(f.cosine, CASE WHEN f.rank IS NOT NULL THEN {made.best_cosine('f.row')} END)",
        f"LEFT JOIN ({weak}) w ON w.row = f.row",
    )


def _equal(made: Text) -> str:
    """Return the rows with the query's own text."""
    t, query = made.search.tables, made.search.query
    digest = made.bound(made.digest, "bigint")
    same = f"SELECT r.row FROM {t.record} r WHERE r.said = {digest} AND r.said <> 0 AND {made.eligible()}"
    newest = f"{same} ORDER BY r.row DESC LIMIT {query.k}"
    return f"SELECT row, NULL::float8 AS gain, NULL::float8 AS cosine, 1 AS rank FROM ({newest}) same"


def _by_words(made: Text, wanted: int) -> str:
    """Return the rows that BM25 ranks first: found by the terms that lead, by all of them where these find too few."""
    made.asked(POSTINGS)
    gain = f"SELECT p.row, p.part, sum({GAIN}) AS gain FROM"
    made.part(
        "led",
        f"{gain} (SELECT * FROM asked WHERE lead) a CROSS JOIN LATERAL ({_newest(made, MOST_POSTINGS)}) p"
        " GROUP BY p.row, p.part",
    )
    made.part("first", _answering(made, "led", 2 * wanted))
    few = f"(SELECT (SELECT count(*) FROM first) < {wanted} AND bool_or(NOT lead) FROM asked)"
    most = MOST_POSTINGS if made.search.narrowed else POSTINGS
    made.part(
        "passage",
        f"SELECT row, part, gain FROM led UNION ALL {gain} asked a CROSS JOIN LATERAL ({_newest(made, most)}) p"
        f" WHERE {few} GROUP BY p.row, p.part",
    )
    made.part("second", f"SELECT * FROM ({_answering(made, 'passage', 2 * wanted)}) found WHERE {few}")
    one = made.postings(" AND row = x.row AND part = x.part")
    rest = f"SELECT sum({GAIN}) FROM asked a JOIN LATERAL ({one}) p ON true WHERE NOT lead"
    added = f"CASE WHEN (SELECT bool_or(NOT lead) FROM asked) THEN coalesce(({rest}), 0) ELSE 0 END"
    made.part(
        "lexical",
        f"SELECT row, max(gain) AS gain FROM (SELECT row, gain + {added} AS gain FROM first x"
        f" UNION ALL SELECT row, gain FROM second) counted GROUP BY row ORDER BY 2 DESC LIMIT {wanted}",
    )
    return "SELECT row, gain, NULL, row_number() OVER (ORDER BY gain DESC) FROM lexical"


def _newest(made: Text, most: int) -> str:
    """Return what reads so many postings of a term, of the newest rows."""
    return made.postings(f" ORDER BY row DESC, part DESC LIMIT {most}")


def _answering(made: Text, passages: str, most: int) -> str:
    """Return the best of some passages whose records are eligible."""
    best_first = f"SELECT row, part, gain FROM {passages} ORDER BY gain DESC, row DESC OFFSET 0"
    return f"SELECT row, part, gain FROM ({best_first}) x WHERE {_answers(made)} LIMIT {most}"


def _answers(made: Text) -> str:
    """Return whether the record of a row `x` is eligible: looked up one by one, in the order of the rows."""
    record = f"{made.search.tables.record} r"
    return f"(SELECT {made.eligible()} FROM {record} WHERE r.scope = {made.scope} AND r.row = x.row)"


def _by_vector(made: Text, wanted: int) -> str:
    """Return the nearest rows: by the index, and one by one where that is surer or cheaper, or the index found few."""
    search = made.search
    cosines = f"SELECT row, {made.cosine} AS cosine FROM {search.vectors} WHERE scope = {made.scope}"
    _counting(made, wanted)
    found = f"{cosines} AND NOT (SELECT few FROM counting) {made.by_nearness(_dimension(search))}"
    if not _indexed(search, wanted):
        found = "SELECT 0 AS row, 0::float8 AS cosine WHERE false"
    made.part("near", f"SELECT row, cosine FROM ({found}) x WHERE {_answers(made)} LIMIT {wanted}")
    missed = f"(SELECT count(*) < {wanted} OR count(DISTINCT row) < {search.query.k} FROM near)"
    each = f"SELECT row, max(cosine) AS cosine FROM ({cosines} AND {missed} OFFSET 0) v GROUP BY row ORDER BY 2 DESC"
    made.part(
        "nearest",
        "SELECT row, max(cosine) AS cosine FROM (SELECT row, cosine FROM near UNION ALL"
        f" (SELECT row, cosine FROM ({each}) x WHERE {_answers(made)} LIMIT {wanted})) v GROUP BY row",
    )
    return "SELECT row, NULL, cosine, row_number() OVER (ORDER BY cosine DESC) FROM nearest"


def _counting(made: Text, wanted: int) -> None:
    """Add `counting`: whether the scope has so few vectors that the index is not asked."""
    search, space = made.search, made.search.space or Space(0, 0)
    there = f"SELECT vectors FROM {search.tables.used} WHERE scope = {made.scope} AND space = {space.number:d}"
    few = f"coalesce(({there}), 0) <= {max(ONE_BY_ONE, space.about // RARE):d}"
    made.part("counting", f"SELECT {few if _indexed(search, wanted) else 'true'} AS few")


def _dimension(search: Search) -> int:
    return 0 if search.query.vector is None else search.query.vector.fingerprint.dimension


def _indexed(search: Search, wanted: int) -> bool:
    return _dimension(search) <= MAX_INDEXED and wanted <= MOST_NEAR


def _features(made: Text) -> None:
    """Add `known`: the candidates with what ranking reads of them."""
    of = f"SELECT {columns('r')} FROM {made.search.tables.record} r WHERE r.scope = {made.scope} AND r.row = k.row"
    made.part("known", f"SELECT k.*, {columns('r')} FROM seed k CROSS JOIN LATERAL ({of} OFFSET 0) r")


def _with_neighbours(made: Text) -> str:
    """Return the candidates and, where words are asked for, the rows that stand around the first of them."""
    query = made.search.query
    reach = (query.blend or DEFAULT).reach
    if query.words is None:
        return "known f"
    away = f"CASE WHEN k.rank <= {LEADERS} THEN {FAR} ELSE {reach:d} END"
    beside = (
        f"SELECT r.row, {columns('r')} FROM {made.search.tables.record} r WHERE r.scope = {made.scope}"
        f" AND r.session = k.session AND r.place BETWEEN k.place - {away} AND k.place + {away} AND {made.eligible()}"
    )
    made.part(
        "around",
        f"SELECT DISTINCT ON (n.row) n.* FROM known k CROSS JOIN LATERAL ({beside} OFFSET 0) n"
        f" WHERE k.rank <= {SEEDS} AND n.row NOT IN (SELECT row FROM seed)",
    )
    more = f"SELECT n.row, NULL, NULL, NULL, {columns('n')} FROM around n"
    return f"(SELECT * FROM known UNION ALL {more}) f"
