"""The first half of an `apply`: its scopes are locked, and what the changes need to know is read, in one round trip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from seasoned.ports import Change, Credit, Put
from seasoned.records import Scope
from seasoned.stores.postgres.connections import BEGIN, Params, Statement, at_once
from seasoned.stores.postgres.preparing import Place, Prepared, key_of
from seasoned.stores.postgres.rows import credit_mark, literal, scope_mark
from seasoned.stores.postgres.schema import Tables
from seasoned.stores.postgres.writing import Found, Standing

if TYPE_CHECKING:
    from seasoned.stores.postgres.connections import Database, Rows

Written = tuple[Place, Change, Prepared | None]


def read(db: Database, tables: Tables, changes: Sequence[Written], timeout_s: float) -> Found:
    """Begin, lock the scopes of the changes, and read what these need to know of what is there."""
    scopes = sorted((scope_mark(scope), scope) for scope in {key_of(change).scope for _, change, _ in changes})
    locks = [statement for mark, scope in scopes for statement in _locks(tables, mark, scope)]
    of = {mark: [each for each in changes if each[0].scope == mark] for mark, _ in scopes}
    asked = [statement for mark in of for statement in _asked(tables, mark, of[mark])]
    puts = sum(isinstance(change, Put) for _, change, _ in changes)
    numbers = (f"SELECT nextval('{tables.places}') FROM generate_series(1, %(n)s)", {"n": puts})
    statements: list[Statement] = [BEGIN, _settings(timeout_s), *locks, *asked, numbers]
    answers = at_once(db, statements)[2:]
    locked, told = answers[1 : len(locks) : 2], answers[len(locks) : -1]
    found = Found(seqs={}, standing={}, credits={}, orders={}, rows=iter([row for (row,) in answers[-1]]))
    for place, mark in enumerate(of):
        found.seqs[mark] = next(iter(locked[place]))[0]
        _take(found, mark, told[3 * place : 3 * place + 3])
    return found


def _settings(timeout_s: float) -> str:
    """Return what the transaction needs set, for itself only."""
    return f"SELECT set_config('lock_timeout', '{max(int(timeout_s * 1000), 1)}', true), set_config('jit', 'off', true)"


def _locks(tables: Tables, mark: UUID, scope: Scope) -> Iterator[tuple[str, Params]]:
    """Yield what makes a scope if it is new, and locks it; every writer locks scopes in the same order."""
    bound = {"scope": mark, "name": scope.encode()}
    yield f"INSERT INTO {tables.scope} (scope, name) VALUES (%(scope)s, %(name)s) ON CONFLICT DO NOTHING", bound
    yield f"SELECT seq FROM {tables.scope} WHERE scope = %(scope)s FOR UPDATE", bound


def _asked(tables: Tables, scope: UUID, changes: Sequence[Written]) -> Iterator[tuple[str, Params]]:
    """Yield what reads the records of the changes, the credits given before, and the last place in each session."""
    keys = dict.fromkeys((place.key for place, _, _ in changes), False)
    credits_ = [(place.key, credit_mark(change)) for place, change, _ in changes if isinstance(change, Credit)]
    keys |= dict.fromkeys((key for key, _ in credits_), True)
    yield (
        "SELECT r.key, r.row, r.seq, r.version, r.until, r.digest, sha256(convert_to(r.text, 'UTF8')),"
        " r.session, r.place, r.worth, CASE WHEN u.whole THEN r.data::text END, r.sources IS NOT NULL"
        f" FROM {tables.record} r JOIN unnest(%(key)s::uuid[], %(whole)s::boolean[]) AS u(key, whole) ON u.key = r.key"
        " WHERE r.scope = %(scope)s",
        {"scope": scope, "key": literal(keys), "whole": literal(keys.values())},
    )
    yield (
        f"SELECT c.key, c.mark FROM {tables.credit} c JOIN unnest(%(key)s::uuid[], %(mark)s::uuid[]) AS u(key, mark)"
        " ON u.key = c.key AND u.mark = c.mark WHERE c.scope = %(scope)s",
        {"scope": scope, "key": literal(key for key, _ in credits_), "mark": literal(mark for _, mark in credits_)},
    )
    sessions = {made.session for _, _, made in changes if made is not None and made.session is not None}
    yield (
        f"SELECT session, max(place) FROM {tables.record}"
        " WHERE scope = %(scope)s AND session = ANY(%(session)s::uuid[]) GROUP BY session",
        {"scope": scope, "session": literal(sessions)},
    )


def _take(found: Found, scope: UUID, answers: Sequence[Rows]) -> None:
    """Take in what the statements of `_asked` answered."""
    records, given, places = answers
    found.standing.update((Place(scope, key), _stood(*raw)) for key, *raw in records)
    for key, mark in given:
        found.credits.setdefault(Place(scope, key), set()).add(mark)
    found.orders.update(((scope, session), place) for session, place in places)


def _stood(
    row: int, seq: int, version: int, until: int | None, digest: int, text_mark: bytes, session: UUID | None,
    order: int | None, worth: float, data: str | None, had_sources: bool,
) -> Standing:  # fmt: skip
    return Standing(
        row=row,
        seq=seq,
        version=version,
        until=until,
        digest=digest,
        text_mark=text_mark,
        session=session,
        order=order,
        worth=worth,
        data=data,
        stored=True,
        had_sources=had_sources,
    )
