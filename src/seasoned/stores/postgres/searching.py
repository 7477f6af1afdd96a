"""A ranked query in one scope, as the server is asked: its settings, the statistics of the scope, its statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from seasoned.index import MACHINES, said_digest
from seasoned.postings import K1, MAX_QUERY_TERMS, B
from seasoned.query import Query
from seasoned.stores.postgres.candidates import Statistics
from seasoned.stores.postgres.connections import Packed, Statement
from seasoned.stores.postgres.reading import conditions
from seasoned.stores.postgres.rows import ODD_SESSION, literal, packed_vector, scope_mark
from seasoned.stores.postgres.schema import Space, Tables
from seasoned.stores.postgres.where import Bound
from seasoned.text import Analyser

FEWEST: Final = 150
"""Fewest candidates of each arm: ranking compares cosines with the hundredth best."""

MOST_NEAR: Final = 1_000
"""Most that the HNSW index is asked for (`ef_search`)."""

FEATURES: Final = ("at", "worth", "session", "place", "role", "speaker", "length", "said")
"""The columns of a record that ranking reads."""

GAIN: Final = f"a.idf * p.times * {K1 + 1} / (p.times + {K1 * (1 - B)} + {K1 * B} * p.length / a.average)"
"""What a posting `p` of a term `a` adds to its passage: BM25."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A ranked query as statements see it: its terms, and its vector space if anything was ever stored in that."""

    tables: Tables
    query: Query
    now: int
    terms: tuple[str, ...]
    space: Space | None

    @classmethod
    def of(cls, tables: Tables, query: Query, now: int, analyser: Analyser, space: Space | None) -> Search:
        """Return what a query asks for."""
        terms = tuple(analyser.query_terms(query.words)) if query.words else ()
        return cls(tables=tables, query=replace(query, subtree=False), now=now, terms=terms, space=space)

    @property
    def narrowed(self) -> bool:
        """Whether something besides the scope and the time says which rows are eligible."""
        return bool(self.query.kinds or self.query.where or self.query.source or self.query.lacking)

    @property
    def dense(self) -> bool:
        """Whether cosines are asked for, and there can be any."""
        return self.query.vector is not None and self.space is not None

    @property
    def vectors(self) -> str:
        """The table of its vector space."""
        return self.tables.vectors(self.space.number if self.space else 0)


def settings(query: Query) -> Statement:
    """Return what the statements of a search need set, for the transaction only."""
    values = {
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "hnsw.ef_search": str(min(max(FEWEST, 2 * query.k), MOST_NEAR)),
        "hnsw.iterative_scan": "relaxed_order",
    }
    return "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in values.items())


def statistics(search: Search) -> list[Statement]:
    """Return the statements that read the statistics of the scope, and those of each term, the rarest first."""
    t, scope = search.tables, {"scope": scope_mark(search.query.scope)}
    bounds = ", ".join(
        f"(SELECT {end}({column}) FROM {t.record} WHERE scope = s.scope AND said <> 0)"
        for column in ("at", "worth")
        for end in ("min", "max")
    )
    return [
        (f"SELECT s.passages, s.words, {bounds} FROM {t.scope} s WHERE s.scope = %(scope)s", scope),
        (
            "SELECT u.term, coalesce(t.passages, 0) AS n FROM unnest(%(terms)s::text[]) AS u(term)"
            f" LEFT JOIN {t.term} t ON t.scope = %(scope)s AND t.term = u.term ORDER BY n LIMIT {MAX_QUERY_TERMS}",
            {**scope, "terms": literal(search.terms)},
        ),
    ]


def known(scope: tuple[Any, ...] | None, terms: Sequence[tuple[Any, ...]]) -> Statistics:
    """Return what the two statements of `statistics` read; of a scope that is not there, nothing."""
    passages, words, first, last, least, most = scope or (0, 0, None, None, None, None)
    return Statistics(
        passages=passages,
        words=words,
        at=(first or 0, last or 0),
        worth=(least or 0.0, most or 0.0),
        terms=dict(terms),
    )


class Text:
    """A statement in the making: its named parts, each read once and kept, and the values bound in it."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.bound = Bound()
        self.digest = said_digest(search.query.words or "")
        self.scope = self.bound(scope_mark(search.query.scope), "uuid")
        self._parts: list[str] = []
        self._vector = ""
        if search.query.vector is not None and search.dense:
            vector = Packed(packed_vector(search.query.vector.values[0]))
            self._vector = self.bound(vector, f"{search.tables.extension}.vector")

    def part(self, name: str, sql: str) -> None:
        """Add a part that those after it read by its name."""
        self._parts.append(f"{name} AS MATERIALIZED ({sql})")

    def eligible(self) -> str:
        """Return what a `record r` must be to answer: a record without text is found by no words."""
        found = conditions(self.search.tables, self.search.query, self.search.now, self.bound)
        return f"{found} AND r.said <> 0" if self.search.query.words is not None else found

    @property
    def cosine(self) -> str:
        """The cosine of `vector` with that of the query."""
        return f"-(vector {self.search.tables.product} {self._vector})"

    def by_nearness(self, dimension: int) -> str:
        """Return the order that the HNSW index gives."""
        half = f"{self.search.tables.extension}.halfvec({dimension:d})"
        return f"ORDER BY (vector::{half}) {self.search.tables.product} {self._vector}::{half}"

    def best_cosine(self, row: str) -> str:
        """Return the best cosine of a row's vectors."""
        if not self.search.dense:
            return "NULL::float8"
        return (
            f"(SELECT max({self.cosine}) FROM {self.search.vectors} v WHERE v.scope = {self.scope} AND v.row = {row})"
        )

    def asked(self, postings: int) -> None:
        """Add `asked`: the terms that are looked up, each with its rarity.

        Those with `lead` find rows: the rarest, as many as have so many postings together. The others add to these.
        """
        t = self.search.tables
        terms = self.bound(literal(self.search.terms), "text[]")
        there = (
            "SELECT t.term, t.passages::float8 AS n, s.passages::float8 AS total,"
            " CASE WHEN s.passages > 0 THEN s.words::float8 / s.passages ELSE 1 END AS average"
            f" FROM {t.term} t JOIN {t.scope} s ON s.scope = t.scope"
            f" WHERE t.scope = {self.scope} AND t.term = ANY({terms}) ORDER BY t.passages LIMIT {MAX_QUERY_TERMS}"
        )
        self.part(
            "asked",
            "SELECT term, n, average, ln(1 + (total - n + 0.5) / (n + 0.5)) AS idf,"
            f" sum(n) OVER next <= {postings} OR row_number() OVER next = 1 AS lead"
            f" FROM ({there}) there WINDOW next AS (ORDER BY n, term)",
        )

    def postings(self, more: str = "") -> str:
        """Return what reads the postings of a term `a`."""
        read = "SELECT row, part, times, length FROM"
        return f"{read} {self.search.tables.posting} WHERE scope = {self.scope} AND term = a.term{more}"

    def statement(self, found: str, gain: str, cosine: str, more: str = "", place: str = "f.place") -> Statement:
        """Return the statement: all that `Candidates.of` reads of rows `f`, session by session."""
        digest = self.bound(self.digest, "bigint")
        odd, machines = self.bound(ODD_SESSION, "uuid"), self.bound(literal(MACHINES), "text[]")
        alone = f"f.session IS NULL OR f.session = {odd}"
        return (
            f"WITH {', '.join(self._parts)} SELECT f.row, f.at, f.worth,"
            f" CASE WHEN {alone} THEN -1 ELSE dense_rank() OVER (ORDER BY f.session) END AS number,"
            f" coalesce({place}, 0) AS place, coalesce(f.role <> ALL({machines}), true), f.speaker, f.length,"
            f" f.said = {digest} AND f.said <> 0, coalesce({gain}, 0)::real, {cosine}::real"
            f" FROM {found} {more} ORDER BY number, place",
            self.bound.values,
        )


def columns(of: str) -> str:
    """Return the features of a row, read from `of`."""
    return ", ".join(f"{of}.{name}" for name in FEATURES)
