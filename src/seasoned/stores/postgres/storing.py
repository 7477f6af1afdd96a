"""The second half of an `apply`: what its plan says is written and committed, in one round trip.

Each statement names the one scope that it touches, so that a database distributed by scope sends it to one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final
from uuid import UUID

from seasoned.ports import Vectors
from seasoned.stores.postgres.connections import COMMIT, Packed, Params, at_once
from seasoned.stores.postgres.forms import CREDIT, CREDITED, GONE, KEY, POSTING, RECORD, ROW, SOURCE, VECTOR
from seasoned.stores.postgres.preparing import Place, Prepared
from seasoned.stores.postgres.rows import literal, packed_vectors
from seasoned.stores.postgres.schema import Tables
from seasoned.stores.postgres.terms import Said
from seasoned.stores.postgres.writing import Gone, Plan, Standing, changed

if TYPE_CHECKING:
    from seasoned.stores.postgres.connections import Database, Rows

GONE_KEPT: Final = 100_000
"""Removals further back than so many changes of their scope are no longer listed; a reader behind them reloads."""

Statements = Iterator[tuple[str, Params]]
Changed = Sequence[tuple[Place, Standing]]


def write(db: Database, tables: Tables, plan: Plan, now: int) -> list[Rows]:
    """Write what a plan says, and commit."""
    written = list(changed(plan))
    made = [each for scope in plan.seqs for each in _in_scope(tables, scope, plan, written, now)]
    return at_once(db, [*made, COMMIT])


def _in_scope(tables: Tables, scope: UUID, plan: Plan, everywhere: Changed, now: int) -> Statements:
    written = [each for each in everywhere if each[0].scope == scope]
    yield from _removals(tables, scope, plan, written)
    yield from _records(tables, scope, written, now)
    yield from word(tables, scope, [(one.row, one.put.said) for _, one in written if one.put and one.renewed])
    yield from _vectors(tables, scope, written)
    yield from _sources(tables, scope, written)
    credited = {place.key: marks for place, marks in plan.credited.items() if place.scope == scope}
    yield from CREDIT.insert(tables.credit, scope, [(key, mark) for key, marks in credited.items() for mark in marks])
    yield from _counts(tables, scope, plan, written)


def _removals(tables: Tables, scope: UUID, plan: Plan, written: Changed) -> Statements:
    """Yield what takes away removed rows, and of others the words and vectors that no longer fit."""
    removed = [(row,) for of, row in plan.removed if of == scope]
    stored = [one for _, one in written if one.stored]
    yield from unword(tables, scope, [*removed, *((one.row,) for one in stored if one.renewed)])
    yield from _unplace(tables, scope, [*removed, *((one.row,) for one in stored if one.retold)])
    yield from ROW.delete(tables.source, scope, removed)
    yield from ROW.delete(tables.record, scope, removed)
    yield from KEY.delete(tables.credit, scope, [(place.key,) for place in plan.forgotten if place.scope == scope])
    gone = [(one.seq, one.row, one.key.kind, one.key.id) for one in _gone(plan, scope)]
    yield from GONE.insert(tables.gone, scope, gone)


def _gone(plan: Plan, scope: UUID) -> list[Gone]:
    return [gone for gone in plan.gone if gone.scope == scope]


def unword(tables: Tables, scope: UUID, rows: Sequence[tuple[int]]) -> Statements:
    """Yield what deletes the postings of rows, and takes them out of every count."""
    if rows:
        here = "t.scope = %(scope)s AND"
        yield (
            f"WITH dead AS (DELETE FROM {tables.posting} t USING {ROW.arrays} WHERE {ROW.same}"
            " RETURNING t.term, t.row, t.part, t.length),"
            " fewer AS (SELECT term, count(*) AS n FROM dead GROUP BY term),"
            f" last AS (DELETE FROM {tables.term} t USING fewer WHERE {here} t.term = fewer.term AND passages <= n),"
            f" others AS (UPDATE {tables.term} t SET passages = passages - n FROM fewer"
            f" WHERE {here} t.term = fewer.term AND passages > n),"
            " parts AS (SELECT DISTINCT row, part, length FROM dead WHERE length > 0),"
            " less AS (SELECT count(*) AS passages, coalesce(sum(length), 0) AS words FROM parts)"
            f" UPDATE {tables.scope} t SET passages = t.passages - less.passages, words = t.words - less.words"
            " FROM less WHERE t.scope = %(scope)s",
            ROW.bound(scope, rows),
        )


def word(tables: Tables, scope: UUID, new: Sequence[tuple[int, Said]]) -> Statements:
    """Yield what adds the terms of rows: the postings, and in how many passages each term is."""
    found: dict[str, list[tuple[int, int, int, int]]] = {}
    for row, said in new:
        for part, passage in enumerate(said.passages):
            for term, times in passage.times.items():
                found.setdefault(term, []).append((row, part, times, passage.length))
    if not found:
        return
    terms = sorted(found)
    bound = {"scope": scope, "terms": literal(terms)}
    yield (
        f"INSERT INTO {tables.term} AS known SELECT %(scope)s, u.term, u.n"
        " FROM unnest(%(terms)s::text[], %(counts)s::bigint[]) AS u(term, n)"
        " ON CONFLICT (scope, term) DO UPDATE SET passages = known.passages + excluded.passages",
        {**bound, "counts": literal(len(found[term]) for term in terms)},
    )
    postings = [(place, *posting) for place, term in enumerate(terms, 1) for posting in found[term]]
    yield (
        f"INSERT INTO {tables.posting} SELECT %(scope)s, t.term, u.row, u.part, u.times, u.length"
        f" FROM {POSTING.arrays} JOIN unnest(%(terms)s::text[]) WITH ORDINALITY AS t(term, place) ON t.place = u.place",
        {**bound, **POSTING.bound(scope, postings)},
    )


def _records(tables: Tables, scope: UUID, written: Changed, now: int) -> Statements:
    put = [(place, one, one.put) for place, one in written if one.put is not None]
    rows = {stored: [_row(*each, now) for each in put if each[1].stored is stored] for stored in (False, True)}
    yield from RECORD.insert(tables.record, scope, rows[False])
    yield from RECORD.update(tables.record, scope, rows[True])
    credited = [
        (one.row, one.seq, one.version, now, one.worth, one.session, one.order, one.data)
        for _, one in written
        if one.put is None
    ]
    yield from CREDITED.update(tables.record, scope, credited)


def _row(place: Place, one: Standing, made: Prepared, now: int) -> tuple[object, ...]:
    """Return a row in the columns of `RECORD`."""
    record, said = made.record, made.said
    names = (one.row, place.key, record.key.kind, record.key.id, one.seq, one.version, now)
    ranked = (made.at, made.until, one.worth, one.session, one.order, said.role, said.speaker)
    return (*names, *ranked, said.length, said.said, said.digest, made.sources, one.data, record.text)


def _vectors(tables: Tables, scope: UUID, written: Changed) -> Statements:
    for space in sorted(set(chain.from_iterable(one.vectors for _, one in written))):
        new = [(one, one.vectors[space]) for _, one in written if space in one.vectors]
        yield from _unplace(tables, scope, [(one.row,) for one, _ in new if one.stored and not one.retold], space)
        yield from _place(tables, scope, space, new)


def _unplace(tables: Tables, scope: UUID, rows: Sequence[tuple[int]], space: int | None = None) -> Statements:
    """Yield what deletes the vectors of rows, in one space or in all."""
    if rows:
        there = "" if space is None else f" AND t.space = {space:d}"
        yield (
            f"WITH dead AS (DELETE FROM {tables.vector} t USING {ROW.arrays} WHERE {ROW.same}{there}"
            " RETURNING t.space), fewer AS (SELECT space, count(*) AS n FROM dead GROUP BY space)"
            f" UPDATE {tables.used} t SET vectors = vectors - n FROM fewer"
            " WHERE t.scope = %(scope)s AND t.space = fewer.space",
            ROW.bound(scope, rows),
        )


def _place(tables: Tables, scope: UUID, space: int, new: Sequence[tuple[Standing, Vectors]]) -> Statements:
    """Yield what writes the vectors of rows in one space, and counts them."""
    rows = [(one.row, part) for one, vectors in new for part in range(len(vectors.values))]
    packed = packed_vectors([vector for _, vectors in new for vector in vectors.values], tables.vector_type)
    arrays = f"%(row)s::bigint[], %(part)s::integer[], %(vector)s::{tables.extension}.vector[]"
    yield (
        f"INSERT INTO {tables.vector} (scope, space, row, part, vector)"
        f" SELECT %(scope)s, {space:d}, u.* FROM unnest({arrays}) AS u(row, part, vector)",
        {**VECTOR.bound(scope, rows), "vector": Packed(packed)},
    )
    yield (
        f"INSERT INTO {tables.used} AS known VALUES (%(scope)s, {space:d}, {len(rows):d})"
        " ON CONFLICT (scope, space) DO UPDATE SET vectors = known.vectors + excluded.vectors",
        {"scope": scope},
    )


def _sources(tables: Tables, scope: UUID, written: Changed) -> Statements:
    put = [(one, one.put) for _, one in written if one.put is not None]
    yield from ROW.delete(tables.source, scope, [(one.row,) for one, _ in put if one.had_sources])
    yield from SOURCE.insert(tables.source, scope, [(mark, one.row) for one, made in put for mark in made.source_marks])


def _counts(tables: Tables, scope: UUID, plan: Plan, written: Changed) -> Statements:
    """Yield what stores the last seq of the scope and how much is in it, and forgets old removals."""
    new = [one.put.said for _, one in written if one.put is not None and one.renewed]
    bound: dict[str, object] = {
        "scope": scope,
        "seq": plan.seqs[scope],
        "records": sum(not one.stored for _, one in written) - sum(of == scope for of, _ in plan.removed),
        "passages": sum(said.counted for said in new),
        "words": sum(said.length for said in new),
        "before": plan.seqs[scope] - GONE_KEPT,
    }
    yield (
        f"UPDATE {tables.scope} SET seq = %(seq)s, records = records + %(records)s, passages = passages + %(passages)s,"
        " words = words + %(words)s WHERE scope = %(scope)s",
        bound,
    )
    if any(gone.seq % 1000 == 0 for gone in _gone(plan, scope)):
        yield (
            f"WITH old AS (DELETE FROM {tables.gone} WHERE scope = %(scope)s AND seq < %(before)s RETURNING 1)"
            f" UPDATE {tables.scope} SET gone_before = %(before)s WHERE scope = %(scope)s AND EXISTS (SELECT FROM old)",
            bound,
        )
