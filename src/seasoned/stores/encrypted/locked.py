"""Records whose key is not here: their locked form, and which questions about them have no answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.errors import StoreLocked
from seasoned.filters import And, Compare, Filter, Not, Or, matches
from seasoned.locked import LockedHit
from seasoned.query import Query
from seasoned.records import Hit, Record, Scope, to_micros

READABLE: Final = frozenset({"kind", "id", "at", "until", "version"})
"""The fields of a record that are not sealed."""


def locked(hit: Hit, name: str) -> LockedHit:
    """Return the locked form of a hit of the engine."""
    record = hit.record
    shown = Record(
        key=record.key, text="", at=record.at, data={"locked": True}, until=record.until, version=record.version
    )
    return LockedHit(record=shown, order=hit.order, seq=hit.seq, written=hit.written, name=name)


def needs_content(query: Query) -> bool:
    """Tell whether a query asks for something that is sealed, ranking aside."""
    return query.source is not None or query.lacking is not None or not _readable(query.where)


def _readable(where: Filter | None) -> bool:
    match where:
        case None:
            return True
        case And(of=parts) | Or(of=parts):
            return all(map(_readable, parts))
        case Not(of=part):
            return _readable(part)
        case Compare(field=field):
            return field in READABLE


def verdict(hit: LockedHit, query: Query, now: int) -> bool | None:
    """Tell whether a locked record answers a query, None where only its content could tell."""
    record = hit.record
    if query.kinds and record.key.kind not in query.kinds:
        return False
    if not query.expired and record.until is not None and to_micros(record.until) <= now:
        return False
    held = _holds(query.where, record)
    return None if held and (query.source is not None or query.lacking is not None) else held


def _holds(where: Filter | None, record: Record) -> bool | None:
    match where:
        case None:
            return True
        case And(of=parts):
            found = [_holds(part, record) for part in parts]
            return False if False in found else None if None in found else True
        case Or(of=parts):
            found = [_holds(part, record) for part in parts]
            return True if True in found else None if None in found else False
        case Not(of=part):
            inner = _holds(part, record)
            return None if inner is None else not inner
        case Compare(field=field):
            return matches(where, record) if field in READABLE else None


@dataclass(frozen=True, slots=True)
class Judged:
    """What the locked records of a scope mean for a query: `hits` to show, and what a page says of them."""

    hits: Sequence[LockedHit] = ()
    degraded: tuple[str, ...] = ()


def judged(scope: Scope, found: Iterable[LockedHit], query: Query, now: int, *, readable: bool) -> Judged:
    """Return the locked records that answer a query, and say of the others that they could not be asked.

    What lacks a vector is asked to be given one, which no locked record can be: there it is enough to say so.

    Raises:
        StoreLocked: the query asks for content, and no record of the scope is `readable`.
    """
    verdicts = [(hit, verdict(hit, query, now)) for hit in found]
    shown = [hit for hit, answer in verdicts if answer]
    asked = [hit for hit, answer in verdicts if answer is None]
    if asked and not readable and query.lacking is None:
        raise StoreLocked(scope=scope, name=asked[0].name)
    said = [
        f"{len(some)} records of {'/'.join(scope)} {what}"
        for some, what in ((shown, "cannot be read"), (asked, "cannot be compared"))
        if some
    ]
    return Judged(shown, tuple(f"locked: {each}, since their keys are not here" for each in said))
